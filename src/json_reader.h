/*-------------------------------------------------------------------------
 *
 * json_reader.h
 *		One pass over JSON text in UTF-8, driven by tables of known members.
 *
 * A value reader is called with the first token of its value as the current
 * one and returns with the last token of it as the current one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_JSON_READER_H
#define SAYIIR_JSON_READER_H

#include "compat.h"

#define JSON_MAX_DEPTH	200		/* objects and arrays within each other */

/* Where in the document the reader is: a member's name or an array's index. */
typedef struct JsonStep
{
	const char *name;			/* NULL in an array */
	uint32		name_len;
	uint32		index;
} JsonStep;

/* A name that has been seen in an object that is still open. */
typedef struct JsonName
{
	const char *name;
	uint32		name_len;
	uint32		offset;
} JsonName;

typedef struct JsonReader
{
	const char *base;			/* offsets count from here */
	const char *end;			/* behind the last byte of the text */
	JsonLexContext *lex;

	/* the current token: bytes start .. stop - 1, string quotes included */
	JsonTokenType token;
	uint32		start;
	uint32		stop;

	int			depth;
	JsonStep	path[JSON_MAX_DEPTH + 1];	/* from 1: of each open level */

	JsonName   *names;			/* of all open objects, innermost last */
	uint32		name_count;
	uint32		name_capacity;
} JsonReader;

/* The member that json_object_next stands at. */
typedef struct JsonObject
{
	const char *name;			/* unescaped, not NUL-terminated */
	uint32		name_len;
	uint32		name_start;		/* offset of the name, with its quotes */
	uint32		name_end;
	uint32		value_start;
	bool		begun;
	uint32		first_name;		/* where its names begin in the reader's */
} JsonObject;

typedef void (*JsonRead) (JsonReader *reader, void *state);
typedef void (*JsonReadEntry) (JsonReader *reader, const JsonObject *object, void *state);

#define JSON_OPTIONAL	0		/* may be missing */
#define JSON_REQUIRED	1
#define JSON_NULLABLE	2		/* may be null, then the same as missing */

typedef struct JsonMember
{
	const char *name;
	int			flags;
	JsonRead	read;
} JsonMember;

/* json_reader.c: from token to token */
extern void json_reader_start(JsonReader *reader, const char *base, uint32 from, uint32 to);
extern void json_reader_finish(JsonReader *reader);
extern void json_advance(JsonReader *reader);
extern void json_expect(JsonReader *reader, JsonTokenType token, const char *expected);
extern void json_enter(JsonReader *reader);
extern void json_skip(JsonReader *reader);

/* objects and arrays */
extern void json_object_begin(JsonReader *reader, JsonObject *object);
extern bool json_object_next(JsonReader *reader, JsonObject *object);
extern void json_object_note_name(JsonReader *reader, const JsonObject *object);
extern void json_read_object(JsonReader *reader, const JsonMember *members, int count,
							 JsonReadEntry after, void *state);
extern void json_read_map(JsonReader *reader, JsonReadEntry read, void *state);
extern void json_array_begin(JsonReader *reader);
extern bool json_array_next(JsonReader *reader);

/* json_value.c */
extern const char *json_read_text(JsonReader *reader, uint32 *len);
extern char *json_read_cstring(JsonReader *reader);
extern uint64 json_read_integer(JsonReader *reader, uint64 min, uint64 max);
extern uint32 json_read_bytes(JsonReader *reader);

/* json_error.c: two parts of an ereport, and whole errors */
extern int	json_error_at(JsonReader *reader, uint32 offset);
extern const char *json_clip(const char *name, uint32 len);
pg_noreturn extern void json_wrong_type(JsonReader *reader, const char *expected);
pg_noreturn extern void json_missing(JsonReader *reader, const char *name);
pg_noreturn extern void json_duplicate(JsonReader *reader, uint32 offset);
pg_noreturn extern void json_syntax_error(JsonReader *reader, const char *what);
pg_noreturn extern void json_lexer_failed(JsonReader *reader);
pg_noreturn extern void json_truncated(JsonReader *reader);

#endif							/* SAYIIR_JSON_READER_H */
