/*-------------------------------------------------------------------------
 *
 * snapshot_row.c
 *		The snapshot row of an instance, on which everything serializes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "compat.h"
#include "errors.h"
#include "snapshot_row.h"

static bool is_hidden(PlanCall *call, text *instance_id);
static void save_bind(const Checkpoint *save, Datum data_hash, NullableDatum *args);
static void save_written(PlanCall *call, SnapshotWritten *written);
static bool instance_read(PlanCall *call, text *instance_id, Instance *instance);

/*
 * A save moves the instance when its place changes.  $17 is the clock of this
 * call: a row that comes back with it has been moved by it.  A count that is at
 * its end becomes -1 until the save knows whether there is a task to be counted.
 */
#define SAVE_NARGS	18
#define SAVE_ARGTYPES \
	TEXTOID, TEXTOID, BYTEAOID, BYTEAOID, INT4OID, INT4OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, \
	TEXTOID, INT2OID, TEXTARRAYOID, BYTEAOID, TIMESTAMPTZOID, TEXTOID, INT8OID, TIMESTAMPTZOID

static PlanStatement update_snapshot = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s"
	" SET status = $2, definition_hash = $3, current_task_id = $4,"
	" completed_task_count = COALESCE($5, CASE"
	"  WHEN $6 = 1 AND s.completed_task_count = 2147483647 THEN -1"
	"  ELSE s.completed_task_count + $6 END),"
	" error = $7, position_kind = $8, delay_wake_at = $9, trace_parent = $10,"
	" task_priority = $11, task_tags = $12, data_hash = $13,"
	" history_version = s.history_version + 1,"
	" completed_at = $14, updated_at = now(),"
	" awaited_signal = $15, position_hash = $16,"
	" waiting_since = CASE WHEN s.current_task_id IS DISTINCT FROM $4"
	" OR s.position_kind IS DISTINCT FROM $8 OR s.delay_wake_at IS DISTINCT FROM $9"
	" OR s.awaited_signal IS DISTINCT FROM $15 OR s.position_hash IS DISTINCT FROM $16"
	" THEN $17 ELSE s.waiting_since END"
	" WHERE s.instance_id = $1"
	" AND (s.status = 'InProgress' OR s.status = 'Paused' AND $2 <> 'InProgress')"
	" AND ($18 IS NULL OR s.history_version = $18)"
	" RETURNING s.history_version, s.waiting_since = $17, s.waiting_since,"
	" s.completed_task_count < 0",
	.expected = SPI_OK_UPDATE_RETURNING,
	.serializes = true,
	.nargs = SAVE_NARGS,
	.argtypes = {SAVE_ARGTYPES, INT4OID},
};

/* Out of Paused: for the one function that may */
static PlanStatement resume_snapshot = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s SET status = 'InProgress'"
	" WHERE s.instance_id = $1",
	.expected = SPI_OK_UPDATE,
	.serializes = true,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement insert_snapshot = {
	.sql =
	"INSERT INTO @.sayiir_workflow_snapshots AS s"
	" (instance_id, status, definition_hash, current_task_id, completed_task_count,"
	" error, position_kind, delay_wake_at, trace_parent, task_priority, task_tags,"
	" data_hash, history_version, started_at, completed_at, updated_at,"
	" awaited_signal, position_hash, waiting_since)"
	" VALUES ($1, $2, $3, $4, COALESCE($5, $6), $7, $8, $9, $10, $11, $12, $13, 1,"
	" now(), $14, now(), $15, $16, $17)"
	" ON CONFLICT (instance_id) DO NOTHING"
	" RETURNING s.history_version, true, s.waiting_since, false",
	.expected = SPI_OK_INSERT_RETURNING,
	.serializes = true,
	.nargs = SAVE_NARGS - 1,
	.argtypes = {SAVE_ARGTYPES},
};

/* The last completed task had been completed before, and was counted then */
static PlanStatement uncount_task = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s"
	" SET completed_task_count = CASE WHEN s.completed_task_count < 0 THEN 2147483647"
	"  ELSE s.completed_task_count - 1 END"
	" WHERE s.instance_id = $1",
	.expected = SPI_OK_UPDATE,
	.serializes = true,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement add_result = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s"
	" SET completed_task_count = s.completed_task_count + $2,"
	" data_hash = COALESCE($3, s.data_hash),"
	" history_version = s.history_version + 1, updated_at = now()"
	" WHERE s.instance_id = $1"
	" RETURNING s.history_version",
	.expected = SPI_OK_UPDATE_RETURNING,
	.serializes = true,
	.nargs = 3,
	.argtypes = {TEXTOID, INT4OID, BYTEAOID},
};

