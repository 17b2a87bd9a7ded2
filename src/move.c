/*-------------------------------------------------------------------------
 *
 * move.c
 *		Changes that the server itself makes to a snapshot: past a delay or a
 *		signal, cancelled, paused, and on again.
 *
 * One of Sayiir's own snapshots is edited, and the columns follow from what it
 * says then.  An opaque one keeps its bytes, unless the caller brings others,
 * and only the columns say what has become of it.
 *
 * The caller has locked the instance and knows that it may be changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "compat.h"
#include "digest.h"
#include "encoding.h"
#include "errors.h"
#include "history.h"
#include "move.h"
#include "snapshot.h"
#include "snapshot_row.h"
#include "task_row.h"

/* What an edit adds to a snapshot, apart from outputs and words */
#define EDIT_MAX_BYTES	1024

static Frame *frame_to_edit(const Instance *instance, Datum data, bool stored);
static Frame *frame_or_null(const Instance *instance, Datum data);
static void save_of_edited(const Instance *instance, bytea *edited, Checkpoint *save);
static bool signal_fits(const Frame *frame, const SignalRow *signal);
static void keep_delay(const Instance *instance, Checkpoint *save);
static const char *utf8_of(NullableDatum value);
static const uint8 *hash_of(NullableDatum value);

/*
 * move_newest_data returns the stored snapshot of an instance, not detoasted.
 * Raises XX001 when it is missing.
 */
Datum
move_newest_data(PlanCall *call, const Instance *instance)
{
	HistoryVersion newest;
	Datum		data;

	if (!history_read(call, instance->instance_id, instance->version, &newest, &data))
		error_history_lost(instance->instance_id, instance->version);
	return data;
}

/*
 * move_is_parked_for tells whether an instance is in progress and waits for an
 * event of this name.
 */
bool
move_is_parked_for(const Instance *instance, Datum name)
{
	return instance->status == STATUS_IN_PROGRESS &&
		instance->current_task_id.isnull &&
		!instance->awaited_signal.isnull &&
		DatumGetBool(DirectFunctionCall2Coll(texteq, C_COLLATION_OID,
											 instance->awaited_signal.value, name));
}

/*
 * move_frame_at reads the stored snapshot, given as data, of an instance that is
 * at a place of this kind by its columns, if it is one of Sayiir's; NULL for an
 * opaque one, which is a worker's to take on.
 *
 * One that cannot be edited, or is elsewhere, raises 22P03, or, when the caller
 * is tolerant, is taken as opaque.
 */
Frame *
move_frame_at(const Instance *instance, Datum data, const char *position_kind, bool tolerant)
{
	Frame	   *frame = tolerant ? frame_or_null(instance, data) :
		frame_to_edit(instance, data, true);

	if (frame != NULL &&
		(frame->position_kind == NULL || strcmp(frame->position_kind, position_kind) != 0))
	{
		if (!tolerant)
			snapshot_refuse_stored(instance->instance_id,
								   psprintf("Inside it is not %s.", position_kind));
		return NULL;
	}
	return frame;
}

/*
 * move_fits tells whether a snapshot that is moved past its place with an output
 * of this size stays within what can be saved.  One that does not is a worker's
 * to take on.
 */
bool
move_fits(const Frame *frame, int64 output_size)
{
	/* A byte of a final output takes up to four; other edits take less than 1 kB */
	return frame->len + (frame->has_next_task ? 0 : 4 * output_size) + EDIT_MAX_BYTES <=
		DATA_MAX_BYTES;
}

/*
 * move_delay_output_size returns the size of the stored output with which a
 * snapshot is completed that has nothing after its delay, 0 for none.
 */
int64
move_delay_output_size(PlanCall *call, const Instance *instance, const Frame *frame)
{
	NullableDatum stored;

	if (frame->has_next_task)
		return 0;
	stored = task_row_output(call, instance->instance_id, digest_datum(frame->place_id));
	return stored.isnull ? 0 : toast_raw_datum_size(stored.value) - VARHDRSZ;
}

/*
 * move_past_signal moves one of Sayiir's snapshots, parked at a signal, to its
 * next task, or completes it: the payload is the output of the signal.  worker is
 * who will have the next task, or NULL.
 */
