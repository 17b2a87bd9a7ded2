/*-------------------------------------------------------------------------
 *
 * frame_read.c
 *		Sayiir's own snapshot format: read the JSON payload.
 *
 * The payload is read once, in the order of its text, by tables of the members
 * that are known: they follow the types of Sayiir from the outside inwards.
 * What is not known is checked to be sound JSON and otherwise left alone. Of
 * the outputs only spans are kept.
 *
 * The records that the server has no use for (deadlines, retry policies) are
 * checked in what they have; the rest must be complete.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "frame_read.h"

/* An id with its first bytes as a number, to sort many of them fast. */
typedef struct TaskKey
{
	uint64		prefix;
	uint32		index;
} TaskKey;

static void read_instance_id(JsonReader *reader, void *state);
static void read_definition_hash(JsonReader *reader, void *state);
static void read_created_at(JsonReader *reader, void *state);
static void read_updated_at(JsonReader *reader, void *state);
static void read_task_deadline(JsonReader *reader, void *state);
static void read_task_retries(JsonReader *reader, void *state);
static void read_retry(JsonReader *reader, const JsonObject *object, void *state);
static void read_next_retry_at(JsonReader *reader, void *state);
static void read_loop_iterations(JsonReader *reader, void *state);
static void read_loop_iteration(JsonReader *reader, const JsonObject *object, void *state);
static void read_task_priority(JsonReader *reader, void *state);
static void read_task_tags(JsonReader *reader, void *state);
static void read_state(JsonReader *reader, void *state);
static void keep_member(JsonReader *reader, const JsonObject *object, void *state);
static void read_error(JsonReader *reader, void *state);
static void read_completed_tasks(JsonReader *reader, void *state);
static void read_completed_task(JsonReader *reader, const JsonObject *object, void *state);
static void read_entry_id(JsonReader *reader, void *state);
static void read_output(JsonReader *reader, void *state);
static void read_last_completed_task(JsonReader *reader, void *state);
static void read_interrupted_task(JsonReader *reader, void *state);
static void order_tasks(JsonReader *reader, Frame *frame);
static int	compare_task_keys(const void *a, const void *b, void *tasks);
static void derive_columns(FrameReader *fr);
static void *grow(void *array, int count, int *capacity, Size element);

static const JsonMember snapshot_members[] = {
	{"instance_id", JSON_REQUIRED, read_instance_id},
	{"definition_hash", JSON_REQUIRED, read_definition_hash},
	{"state", JSON_REQUIRED, read_state},
	{"created_at", JSON_REQUIRED, read_created_at},
	{"updated_at", JSON_REQUIRED, read_updated_at},
	{"initial_input", JSON_NULLABLE, frame_check_bytes},
	{"task_deadline", JSON_NULLABLE, read_task_deadline},
	{"task_retries", JSON_NULLABLE, read_task_retries},
	{"loop_iterations", JSON_NULLABLE, read_loop_iterations},
	{"task_priority", JSON_NULLABLE, read_task_priority},
	{"task_tags", JSON_NULLABLE, read_task_tags},
};

static const JsonMember deadline_members[] = {
	{"task_id", JSON_OPTIONAL, frame_check_id},
	{"deadline", JSON_OPTIONAL, frame_check_time},
	{"timeout_ms", JSON_OPTIONAL, frame_check_uint64},
};

static const JsonMember retry_members[] = {
	{"attempts", JSON_OPTIONAL, frame_check_uint32},
	{"policy", JSON_NULLABLE, frame_check_object},
	{"last_error", JSON_NULLABLE, frame_check_text},
	{"last_failed_worker", JSON_NULLABLE, frame_check_text},
	{"next_retry_at", JSON_NULLABLE, read_next_retry_at},
};

/* the bodies of the states */
static const JsonMember in_progress_members[] = {
	{"position", JSON_REQUIRED, frame_read_position},
	{"completed_tasks", JSON_REQUIRED, read_completed_tasks},
	{"last_completed_task_id", JSON_NULLABLE, read_last_completed_task},
};

static const JsonMember paused_members[] = {
	{"reason", JSON_NULLABLE, frame_check_text},
	{"paused_by", JSON_NULLABLE, frame_check_text},
	{"paused_at", JSON_REQUIRED, frame_check_time},
	{"completed_tasks", JSON_REQUIRED, read_completed_tasks},
	{"position", JSON_REQUIRED, frame_read_position},
	{"last_completed_task_id", JSON_NULLABLE, read_last_completed_task},
};

