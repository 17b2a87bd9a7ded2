/*-------------------------------------------------------------------------
 *
 * fuzz_frame.c
 *		Any bytes into frame_read, and every edit of what can be read.
 *
 * What must hold, else the program aborts:
 * - bytes that cannot be read raise 22P03 with a place, and nothing else;
 * - the copy that an edit makes can be read, and says what the edit said;
 * - outside of the edited members every byte is the same.
 *
 * With FUZZ_EXPECT=read or =refuse in the environment the bytes also have to be
 * readable, or not: for seeds of which that is known.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/errcodes.h"

#include "compat.h"
#include "frame.h"
#include "rfc3339.h"
#include "shim.h"

/* 2025-06-07 08:09:10.111213 UTC */
#define AT				INT64CONST(802598950111213)
#define AT_UNIX			1749283750

#define REASON			"why \"so\"\\ \n\x01 \xE2\x98\x83"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_read(const Frame *frame);
static void check_edits(const Frame *frame);
static Frame *read_again(const bytea *bytes);
static bool has_member(const Frame *frame, const char *name);
static void check_around(const Frame *before, const Frame *after);
static void check_members(const Frame *before, const Frame *after,
						  const char *const *changed);
static void check_same_tasks(const Frame *before, const Frame *after);

#define CHECK(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* a copy of its own, so that the sanitizers see its end */
	char	   *bytes = malloc(size ? size : 1);
	const char *expected = getenv("FUZZ_EXPECT");

	memcpy(bytes, data, size);
	if (SHIM_TRY())
	{
		Frame	   *frame = frame_read(bytes, size);

		CHECK(expected == NULL || strcmp(expected, "read") == 0);
		if (SHIM_TRY())
		{
			check_read(frame);
			check_edits(frame);
		}
		else
		{
			fprintf(stderr, "a snapshot that could be read raised: %s (%s)\n",
					shim_error.message, shim_error.detail);
			abort();
		}
	}
	else
	{
		CHECK(expected == NULL || strcmp(expected, "refuse") == 0);
		CHECK(shim_error.code == ERRCODE_INVALID_BINARY_REPRESENTATION);
		CHECK(shim_error.message[0] != '\0');
		CHECK(strchr(shim_error.message, '\n') == NULL);
		CHECK(strstr(shim_error.detail, "byte ") != NULL || !frame_is_json(bytes, size));
	}
	shim_free_all();
	free(bytes);
	return 0;
}

/*
 * check_read checks that what was read is consistent in itself.
 */
static void
check_read(const Frame *frame)
{
	int			i;

	CHECK(frame->instance_id != NULL);
	CHECK(frame->task_priority >= 0 && frame->task_priority <= 5);
	CHECK((frame->error != NULL) == (frame->status == STATUS_FAILED));
	CHECK((frame->place != PLACE_NONE) ==
		  (frame->status == STATUS_IN_PROGRESS || frame->status == STATUS_PAUSED));
	CHECK((frame->place == PLACE_NONE) == (frame->position_kind == NULL));
	CHECK((frame->awaited_signal != NULL) == (frame->place == PLACE_AT_SIGNAL));
	CHECK(frame->has_current_task ==
		  (frame->status == STATUS_IN_PROGRESS && frame->place == PLACE_AT_TASK));
	CHECK(frame_same_position(frame, frame));

	/* a time means the same when it is written again; an offset can leave year 1 or 9999 */
	if (frame->has_wake_at &&
		frame->wake_at > INT64CONST(-63082281600000000) && frame->wake_at < INT64CONST(252455616000000000))
	{
		char		text[RFC3339_BUFFER];
		TimestampTz again;

		rfc3339_format(frame->wake_at, text);
		CHECK(rfc3339_parse(text, strlen(text), &again) && again == frame->wake_at);
	}

	for (i = 0; i < frame->completed_task_count; i++)
	{
		const FrameTask *task = &frame->completed_tasks[i];

		CHECK(frame_find_task(frame, task->id) == i);
		CHECK(VARSIZE_ANY_EXHDR(frame_output(frame, i)) == task->output_len);
		CHECK(frame->data[task->output.start] == '[');
		CHECK(frame->data[task->output.end - 1] == ']');
	}
}

/*
 * check_edits makes every edit that the state allows.
 */
