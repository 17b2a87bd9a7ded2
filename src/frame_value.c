/*-------------------------------------------------------------------------
 *
 * frame_value.c
 *		Sayiir's own snapshot format: ids, times, and values of which only the
 *		type matters.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "frame_read.h"
#include "rfc3339.h"

/*
 * frame_check_object takes an object, whatever is in it.
 */
void
frame_check_object(JsonReader *reader, void *state)
{
	if (reader->token != JSON_TOKEN_OBJECT_START)
		json_wrong_type(reader, "an object");
	json_skip(reader);
}

/*
 * frame_check_text takes a string.
 */
void
frame_check_text(JsonReader *reader, void *state)
{
	uint32		len;

	(void) json_read_text(reader, &len);
}

/*
 * frame_check_bytes takes an array of bytes.
 */
void
frame_check_bytes(JsonReader *reader, void *state)
{
	(void) json_read_bytes(reader);
}

/*
 * frame_check_id takes an id.
 */
void
frame_check_id(JsonReader *reader, void *state)
{
	uint8		id[FRAME_ID_BYTES];

	frame_read_id(reader, id);
}

/*
 * frame_check_time takes a timestamp.
 */
void
frame_check_time(JsonReader *reader, void *state)
{
	(void) frame_read_time(reader);
}

/*
 * frame_check_uint32 takes an unsigned integer of 32 bits.
 */
void
frame_check_uint32(JsonReader *reader, void *state)
{
	(void) json_read_integer(reader, 0, PG_UINT32_MAX);
}

/*
 * frame_check_uint64 takes an unsigned integer of 64 bits.
 */
void
frame_check_uint64(JsonReader *reader, void *state)
{
	(void) json_read_integer(reader, 0, PG_UINT64_MAX);
}

/*
 * frame_read_id reads the string of 64 hexadecimal digits that is the current token.
 */
void
frame_read_id(JsonReader *reader, uint8 *id)
{
	uint32		len;
	const char *hex = json_read_text(reader, &len);

	frame_decode_id(reader, hex, len, reader->start, id);
}

/*
 * frame_decode_id decodes 64 hexadecimal digits, of either case; "offset" is where
 * they are.
 */
void
frame_decode_id(JsonReader *reader, const char *hex, uint32 len, uint32 offset, uint8 *id)
{
	/* the digit's value plus one, 0 for what is none */
	static const uint8 digits[256] = {
		['0'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
		['A'] = 11, 12, 13, 14, 15, 16,
		['a'] = 11, 12, 13, 14, 15, 16
	};
	bool		valid = len == 2 * FRAME_ID_BYTES;
	int			i;

	for (i = 0; valid && i < FRAME_ID_BYTES; i++)
	{
		unsigned	high = digits[(uint8) hex[2 * i]];
		unsigned	low = digits[(uint8) hex[2 * i + 1]];

		id[i] = (uint8) ((high - 1) << 4 | (low - 1));
		valid = high > 0 && low > 0;
	}
	if (valid)
		return;
	ereport(ERROR,
			(errmsg("snapshot has an id that is not %d hexadecimal digits",
					2 * FRAME_ID_BYTES),
			 json_error_at(reader, offset)));
}

/*
 * frame_read_time reads the RFC 3339 timestamp that is the current token.
 */
TimestampTz
frame_read_time(JsonReader *reader)
{
	uint32		len;
	const char *text = json_read_text(reader, &len);
	TimestampTz result;

	if (!rfc3339_parse(text, len, &result))
		ereport(ERROR,
				(errmsg("snapshot has a timestamp that is not one of RFC 3339"),
				 json_error_at(reader, reader->start),
				 errhint("For example: \"2025-01-31T12:00:00.123456Z\".")));
	return result;
}
