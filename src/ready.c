/*-------------------------------------------------------------------------
 *
 * ready.c
 *		What can be claimed: the queue that follows from the other tables.
 *
 * Invariant, after every commit: an instance has a row exactly when it is in
 * progress, has no claim (an expired one counts until it is given back) and no
 * pending signal, and is at a task, or at a place with delay_wake_at, or parked
 * for an event that is there.  ready_at is since when it waits, or from when on
 * it can be claimed.  All writers hold the lock of the snapshot row.
 *
 * A save without a claim moves an instance from task to task while it stays in
 * the queue.  Its row is not written anew then: ready_at may be earlier than
 * since when the instance has waited for the task that it is at, never later,
 * and never earlier than the instant of a retry.  Whoever takes instances out in
 * their order puts such a row in its place first (candidate.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/timestamp.h"

#include "ready.h"

/* A task of this kind that can be claimed already, by what a save before has put */
static PlanStatement find_task = {
	.sql =
	"SELECT true FROM @.sayiir_workflow_ready AS r"
	" WHERE r.instance_id = $1 AND r.definition_hash = $2 AND r.task_tags = $3"
	" AND r.task_priority = $4 AND r.ready_at <= $5",
	.expected = SPI_OK_SELECT,
	.nargs = 5,
	.argtypes = {TEXTOID, BYTEAOID, TEXTARRAYOID, INT2OID, TIMESTAMPTZOID},
};

/* A task, with all that is known at hand */
static PlanStatement put_task = {
	.sql =
	"WITH ended AS (DELETE FROM @.sayiir_workflow_claims AS c WHERE c.instance_id = $1 AND $6)"
	" INSERT INTO @.sayiir_workflow_ready AS r"
	" (instance_id, kind, definition_hash, task_tags, task_priority, ready_at)"
	" SELECT $1, " READY_KIND("$2", "$3", "$4") ", $2, $3, $4, $5"
	" WHERE NOT EXISTS (SELECT FROM @.sayiir_workflow_signals AS g WHERE g.instance_id = $1)"
	" AND ($6 OR NOT EXISTS (SELECT FROM @.sayiir_workflow_claims AS c WHERE c.instance_id = $1))"
	" ON CONFLICT (instance_id) DO UPDATE"
	" SET kind = EXCLUDED.kind, definition_hash = EXCLUDED.definition_hash, task_tags = EXCLUDED.task_tags,"
	" task_priority = EXCLUDED.task_priority, ready_at = EXCLUDED.ready_at",
	.expected = SPI_OK_INSERT,
	.nargs = 6,
	.argtypes = {TEXTOID, BYTEAOID, TEXTARRAYOID, INT2OID, TIMESTAMPTZOID, BOOLOID},
};

static PlanStatement requeue = {
	.sql =
	"UPDATE @.sayiir_workflow_ready AS r SET ready_at = $2 WHERE r.instance_id = $1",
	.expected = SPI_OK_UPDATE,
	.nargs = 2,
	.argtypes = {TEXTOID, TIMESTAMPTZOID},
};

/*
 * The whole rule, out of the tables: the part of a statement that gives what
 * "wanted" holds, for instances by this condition, apart from their claims.
 */
#define READY_WANTED(condition) \
	"place AS (" \
	"SELECT s.instance_id, s.definition_hash, s.task_tags, s.task_priority," \
	" s.waiting_since, s.delay_wake_at," \
	" s.current_task_id IS NULL AND EXISTS (SELECT FROM @.sayiir_workflow_events AS e" \
	"  WHERE e.instance_id = s.instance_id AND e.signal_name = s.awaited_signal) AS has_event," \
	" s.current_task_id IS NOT NULL OR s.delay_wake_at IS NOT NULL AS ends_by_itself" \
	" FROM @.sayiir_workflow_snapshots AS s" \
	" WHERE " condition " AND s.status = 'InProgress'" \
	" AND NOT EXISTS (SELECT FROM @.sayiir_workflow_signals AS g" \
	"  WHERE g.instance_id = s.instance_id)" \
	"), wanted AS (" \
	"SELECT p.instance_id, p.definition_hash, p.task_tags, p.task_priority," \
	" CASE WHEN p.has_event THEN p.waiting_since" \
	" ELSE GREATEST(p.waiting_since, p.delay_wake_at) END AS ready_at" \
	" FROM place AS p WHERE p.has_event OR p.ends_by_itself" \
	")"

