/*-------------------------------------------------------------------------
 *
 * frame_edit.c
 *		Sayiir's own snapshot format: copies with some members changed.
 *
 * An edit is a list of splices, each a span of the snapshot and the text that
 * takes its place. Every byte outside of them is kept, with white space, the
 * spelling of numbers, the order of members, and what is not known. Nothing is
 * parsed again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"

#include "compat.h"
#include "frame.h"
#include "rfc3339.h"

/* a state with eight members dropped needs ten, an added result three */
#define MAX_SPLICES		20

typedef struct Splice
{
	FrameSpan	span;
	const char *text;
	Size		len;
} Splice;

typedef struct Edit
{
	const Frame *frame;
	Splice		splices[MAX_SPLICES];
	int			count;
} Edit;

static void begin(Edit *edit, const Frame *frame, TimestampTz at);
static void replace(Edit *edit, uint32 start, uint32 end, const char *text);
static void replace_bytes(Edit *edit, uint32 start, uint32 end,
						  const char *text, Size len);
static void complete_task(Edit *edit, const uint8 *task_id);
static void change_state(Edit *edit, SnapshotStatus status,
						 const char *const *dropped, const char *added, Size added_len);
static bytea *finish(Edit *edit);
static char *final_output_member(const bytea *output, Size *len);
static const FrameMember *find_member(const Frame *frame, const char *name);
static bool is_named(const FrameMember *member, const char *name);
static void append_string(StringInfo buffer, const char *text);
static void append_text_member(StringInfo buffer, const char *name, const char *text);
static char *id_string(const uint8 *id);
static bytea *allocate(uint64 len);

/*
 * frame_strip returns a copy in which every non-empty output of completed_tasks
 * is "[]", NULL when there is none.
 */
bytea *
frame_strip(const Frame *frame)
{
	uint64		len = frame->len;
	uint32		copied = 0;
	bytea	   *result;
	char	   *to;
	int			i;

	if (!frame_has_outputs(frame))
		return NULL;

	for (i = 0; i < frame->completed_task_count; i++)
	{
		const FrameTask *task = &frame->completed_tasks[i];

		if (task->output_len > 0)
			len -= task->output.end - task->output.start - 2;
	}

	result = allocate(len);
	to = VARDATA(result);
	for (i = 0; i < frame->completed_task_count; i++)
	{
		const FrameTask *task = &frame->completed_tasks[i];

		if (task->output_len == 0)
			continue;
		memcpy(to, frame->data + copied, task->output.start - copied);
		to += task->output.start - copied;
		*to++ = '[';
		*to++ = ']';
		copied = task->output.end;
	}
	memcpy(to, frame->data + copied, frame->len - copied);
	return result;
}

/*
 * frame_rename returns a copy with another instance_id inside. Nothing else
 * changes, updated_at neither.
 */
bytea *
frame_rename(const Frame *frame, const char *instance_id)
{
	Edit		edit = {.frame = frame};
	StringInfoData name;

	initStringInfo(&name);
	append_string(&name, instance_id);
	replace_bytes(&edit, frame->instance_id_span.start, frame->instance_id_span.end,
				  name.data, name.len);
	return finish(&edit);
}

/*
 * frame_add_result returns a copy in which the task is completed, with an empty
 * output, and the last one that was. The state must be InProgress or Paused.
 */
bytea *
frame_add_result(const Frame *frame, const uint8 *task_id, TimestampTz at)
{
	Edit		edit;

	begin(&edit, frame, at);
	complete_task(&edit, task_id);
	return finish(&edit);
}

/*
 * frame_pause returns a copy that is Paused at the same place; reason and
 * paused_by may be NULL. The state must be InProgress.
 */
bytea *
frame_pause(const Frame *frame, const char *reason, const char *paused_by,
			TimestampTz at)
{
	static const char *const dropped[] = {"reason", "paused_by", "paused_at", NULL};
	Edit		edit;
	StringInfoData added;
	char		time[RFC3339_BUFFER];

	if (frame->status != STATUS_IN_PROGRESS)
		elog(ERROR, "cannot pause a snapshot that is %s", status_name(frame->status));

	rfc3339_format(at, time);
	initStringInfo(&added);
	append_text_member(&added, "reason", reason);
	append_text_member(&added, "paused_by", paused_by);
	append_text_member(&added, "paused_at", time);

	begin(&edit, frame, at);
	change_state(&edit, STATUS_PAUSED, dropped, added.data, added.len);
	return finish(&edit);
}

