/* SPDX-License-Identifier: PostgreSQL */
#include "postgres.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "commands/dbcommands.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "plugin/output/handshake.h"

static VarveBytes
bytes_of(const char *text)
{
	VarveBytes bytes = {text, strlen(text)};

	return bytes;
}

/*
 * A walsender starts decoding outside any transaction: it needs one to read the catalogs.
 * (MyProcPort would know the name too, but its header wants those of every authentication library
 * of the server.)
 */
static char *
database_name(MemoryContext context)
{
	bool own_transaction = !IsTransactionState();
	ResourceOwner old_owner = CurrentResourceOwner;
	char *name;

	if (own_transaction)
		StartTransactionCommand();
	name = get_database_name(MyDatabaseId);
	name = MemoryContextStrdup(context, name == NULL ? "" : name);
	if (own_transaction)
	{
		CommitTransactionCommand();
		CurrentResourceOwner = old_owner;
	}
	MemoryContextSwitchTo(context);
	return name;
}

void
varve_handshake_fill(VarveHandshake *handshake, const ReplicationSlot *slot)
{
	TimeLineID timeline;

	if (RecoveryInProgress())
		(void)GetXLogReplayRecPtr(&timeline);
	else
		timeline = GetWALInsertionTimeLine();
	handshake->plugin_version = bytes_of(VARVE_VERSION);
	handshake->server_version_num =
		(uint32)atoi(GetConfigOption("server_version_num", false, false));
	handshake->system_identifier = GetSystemIdentifier();
	handshake->timeline = timeline;
	handshake->database_oid = MyDatabaseId;
	handshake->database = bytes_of(database_name(CurrentMemoryContext));
	handshake->slot = bytes_of(pstrdup(NameStr(slot->data.name)));
	handshake->encoding = bytes_of(GetDatabaseEncodingName());
	handshake->next_full_xid = U64FromFullTransactionId(ReadNextFullTransactionId());
}