/* The columns that instance_read takes */
#define INSTANCE_COLUMNS \
	"SELECT s.status, s.history_version, s.data_hash, s.definition_hash, s.current_task_id," \
	" s.error, s.position_kind, s.delay_wake_at, s.trace_parent, s.task_priority, s.task_tags," \
	" s.awaited_signal, s.position_hash, s.completed_task_count, s.waiting_since" \
	" FROM @.sayiir_workflow_snapshots AS s" \
	" WHERE s.instance_id = $1"

static PlanStatement lock_snapshot = {
	.sql = INSTANCE_COLUMNS " FOR NO KEY UPDATE OF s",
	.expected = SPI_OK_SELECT,
	.serializes = true,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement try_lock_snapshot = {
	.sql = INSTANCE_COLUMNS " FOR NO KEY UPDATE OF s SKIP LOCKED",
	.expected = SPI_OK_SELECT,
	.serializes = true,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement find_snapshot = {
	.sql =
	"SELECT true FROM @.sayiir_workflow_snapshots AS s WHERE s.instance_id = $1",
	.expected = SPI_OK_SELECT,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement delay_snapshot = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s SET delay_wake_at = $2"
	" WHERE s.instance_id = $1",
	.expected = SPI_OK_UPDATE,
	.serializes = true,
	.nargs = 2,
	.argtypes = {TEXTOID, TIMESTAMPTZOID},
};

static PlanStatement prune_snapshot = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s SET oldest_version = $2"
	" WHERE s.instance_id = $1",
	.expected = SPI_OK_UPDATE,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

static PlanStatement delete_snapshot = {
	.sql =
	"DELETE FROM @.sayiir_workflow_snapshots AS s WHERE s.instance_id = $1",
	.expected = SPI_OK_DELETE,
	.serializes = true,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

/*
 * snapshot_row_update updates the row by a save, if it is there and nothing
 * stands against it: it has not ended, is not to be resumed out of Paused, and
 * has the expected version.
 */
bool
snapshot_row_update(PlanCall *call, const Checkpoint *save, Datum data_hash,
					SnapshotWritten *written)
{
	NullableDatum args[SAVE_NARGS];

	if (save->expected_version == 0)
		return false;			/* it must not be there */

	save_bind(save, data_hash, args);
	if (plan_run(call, &update_snapshot, args) == 0)
		return false;
	save_written(call, written);
	return true;
}

/*
 * snapshot_row_resume makes a paused row one in progress, for the save that
 * follows in the same call.
 */
void
snapshot_row_resume(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &resume_snapshot, args);
}

/*
 * snapshot_row_insert inserts the row by a save if there is none, after waiting
 * for another session that is about to insert it.
 */
bool
snapshot_row_insert(PlanCall *call, const Checkpoint *save, Datum data_hash,
					SnapshotWritten *written)
{
	NullableDatum args[SAVE_NARGS];

	save_bind(save, data_hash, args);
	if (plan_run(call, &insert_snapshot, args) == 0)
		return false;
	save_written(call, written);
	return true;
}

/*
 * snapshot_row_uncount takes back the task that a save counted too much.
 */
void
snapshot_row_uncount(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &uncount_task, args);
}

/*
 * snapshot_row_add_result makes the next version of a locked row, with another
 * hash or the same, and returns it.
 */
int
snapshot_row_add_result(PlanCall *call, text *instance_id, bool count,
						NullableDatum data_hash)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(count ? 1 : 0)),
		data_hash,
	};

	if (plan_run(call, &add_result, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_snapshots");
	return DatumGetInt32(plan_value(call, 0, 1).value);
}

/*
 * snapshot_row_lock locks the row and reads it, after waiting for whoever has
 * it.  Returns false when there is none.
 */
bool
snapshot_row_lock(PlanCall *call, text *instance_id, Instance *instance)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	/* The second look is for a row that was replaced while we waited for it */
	if (plan_run(call, &lock_snapshot, args) == 0 &&
		plan_run(call, &lock_snapshot, args) == 0)
		return is_hidden(call, instance_id);
	return instance_read(call, instance_id, instance);
}

/*
 * snapshot_row_try_lock is snapshot_row_lock without waiting: it returns false
 * also when somebody else has the row.
 */
bool
snapshot_row_try_lock(PlanCall *call, text *instance_id, Instance *instance)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	if (plan_run(call, &try_lock_snapshot, args) == 0)
		return false;
	return instance_read(call, instance_id, instance);
}

/*
 * snapshot_row_exists tells whether there is such an instance, without a lock.
 */
bool
snapshot_row_exists(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	return plan_run(call, &find_snapshot, args) > 0;
}

/*
 * snapshot_row_pruned says of a locked row from which version on the history is
 * kept.
 */