void
move_past_signal(PlanCall *call, const Instance *instance, Frame *frame, Datum payload,
				 ClaimFate claim, NullableDatum worker)
{
	Checkpoint	save;

	save_of_edited(instance, frame_move_on(frame, DatumGetByteaP(payload),
										   GetCurrentTransactionStartTimestamp()), &save);
	save.last_task_id = plan_arg(digest_datum(frame->place_id));
	save.last_output = plan_arg(payload);
	save.claim = claim;
	save.claim_worker = worker;
	(void) checkpoint_write(call, &save);
}

/*
 * move_past_delay moves one of Sayiir's snapshots, at a delay that is over, to
 * its next task, or completes it with the stored output of the delay, if there
 * is one.
 */
void
move_past_delay(PlanCall *call, const Instance *instance, Frame *frame,
				ClaimFate claim, NullableDatum worker)
{
	Checkpoint	save;
	bytea	   *output = NULL;

	if (!frame->has_next_task)
	{
		NullableDatum stored = task_row_output(call, instance->instance_id,
											   digest_datum(frame->place_id));

		if (!stored.isnull)
			output = DatumGetByteaP(stored.value);
	}
	save_of_edited(instance, frame_move_on(frame, output,
										   GetCurrentTransactionStartTimestamp()), &save);
	save.claim = claim;
	save.claim_worker = worker;
	(void) checkpoint_write(call, &save);
}

/*
 * move_by_signal cancels or pauses an instance and returns its new status; the
 * version is given back too.  Claim and signals are dealt with: a cancel drops
 * all of them, a pause its own.
 *
 * interrupted_task (NULL: the current one) goes into one of Sayiir's snapshots;
 * data, if not NULL, takes the place of the stored snapshot first.  A snapshot
 * that looks like one of Sayiir's and cannot be edited raises 22P03, or, when
 * the caller is tolerant, is taken as opaque.
 */
SnapshotStatus
move_by_signal(PlanCall *call, const Instance *instance, const SignalRow *signal,
			   NullableDatum interrupted_task, NullableDatum data, bool tolerant,
			   int *version)
{
	SnapshotStatus status = signal->kind == SIGNAL_CANCEL ? STATUS_CANCELLED : STATUS_PAUSED;
	TimestampTz now = GetCurrentTransactionStartTimestamp();
	Datum		base;
	Frame	   *frame;
	Checkpoint	save;

	/* A worker can have done what was asked for by itself */
	if (instance->status == status)
	{
		(void) signal_row_delete(call, instance->instance_id, signal->kind);
		*version = instance->version;
		return status;
	}

	base = data.isnull ? move_newest_data(call, instance) : data.value;
	frame = tolerant ? frame_or_null(instance, base) :
		frame_to_edit(instance, base, data.isnull);
	if (tolerant && frame != NULL && !signal_fits(frame, signal))
		frame = NULL;
	if (frame == NULL)
	{
		checkpoint_of_instance(instance, &save);
		save.data = PointerGetDatum(PG_DETOAST_DATUM_PACKED(base));
		save.status = status;
	}
	else
	{
		const char *reason = utf8_of(signal->reason);
		const char *by = utf8_of(signal->requested_by);

		if (interrupted_task.isnull)
			interrupted_task = instance->current_task_id;
		save_of_edited(instance,
					   status == STATUS_CANCELLED ?
					   frame_cancel(frame, reason, by, now, hash_of(interrupted_task)) :
					   frame->status == STATUS_PAUSED ? DatumGetByteaPCopy(base) :
					   frame_pause(frame, reason, by, now),
					   &save);
		if (status == STATUS_PAUSED)
			keep_delay(instance, &save);
	}
	*version = checkpoint_write(call, &save);
	return status;
}

/*
 * move_out_of_pause lets a paused instance go on where it was, with other bytes
 * if data is not NULL, and returns the version.
 */
int
move_out_of_pause(PlanCall *call, const Instance *instance, NullableDatum data)
{
	Datum		base = data.isnull ? move_newest_data(call, instance) : data.value;
	Frame	   *frame = frame_to_edit(instance, base, data.isnull);
	Checkpoint	save;

	if (frame == NULL)
	{
		checkpoint_of_instance(instance, &save);
		save.data = PointerGetDatum(PG_DETOAST_DATUM_PACKED(base));
		save.status = STATUS_IN_PROGRESS;
	}
	else
	{
		save_of_edited(instance,
					   frame->status == STATUS_IN_PROGRESS ?
					   DatumGetByteaPCopy(base) :
					   frame_unpause(frame, GetCurrentTransactionStartTimestamp()),
					   &save);
		keep_delay(instance, &save);
	}
	snapshot_row_resume(call, instance->instance_id);
	return checkpoint_write(call, &save);
}

