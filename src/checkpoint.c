/*-------------------------------------------------------------------------
 *
 * checkpoint.c
 *		One new version of an instance: the one writer of the snapshot,
 *		history and task rows.
 *
 * Invariants, after every commit:
 *	I1	the versions of an instance are 1..N without a hole, and its snapshot
 *		row says N;
 *	I2	data_hash is the SHA-256 of data, and status and data_hash of the
 *		snapshot row are those of version N;
 *	I3	no history or task row without a snapshot row; an ended instance has
 *		completed_at and no active task;
 *	I4	an ended instance never changes again, but it can be deleted.
 *
 * Everything that changes an instance first updates, locks, inserts or
 * deletes its snapshot row, then its history, then its tasks.  So writers of
 * an instance come one after the other, in the same order of locks, and under
 * READ COMMITTED each statement that follows sees what the one before it in
 * the queue has committed.  Above READ COMMITTED a writer that had to wait
 * fails with 40001.
 *
 * The usual save does not read first: its UPDATE carries the conditions under
 * which it may happen.  Only when it found no row is the instance looked at,
 * under lock, to tell why, in the order of the contract: a recognized repeat,
 * ended, wrong version.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "checkpoint.h"
#include "digest.h"
#include "errors.h"
#include "history.h"
#include "task_row.h"

/*
 * An instance that other sessions delete and create all the time can make a
 * save start over; a trigger that swallows the row would do so for ever.
 */
#define SAVE_MAX_ATTEMPTS	1000

static int	save_update(PlanCall *call, const Checkpoint *save, Datum data_hash);
static int	save_insert(PlanCall *call, const Checkpoint *save, Datum data_hash);
static bool save_is_settled(PlanCall *call, const Checkpoint *save, Datum data_hash,
							const Instance *instance, CheckpointOutcome *outcome);
static void save_version(PlanCall *call, const Checkpoint *save, Datum data_hash, int version);
static void save_tasks(PlanCall *call, const Checkpoint *save, int version);

#define SAVE_NARGS	16

static PlanStatement update_snapshot = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s"
	" SET status = $2, definition_hash = $3, current_task_id = $4,"
	" completed_task_count = COALESCE($5, s.completed_task_count + $6),"
	" error = $7, position_kind = $8, delay_wake_at = $9, trace_parent = $10,"
	" task_priority = $11, task_tags = $12, data_hash = $13,"
	" history_version = s.history_version + 1,"
	" completed_at = $14, updated_at = now()"
	" WHERE s.instance_id = $1"
	" AND s.status IN ('InProgress', 'Paused')"
	" AND ($15 IS NULL OR s.history_version = $15)"
	" RETURNING s.history_version",
	.expected = SPI_OK_UPDATE_RETURNING,
	.nargs = 15,
	.argtypes = {TEXTOID, TEXTOID, BYTEAOID, BYTEAOID, INT4OID, INT4OID, TEXTOID, TEXTOID,
	TIMESTAMPTZOID, TEXTOID, INT2OID, TEXTARRAYOID, BYTEAOID, TIMESTAMPTZOID, INT4OID},
};

static PlanStatement insert_snapshot = {
	.sql =
	"INSERT INTO @.sayiir_workflow_snapshots"
	" (instance_id, status, definition_hash, current_task_id, completed_task_count,"
	" error, position_kind, delay_wake_at, trace_parent, task_priority, task_tags,"
	" data_hash, history_version, started_at, completed_at, updated_at)"
	" VALUES ($1, $2, $3, $4, COALESCE($5, $6), $7, $8, $9, $10, $11, $12, $13, 1,"
	" now(), $14, now())"
	" ON CONFLICT (instance_id) DO NOTHING"
	" RETURNING history_version",
	.expected = SPI_OK_INSERT_RETURNING,
	.nargs = 14,
	.argtypes = {TEXTOID, TEXTOID, BYTEAOID, BYTEAOID, INT4OID, INT4OID, TEXTOID, TEXTOID,
	TIMESTAMPTZOID, TEXTOID, INT2OID, TEXTARRAYOID, BYTEAOID, TIMESTAMPTZOID},
};

