/*-------------------------------------------------------------------------
 *
 * snapshot.c
 *		What a snapshot in Sayiir's own format says, as a checkpoint.
 *
 * frame.c reads the format and knows neither the database's encoding nor its
 * types; this is where the two meet.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "compat.h"
#include "digest.h"
#include "encoding.h"
#include "snapshot.h"

/* Enough of a snapshot to tell whether it is in Sayiir's format */
#define FRAME_HEAD_BYTES	8

static bool same_text(text *a, text *b);
static NullableDatum text_or_null(const char *utf8);
static ArrayType *tags_of(const Frame *frame);
static NullableDatum awaited_signal_of(const Frame *frame);

/*
 * snapshot_is_json tells whether this snapshot, which may be a pointer to where
 * it is stored, is one that the server can read.  Only its first bytes are
 * fetched.
 */
bool
snapshot_is_json(Datum data)
{
	bytea	   *head = DatumGetByteaPSlice(data, 0, FRAME_HEAD_BYTES);

	return frame_is_json(VARDATA(head), VARSIZE(head) - VARHDRSZ);
}

/*
 * snapshot_parse reads a snapshot, detoasted.  Raises 22P03 when it cannot be
 * read.  The frame points into data.
 */
Frame *
snapshot_parse(Datum data)
{
	return frame_read(VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data));
}

/*
 * snapshot_parse_stored reads a stored snapshot that is to be edited, detoasted.
 * The explicit form stores bytes without looking inside, so what is there can be
 * broken, another workflow's, or in another state than its columns say: 22P03,
 * and the message names the instance.
 */
Frame *
snapshot_parse_stored(Datum data, text *instance_id, SnapshotStatus status)
{
	MemoryContext context = CurrentMemoryContext;
	Frame	   *volatile frame = NULL;
	text	   *inside;

	/*
	 * Reading touches nothing but memory, so that its error can be caught
	 * without a subtransaction; it says what is wrong, not whose it is.
	 */
	PG_TRY();
	{
		frame = snapshot_parse(data);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (geterrcode() != ERRCODE_INVALID_BINARY_REPRESENTATION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		snapshot_refuse_stored(instance_id,
					  psprintf("%s. %s", error->message,
							   error->detail != NULL ? error->detail : ""));
	}
	PG_END_TRY();

	inside = encoding_text_from_utf8(frame->instance_id, strlen(frame->instance_id));
	if (frame->status != status || !same_text(inside, instance_id))
		snapshot_refuse_stored(instance_id,
					  psprintf("Inside it is \"%s\" and %s, by its columns it is %s.",
							   text_to_cstring(inside), status_name(frame->status),
							   status_name(status)));
	return frame;
}

/*
 * snapshot_refuse_stored raises 22P03 for a stored snapshot, with a sentence that says why.
 */
void
snapshot_refuse_stored(text *instance_id, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("the stored snapshot of workflow instance \"%s\" cannot be edited",
					text_to_cstring(instance_id)),
			 errdetail_internal("%s", why),
			 errhint("Save it again with the short form of sayiir_save_snapshot, which reads all out of the snapshot.")));
}

/*
 * snapshot_check_instance raises 22023 unless a snapshot is of this instance.
 */
void
snapshot_check_instance(const Frame *frame, text *instance_id)
{
	text	   *inside = encoding_text_from_utf8(frame->instance_id,
												 strlen(frame->instance_id));

	if (!same_text(inside, instance_id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the snapshot is of workflow instance \"%s\", not of \"%s\"",
						text_to_cstring(inside), text_to_cstring(instance_id)),
				 errhint("Give a snapshot of the same instance.")));
}

/*
 * snapshot_read fills a checkpoint from a snapshot: all that a caller of the
 * explicit form gives, but trace_parent and expected_version.  The snapshot to
 * be stored has empty outputs; the outputs are handed over beside it.
 *
 * Raises 22P03 for what cannot be read, 22P05 for text that the database's
 * encoding cannot hold, 22023 for an instance id of a wrong length.
 */