static const JsonMember completed_members[] = {
	{"final_output", JSON_REQUIRED, frame_check_bytes},
};

static const JsonMember failed_members[] = {
	{"error", JSON_REQUIRED, read_error},
};

static const JsonMember cancelled_members[] = {
	{"reason", JSON_NULLABLE, frame_check_text},
	{"cancelled_by", JSON_NULLABLE, frame_check_text},
	{"cancelled_at", JSON_REQUIRED, frame_check_time},
	{"completed_tasks", JSON_REQUIRED, read_completed_tasks},
	{"interrupted_at_task", JSON_NULLABLE, read_interrupted_task},
};

static const struct
{
	const JsonMember *members;
	int			count;
}			state_bodies[] = {
	[STATUS_IN_PROGRESS] = {in_progress_members, lengthof(in_progress_members)},
	[STATUS_PAUSED] = {paused_members, lengthof(paused_members)},
	[STATUS_COMPLETED] = {completed_members, lengthof(completed_members)},
	[STATUS_FAILED] = {failed_members, lengthof(failed_members)},
	[STATUS_CANCELLED] = {cancelled_members, lengthof(cancelled_members)},
};

static const JsonMember completed_task_members[] = {
	{"task_id", JSON_REQUIRED, read_entry_id},
	{"output", JSON_REQUIRED, read_output},
};

/*
 * frame_read reads a snapshot, which must stay where it is for as long as the
 * result is used. Whatever is wrong with it raises 22P03.
 */
Frame *
frame_read(const char *data, Size len)
{
	FrameReader fr = {0};
	JsonReader	reader;
	int			payload;
	int			valid;

	frame_require_json(data, len);
	if (len > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("snapshot is too large to be read")));

	/* once for all, so that every later step may rely on it */
	payload = (int) len - FRAME_ENVELOPE_BYTES;
	valid = pg_encoding_verifymbstr(PG_UTF8, data + FRAME_ENVELOPE_BYTES, payload);
	if (valid < payload)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("snapshot is not valid UTF-8"),
				 errdetail("At byte %d.", FRAME_ENVELOPE_BYTES + valid)));

	fr.frame = palloc0(sizeof(Frame));
	fr.frame->data = data;
	fr.frame->len = (uint32) len;

	json_reader_start(&reader, data, FRAME_ENVELOPE_BYTES, (uint32) len);
	json_read_object(&reader, snapshot_members, lengthof(snapshot_members), NULL, &fr);
	json_reader_finish(&reader);

	derive_columns(&fr);
	return fr.frame;
}

/*
 * derive_columns sets what follows from several members, after all have been
 * read, since their order is free.
 */
static void
derive_columns(FrameReader *fr)
{
	Frame	   *frame = fr->frame;

	frame->has_wake_at = fr->wake_at_set;
	frame->wake_at = fr->wake_at;
	if (frame->status == STATUS_IN_PROGRESS && frame->place == PLACE_AT_TASK)
	{
		frame->has_current_task = true;
		memcpy(frame->current_task, frame->place_id, FRAME_ID_BYTES);
		frame->has_wake_at = frame_retry_at(frame, frame->current_task, &frame->wake_at);
	}
}

/* --- members of the snapshot --------------------------------------------- */

static void
read_instance_id(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;

	frame->instance_id = json_read_cstring(reader);
	frame->instance_id_span.start = reader->start;
	frame->instance_id_span.end = reader->stop;
}

static void
read_definition_hash(JsonReader *reader, void *state)
{
	frame_read_id(reader, ((FrameReader *) state)->frame->definition_hash);
}

static void
read_created_at(JsonReader *reader, void *state)
{
	((FrameReader *) state)->frame->created_at =
		json_read_integer(reader, 0, PG_UINT64_MAX);
}

static void
read_updated_at(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;

	frame->updated_at = json_read_integer(reader, 0, PG_UINT64_MAX);
	frame->updated_at_span.start = reader->start;
	frame->updated_at_span.end = reader->stop;
}

static void
read_task_deadline(JsonReader *reader, void *state)
{
	json_read_object(reader, deadline_members, lengthof(deadline_members), NULL, state);
}