static void
check_edits(const Frame *frame)
{
	static const char *const changed_result[] = {
		"completed_tasks", "last_completed_task_id", NULL
	};
	static const char *const changed_move[] = {
		"completed_tasks", "last_completed_task_id", "position", NULL
	};
	static const char *const changed_pause[] = {
		"reason", "paused_by", "paused_at", NULL
	};
	static const char *const changed_cancel[] = {
		"reason", "paused_by", "paused_at", "cancelled_by", "cancelled_at",
		"interrupted_at_task", "position", "last_completed_task_id", NULL
	};
	static const char *const changed_complete[] = {
		"completed_tasks", "last_completed_task_id", "position", "final_output", NULL
	};
	static const char *const changed_nothing[] = {NULL};

	uint8		id[FRAME_ID_BYTES];
	bytea	   *bytes;
	bytea	   *payload;
	Frame	   *after;
	int			i;

	/* strip: nothing but outputs go, and a second time there is nothing to do */
	bytes = frame_strip(frame);
	CHECK((bytes != NULL) == frame_has_outputs(frame));
	if (bytes)
	{
		static const char *const changed[] = {"completed_tasks", NULL};

		after = read_again(bytes);
		CHECK(frame_strip(after) == NULL);
		CHECK(after->updated_at == frame->updated_at);
		check_around(frame, after);
		check_members(frame, after, changed);
		check_same_tasks(frame, after);
	}

	/* rename */
	after = read_again(frame_rename(frame, REASON));
	CHECK(strcmp(after->instance_id, REASON) == 0);
	CHECK(after->len - frame->len ==
		  (after->instance_id_span.end - after->instance_id_span.start) -
		  (frame->instance_id_span.end - frame->instance_id_span.start));
	check_members(frame, after, changed_nothing);
	check_same_tasks(frame, after);

	if (status_is_terminal(frame->status))
		return;

	/* a result: of a task that is new, and of one that is there */
	memset(id, 0xAB, sizeof(id));
	for (i = 0; i < 2; i++)
	{
		if (i == 1)
		{
			if (frame->completed_task_count == 0)
				break;
			memcpy(id, frame->completed_tasks[frame->completed_task_count / 2].id, sizeof(id));
		}
		after = read_again(frame_add_result(frame, id, AT));
		CHECK(after->updated_at == AT_UNIX);
		CHECK(after->has_last_completed_task);
		CHECK(memcmp(after->last_completed_task, id, sizeof(id)) == 0);
		CHECK(frame_find_task(after, id) >= 0);
		CHECK(after->completed_tasks[frame_find_task(after, id)].output_len == 0);
		CHECK(after->completed_task_count ==
			  frame->completed_task_count + (frame_find_task(frame, id) < 0 ? 1 : 0));
		CHECK(frame_same_position(frame, after));
		check_around(frame, after);
		check_members(frame, after, changed_result);
		check_same_tasks(frame, after);
	}

	/* cancel */
	after = read_again(frame_cancel(frame, REASON, NULL, AT,
									frame->has_current_task ? frame->current_task : NULL));
	CHECK(after->status == STATUS_CANCELLED);
	CHECK(after->updated_at == AT_UNIX);
	CHECK(!has_member(after, "position") && !has_member(after, "last_completed_task_id"));
	CHECK(after->has_interrupted_task == frame->has_current_task);
	CHECK(memcmp(after->interrupted_task, frame->current_task, sizeof(id)) == 0);
	check_around(frame, after);
	check_members(frame, after, changed_cancel);
	check_same_tasks(frame, after);

	if (frame->status == STATUS_PAUSED)
	{
		after = read_again(frame_unpause(frame, AT));
		CHECK(after->status == STATUS_IN_PROGRESS);
		CHECK(!has_member(after, "reason") && !has_member(after, "paused_by") &&
			  !has_member(after, "paused_at"));
		CHECK(after->updated_at == AT_UNIX);
		CHECK(frame_same_position(frame, after));
		check_around(frame, after);
		check_members(frame, after, changed_pause);
		check_same_tasks(frame, after);
		return;
	}

	/* pause, and back */
	after = read_again(frame_pause(frame, NULL, REASON, AT));
	CHECK(after->status == STATUS_PAUSED);
	CHECK(after->updated_at == AT_UNIX);
	CHECK(!after->has_current_task);
	CHECK(frame_same_position(frame, after));
	check_around(frame, after);
	check_members(frame, after, changed_pause);
	check_same_tasks(frame, after);
	after = read_again(frame_unpause(after, AT));
	CHECK(after->has_current_task == frame->has_current_task);
	CHECK(after->has_wake_at == frame->has_wake_at && after->wake_at == frame->wake_at);
	check_around(frame, after);
	check_members(frame, after, changed_pause);

	/* move on, without and with a payload */
	if (frame->place != PLACE_AT_DELAY && frame->place != PLACE_AT_SIGNAL)
		return;
	payload = palloc(VARHDRSZ + 256);
	SET_VARSIZE(payload, VARHDRSZ + 256);
	for (i = 0; i < 256; i++)
		VARDATA(payload)[i] = (char) i;
	for (i = 0; i < 2; i++)
	{
		after = read_again(frame_move_on(frame, i == 0 ? NULL : payload, AT));
		CHECK(after->updated_at == AT_UNIX);
		check_around(frame, after);
		if (!frame->has_next_task)
		{
			CHECK(after->status == STATUS_COMPLETED);
			CHECK(!has_member(after, "position") && !has_member(after, "completed_tasks"));
			check_members(frame, after, changed_complete);
			continue;
		}
		CHECK(after->status == STATUS_IN_PROGRESS);
		CHECK(after->has_current_task);
		CHECK(memcmp(after->current_task, frame->next_task, sizeof(id)) == 0);
		CHECK(i == 0 || frame_find_task(after, frame->place_id) >= 0);
		CHECK(i == 1 || after->completed_task_count == frame->completed_task_count);
		check_members(frame, after, changed_move);
		check_same_tasks(frame, after);
	}
}