Frame *
snapshot_read(Datum data, Checkpoint *save)
{
	Frame	   *frame = snapshot_parse(data);
	int			i;

	save->instance_id = encoding_text_from_utf8(frame->instance_id,
												strlen(frame->instance_id));
	arg_check_instance_id(save->instance_id);
	save->status = frame->status;
	save->definition_hash = digest_datum(frame->definition_hash);
	save->current_task_id = frame->has_current_task ?
		plan_arg(digest_datum(frame->current_task)) : plan_null();
	/* A state that carries no tasks does not say how many there were */
	save->completed_task_count = frame->has_completed_tasks ?
		plan_arg(Int32GetDatum(frame->completed_task_count)) : plan_null();
	save->error = text_or_null(frame->error);
	save->position_kind = text_or_null(frame->position_kind);
	save->delay_wake_at = frame->has_wake_at ?
		plan_arg(TimestampTzGetDatum(frame->wake_at)) : plan_null();
	save->task_priority = Int16GetDatum(frame->task_priority == 0 ?
										DEFAULT_PRIORITY : frame->task_priority);
	save->task_tags = tags_of(frame);
	save->awaited_signal = awaited_signal_of(frame);
	save->position_hash = frame->position_kind == NULL ? plan_null() :
		plan_arg(UInt64GetDatum(hash_bytes_extended((const unsigned char *) frame->data +
													frame->position.start,
													frame->position.end - frame->position.start,
													0)));
	save->last_task_id = frame->has_last_completed_task ?
		plan_arg(digest_datum(frame->last_completed_task)) : plan_null();
	save->last_output = plan_null();

	save->data = data;
	if (frame_has_outputs(frame))
	{
		save->data = PointerGetDatum(frame_strip(frame));
		save->outputs = palloc(sizeof(TaskOutput) * frame->completed_task_count);
		for (i = 0; i < frame->completed_task_count; i++)
		{
			const FrameTask *task = &frame->completed_tasks[i];
			Datum		output;

			if (task->output_len == 0)
				continue;
			output = PointerGetDatum(frame_output(frame, i));
			if (frame->has_last_completed_task &&
				memcmp(task->id, frame->last_completed_task, HASH_BYTES) == 0)
				save->last_output = plan_arg(output);
			else
			{
				save->outputs[save->noutputs].task_id = digest_datum(task->id);
				save->outputs[save->noutputs].output = plan_arg(output);
				save->noutputs++;
			}
		}
	}
	return frame;
}

/*
 * same_text compares bytes.
 */
static bool
same_text(text *a, text *b)
{
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

/*
 * snapshot_check_texts raises what snapshot_read would raise for the texts of a
 * frame: 22P05 for what the database's encoding cannot hold, 22023 for the name
 * of a signal that nobody could send.
 */
void
snapshot_check_texts(const Frame *frame)
{
	(void) text_or_null(frame->error);
	(void) tags_of(frame);
	(void) awaited_signal_of(frame);
}

/*
 * awaited_signal_of makes a text of the name of the awaited signal, or NULL.
 */
static NullableDatum
awaited_signal_of(const Frame *frame)
{
	NullableDatum name = text_or_null(frame->awaited_signal);

	if (!name.isnull)
		arg_check_name(DatumGetTextPP(name.value), "signal_name");
	return name;
}

/*
 * text_or_null makes a text of UTF-8, or NULL.
 */
static NullableDatum
text_or_null(const char *utf8)
{
	if (utf8 == NULL)
		return plan_null();
	return plan_arg(PointerGetDatum(encoding_text_from_utf8(utf8, strlen(utf8))));
}

/*
 * tags_of makes a text[] of the tags of a frame.
 */
static ArrayType *
tags_of(const Frame *frame)
{
	Datum	   *tags = palloc(sizeof(Datum) * (frame->task_tag_count + 1));
	int			i;

	for (i = 0; i < frame->task_tag_count; i++)
		tags[i] = text_or_null(frame->task_tags[i]).value;
	return construct_array(tags, frame->task_tag_count, TEXTOID, -1, false, TYPALIGN_INT);
}
