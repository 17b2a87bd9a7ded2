/*-------------------------------------------------------------------------
 *
 * checkpoint.c
 *		One new version of an instance: the one writer of the snapshot,
 *		history and task rows.
 *
 * Invariants, after every commit:
 *	I1	the versions of an instance are 1..N without a hole, or what retention.c
 *		has left of them, M..N, and its snapshot row says M and N;
 *	I2	data_hash is the SHA-256 of data, and status and data_hash of the
 *		snapshot row are those of version N;
 *	I3	no history or task row without a snapshot row; an ended instance has
 *		completed_at and no active task;
 *	I4	an ended instance never changes again, but it can be deleted;
 *	I5	no claim or signal without a snapshot row, none of an ended instance,
 *		no claim of a paused one, and a claim is for the current task;
 *	I6	what can be claimed has a row in the queue, and nothing else (ready.c).
 *
 * Everything that changes an instance first updates, locks, inserts or
 * deletes its snapshot row, then its claim, history, tasks, signals, events and
 * its place in the queue.  So writers of an instance come one after the other,
 * in the same order of locks, and under READ COMMITTED each statement that
 * follows sees what the one before it in the queue has committed.  Above READ
 * COMMITTED a writer that had to wait fails with 40001.
 *
 * The usual save does not read first: its UPDATE carries the conditions under
 * which it may happen.  Only when it found no row is the instance looked at,
 * under lock, to tell why, in the order of the contract: a recognized repeat,
 * ended, claim, state, version.  A save under a claim has to look first: whose
 * the claim is can change while it waits for the row, without the row changing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "checkpoint.h"
#include "claim_row.h"
#include "digest.h"
#include "errors.h"
#include "event_row.h"
#include "history.h"
#include "ready.h"
#include "signal_row.h"
#include "snapshot_row.h"
#include "task_row.h"
#include "wakeup.h"

/*
 * An instance that other sessions delete and create all the time can make a
 * save start over; a trigger that swallows the row would do so for ever.
 */
#define SAVE_MAX_ATTEMPTS	1000

static bool save_is_settled(PlanCall *call, const Checkpoint *save, Datum data_hash,
							const Instance *instance, CheckpointOutcome *outcome);
static void save_version(PlanCall *call, const Checkpoint *save, Datum data_hash,
						 const SnapshotWritten *written);
static void save_tasks(PlanCall *call, const Checkpoint *save,
					   const SnapshotWritten *written);
static void save_place(PlanCall *call, const Checkpoint *save,
					   const SnapshotWritten *written);

/*
 * checkpoint_init makes everything of a save NULL, or its default.
 */
void
checkpoint_init(Checkpoint *save)
{
	memset(save, 0, sizeof(Checkpoint));
	save->current_task_id = plan_null();
	save->completed_task_count = plan_null();
	save->error = plan_null();
	save->position_kind = plan_null();
	save->delay_wake_at = plan_null();
	save->trace_parent = plan_null();
	save->awaited_signal = plan_null();
	save->position_hash = plan_null();
	save->last_task_id = plan_null();
	save->last_output = plan_null();
	save->expected_version = VERSION_NOT_EXPECTED;
	save->claim_token = plan_null();
	save->claim = CLAIM_ENDS_WITH_MOVE;
	save->claim_worker = plan_null();
	save->claim_expires_at = plan_null();
}

/*
 * checkpoint_save writes the next version of an instance, or its first.
 *
 * The outcome is the version written; for a recognized repeat the version that
 * the first call wrote; version 0 when the instance has ended.  Raises SY001
 * when another version than the expected one is stored, SY002 when the claim
 * token is not that of a live claim, SY003 for a save that would resume a paused
 * instance.  Locks the snapshot row until the end of the transaction.
 */
CheckpointOutcome
checkpoint_save(PlanCall *call, Checkpoint *save)
{
	Datum		data_hash = digest_of_data(save->data);
	CheckpointOutcome outcome = {0, false};
	SnapshotWritten written;
	bool		look_first = !save->claim_token.isnull;
	bool		locked = false;
	int			attempt;

	for (attempt = 0;; attempt++)
	{
		Instance	instance;

		if (!look_first || locked)
		{
			if (snapshot_row_update(call, save, data_hash, &written))
				break;
			if (save->expected_version <= 0 && !locked &&
				snapshot_row_insert(call, save, data_hash, &written))
				break;
		}

		/* Nothing stood against it when we looked, under lock */
		if (locked || attempt == SAVE_MAX_ATTEMPTS)
			error_suppressed(save->instance_id, "sayiir_workflow_snapshots");

		locked = snapshot_row_lock(call, save->instance_id, &instance);
		if (locked && save_is_settled(call, save, data_hash, &instance, &outcome))
			return outcome;
		if (!locked && !save->claim_token.isnull)
			claim_row_require(call, save->instance_id, save->claim_token.value, NULL);
		if (!locked && save->expected_version > 0)
			error_version_conflict(save->instance_id, save->expected_version, 0);
		CHECK_FOR_INTERRUPTS();
	}
	outcome.version = written.version;
	outcome.written = true;

	save_version(call, save, data_hash, &written);
	return outcome;
}