static void
read_task_retries(JsonReader *reader, void *state)
{
	json_read_map(reader, read_retry, state);
}

/*
 * read_retry reads one entry of task_retries, which becomes one of the frame's
 * only when it has a next_retry_at.
 */
static void
read_retry(JsonReader *reader, const JsonObject *object, void *state)
{
	FrameReader *fr = state;
	Frame	   *frame = fr->frame;
	int			before = frame->retry_count;
	uint8		id[FRAME_ID_BYTES];

	frame_decode_id(reader, object->name, object->name_len, object->name_start, id);
	json_read_object(reader, retry_members, lengthof(retry_members), NULL, state);
	if (frame->retry_count > before)
		memcpy(frame->retries[before].id, id, FRAME_ID_BYTES);
}

static void
read_next_retry_at(JsonReader *reader, void *state)
{
	FrameReader *fr = state;
	Frame	   *frame = fr->frame;

	frame->retries = grow(frame->retries, frame->retry_count, &fr->retry_capacity,
						  sizeof(FrameRetry));
	frame->retries[frame->retry_count].next_retry_at = frame_read_time(reader);
	frame->retry_count++;
}

static void
read_loop_iterations(JsonReader *reader, void *state)
{
	json_read_map(reader, read_loop_iteration, state);
}

static void
read_loop_iteration(JsonReader *reader, const JsonObject *object, void *state)
{
	uint8		id[FRAME_ID_BYTES];

	frame_decode_id(reader, object->name, object->name_len, object->name_start, id);
	frame_check_uint32(reader, state);
}

static void
read_task_priority(JsonReader *reader, void *state)
{
	((FrameReader *) state)->frame->task_priority =
		(int) json_read_integer(reader, 1, 5);
}

static void
read_task_tags(JsonReader *reader, void *state)
{
	FrameReader *fr = state;
	Frame	   *frame = fr->frame;

	json_array_begin(reader);
	while (json_array_next(reader))
	{
		frame->task_tags = grow(frame->task_tags, frame->task_tag_count,
								&fr->tag_capacity, sizeof(char *));
		frame->task_tags[frame->task_tag_count++] = json_read_cstring(reader);
	}
}

/* --- the state and its members ------------------------------------------- */

/*
 * read_state reads the object whose only member is named after the status.
 */
static void
read_state(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;
	JsonObject	object;
	bool		found = false;

	json_object_begin(reader, &object);
	while (json_object_next(reader, &object))
	{
		if (found)
			ereport(ERROR,
					(errmsg("snapshot has more than one state"),
					 json_error_at(reader, object.name_start)));
		if (!status_parse(object.name, object.name_len, &frame->status))
			ereport(ERROR,
					(errmsg("snapshot has the unknown state \"%s\"",
							json_clip(object.name, object.name_len)),
					 json_error_at(reader, object.name_start),
					 errhint("The states are InProgress, Paused, Completed, Failed and Cancelled.")));
		found = true;

		frame->state_name.start = object.name_start;
		frame->state_name.end = object.name_end;
		frame->state_body.start = reader->start;
		json_read_object(reader, state_bodies[frame->status].members,
						 state_bodies[frame->status].count, keep_member, state);
		frame->state_body.end = reader->stop;
	}
	if (!found)
		ereport(ERROR,
				(errmsg("snapshot has an empty state"),
				 json_error_at(reader, reader->start)));
}

/*
 * keep_member notes where a member of the state is, also one that is not
 * known: an edit that changes the state takes some out.
 */
static void
keep_member(JsonReader *reader, const JsonObject *object, void *state)
{
	FrameReader *fr = state;
	Frame	   *frame = fr->frame;
	FrameMember *member;

	frame->members = grow(frame->members, frame->member_count, &fr->member_capacity,
						  sizeof(FrameMember));
	member = &frame->members[frame->member_count++];
	member->name = object->name;
	member->name_len = object->name_len;
	member->span.start = object->name_start;
	member->span.end = reader->stop;
	member->value_start = object->value_start;
}

static void
read_error(JsonReader *reader, void *state)
{
	((FrameReader *) state)->frame->error = json_read_cstring(reader);
}

static void
read_completed_tasks(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;
	JsonObject	object;

	/* names are not noted: ids of either case are told apart as bytes */
	frame->has_completed_tasks = true;
	json_object_begin(reader, &object);
	while (json_object_next(reader, &object))
		read_completed_task(reader, &object, state);
	order_tasks(reader, frame);
}