/*
 * read_again reads the result of an edit, from a copy of its exact size.
 */
static Frame *
read_again(const bytea *bytes)
{
	Size		len = VARSIZE_ANY_EXHDR(bytes);
	char	   *copy = palloc(len);

	memcpy(copy, VARDATA_ANY(bytes), len);
	return frame_read(copy, len);
}

/*
 * has_member tells whether the state has a member of this name.
 */
static bool
has_member(const Frame *frame, const char *name)
{
	int			i;

	for (i = 0; i < frame->member_count; i++)
	{
		if (strlen(name) == frame->members[i].name_len &&
			memcmp(name, frame->members[i].name, strlen(name)) == 0)
			return true;
	}
	return false;
}

/*
 * check_around checks that what is outside of the state and of updated_at is
 * the same in both.
 */
static void
check_around(const Frame *before, const Frame *after)
{
	const Frame *frames[2] = {before, after};
	FrameSpan	spans[2][3];
	int			i;

	for (i = 0; i < 2; i++)
	{
		const Frame *frame = frames[i];
		FrameSpan	state = {frame->state_name.start, frame->state_body.end};
		FrameSpan	first = frame->updated_at_span.start < state.start ?
			frame->updated_at_span : state;
		FrameSpan	second = frame->updated_at_span.start < state.start ?
			state : frame->updated_at_span;

		spans[i][0] = (FrameSpan) {0, first.start};
		spans[i][1] = (FrameSpan) {first.end, second.start};
		spans[i][2] = (FrameSpan) {second.end, frame->len};
	}
	for (i = 0; i < 3; i++)
	{
		uint32		len = spans[0][i].end - spans[0][i].start;

		CHECK(spans[1][i].end - spans[1][i].start == len);
		CHECK(memcmp(before->data + spans[0][i].start,
					 after->data + spans[1][i].start, len) == 0);
	}
}

/*
 * check_members checks that the state's members but those of these names are
 * the same in both, in the same order.
 */
static void
check_members(const Frame *before, const Frame *after, const char *const *changed)
{
	const Frame *frames[2] = {before, after};
	int			next[2] = {0, 0};
	int			i,
				j;

	for (;;)
	{
		for (i = 0; i < 2; i++)
		{
			for (; next[i] < frames[i]->member_count; next[i]++)
			{
				const FrameMember *member = &frames[i]->members[next[i]];

				for (j = 0; changed[j] != NULL; j++)
				{
					if (strlen(changed[j]) == member->name_len &&
						memcmp(changed[j], member->name, member->name_len) == 0)
						break;
				}
				if (changed[j] == NULL)
					break;
			}
		}
		if (next[0] == before->member_count || next[1] == after->member_count)
			break;
		else
		{
			FrameSpan	a = before->members[next[0]++].span;
			FrameSpan	b = after->members[next[1]++].span;

			CHECK(a.end - a.start == b.end - b.start);
			CHECK(memcmp(before->data + a.start, after->data + b.start,
						 a.end - a.start) == 0);
		}
	}
	CHECK(next[0] == before->member_count && next[1] == after->member_count);
}

/*
 * check_same_tasks checks that each completed task is still there, in the same
 * order, and that only its output may have gone.
 */
static void
check_same_tasks(const Frame *before, const Frame *after)
{
	int			i;

	CHECK(after->completed_task_count >= before->completed_task_count);
	for (i = 0; i < before->completed_task_count; i++)
	{
		const FrameTask *a = &before->completed_tasks[i];
		const FrameTask *b = &after->completed_tasks[i];
		uint32		front = a->output.start - a->start;
		uint32		back = a->end - a->output.end;

		CHECK(memcmp(a->id, b->id, FRAME_ID_BYTES) == 0);
		CHECK(b->output.start - b->start == front && b->end - b->output.end == back);
		CHECK(memcmp(before->data + a->start, after->data + b->start, front) == 0);
		CHECK(memcmp(before->data + a->output.end, after->data + b->output.end, back) == 0);
		CHECK(b->output_len == 0 || b->output_len == a->output_len);
	}
}