/*
 * checkpoint_create writes the first version of an instance.  Returns false, and
 * writes nothing, when there is one of this id, also when another session was
 * about to create it.
 */
bool
checkpoint_create(PlanCall *call, Checkpoint *save)
{
	Datum		data_hash = digest_of_data(save->data);
	SnapshotWritten written;

	if (!snapshot_row_insert(call, save, data_hash, &written))
		return false;
	save_version(call, save, data_hash, &written);
	return true;
}

/*
 * checkpoint_lock locks the snapshot row of an instance and reads it.  Returns
 * false when there is none.
 */
bool
checkpoint_lock(PlanCall *call, text *instance_id, Instance *instance)
{
	return snapshot_row_lock(call, instance_id, instance);
}

/*
 * checkpoint_try_lock is checkpoint_lock without waiting: it returns false also
 * when somebody else has the row.
 */
bool
checkpoint_try_lock(PlanCall *call, text *instance_id, Instance *instance)
{
	return snapshot_row_try_lock(call, instance_id, instance);
}

/*
 * checkpoint_check_version raises SY001 unless the instance has the expected
 * version, if one is expected: the last of the checks of every write.
 */
void
checkpoint_check_version(const Instance *instance, int expected)
{
	if (expected != VERSION_NOT_EXPECTED && expected != instance->version)
		error_version_conflict(instance->instance_id, expected, instance->version);
}

/*
 * checkpoint_of_instance fills a save that would change nothing, but for the
 * snapshot itself, which the caller gives.
 */
void
checkpoint_of_instance(const Instance *instance, Checkpoint *save)
{
	checkpoint_init(save);
	save->instance_id = instance->instance_id;
	save->status = instance->status;
	save->definition_hash = instance->definition_hash;
	save->current_task_id = instance->current_task_id;
	save->completed_task_count = plan_arg(Int32GetDatum(instance->completed_task_count));
	save->error = instance->error;
	save->position_kind = instance->position_kind;
	save->delay_wake_at = instance->delay_wake_at;
	save->trace_parent = instance->trace_parent;
	save->task_priority = instance->task_priority;
	save->task_tags = DatumGetArrayTypeP(instance->task_tags);
	save->awaited_signal = instance->awaited_signal;
	save->position_hash = instance->position_hash;
}

/*
 * checkpoint_write writes the next version of an instance that the caller has
 * locked and found to stand nothing against it, and returns the version.
 */
int
checkpoint_write(PlanCall *call, Checkpoint *save)
{
	Datum		data_hash = digest_of_data(save->data);
	SnapshotWritten written;

	save->expected_version = VERSION_NOT_EXPECTED;
	if (!snapshot_row_update(call, save, data_hash, &written))
		error_suppressed(save->instance_id, "sayiir_workflow_snapshots");
	save_version(call, save, data_hash, &written);
	return written.version;
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
	HistoryVersion next;

	next.status = instance->status;
	next.current_task_id = instance->current_task_id;
	if (!data.isnull)
		next.data_hash = digest_of_data(data.value);

	next.version = snapshot_row_add_result(call, instance->instance_id, count,
										   data.isnull ? plan_null() : plan_arg(next.data_hash));
	if (data.isnull)
		history_carry(call, instance->instance_id, instance->version, next.version);
	else
		history_append(call, instance->instance_id, &next, data.value);

	task_row_complete(call, instance->instance_id, task_id, plan_arg(output), next.version);
	return next.version;
}

/*
 * checkpoint_wake brings a locked instance that nobody holds any more back into
 * the queue, and tells listeners if it can be claimed.
 */
void
checkpoint_wake(PlanCall *call, const Instance *instance)
{
	if (ready_refresh(call, instance->instance_id))
		wakeup_ready(instance->instance_id, instance->current_task_id,
					 instance->definition_hash, DatumGetArrayTypeP(instance->task_tags));
}

/*
 * checkpoint_prune deletes the versions of a locked instance up to this one,
 * which is not its newest, and returns how many they were: 0 when what is stored
 * of them is corrupted and later ones need it.
 */
int64
checkpoint_prune(PlanCall *call, text *instance_id, int version)
{
	int64		cut = history_cut(call, instance_id, version);

	if (cut > 0)
		snapshot_row_pruned(call, instance_id, version + 1);
	return cut;
}

/*
 * checkpoint_delete deletes an instance and all that hangs on it.  Returns
 * false when there is none.
 *
 * The snapshot row goes first: a save that is under way holds it, and what it
 * adds to the other tables is committed, and seen, before it is deleted.
 */
bool
checkpoint_delete(PlanCall *call, text *instance_id)
{
	if (!snapshot_row_delete(call, instance_id))
		return false;
	ready_forget(call, instance_id);
	history_delete(call, instance_id);
	task_row_delete_all(call, instance_id);
	event_row_delete_all(call, instance_id);
	return true;
}

