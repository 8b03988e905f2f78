/* SPDX-License-Identifier: PostgreSQL */
/*
 * ProcessInterrupts has forgotten the signal when it reports FATAL, and elog.c flushes that report
 * to the client without looking for another: pg_terminate_backend would take as long as the client.
 */
#include "postgres.h"

/* Nothing here looks into Port: the headers of authentication libraries are not wanted. */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq.h"
#include "replication/walsender.h"
#include "utils/elog.h"

#include "plugin/output/farewell.h"
#include "plugin/output/flush.h"

static emit_log_hook_type previous_hook;

static void
withhold_farewell(ErrorData *error)
{
	if (error->elevel >= FATAL && am_walsender)
	{
		varve_flush_held();
		if (pq_is_send_pending())
			error->output_to_client = false;
	}
	if (previous_hook != NULL)
		previous_hook(error);
}

void
varve_farewell_init(void)
{
	static bool done = false;

	if (done)
		return;
	done = true;
	previous_hook = emit_log_hook;
	emit_log_hook = withhold_farewell;
}
