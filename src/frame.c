/*-------------------------------------------------------------------------
 *
 * frame.c
 *		Sayiir's own snapshot format: recognize it, and ask what was read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "compat.h"
#include "frame.h"

#define MAGIC			"SYRS"
#define MAGIC_BYTES		4
#define VERSION_BYTE	4
#define CODEC_BYTE		5

#define FORMAT_VERSION	1
#define CODEC_JSON		1
#define CODEC_RKYV		2

/*
 * frame_kind tells what a snapshot's first bytes say, without a look at the
 * payload.
 */
FrameKind
frame_kind(const char *data, Size len)
{
	if (len == 0 || memcmp(data, MAGIC, Min(len, MAGIC_BYTES)) != 0)
		return FRAME_FOREIGN;
	if (len < FRAME_ENVELOPE_BYTES)
		return FRAME_TRUNCATED;
	if (data[VERSION_BYTE] != FORMAT_VERSION)
		return FRAME_UNKNOWN_VERSION;
	if (data[CODEC_BYTE] == CODEC_JSON)
		return FRAME_JSON;
	if (data[CODEC_BYTE] == CODEC_RKYV)
		return FRAME_RKYV;
	return FRAME_UNKNOWN_CODEC;
}

/*
 * frame_is_json tells whether a snapshot is one that frame_read is for.
 */
bool
frame_is_json(const char *data, Size len)
{
	return frame_kind(data, len) == FRAME_JSON;
}

/*
 * frame_require_json raises 22P03, and says why, unless the snapshot is one
 * that frame_read is for.
 */
void
frame_require_json(const char *data, Size len)
{
	const char *message = NULL;

	switch (frame_kind(data, len))
	{
		case FRAME_JSON:
			return;
		case FRAME_FOREIGN:
			message = "snapshot does not begin with \"SYRS\"";
			break;
		case FRAME_TRUNCATED:
			message = "snapshot is truncated: it ends within its first six bytes";
			break;
		case FRAME_UNKNOWN_VERSION:
			message = psprintf("snapshot has the unknown format version %u",
							   (uint8) data[VERSION_BYTE]);
			break;
		case FRAME_RKYV:
			message = "snapshot has codec 2 (rkyv), which the server does not read";
			break;
		case FRAME_UNKNOWN_CODEC:
			message = psprintf("snapshot has the unknown codec %u",
							   (uint8) data[CODEC_BYTE]);
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("%s", message),
			 errdetail("The server reads format version %d with codec %d (JSON).",
					   FORMAT_VERSION, CODEC_JSON),
			 errhint("Save any other bytes by the explicit form: sayiir_save_snapshot(data, instance_id, status, definition_hash, ...).")));
}

/*
 * frame_find_task returns the index in completed_tasks of the task of this id,
 * -1 when it is not completed.
 */
int
frame_find_task(const Frame *frame, const uint8 *task_id)
{
	int			low = 0;
	int			high = frame->completed_task_count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		uint32		index = frame->task_order[middle];
		int			order = memcmp(frame->completed_tasks[index].id, task_id,
								   FRAME_ID_BYTES);

		if (order == 0)
			return index;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

/*
 * frame_retry_at tells whether task_retries has a next_retry_at for this task,
 * and sets *at to it.
 */
bool
frame_retry_at(const Frame *frame, const uint8 *task_id, TimestampTz *at)
{
	int			i;

	for (i = 0; i < frame->retry_count; i++)
	{
		if (memcmp(frame->retries[i].id, task_id, FRAME_ID_BYTES) == 0)
		{
			*at = frame->retries[i].next_retry_at;
			return true;
		}
	}
	return false;
}

/*
 * frame_has_outputs tells whether any completed task has a non-empty output,
 * so that frame_strip has something to do.
 */
bool
frame_has_outputs(const Frame *frame)
{
	int			i;

	for (i = 0; i < frame->completed_task_count; i++)
	{
		if (frame->completed_tasks[i].output_len > 0)
			return true;
	}
	return false;
}

/*
 * frame_output returns the output of completed_tasks[index], empty where it
 * has been stripped.
 */
bytea *
frame_output(const Frame *frame, int index)
{
	const FrameTask *task = &frame->completed_tasks[index];
	const char *at = frame->data + task->output.start + 1;
	bytea	   *result = palloc(VARHDRSZ + task->output_len);
	uint8	   *to = (uint8 *) VARDATA(result);
	uint32		i;

	/* reading has checked that these are numbers up to 255 between commas */
	for (i = 0; i < task->output_len; i++)
	{
		unsigned	value = 0;

		while (*at < '0' || *at > '9')
			at++;
		while (*at >= '0' && *at <= '9')
			value = value * 10 + (*at++ - '0');
		to[i] = (uint8) value;
	}
	SET_VARSIZE(result, VARHDRSZ + task->output_len);
	return result;
}

/*
 * frame_same_position tells whether two snapshots are at the same place: both
 * have a position of the same bytes, or neither has one.
 */
bool
frame_same_position(const Frame *a, const Frame *b)
{
	uint32		len = a->position.end - a->position.start;

	return len == b->position.end - b->position.start &&
		memcmp(a->data + a->position.start, b->data + b->position.start, len) == 0;
}
