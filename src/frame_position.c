/*-------------------------------------------------------------------------
 *
 * frame_position.c
 *		Sayiir's own snapshot format: read where an instance stands.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "frame_read.h"

static void read_place_id(JsonReader *reader, void *state);
static void read_next_task(JsonReader *reader, void *state);
static void read_wake_at(JsonReader *reader, void *state);
static void read_signal_name(JsonReader *reader, void *state);
static void read_branches(JsonReader *reader, void *state);
static void read_branch(JsonReader *reader, const JsonObject *object, void *state);

static const JsonMember branch_members[] = {
	{"task_id", JSON_REQUIRED, frame_check_id},
	{"output", JSON_REQUIRED, frame_check_bytes},
};

static const JsonMember at_task_members[] = {
	{"task_id", JSON_REQUIRED, read_place_id},
};

static const JsonMember at_fork_members[] = {
	{"fork_id", JSON_REQUIRED, read_place_id},
	{"completed_branches", JSON_REQUIRED, read_branches},
	{"wake_at", JSON_NULLABLE, read_wake_at},
};

static const JsonMember at_join_members[] = {
	{"join_id", JSON_REQUIRED, read_place_id},
	{"completed_branches", JSON_REQUIRED, read_branches},
};

static const JsonMember at_delay_members[] = {
	{"delay_id", JSON_REQUIRED, read_place_id},
	{"entered_at", JSON_REQUIRED, frame_check_time},
	{"wake_at", JSON_REQUIRED, read_wake_at},
	{"next_task_id", JSON_NULLABLE, read_next_task},
};

static const JsonMember at_signal_members[] = {
	{"signal_id", JSON_REQUIRED, read_place_id},
	{"signal_name", JSON_REQUIRED, read_signal_name},
	{"wake_at", JSON_NULLABLE, read_wake_at},
	{"next_task_id", JSON_NULLABLE, read_next_task},
};

static const JsonMember in_loop_members[] = {
	{"loop_id", JSON_REQUIRED, read_place_id},
	{"iteration", JSON_REQUIRED, frame_check_uint32},
	{"next_task_id", JSON_NULLABLE, read_next_task},
};

static const struct
{
	FramePlace	place;
	const char *kind;
	const JsonMember *members;
	int			count;
}			positions[] = {
	{PLACE_AT_TASK, "AtTask", at_task_members, lengthof(at_task_members)},
	{PLACE_AT_FORK, "AtFork", at_fork_members, lengthof(at_fork_members)},
	{PLACE_AT_JOIN, "AtJoin", at_join_members, lengthof(at_join_members)},
	{PLACE_AT_DELAY, "AtDelay", at_delay_members, lengthof(at_delay_members)},
	{PLACE_AT_SIGNAL, "AtSignal", at_signal_members, lengthof(at_signal_members)},
	{PLACE_IN_LOOP, "InLoop", in_loop_members, lengthof(in_loop_members)},
};

/* the position that is a string instead */
static const char not_started[] = "NotStarted";

/*
 * frame_read_position reads "NotStarted" or the object whose only member is named
 * after the kind of place.
 */
void
frame_read_position(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;
	JsonObject	object;
	int			i;

	frame->position.start = reader->start;
	if (reader->token == JSON_TOKEN_STRING)
	{
		uint32		len;
		const char *kind = json_read_text(reader, &len);

		if (len != strlen(not_started) || memcmp(kind, not_started, len) != 0)
			ereport(ERROR,
					(errmsg("snapshot has the unknown position \"%s\"",
							json_clip(kind, len)),
					 json_error_at(reader, reader->start),
					 errhint("As a string there is \"NotStarted\" alone.")));
		frame->place = PLACE_NOT_STARTED;
		frame->position_kind = not_started;
		frame->position.end = reader->stop;
		return;
	}

	json_object_begin(reader, &object);
	while (json_object_next(reader, &object))
	{
		if (frame->place != PLACE_NONE)
			ereport(ERROR,
					(errmsg("snapshot has more than one position"),
					 json_error_at(reader, object.name_start)));
		for (i = 0; i < lengthof(positions); i++)
		{
			if (strlen(positions[i].kind) == object.name_len &&
				memcmp(positions[i].kind, object.name, object.name_len) == 0)
				break;
		}
		if (i == lengthof(positions))
			ereport(ERROR,
					(errmsg("snapshot has the unknown position \"%s\"",
							json_clip(object.name, object.name_len)),
					 json_error_at(reader, object.name_start),
					 errhint("The positions are NotStarted, AtTask, AtFork, AtJoin, AtDelay, AtSignal and InLoop.")));
		frame->place = positions[i].place;
		frame->position_kind = positions[i].kind;
		json_read_object(reader, positions[i].members, positions[i].count, NULL, state);
	}
	if (frame->place == PLACE_NONE)
		ereport(ERROR,
				(errmsg("snapshot has an empty position"),
				 json_error_at(reader, reader->start)));
	frame->position.end = reader->stop;
}

static void
read_place_id(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;

	frame_read_id(reader, frame->place_id);
}

static void
read_next_task(JsonReader *reader, void *state)
{
	Frame	   *frame = ((FrameReader *) state)->frame;

	frame_read_id(reader, frame->next_task);
	frame->has_next_task = true;
}

static void
read_wake_at(JsonReader *reader, void *state)
{
	FrameReader *fr = state;

	fr->wake_at = frame_read_time(reader);
	fr->wake_at_set = true;
}

static void
read_signal_name(JsonReader *reader, void *state)
{
	((FrameReader *) state)->frame->awaited_signal = json_read_cstring(reader);
}

static void
read_branches(JsonReader *reader, void *state)
{
	json_read_map(reader, read_branch, state);
}

static void
read_branch(JsonReader *reader, const JsonObject *object, void *state)
{
	json_read_object(reader, branch_members, lengthof(branch_members), NULL, state);
}