/* The last completed task had been completed before, and was counted then */
static PlanStatement uncount_task = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s"
	" SET completed_task_count = s.completed_task_count - 1"
	" WHERE s.instance_id = $1",
	.expected = SPI_OK_UPDATE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement advance_version = {
	.sql =
	"UPDATE @.sayiir_workflow_snapshots AS s"
	" SET completed_task_count = s.completed_task_count + $2,"
	" data_hash = COALESCE($3, s.data_hash),"
	" history_version = s.history_version + 1, updated_at = now()"
	" WHERE s.instance_id = $1"
	" RETURNING s.history_version",
	.expected = SPI_OK_UPDATE_RETURNING,
	.nargs = 3,
	.argtypes = {TEXTOID, INT4OID, BYTEAOID},
};

static PlanStatement lock_snapshot = {
	.sql =
	"SELECT s.status, s.history_version, s.data_hash, s.current_task_id, s.trace_parent"
	" FROM @.sayiir_workflow_snapshots AS s"
	" WHERE s.instance_id = $1"
	" FOR NO KEY UPDATE OF s",
	.expected = SPI_OK_SELECT,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement delete_snapshot = {
	.sql =
	"DELETE FROM @.sayiir_workflow_snapshots AS s WHERE s.instance_id = $1",
	.expected = SPI_OK_DELETE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

/*
 * checkpoint_save writes the next version of an instance, or its first.
 *
 * The outcome is the version written; for a recognized repeat the version that
 * the first call wrote; version 0 when the instance has ended.  Raises SY001
 * when another version than the expected one is stored.  Locks the snapshot
 * row until the end of the transaction.
 */
CheckpointOutcome
checkpoint_save(PlanCall *call, Checkpoint *save)
{
	Datum		data_hash = digest_of_data(save->data);
	CheckpointOutcome outcome = {0, false};
	bool		locked = false;
	int			attempt;

	for (attempt = 0; outcome.version == 0; attempt++)
	{
		Instance	instance;

		outcome.version = save_update(call, save, data_hash);
		if (outcome.version == 0 && save->expected_version <= 0 && !locked)
			outcome.version = save_insert(call, save, data_hash);
		if (outcome.version != 0)
			break;

		/* Nothing stood against it when we looked, under lock */
		if (locked || attempt == SAVE_MAX_ATTEMPTS)
			error_suppressed(save->instance_id, "sayiir_workflow_snapshots");

		locked = checkpoint_lock(call, save->instance_id, &instance);
		if (locked && save_is_settled(call, save, data_hash, &instance, &outcome))
			return outcome;
		if (!locked && save->expected_version > 0)
			error_version_conflict(save->instance_id, save->expected_version, 0);
		CHECK_FOR_INTERRUPTS();
	}
	outcome.written = true;

	save_version(call, save, data_hash, outcome.version);
	return outcome;
}

/*
 * checkpoint_lock locks the snapshot row of an instance and reads it.  Returns
 * false when there is none.
 */
bool
checkpoint_lock(PlanCall *call, text *instance_id, Instance *instance)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};
	text	   *status;

	/* The second look is for a row that was replaced while we waited for it */
	if (plan_run(call, &lock_snapshot, args) == 0 &&
		plan_run(call, &lock_snapshot, args) == 0)
		return false;

	instance->instance_id = instance_id;
	status = DatumGetTextPP(plan_value(call, 0, 1).value);
	if (!status_parse(VARDATA_ANY(status), VARSIZE_ANY_EXHDR(status), &instance->status))
		elog(ERROR, "unknown status in sayiir_workflow_snapshots");
	instance->version = DatumGetInt32(plan_value(call, 0, 2).value);
	instance->data_hash = plan_value(call, 0, 3).value;
	instance->current_task_id = plan_value(call, 0, 4);
	instance->trace_parent = plan_value(call, 0, 5);
	return true;
}

