/*-------------------------------------------------------------------------
 *
 * frame.h
 *		Sayiir's own snapshot format: recognize, read, edit in place.
 *
 * A frame is "SYRS", a format version, a codec and a payload. The server reads
 * version 1 with codec 1 (JSON). Nothing here touches the database or its
 * encoding: strings come and go as UTF-8, NUL-terminated; a caller converts.
 *
 * Everything that cannot be read is ERRCODE_INVALID_BINARY_REPRESENTATION
 * (22P03) with the member's path and its byte offset in DETAIL. Messages carry
 * names of members and identifiers, never outputs, inputs or other values.
 *
 * Memory: whatever is returned is palloc'd in the context current at the call.
 * A Frame points into the bytes that it was read from, so these have to stay
 * where they are for as long as the Frame is used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_FRAME_H
#define SAYIIR_FRAME_H

#include "datatype/timestamp.h"

#include "status.h"

#define FRAME_ENVELOPE_BYTES	6	/* in front of the payload */
#define FRAME_ID_BYTES	32		/* task, fork, loop … ids, definition hashes */

/* What the first bytes of a snapshot say. */
typedef enum FrameKind
{
	FRAME_JSON,					/* version 1, codec 1: can be read */
	FRAME_RKYV,					/* version 1, codec 2: opaque to the server */
	FRAME_FOREIGN,				/* does not begin with "SYRS" */
	FRAME_TRUNCATED,			/* begins like a frame and ends before the codec */
	FRAME_UNKNOWN_VERSION,
	FRAME_UNKNOWN_CODEC
} FrameKind;

/* Where an instance stands. */
typedef enum FramePlace
{
	PLACE_NONE,					/* the state has no position */
	PLACE_NOT_STARTED,
	PLACE_AT_TASK,
	PLACE_AT_FORK,
	PLACE_AT_JOIN,
	PLACE_AT_DELAY,
	PLACE_AT_SIGNAL,
	PLACE_IN_LOOP
} FramePlace;

/* Bytes start .. end - 1 of the snapshot; start = end = 0 when absent. */
typedef struct FrameSpan
{
	uint32		start;
	uint32		end;
} FrameSpan;

/* One entry of completed_tasks, in the order of the JSON text. */
typedef struct FrameTask
{
	uint8		id[FRAME_ID_BYTES];
	uint32		start;			/* the entry, from its name to its end */
	uint32		end;
	FrameSpan	output;			/* the array, with its brackets */
	uint32		output_len;		/* number of bytes in it */
} FrameTask;

/* One entry of task_retries that has a next_retry_at. */
typedef struct FrameRetry
{
	uint8		id[FRAME_ID_BYTES];
	TimestampTz next_retry_at;
} FrameRetry;

/* A member of the state's body, from its name to the end of its value. */
typedef struct FrameMember
{
	const char *name;			/* unescaped, not NUL-terminated */
	uint32		name_len;
	FrameSpan	span;
	uint32		value_start;
} FrameMember;

typedef struct Frame
{
	/* the bytes that were read */
	const char *data;
	uint32		len;

	/* what the snapshot says */
	char	   *instance_id;	/* never NULL; any length, also empty */
	uint8		definition_hash[FRAME_ID_BYTES];
	SnapshotStatus status;
	uint64		created_at;		/* Unix seconds */
	uint64		updated_at;
	char	   *error;			/* of Failed, else NULL */
	int			task_priority;	/* 1..5, 0 when absent */
	char	  **task_tags;		/* NULL when there are none */
	int			task_tag_count;

	/* completed tasks: of InProgress, Paused and Cancelled; else none */
	bool		has_completed_tasks;	/* does this state carry them at all? */
	FrameTask  *completed_tasks;
	int			completed_task_count;
	bool		has_last_completed_task;
	uint8		last_completed_task[FRAME_ID_BYTES];
	bool		has_interrupted_task;	/* of Cancelled */
	uint8		interrupted_task[FRAME_ID_BYTES];

	/* position: of InProgress and Paused */
	FramePlace	place;
	const char *position_kind;	/* its name in the columns, a constant; NULL
								 * when the state has no position */
	FrameSpan	position;		/* its bytes: equal bytes, equal place */
	uint8		place_id[FRAME_ID_BYTES];	/* task, fork, join, delay, signal
											 * or loop id; zeros elsewhere */
	bool		has_next_task;	/* next_task_id of a delay, signal or loop */
	uint8		next_task[FRAME_ID_BYTES];
	char	   *awaited_signal; /* signal_name of AtSignal, else NULL */

	/* derived, as the columns want them */
	bool		has_current_task;	/* AtTask of InProgress alone */
	uint8		current_task[FRAME_ID_BYTES];
	bool		has_wake_at;	/* the position's wake_at, or the retry time of
								 * the current task */
	TimestampTz wake_at;

	/* for frame_retry_at and the edits */
	FrameRetry *retries;
	int			retry_count;
	uint32	   *task_order;		/* indexes of completed_tasks by id */
	FrameSpan	instance_id_span;
	FrameSpan	updated_at_span;
	FrameSpan	state_name;		/* with quotes */
	FrameSpan	state_body;		/* the object, with its braces */
	FrameMember *members;		/* all of the state's body, in order */
	int			member_count;
} Frame;

/* frame.c: recognize */
extern FrameKind frame_kind(const char *data, Size len);
extern bool frame_is_json(const char *data, Size len);
extern void frame_require_json(const char *data, Size len);

/* frame_read.c */
extern Frame *frame_read(const char *data, Size len);

/* frame.c: what a read frame holds */
extern int	frame_find_task(const Frame *frame, const uint8 *task_id);
extern bool frame_retry_at(const Frame *frame, const uint8 *task_id,
						   TimestampTz *at);
extern bool frame_has_outputs(const Frame *frame);
extern bytea *frame_output(const Frame *frame, int index);
extern bool frame_same_position(const Frame *a, const Frame *b);

/*
 * frame_edit.c: a copy with some members changed; every other byte stays as it
 * was. Texts are UTF-8, NULL is written as null; "at" becomes updated_at.
 */
extern bytea *frame_strip(const Frame *frame);
extern bytea *frame_rename(const Frame *frame, const char *instance_id);
extern bytea *frame_add_result(const Frame *frame, const uint8 *task_id,
							   TimestampTz at);
extern bytea *frame_pause(const Frame *frame, const char *reason,
						  const char *paused_by, TimestampTz at);
extern bytea *frame_unpause(const Frame *frame, TimestampTz at);
extern bytea *frame_cancel(const Frame *frame, const char *reason,
						   const char *cancelled_by, TimestampTz at,
						   const uint8 *interrupted_task);
extern bytea *frame_move_on(const Frame *frame, const bytea *output,
							TimestampTz at);

#endif							/* SAYIIR_FRAME_H */
