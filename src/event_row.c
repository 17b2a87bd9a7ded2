/*-------------------------------------------------------------------------
 *
 * event_row.c
 *		Events that were sent and not consumed yet.
 *
 * Written under the lock of the snapshot row, where there is one.  A sender who
 * finds none is beside those who create the instance and park it, in one
 * transaction or in several, before the sender commits: neither would see the
 * other.  So whoever finds no row, and whoever parks, takes event_row_lock(), and
 * the one that comes second sees what the first has committed.
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
#define EVENT_LOCKS			4096

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

static PlanStatement find_old = {
	.sql =
	"SELECT o.instance_id::text, o.signal_name::text, o.id"
	" FROM @.sayiir_workflow_events AS o"
	" WHERE o.created_at < $1"
	" AND NOT EXISTS (SELECT FROM @.sayiir_workflow_snapshots AS s"
	"  WHERE s.instance_id = o.instance_id)"
	" LIMIT $2 FOR UPDATE OF o SKIP LOCKED",
	.expected = SPI_OK_SELECT,
	.scans = true,
	.nargs = 2,
	.argtypes = {TIMESTAMPTZOID, INT4OID},
};

static PlanStatement delete_old = {
	.sql =
	"DELETE FROM @.sayiir_workflow_events AS e"
	" WHERE e.instance_id = $1 AND e.signal_name = $2 AND e.id = $3"
	" AND NOT EXISTS (SELECT FROM @.sayiir_workflow_snapshots AS s"
	"  WHERE s.instance_id = e.instance_id)",
	.expected = SPI_OK_DELETE,
	.nargs = 3,
	.argtypes = {TEXTOID, TEXTOID, INT8OID},
};

static PlanStatement find_oldest = {
	.sql =
	"SELECT e.payload FROM @.sayiir_workflow_events AS e"
	" WHERE e.instance_id = $1 AND e.signal_name = $2 ORDER BY e.id LIMIT 1",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, TEXTOID},
};

/*
 * event_row_lock keeps those who deal with the events of an instance that does
 * not exist yet apart from those who park it, until the end of the transaction.
 * Each party is at peace with its own kind.  Instances share locks, so that a
 * wait, and in the worst case a deadlock error, can come from another's.
 */
bool
event_row_lock(text *instance_id, EventParty party)
{
	uint64		key = hash_bytes_extended((const unsigned char *) VARDATA_ANY(instance_id),
										  VARSIZE_ANY_EXHDR(instance_id), 0);
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, (uint32) (key % EVENT_LOCKS), EVENT_LOCK_CLASS);
	return LockAcquire(&tag, party == EVENT_PARKER ? RowExclusiveLock : ShareLock, false,
					   party == EVENT_PRUNER) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * event_row_size returns the size of the payload that event_row_take would give,
 * -1 when there is none.  The payload is looked at, and raises what is wrong with
 * it.
 */
int64
event_row_size(PlanCall *call, text *instance_id, Datum name)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id)), plan_arg(name)};

	Datum		stored;
	bytea	   *payload;
	int64		size;

	if (plan_run(call, &find_oldest, args) == 0)
		return -1;
	stored = plan_value(call, 0, 1).value;
	payload = PG_DETOAST_DATUM_PACKED(stored);
	size = VARSIZE_ANY_EXHDR(payload);
	if ((Pointer) payload != DatumGetPointer(stored))
		pfree(payload);
	return size;
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
 * exist, not more than batch, passing over what somebody else is at.  Returns
 * how many.
 */
int64
event_row_prune(PlanCall *call, Datum before, int batch)
{
	NullableDatum args[] = {plan_arg(before), plan_arg(Int32GetDatum(batch))};
	int			n = (int) plan_run(call, &find_old, args);
	NullableDatum *keys = palloc(sizeof(NullableDatum) * 3 * (n + 1));
	int64		pruned = 0;
	int			i;

	for (i = 0; i < n * 3; i++)
		keys[i] = plan_value(call, i / 3, i % 3 + 1);

	/* Looked at again, when nobody is about to create and park the instance */
	for (i = 0; i < n; i++)
	{
		if (event_row_lock(DatumGetTextPP(keys[i * 3].value), EVENT_PRUNER))
			pruned += plan_run(call, &delete_old, &keys[i * 3]);
	}
	return pruned;
}
