/*-------------------------------------------------------------------------
 *
 * event_row.c
 *		Events that were sent and not consumed yet.
 *
 * Written under the lock of the snapshot row, where there is one.  A sender who
 * finds none could be beside the transaction that creates the instance and
 * parks it: neither would see the other.  Both then take event_row_lock(), the
 * sender always when it finds no row, the creator when it parks, so the one
 * that comes second sees what the first has committed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"

#include "compat.h"
#include "event_row.h"

/*
 * Advisory locks of users have class 1 or 2; this keeps ours apart from them.
 * There are a fixed number of them, so that a transaction with many senders or
 * many new instances does not fill the server's lock table.
 */
#define EVENT_LOCK_CLASS	3
#define EVENT_LOCKS			256

static PlanStatement find_event = {
	.sql =
	"SELECT true FROM @.sayiir_workflow_events AS e"
	" WHERE e.instance_id = $1 AND e.signal_name = $2 LIMIT 1",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, TEXTOID},
};

static PlanStatement put_event = {
	.sql =
	"INSERT INTO @.sayiir_workflow_events (instance_id, signal_name, payload, created_at)"
	" VALUES ($1, $2, $3, now())",
	.expected = SPI_OK_INSERT,
	.nargs = 3,
	.argtypes = {TEXTOID, TEXTOID, BYTEAOID},
};

/* One that somebody else takes is waited for, and passed over when it is gone */
static PlanStatement take_event = {
	.sql =
	"DELETE FROM @.sayiir_workflow_events AS e"
	" WHERE e.instance_id = $1 AND e.signal_name = $2"
	" AND e.id = (SELECT o.id FROM @.sayiir_workflow_events AS o"
	"  WHERE o.instance_id = $1 AND o.signal_name = $2"
	"  ORDER BY o.id LIMIT 1 FOR UPDATE OF o)"
	" RETURNING e.payload",
	.expected = SPI_OK_DELETE_RETURNING,
	.nargs = 2,
	.argtypes = {TEXTOID, TEXTOID},
};

static PlanStatement delete_all = {
	.sql =
	"DELETE FROM @.sayiir_workflow_events AS e WHERE e.instance_id = $1",
	.expected = SPI_OK_DELETE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement prune = {
	.sql =
	"DELETE FROM @.sayiir_workflow_events AS e"
	" USING (SELECT o.instance_id, o.signal_name, o.id"
	"  FROM @.sayiir_workflow_events AS o"
	"  WHERE o.created_at < $1"
	"  AND NOT EXISTS (SELECT FROM @.sayiir_workflow_snapshots AS s"
	"   WHERE s.instance_id = o.instance_id)"
	"  LIMIT $2 FOR UPDATE OF o SKIP LOCKED) AS old"
	" WHERE e.instance_id = old.instance_id AND e.signal_name = old.signal_name"
	" AND e.id = old.id",
	.expected = SPI_OK_DELETE,
	.scans = true,
	.nargs = 2,
	.argtypes = {TIMESTAMPTZOID, INT4OID},
};

/*
 * event_row_lock keeps senders to an instance that does not exist yet apart from
 * the transaction that creates and parks it, until the end of the transaction.
 * Senders do not wait for senders, nor creators for creators.  Instances share
 * locks, which can cost a wait for another's transaction and no more.
 */
void
event_row_lock(text *instance_id, EventParty party)
{
	uint64		key = hash_bytes_extended((const unsigned char *) VARDATA_ANY(instance_id),
										  VARSIZE_ANY_EXHDR(instance_id), 0);
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, (uint32) (key % EVENT_LOCKS), EVENT_LOCK_CLASS);
	(void) LockAcquire(&tag, party == EVENT_SENDER ? ShareLock : RowExclusiveLock, false, false);
}

/*
 * event_row_exists tells whether an unread event of this name is there.
 */
bool
event_row_exists(PlanCall *call, text *instance_id, Datum name)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id)), plan_arg(name)};

	return plan_run(call, &find_event, args) > 0;
}

/*
 * event_row_put adds an event behind those that are there.
 */
void
event_row_put(PlanCall *call, text *instance_id, Datum name, Datum payload)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(name),
		plan_arg(payload),
	};

	plan_run(call, &put_event, args);
}

/*
 * event_row_take takes the oldest event of this name.  The payload outlives the
 * call of plan_end().
 */
bool
event_row_take(PlanCall *call, text *instance_id, Datum name, Datum *payload)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id)), plan_arg(name)};
	MemoryContext old;

	if (plan_run(call, &take_event, args) == 0)
		return false;
	/* The row is gone, so what is stored has to be fetched now */
	old = MemoryContextSwitchTo(call->caller);
	*payload = PointerGetDatum(PG_DETOAST_DATUM_COPY(plan_value(call, 0, 1).value));
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * event_row_delete_all deletes the events of an instance.
 */
void
event_row_delete_all(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &delete_all, args);
}

/*
 * event_row_prune deletes events from before an instant whose instance does not
 * exist, not more than batch, passing over locked ones.  Returns how many.
 */
int64
event_row_prune(PlanCall *call, Datum before, int batch)
{
	NullableDatum args[] = {plan_arg(before), plan_arg(Int32GetDatum(batch))};

	return (int64) plan_run(call, &prune, args);
}