/*
 * read_completed_task reads one entry of completed_tasks.
 */
static void
read_completed_task(JsonReader *reader, const JsonObject *object, void *state)
{
	FrameReader *fr = state;
	Frame	   *frame = fr->frame;
	FrameTask  *task;

	frame->completed_tasks = grow(frame->completed_tasks, frame->completed_task_count,
								  &fr->task_capacity, sizeof(FrameTask));
	task = &frame->completed_tasks[frame->completed_task_count++];
	task->start = object->name_start;
	fr->entry = object;
	frame_decode_id(reader, object->name, object->name_len, object->name_start, task->id);
	json_read_object(reader, completed_task_members, lengthof(completed_task_members),
					 NULL, state);
	task->end = reader->stop;
}

/*
 * read_entry_id checks that the task_id of an entry is the entry's name.
 */
static void
read_entry_id(JsonReader *reader, void *state)
{
	FrameReader *fr = state;
	Frame	   *frame = fr->frame;
	const FrameTask *task = &frame->completed_tasks[frame->completed_task_count - 1];
	uint32		len;
	const char *hex = json_read_text(reader, &len);
	uint8		id[FRAME_ID_BYTES];

	/* nearly always it is the same spelling */
	if (len == fr->entry->name_len && memcmp(hex, fr->entry->name, len) == 0)
		return;
	frame_decode_id(reader, hex, len, reader->start, id);
	if (memcmp(task->id, id, FRAME_ID_BYTES) != 0)
		ereport(ERROR,
				(errmsg("snapshot has a completed task under the name of another one"),
				 json_error_at(reader, reader->start),
				 errhint("The name of an entry in completed_tasks must equal its task_id.")));
}

static void
read_output(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;
	FrameTask  *task = &frame->completed_tasks[frame->completed_task_count - 1];

	task->output.start = reader->start;
	task->output_len = json_read_bytes(reader);
	task->output.end = reader->stop;
}

static void
read_last_completed_task(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;

	frame_read_id(reader, frame->last_completed_task);
	frame->has_last_completed_task = true;
}

static void
read_interrupted_task(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;

	frame_read_id(reader, frame->interrupted_task);
	frame->has_interrupted_task = true;
}

/*
 * order_tasks sorts the completed tasks by id, for frame_find_task, and raises
 * an error when one is there twice.
 */
static void
order_tasks(JsonReader *reader, Frame *frame)
{
	int			count = frame->completed_task_count;
	FrameTask  *tasks = frame->completed_tasks;
	TaskKey    *keys;
	int			i;

	if (count == 0)
		return;
	keys = palloc_extended(count * sizeof(TaskKey), MCXT_ALLOC_HUGE);
	for (i = 0; i < count; i++)
	{
		memcpy(&keys[i].prefix, tasks[i].id, sizeof(uint64));
		keys[i].prefix = pg_ntoh64(keys[i].prefix);
		keys[i].index = i;
	}
	qsort_arg(keys, count, sizeof(TaskKey), compare_task_keys, tasks);

	frame->task_order = palloc(count * sizeof(uint32));
	for (i = 0; i < count; i++)
	{
		frame->task_order[i] = keys[i].index;
		if (i > 0 && compare_task_keys(&keys[i - 1], &keys[i], tasks) == 0)
			ereport(ERROR,
					(errmsg("snapshot has a completed task twice"),
					 json_error_at(reader, Max(tasks[keys[i - 1].index].start,
											   tasks[keys[i].index].start))));
	}
	pfree(keys);
}

static int
compare_task_keys(const void *a, const void *b, void *tasks)
{
	const TaskKey *left = a;
	const TaskKey *right = b;

	if (left->prefix != right->prefix)
		return left->prefix < right->prefix ? -1 : 1;
	return memcmp(((FrameTask *) tasks)[left->index].id,
				  ((FrameTask *) tasks)[right->index].id, FRAME_ID_BYTES);
}

/*
 * grow returns the array with room for one element after "count", perhaps
 * moved.
 */
static void *
grow(void *array, int count, int *capacity, Size element)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? *capacity * 2 : 16;
	if (array)
		return repalloc_huge(array, *capacity * element);
	return palloc(*capacity * element);
}