/*
 * checkpoint_write writes the next version of a locked instance that has not
 * ended, and returns it.
 */
int
checkpoint_write(PlanCall *call, const Instance *instance, Checkpoint *save)
{
	Datum		data_hash = digest_of_data(save->data);
	int			version;

	Assert(!status_is_terminal(instance->status));
	save->expected_version = VERSION_NOT_EXPECTED;
	version = save_update(call, save, data_hash);
	if (version == 0)
		error_suppressed(save->instance_id, "sayiir_workflow_snapshots");
	save_version(call, save, data_hash, version);
	return version;
}

/*
 * checkpoint_add_result writes the next version of a locked instance that has
 * not ended, in which nothing but the output of a task is new, and returns it.
 * The snapshot stays, or is replaced by data.  The task is counted or not.
 */
int
checkpoint_add_result(PlanCall *call, const Instance *instance, NullableDatum data,
					  bool count, Datum task_id, Datum output)
{
	NullableDatum args[3];
	HistoryVersion next;

	next.status = instance->status;
	next.current_task_id = instance->current_task_id;
	if (!data.isnull)
		next.data_hash = digest_of_data(data.value);

	args[0] = plan_arg(PointerGetDatum(instance->instance_id));
	args[1] = plan_arg(Int32GetDatum(count ? 1 : 0));
	args[2] = data.isnull ? plan_null() : plan_arg(next.data_hash);
	if (plan_run(call, &advance_version, args) != 1)
		error_suppressed(instance->instance_id, "sayiir_workflow_snapshots");
	next.version = DatumGetInt32(plan_value(call, 0, 1).value);

	if (data.isnull)
		history_carry(call, instance->instance_id, instance->version, next.version);
	else
		history_append(call, instance->instance_id, &next, data.value);

	task_row_complete(call, instance->instance_id, task_id, plan_arg(output), next.version);
	return next.version;
}

/*
 * checkpoint_delete deletes an instance and all that hangs on it.  Returns
 * false when there is none.
 *
 * The snapshot row goes first: a save that is under way holds it, and what it
 * adds to history and tasks is committed, and seen, before they are deleted.
 */
bool
checkpoint_delete(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	/* The second look is for a row that was replaced while we waited for it */
	if (plan_run(call, &delete_snapshot, args) == 0 &&
		plan_run(call, &delete_snapshot, args) == 0)
		return false;
	history_delete(call, instance_id);
	task_row_delete_all(call, instance_id);
	return true;
}

/*
 * save_bind gives the arguments that the two statements of a save share.
 */
static void
save_bind(const Checkpoint *save, Datum data_hash, NullableDatum *args)
{
	args[0] = plan_arg(PointerGetDatum(save->instance_id));
	args[1] = plan_arg(CStringGetTextDatum(status_name(save->status)));
	args[2] = plan_arg(save->definition_hash);
	args[3] = save->current_task_id;
	args[4] = save->completed_task_count;
	/* counted before it is known to be new, see save_tasks() */
	args[5] = plan_arg(Int32GetDatum(save->last_task_id.isnull ? 0 : 1));
	args[6] = save->error;
	args[7] = save->position_kind;
	args[8] = save->delay_wake_at;
	args[9] = save->trace_parent;
	args[10] = plan_arg(save->task_priority);
	args[11] = plan_arg(PointerGetDatum(save->task_tags));
	args[12] = plan_arg(data_hash);
	args[13] = status_is_terminal(save->status) ?
		plan_arg(TimestampTzGetDatum(GetCurrentTransactionStartTimestamp())) : plan_null();
	args[14] = save->expected_version == VERSION_NOT_EXPECTED ?
		plan_null() : plan_arg(Int32GetDatum(save->expected_version));
}