/*
 * frame_unpause returns a copy that is InProgress again, at the same place. The
 * state must be Paused.
 */
bytea *
frame_unpause(const Frame *frame, TimestampTz at)
{
	static const char *const dropped[] = {"reason", "paused_by", "paused_at", NULL};
	Edit		edit;

	if (frame->status != STATUS_PAUSED)
		elog(ERROR, "cannot unpause a snapshot that is %s", status_name(frame->status));

	begin(&edit, frame, at);
	change_state(&edit, STATUS_IN_PROGRESS, dropped, "", 0);
	return finish(&edit);
}

/*
 * frame_cancel returns a copy that is Cancelled; reason, cancelled_by and
 * interrupted_task may be NULL. The state must be InProgress or Paused.
 */
bytea *
frame_cancel(const Frame *frame, const char *reason, const char *cancelled_by,
			 TimestampTz at, const uint8 *interrupted_task)
{
	/* those of Cancelled, which come anew, and those that it does not have */
	static const char *const dropped_running[] = {
		"reason", "cancelled_by", "cancelled_at", "interrupted_at_task",
		"position", "last_completed_task_id", NULL
	};
	static const char *const dropped_paused[] = {
		"reason", "cancelled_by", "cancelled_at", "interrupted_at_task",
		"position", "last_completed_task_id", "paused_by", "paused_at", NULL
	};
	Edit		edit;
	StringInfoData added;
	char		time[RFC3339_BUFFER];

	if (status_is_terminal(frame->status))
		elog(ERROR, "cannot cancel a snapshot that is %s", status_name(frame->status));

	rfc3339_format(at, time);
	initStringInfo(&added);
	append_text_member(&added, "reason", reason);
	append_text_member(&added, "cancelled_by", cancelled_by);
	append_text_member(&added, "cancelled_at", time);
	append_text_member(&added, "interrupted_at_task",
					   interrupted_task ? id_string(interrupted_task) : NULL);

	begin(&edit, frame, at);
	change_state(&edit, STATUS_CANCELLED,
				 frame->status == STATUS_PAUSED ? dropped_paused : dropped_running,
				 added.data, added.len);
	return finish(&edit);
}

/*
 * frame_move_on returns a copy that has left its delay or signal: it is at the
 * next task, or Completed when there is none. With an output, the place itself
 * is a completed task, and a workflow that completes does so with that output;
 * with NULL it is not, and the final output is empty. The state must be
 * InProgress, at a delay or a signal.
 */
bytea *
frame_move_on(const Frame *frame, const bytea *output, TimestampTz at)
{
	static const char *const dropped[] = {
		"position", "completed_tasks", "last_completed_task_id", "final_output", NULL
	};
	Edit		edit;

	if (frame->status != STATUS_IN_PROGRESS ||
		(frame->place != PLACE_AT_DELAY && frame->place != PLACE_AT_SIGNAL))
		elog(ERROR, "cannot move a snapshot on that is at no delay and no signal");

	begin(&edit, frame, at);
	if (frame->has_next_task)
	{
		if (output)
			complete_task(&edit, frame->place_id);
		replace(&edit, frame->position.start, frame->position.end,
				psprintf("{\"AtTask\":{\"task_id\":\"%s\"}}", id_string(frame->next_task)));
	}
	else
	{
		Size		len;
		char	   *added = final_output_member(output, &len);

		change_state(&edit, STATUS_COMPLETED, dropped, added, len);
	}
	return finish(&edit);
}

/*
 * final_output_member returns the member final_output with these bytes, none
 * when NULL, and a comma; *len is its length.
 */