void
snapshot_row_pruned(PlanCall *call, text *instance_id, int oldest_version)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(oldest_version)),
	};

	if (plan_run(call, &prune_snapshot, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_snapshots");
}

/*
 * snapshot_row_delay sets the instant before which a locked instance is not to
 * go on.  That is no version: nothing of the workflow has changed.
 */
void
snapshot_row_delay(PlanCall *call, text *instance_id, Datum until)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(until),
	};

	plan_run(call, &delay_snapshot, args);
}

/*
 * snapshot_row_delete deletes the row, after waiting for whoever has it.
 * Returns false when there is none.
 */
bool
snapshot_row_delete(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	/* The second look is for a row that was replaced while we waited for it */
	return plan_run(call, &delete_snapshot, args) > 0 ||
		plan_run(call, &delete_snapshot, args) > 0 ||
		is_hidden(call, instance_id);
}

/*
 * is_hidden returns false for a row that was not found: above READ COMMITTED it
 * may be there, made after the snapshot of the transaction, which is 40001.
 */
static bool
is_hidden(PlanCall *call, text *instance_id)
{
	if (IsolationUsesXactSnapshot() && snapshot_row_exists(call, instance_id))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update"),
				 errdetail("Workflow instance \"%s\" was created after the transaction began.",
						   text_to_cstring(instance_id)),
				 errhint("The transaction might succeed if retried.")));
	return false;
}

/*
 * save_bind gives the arguments that the two statements of a save share.
 */
static void
save_bind(const Checkpoint *save, Datum data_hash, NullableDatum *args)
{
	int			n = 0;

	args[n++] = plan_arg(PointerGetDatum(save->instance_id));
	args[n++] = plan_arg(CStringGetTextDatum(status_name(save->status)));
	args[n++] = plan_arg(save->definition_hash);
	args[n++] = save->current_task_id;
	args[n++] = save->completed_task_count;
	/* counted before it is known to be new, see save_tasks() */
	args[n++] = plan_arg(Int32GetDatum(save->last_task_id.isnull ? 0 : 1));
	args[n++] = save->error;
	args[n++] = save->position_kind;
	args[n++] = save->delay_wake_at;
	args[n++] = save->trace_parent;
	args[n++] = plan_arg(save->task_priority);
	args[n++] = plan_arg(PointerGetDatum(save->task_tags));
	args[n++] = plan_arg(data_hash);
	args[n++] = status_is_terminal(save->status) ?
		plan_arg(TimestampTzGetDatum(GetCurrentTransactionStartTimestamp())) : plan_null();
	args[n++] = save->awaited_signal;
	args[n++] = save->position_hash;
	args[n++] = plan_arg(TimestampTzGetDatum(GetCurrentTimestamp()));
	args[n++] = save->expected_version == VERSION_NOT_EXPECTED ?
		plan_null() : plan_arg(Int32GetDatum(save->expected_version));
	Assert(n == SAVE_NARGS);
}

/*
 * save_written reads what the two statements of a save return.
 */
static void
save_written(PlanCall *call, SnapshotWritten *written)
{
	written->version = DatumGetInt32(plan_value(call, 0, 1).value);
	written->moved = DatumGetBool(plan_value(call, 0, 2).value);
	written->waiting_since = plan_value(call, 0, 3).value;
	written->count_is_full = DatumGetBool(plan_value(call, 0, 4).value);
}

/*
 * instance_read reads the columns of INSTANCE_COLUMNS, in SPI's memory.
 */
static bool
instance_read(PlanCall *call, text *instance_id, Instance *instance)
{
	text	   *status = DatumGetTextPP(plan_value(call, 0, 1).value);
	int			n = 2;

	instance->instance_id = instance_id;
	if (!status_parse(VARDATA_ANY(status), VARSIZE_ANY_EXHDR(status), &instance->status))
		elog(ERROR, "unknown status in sayiir_workflow_snapshots");
	instance->version = DatumGetInt32(plan_value(call, 0, n++).value);
	instance->data_hash = plan_value(call, 0, n++).value;
	instance->definition_hash = plan_value(call, 0, n++).value;
	instance->current_task_id = plan_value(call, 0, n++);
	instance->error = plan_value(call, 0, n++);
	instance->position_kind = plan_value(call, 0, n++);
	instance->delay_wake_at = plan_value(call, 0, n++);
	instance->trace_parent = plan_value(call, 0, n++);
	instance->task_priority = plan_value(call, 0, n++).value;
	instance->task_tags = plan_value(call, 0, n++).value;
	instance->awaited_signal = plan_value(call, 0, n++);
	instance->position_hash = plan_value(call, 0, n++);
	instance->completed_task_count = DatumGetInt32(plan_value(call, 0, n++).value);
	instance->waiting_since = DatumGetTimestampTz(plan_value(call, 0, n++).value);
	return true;
}