/*
 * save_update updates the snapshot row if it is there and nothing stands
 * against it.  Returns the new version, else 0.
 */
static int
save_update(PlanCall *call, const Checkpoint *save, Datum data_hash)
{
	NullableDatum args[SAVE_NARGS];

	if (save->expected_version == 0)
		return 0;				/* it must not be there */

	save_bind(save, data_hash, args);
	if (plan_run(call, &update_snapshot, args) == 0)
		return 0;
	return DatumGetInt32(plan_value(call, 0, 1).value);
}

/*
 * save_insert inserts the snapshot row if there is none, after waiting for
 * another session that is about to insert it.  Returns the version, else 0.
 */
static int
save_insert(PlanCall *call, const Checkpoint *save, Datum data_hash)
{
	NullableDatum args[SAVE_NARGS];

	save_bind(save, data_hash, args);
	if (plan_run(call, &insert_snapshot, args) == 0)
		return 0;
	return DatumGetInt32(plan_value(call, 0, 1).value);
}

/*
 * save_is_settled tells whether the save is a repeat, or came too late, and
 * then gives its outcome; raises SY001 for a wrong version.
 */
static bool
save_is_settled(PlanCall *call, const Checkpoint *save, Datum data_hash,
				const Instance *instance, CheckpointOutcome *outcome)
{
	bool		terminal = status_is_terminal(instance->status);
	HistoryVersion written;

	outcome->written = false;

	if (terminal && instance->status == save->status &&
		digest_equal(instance->data_hash, data_hash))
	{
		outcome->version = instance->version;
		return true;
	}

	if (save->expected_version != VERSION_NOT_EXPECTED &&
		save->expected_version < instance->version &&
		history_find(call, save->instance_id, save->expected_version + 1, &written) &&
		written.status == save->status &&
		digest_equal(written.data_hash, data_hash) &&
		digest_equal_or_null(written.current_task_id, save->current_task_id))
	{
		outcome->version = written.version;
		return true;
	}

	if (terminal)
	{
		outcome->version = 0;
		return true;
	}

	if (save->expected_version != VERSION_NOT_EXPECTED &&
		save->expected_version != instance->version)
		error_version_conflict(save->instance_id, save->expected_version, instance->version);

	return false;
}

/*
 * save_version writes what belongs to a version beside the snapshot row.
 */
static void
save_version(PlanCall *call, const Checkpoint *save, Datum data_hash, int version)
{
	HistoryVersion next;

	next.version = version;
	next.status = save->status;
	next.current_task_id = save->current_task_id;
	next.data_hash = data_hash;
	history_append(call, save->instance_id, &next, save->data);
	save_tasks(call, save, version);
}

/*
 * save_tasks brings the task rows up to a save that has just been written.
 *
 * A caller that leaves the count to us had its last completed task counted by
 * the update of the snapshot row, so that the usual save needs no other
 * statement for it; the count is put right when the task was not a new one.
 */
static void
save_tasks(PlanCall *call, const Checkpoint *save, int version)
{
	bool		just_completed = false;
	int			i;

	for (i = 0; i < save->noutputs; i++)
		task_row_complete(call, save->instance_id, save->outputs[i].task_id,
						  plan_arg(save->outputs[i].output), version);

	if (!save->last_task_id.isnull)
	{
		bool		newly;

		newly = task_row_complete(call, save->instance_id, save->last_task_id.value,
								  save->last_output, version);
		if (!newly && save->completed_task_count.isnull)
		{
			NullableDatum args[] = {plan_arg(PointerGetDatum(save->instance_id))};

			plan_run(call, &uncount_task, args);
		}
		just_completed = digest_equal_or_null(save->last_task_id, save->current_task_id);
	}

	if (status_is_terminal(save->status))
		task_row_close_all(call, save->instance_id, save->status, save->error, version);
	else if (!save->current_task_id.isnull && !just_completed)
		task_row_activate(call, save->instance_id, save->current_task_id.value);
}