static char *
final_output_member(const bytea *output, Size *len)
{
	static const char prefix[] = "\"final_output\":[";
	const uint8 *bytes = output ? (const uint8 *) VARDATA_ANY(output) : NULL;
	Size		count = output ? VARSIZE_ANY_EXHDR(output) : 0;
	uint64		size = strlen(prefix) + 2;
	char	   *result;
	char	   *to;
	Size		i;

	for (i = 0; i < count; i++)
		size += bytes[i] < 10 ? 2 : bytes[i] < 100 ? 3 : 4;

	result = VARDATA(allocate(size));
	memcpy(result, prefix, strlen(prefix));
	to = result + strlen(prefix);
	for (i = 0; i < count; i++)
	{
		uint8		byte = bytes[i];

		if (i > 0)
			*to++ = ',';
		if (byte >= 100)
			*to++ = '0' + byte / 100;
		if (byte >= 10)
			*to++ = '0' + byte / 10 % 10;
		*to++ = '0' + byte % 10;
	}
	*to++ = ']';
	*to++ = ',';
	*len = to - result;
	return result;
}

/*
 * begin starts an edit that sets updated_at.
 */
static void
begin(Edit *edit, const Frame *frame, TimestampTz at)
{
	edit->frame = frame;
	edit->count = 0;
	replace(edit, frame->updated_at_span.start, frame->updated_at_span.end,
			psprintf(INT64_FORMAT, unix_seconds(at)));
}

/*
 * replace notes that the bytes start .. end - 1 become this text.
 */
static void
replace(Edit *edit, uint32 start, uint32 end, const char *text)
{
	replace_bytes(edit, start, end, text, strlen(text));
}

/*
 * replace_bytes is replace for a text of known length. Splices are kept in the
 * order of their spans, which never overlap.
 */
static void
replace_bytes(Edit *edit, uint32 start, uint32 end, const char *text, Size len)
{
	int			i = edit->count++;

	if (edit->count > MAX_SPLICES)
		elog(ERROR, "too many splices in one edit of a snapshot");
	for (; i > 0 && edit->splices[i - 1].span.start > start; i--)
		edit->splices[i] = edit->splices[i - 1];
	edit->splices[i].span.start = start;
	edit->splices[i].span.end = end;
	edit->splices[i].text = text;
	edit->splices[i].len = len;
}

/*
 * complete_task makes the task one of completed_tasks, with an empty output,
 * and the last one that was completed.
 */
static void
complete_task(Edit *edit, const uint8 *task_id)
{
	const Frame *frame = edit->frame;
	const FrameMember *tasks = find_member(frame, "completed_tasks");
	const FrameMember *last = find_member(frame, "last_completed_task_id");
	const char *id = id_string(task_id);
	int			index = frame_find_task(frame, task_id);

	if (tasks == NULL || frame->place == PLACE_NONE)
		elog(ERROR, "cannot complete a task of a snapshot that is %s",
			 status_name(frame->status));

	if (index >= 0)
	{
		const FrameTask *task = &frame->completed_tasks[index];

		if (task->output_len > 0)
			replace(edit, task->output.start, task->output.end, "[]");
	}
	else
	{
		int			count = frame->completed_task_count;
		uint32		behind = count > 0 ?
			frame->completed_tasks[count - 1].end : tasks->value_start + 1;

		replace(edit, behind, behind,
				psprintf("%s\"%s\":{\"task_id\":\"%s\",\"output\":[]}",
						 count > 0 ? "," : "", id, id));
	}

	if (last)
		replace(edit, last->value_start, last->span.end, psprintf("\"%s\"", id));
	else
		replace(edit, tasks->span.end, tasks->span.end,
				psprintf(",\"last_completed_task_id\":\"%s\"", id));
}

/*
 * change_state gives the state another name, takes the members of these names
 * out of its body (the list ends in NULL) and puts the added ones in front:
 * "added" ends in a comma unless it is empty.
 */
