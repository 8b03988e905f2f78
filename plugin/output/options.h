/* SPDX-License-Identifier: PostgreSQL */
/* What a client may ask of the plugin: the options of START_REPLICATION and of the SQL functions.
 */
#pragma once

#include "postgres.h"
#include "nodes/pg_list.h"

typedef enum VarveFormat
{
	VARVE_FORMAT_FLATBUFFERS,
	VARVE_FORMAT_JSON
} VarveFormat;

typedef enum VarveTransport
{
	VARVE_TRANSPORT_STREAM,
	VARVE_TRANSPORT_ZMQ
} VarveTransport;

typedef struct VarveOptions
{
	List *publication_names; /* of char *, never empty */
	VarveFormat format;
	VarveTransport transport;
	uint64 session_high; /* 0 without the option session */
	uint64 session_low;
	bool streaming; /* transactions that are still in progress */
	bool two_phase; /* prepared transactions, where they are prepared */
	bool messages;
	bool only_local; /* origin = none */
	bool rewrites;	 /* the rows of tables that ALTER TABLE rewrites */
	int batch_bytes;
} VarveOptions;

/* Reads a list of DefElem, any of which may come without a value. ERRORs name the option. */
extern void varve_options_parse(List *given, VarveOptions *options);