/*
 * save_is_settled tells whether the save is a repeat, or came too late, and
 * then gives its outcome; raises an error if anything else stands against it.
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

	if (!save->claim_token.isnull)
		claim_row_require(call, save->instance_id, save->claim_token.value, NULL);

	if (save->status == STATUS_IN_PROGRESS && instance->status == STATUS_PAUSED)
		error_paused(save->instance_id);

	checkpoint_check_version(instance, save->expected_version);
	return false;
}

/*
 * save_version writes what belongs to a version beside the snapshot row.
 */
static void
save_version(PlanCall *call, const Checkpoint *save, Datum data_hash,
			 const SnapshotWritten *written)
{
	HistoryVersion next;

	next.version = written->version;
	next.status = save->status;
	next.current_task_id = save->current_task_id;
	next.data_hash = data_hash;
	history_append(call, save->instance_id, &next, save->data);
	save_tasks(call, save, written);
	save_place(call, save, written);
}

/*
 * save_tasks brings the task rows up to a save that has just been written.
 *
 * A caller that leaves the count to us had its last completed task counted by
 * the update of the snapshot row, so that the usual save needs no other
 * statement for it; the count is put right when the task was not a new one.
 */
static void
save_tasks(PlanCall *call, const Checkpoint *save, const SnapshotWritten *written)
{
	int			version = written->version;
	bool		just_completed = false;

	if (save->tasks_of != NULL)
		task_row_copy(call, save->tasks_of, save->tasks_version, save->instance_id, version);
	if (save->noutputs > 0)
		task_row_complete_all(call, save->instance_id, save->outputs, save->noutputs, version);

	if (!save->last_task_id.isnull)
	{
		bool		newly;

		newly = task_row_complete(call, save->instance_id, save->last_task_id.value,
								  save->last_output, version);
		if (newly && written->count_is_full)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("completed_task_count of workflow instance \"%s\" is out of range",
							text_to_cstring(save->instance_id)),
					 errhint("Give completed_task_count with the save.")));
		if (!newly && save->completed_task_count.isnull)
			snapshot_row_uncount(call, save->instance_id);
		just_completed = digest_equal_or_null(save->last_task_id, save->current_task_id);
	}

	if (status_is_terminal(save->status))
		task_row_close_all(call, save->instance_id, save->status, save->error, version);
	else if (!save->current_task_id.isnull && !just_completed)
		task_row_activate(call, save->instance_id, save->current_task_id.value,
						  save->claim_worker);
}

/*
 * save_place settles what others may do with the instance after a save: its
 * claim, its place in the queue, and the hint.
 */
static void
save_place(PlanCall *call, const Checkpoint *save, const SnapshotWritten *written)
{
	bool		end_claim = save->claim == CLAIM_ENDS_WITH_MOVE ?
		written->moved : save->claim != CLAIM_GOES_ON;
	bool		ready;

	if (status_is_terminal(save->status))
	{
		ready_forget(call, save->instance_id);
		return;
	}
	if (save->status == STATUS_PAUSED)
	{
		ready_end_claim(call, save->instance_id);
		return;
	}
	if (save->claim == CLAIM_GOES_ON)
	{
		claim_row_move(call, save->instance_id, save->current_task_id.value,
					   save->claim_expires_at);
		return;
	}
	if (save->claim == CLAIM_ENDS_QUIETLY)
	{
		claim_row_delete(call, save->instance_id);
		return;
	}

	if (!save->current_task_id.isnull)
	{
		ReadyTask	task;
		TimestampTz since = DatumGetTimestampTz(written->waiting_since);

		task.instance_id = save->instance_id;
		task.definition_hash = save->definition_hash;
		task.task_tags = PointerGetDatum(save->task_tags);
		task.task_priority = save->task_priority;
		if (!save->delay_wake_at.isnull)
			since = Max(since, DatumGetTimestampTz(save->delay_wake_at.value));
		task.ready_at = TimestampTzGetDatum(since);

		/* Without a claim, an instance at a task is in the queue since its last save */
		ready = written->version > 1 && save->claim_token.isnull &&
			save->claim == CLAIM_ENDS_WITH_MOVE && save->delay_wake_at.isnull &&
			ready_has_task(call, &task);
		if (!ready)
			ready = ready_put_task(call, &task, end_claim);
		if (!ready && !claim_row_is_held(call, save->instance_id))
		{
			/* A pending signal needs a worker too, to be applied */
			signal_row_let_go(call, save->instance_id);
			ready = true;
		}
	}
	else
	{
		if (end_claim)
		{
			claim_row_delete(call, save->instance_id);
			signal_row_let_go(call, save->instance_id);
		}
		if (!save->awaited_signal.isnull)
			(void) event_row_lock(save->instance_id, EVENT_PARKER);
		ready = ready_refresh(call, save->instance_id) && !save->awaited_signal.isnull &&
			event_row_exists(call, save->instance_id, save->awaited_signal.value);
	}
	if (ready && !save->quiet)
		wakeup_ready(save->instance_id, save->current_task_id, save->definition_hash,
					 save->task_tags);
}
