/* SPDX-License-Identifier: PostgreSQL */
/* varve.ingest_endpoint: where the batches of transport=zmq go. */
#pragma once

#include "postgres.h"

/*
 * Defines the setting. Of the configuration file alone: whoever may start replication gives
 * options, and shall not make the server write to sockets of his choice.
 */
extern void varve_endpoint_define(void);

/*
 * The path of the socket of this database, in the current memory context. ERRORs when the setting
 * is empty, or when nobody accepts a connection there: ZeroMQ would take what is sent and say
 * nothing.
 */
extern char *varve_endpoint_path(void);