static void
change_state(Edit *edit, SnapshotStatus status, const char *const *dropped,
			 const char *added, Size added_len)
{
	const Frame *frame = edit->frame;
	const FrameMember *kept = NULL; /* the last one */
	uint32		body_end = frame->state_body.end - 1;	/* its brace */
	bool		gap = false;	/* has anything been dropped since? */
	int			i,
				j;

	replace(edit, frame->state_name.start, frame->state_name.end,
			psprintf("\"%s\"", status_name(status)));

	for (i = 0; i < frame->member_count; i++)
	{
		const FrameMember *member = &frame->members[i];

		for (j = 0; dropped[j] != NULL; j++)
		{
			if (is_named(member, dropped[j]))
				break;
		}
		if (dropped[j] != NULL)
		{
			gap = true;
			continue;
		}

		if (kept == NULL)
			replace_bytes(edit, frame->members[0].span.start, member->span.start,
						  added, added_len);
		else if (gap)
			replace(edit, kept->span.end, member->span.start, ",");
		kept = member;
		gap = false;
	}

	if (kept == NULL)
		replace_bytes(edit, frame->state_body.start + 1, body_end,
					  added, added_len > 0 ? added_len - 1 : 0);
	else if (gap)
		replace(edit, kept->span.end, body_end, "");
}

/*
 * finish returns the edited copy.
 */
static bytea *
finish(Edit *edit)
{
	const Frame *frame = edit->frame;
	uint64		len = frame->len;
	uint32		copied = 0;
	bytea	   *result;
	char	   *to;
	int			i;

	for (i = 0; i < edit->count; i++)
	{
		const Splice *splice = &edit->splices[i];

		Assert(splice->span.start >= copied && splice->span.end >= splice->span.start);
		len -= splice->span.end - splice->span.start;
		len += splice->len;
		copied = splice->span.end;
	}

	result = allocate(len);
	to = VARDATA(result);
	copied = 0;
	for (i = 0; i < edit->count; i++)
	{
		const Splice *splice = &edit->splices[i];

		memcpy(to, frame->data + copied, splice->span.start - copied);
		to += splice->span.start - copied;
		memcpy(to, splice->text, splice->len);
		to += splice->len;
		copied = splice->span.end;
	}
	memcpy(to, frame->data + copied, frame->len - copied);
	return result;
}

/*
 * find_member returns the member of the state of this name, NULL when there is
 * none.
 */
static const FrameMember *
find_member(const Frame *frame, const char *name)
{
	int			i;

	for (i = 0; i < frame->member_count; i++)
	{
		if (is_named(&frame->members[i], name))
			return &frame->members[i];
	}
	return NULL;
}

static bool
is_named(const FrameMember *member, const char *name)
{
	return strlen(name) == member->name_len &&
		memcmp(name, member->name, member->name_len) == 0;
}

/*
 * append_string appends a text in UTF-8 as a string of JSON.
 */
static void
append_string(StringInfo buffer, const char *text)
{
	appendStringInfoChar(buffer, '"');
	for (; *text; text++)
	{
		unsigned char c = *text;

		if (c == '"' || c == '\\')
		{
			appendStringInfoChar(buffer, '\\');
			appendStringInfoChar(buffer, c);
		}
		else if (c < ' ')
			appendStringInfo(buffer, "\\u%04x", c);
		else
			appendStringInfoChar(buffer, c);
	}
	appendStringInfoChar(buffer, '"');
}

/*
 * append_text_member appends a member, null when the text is NULL, and a comma.
 */
static void
append_text_member(StringInfo buffer, const char *name, const char *text)
{
	appendStringInfo(buffer, "\"%s\":", name);
	if (text)
		append_string(buffer, text);
	else
		appendStringInfoString(buffer, "null");
	appendStringInfoChar(buffer, ',');
}

/*
 * id_string returns an id as 64 hexadecimal digits, palloc'd.
 */
static char *
id_string(const uint8 *id)
{
	static const char digits[] = "0123456789abcdef";
	char	   *result = palloc(2 * FRAME_ID_BYTES + 1);
	int			i;

	for (i = 0; i < FRAME_ID_BYTES; i++)
	{
		result[2 * i] = digits[id[i] >> 4];
		result[2 * i + 1] = digits[id[i] & 0xF];
	}
	result[2 * FRAME_ID_BYTES] = '\0';
	return result;
}

/*
 * allocate returns a bytea with room for this many bytes, 54000 when there can
 * be none of that size.
 */
static bytea *
allocate(uint64 len)
{
	bytea	   *result;

	if (len > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("snapshot would grow to " UINT64_FORMAT " bytes", len),
				 errhint("A value holds at most 1 GB; keep large data outside of the workflow and pass a reference.")));
	result = palloc(VARHDRSZ + len);
	SET_VARSIZE(result, VARHDRSZ + len);
	return result;
}