#define READY_PUT_WANTED \
	" INSERT INTO @.sayiir_workflow_ready AS r" \
	" (instance_id, kind, definition_hash, task_tags, task_priority, ready_at)" \
	" SELECT w.instance_id, " READY_KIND("w.definition_hash", "w.task_tags", "w.task_priority") "," \
	" w.definition_hash, w.task_tags, w.task_priority, w.ready_at" \
	" FROM wanted AS w" \
	" ON CONFLICT (instance_id) DO UPDATE" \
	" SET kind = EXCLUDED.kind, definition_hash = EXCLUDED.definition_hash, task_tags = EXCLUDED.task_tags," \
	" task_priority = EXCLUDED.task_priority, ready_at = EXCLUDED.ready_at"

static PlanStatement refresh = {
	.sql =
	"WITH "
	READY_WANTED("s.instance_id = $1 AND NOT EXISTS (SELECT FROM @.sayiir_workflow_claims AS c"
				 " WHERE c.instance_id = $1)")
	", gone AS ("
	"DELETE FROM @.sayiir_workflow_ready AS r"
	" WHERE r.instance_id = $1 AND NOT EXISTS (SELECT FROM wanted)"
	")" READY_PUT_WANTED,
	.expected = SPI_OK_INSERT,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement give_back = {
	.sql =
	"WITH " READY_WANTED("s.instance_id = ANY ($1)")
	", ended AS ("
	"DELETE FROM @.sayiir_workflow_claims AS c WHERE c.instance_id = ANY ($1)"
	"), let_go AS ("
	"UPDATE @.sayiir_workflow_signals AS g SET held = false"
	" WHERE g.instance_id = ANY ($1) AND g.held"
	")" READY_PUT_WANTED,
	.expected = SPI_OK_INSERT,
	.nargs = 1,
	.argtypes = {TEXTARRAYOID},
};

static PlanStatement end_claim = {
	.sql =
	"WITH ended AS (DELETE FROM @.sayiir_workflow_claims AS c WHERE c.instance_id = $1),"
	" done AS (DELETE FROM @.sayiir_workflow_signals AS g"
	"  WHERE g.instance_id = $1 AND g.kind = 'Pause'),"
	" let_go AS (UPDATE @.sayiir_workflow_signals AS g SET held = false"
	"  WHERE g.instance_id = $1 AND g.kind <> 'Pause' AND g.held)"
	" DELETE FROM @.sayiir_workflow_ready AS r WHERE r.instance_id = $1",
	.expected = SPI_OK_DELETE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement forget = {
	.sql =
	"WITH ended AS (DELETE FROM @.sayiir_workflow_claims AS c WHERE c.instance_id = $1),"
	" settled AS (DELETE FROM @.sayiir_workflow_signals AS g WHERE g.instance_id = $1)"
	" DELETE FROM @.sayiir_workflow_ready AS r WHERE r.instance_id = $1",
	.expected = SPI_OK_DELETE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

/*
 * ready_put_task puts a task into the queue, after ending the claim if so told,
 * unless a claim stays or a signal is pending.  Returns whether it was put.
 */
bool
ready_put_task(PlanCall *call, const ReadyTask *task, bool end_claim)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(task->instance_id)),
		plan_arg(task->definition_hash),
		plan_arg(task->task_tags),
		plan_arg(task->task_priority),
		plan_arg(task->ready_at),
		plan_arg(BoolGetDatum(end_claim)),
	};

	return plan_run(call, &put_task, args) > 0;
}

/*
 * ready_has_task tells whether a task is in the queue, in a place where it is
 * found as soon as it is to be.  There is no claim and no pending signal then.
 */
bool
ready_has_task(PlanCall *call, const ReadyTask *task)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(task->instance_id)),
		plan_arg(task->definition_hash),
		plan_arg(task->task_tags),
		plan_arg(task->task_priority),
		plan_arg(task->ready_at),
	};

	return plan_run(call, &find_task, args) > 0;
}

/*
 * ready_requeue gives an instance that is in the queue its place by this
 * instant.
 */
void
ready_requeue(PlanCall *call, text *instance_id, TimestampTz ready_at)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(TimestampTzGetDatum(ready_at)),
	};

	plan_run(call, &requeue, args);
}

/*
 * ready_refresh brings the row of an instance up to what the tables say, and
 * tells whether there is one.
 */
bool
ready_refresh(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	return plan_run(call, &refresh, args) > 0;
}

/*
 * ready_give_back ends the claims of instances, whose snapshot and claim rows
 * the caller has locked, and puts what can be claimed back into the queue.
 */
void
ready_give_back(PlanCall *call, Datum instance_ids)
{
	NullableDatum args[] = {plan_arg(instance_ids)};

	plan_run(call, &give_back, args);
}

/*
 * ready_end_claim ends the claim of an instance that is paused, and the request
 * to pause it, and takes it out of the queue.
 */
void
ready_end_claim(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &end_claim, args);
}

/*
 * ready_forget drops claim, signals and row of an instance that has ended.
 */
void
ready_forget(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &forget, args);
}