/*
 * frame_to_edit reads a snapshot if it is one of Sayiir's, and returns NULL for
 * an opaque one.  A stored one has to say what the columns say (22P03); one that
 * a caller brings has to be of the instance, and not ended (22023).
 */
static Frame *
frame_to_edit(const Instance *instance, Datum data, bool stored)
{
	Frame	   *frame;

	if (!snapshot_is_json(data))
		return NULL;
	data = PointerGetDatum(PG_DETOAST_DATUM_PACKED(data));
	if (stored)
		frame = snapshot_parse_stored(data, instance->instance_id, instance->status);
	else
	{
		frame = snapshot_parse(data);
		snapshot_check_instance(frame, instance->instance_id);
		if (status_is_terminal(frame->status))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("data is %s, but workflow instance \"%s\" goes on",
							status_name(frame->status),
							text_to_cstring(instance->instance_id)),
					 errhint("Give the snapshot as it is, without the signal.")));
	}
	return frame;
}

/*
 * frame_or_null is frame_to_edit for a stored snapshot in a call that is about
 * many instances, or that an opaque one suits as well: one that cannot be edited
 * must not stand in the way, and is taken as opaque.  Reading touches nothing but
 * memory, so that its error can be caught without a subtransaction; any other
 * error goes on.
 */
static Frame *
frame_or_null(const Instance *instance, Datum data)
{
	MemoryContext context = CurrentMemoryContext;
	Frame	   *volatile frame = NULL;

	PG_TRY();
	{
		frame = frame_to_edit(instance, data, true);
		if (frame != NULL)
			snapshot_check_texts(frame);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_INVALID_BINARY_REPRESENTATION &&
			geterrcode() != ERRCODE_UNTRANSLATABLE_CHARACTER &&
			geterrcode() != ERRCODE_INVALID_PARAMETER_VALUE)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return frame;
}

/*
 * save_of_edited fills a save from an edited snapshot.  What it does not say
 * stays as stored.  Its completed tasks have their rows already, but for outputs
 * that the explicit form left inside, which move out now.
 */
static void
save_of_edited(const Instance *instance, bytea *edited, Checkpoint *save)
{
	checkpoint_init(save);
	(void) snapshot_read(PointerGetDatum(edited), save);
	save->instance_id = instance->instance_id;
	save->trace_parent = instance->trace_parent;
	if (!save->last_output.isnull)
	{
		if (save->outputs == NULL)
			save->outputs = palloc(sizeof(TaskOutput));
		save->outputs[save->noutputs].task_id = save->last_task_id.value;
		save->outputs[save->noutputs].output = save->last_output;
		save->noutputs++;
	}
	save->last_task_id = plan_null();
	save->last_output = plan_null();
}

/*
 * signal_fits tells whether a snapshot has room for the words of a signal, each
 * byte of which can take six in JSON.
 */
static bool
signal_fits(const Frame *frame, const SignalRow *signal)
{
	int64		words = 0;

	if (!signal->reason.isnull)
		words += toast_raw_datum_size(signal->reason.value);
	if (!signal->requested_by.isnull)
		words += toast_raw_datum_size(signal->requested_by.value);
	return frame->len + 6 * words + EDIT_MAX_BYTES <= DATA_MAX_BYTES;
}

/*
 * keep_delay keeps the delay of an instance that stays where it is, when its
 * snapshot knows of none: a worker that gave it back can have set one.
 */
static void
keep_delay(const Instance *instance, Checkpoint *save)
{
	if (save->delay_wake_at.isnull)
		save->delay_wake_at = instance->delay_wake_at;
}

/*
 * utf8_of returns a text as UTF-8, NULL for NULL and for what cannot be UTF-8.
 */
static const char *
utf8_of(NullableDatum value)
{
	text	   *txt;
	const char *utf8;
	int			len;

	if (value.isnull)
		return NULL;
	txt = DatumGetTextPP(value.value);
	if (!encoding_to_utf8(VARDATA_ANY(txt), VARSIZE_ANY_EXHDR(txt), &utf8, &len))
		return NULL;
	return pnstrdup(utf8, len);
}

/*
 * hash_of returns the bytes of an id, NULL for NULL.
 */
static const uint8 *
hash_of(NullableDatum value)
{
	return value.isnull ? NULL : (const uint8 *) VARDATA_ANY(DatumGetByteaPP(value.value));
}
