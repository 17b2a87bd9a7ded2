/*-------------------------------------------------------------------------
 *
 * frame_read.h
 *		What the files that read a snapshot's payload share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_FRAME_READ_H
#define SAYIIR_FRAME_READ_H

#include "frame.h"
#include "json_reader.h"

/* What the readers of values share: the "state" of their calls. */
typedef struct FrameReader
{
	Frame	   *frame;

	/* for which there is room in the arrays of the frame */
	int			task_capacity;
	int			tag_capacity;
	int			retry_capacity;
	int			member_capacity;

	const JsonObject *entry;	/* the present one of completed_tasks */
	bool		wake_at_set;	/* has the position a wake_at? */
	TimestampTz wake_at;
} FrameReader;

/* frame_position.c */
extern void frame_read_position(JsonReader *reader, void *state);

/* frame_value.c: values of which only the type matters */
extern void frame_check_object(JsonReader *reader, void *state);
extern void frame_check_text(JsonReader *reader, void *state);
extern void frame_check_bytes(JsonReader *reader, void *state);
extern void frame_check_id(JsonReader *reader, void *state);
extern void frame_check_time(JsonReader *reader, void *state);
extern void frame_check_uint32(JsonReader *reader, void *state);
extern void frame_check_uint64(JsonReader *reader, void *state);

/* frame_value.c: ids and times */
extern void frame_read_id(JsonReader *reader, uint8 *id);
extern void frame_decode_id(JsonReader *reader, const char *hex, uint32 len,
							uint32 offset, uint8 *id);
extern TimestampTz frame_read_time(JsonReader *reader);

#endif							/* SAYIIR_FRAME_READ_H */
