/*-------------------------------------------------------------------------
 *
 * json_error.c
 *		What can be wrong with a JSON text, each with its place.
 *
 * All are 22P03 with the member's path and the byte offset in DETAIL. Names of
 * members are shown, clipped and in ASCII; values never are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "json_reader.h"

#define PATH_MAX_BYTES	400		/* of a path in a message */
#define NAME_MAX_BYTES	64		/* of a name in a message */

static const char *token_text(JsonTokenType token);

/*
 * json_error_at is an auxiliary function of ereport: the SQLSTATE, and in
 * DETAIL where it happened.
 */
int
json_error_at(JsonReader *reader, uint32 offset)
{
	StringInfoData path;
	int			level;

	initStringInfo(&path);
	for (level = 1; level <= reader->depth; level++)
	{
		JsonStep   *step = &reader->path[level];

		if (path.len > PATH_MAX_BYTES)
		{
			appendStringInfoString(&path, "...");
			break;
		}
		if (step->name == NULL)
		{
			if (step->index != PG_UINT32_MAX)
				appendStringInfo(&path, "[%u]", step->index);
		}
		else if (step->name_len > 0)
			appendStringInfo(&path, "%s%s", path.len > 0 ? "." : "",
							 json_clip(step->name, step->name_len));
	}

	errcode(ERRCODE_INVALID_BINARY_REPRESENTATION);
	if (path.len > 0)
		errdetail("At %s, byte %u.", path.data, offset);
	else
		errdetail("At byte %u.", offset);
	return 0;
}

/*
 * json_clip returns a name as it may be shown in a message: its beginning, in
 * ASCII, since the text is UTF-8 whatever the server encoding.
 */
const char *
json_clip(const char *name, uint32 len)
{
	uint32		shown = Min(len, NAME_MAX_BYTES);
	char	   *result = palloc(shown + 4);
	uint32		i;

	for (i = 0; i < shown; i++)
		result[i] = (name[i] >= ' ' && name[i] <= '~') ? name[i] : '?';
	strcpy(result + shown, shown < len ? "..." : "");
	return result;
}

/*
 * json_wrong_type raises the error that the current token begins another type
 * of value than the expected one.
 */
void
json_wrong_type(JsonReader *reader, const char *expected)
{
	if (reader->token == JSON_TOKEN_OBJECT_END ||
		reader->token == JSON_TOKEN_ARRAY_END ||
		reader->token == JSON_TOKEN_COLON ||
		reader->token == JSON_TOKEN_COMMA)
		json_syntax_error(reader, "expected a value");
	ereport(ERROR,
			(errmsg("snapshot has a value of the wrong type: expected %s, found %s",
					expected, token_text(reader->token)),
			 json_error_at(reader, reader->start)));
}

/*
 * json_missing raises the error that the object that ends at the current token
 * lacks a member.
 */
void
json_missing(JsonReader *reader, const char *name)
{
	ereport(ERROR,
			(errmsg("snapshot lacks the member \"%s\"", name),
			 json_error_at(reader, reader->start)));
}

/*
 * json_duplicate raises the error that the last member of the path appears for
 * a second time, at this offset.
 */
void
json_duplicate(JsonReader *reader, uint32 offset)
{
	JsonStep   *step = &reader->path[reader->depth];

	ereport(ERROR,
			(errmsg("snapshot has the member \"%s\" twice",
					json_clip(step->name, step->name_len)),
			 json_error_at(reader, offset)));
}

/*
 * token_text names the type of value that a token begins.
 */
static const char *
token_text(JsonTokenType token)
{
	switch (token)
	{
		case JSON_TOKEN_STRING:
			return "a string";
		case JSON_TOKEN_NUMBER:
			return "a number";
		case JSON_TOKEN_OBJECT_START:
			return "an object";
		case JSON_TOKEN_ARRAY_START:
			return "an array";
		case JSON_TOKEN_TRUE:
		case JSON_TOKEN_FALSE:
			return "a boolean";
		case JSON_TOKEN_NULL:
			return "null";
		default:
			return "punctuation";
	}
}

/*
 * json_lexer_failed raises the error that the lexer found. Its own texts quote the
 * payload, so they are not used.
 */
void
json_lexer_failed(JsonReader *reader)
{
	const char *token = reader->lex->token_terminator;

	/*
	 * When it ran into the end inside a token that could have gone on, bytes
	 * are missing rather than wrong.
	 */
	reader->start = reader->lex->token_start - reader->base;
	if (token >= reader->end)
	{
		Size		len = reader->end - reader->base - reader->start;

		token = reader->base + reader->start;
		if (*token == '"' || *token == '-' || (*token >= '0' && *token <= '9') ||
			strncmp(token, "true", Min(len, 4)) == 0 ||
			strncmp(token, "false", Min(len, 5)) == 0 ||
			strncmp(token, "null", Min(len, 4)) == 0)
			json_truncated(reader);
	}
	json_syntax_error(reader, "invalid token or escape");
}

/*
 * json_syntax_error raises an error of JSON's grammar at the current token.
 */
void
json_syntax_error(JsonReader *reader, const char *what)
{
	ereport(ERROR,
			(errmsg("snapshot is not valid JSON: %s", what),
			 json_error_at(reader, reader->start)));
}

/*
 * json_truncated raises the error that the text ends too early.
 */
void
json_truncated(JsonReader *reader)
{
	ereport(ERROR,
			(errmsg("snapshot is truncated"),
			 json_error_at(reader, reader->end - reader->base)));
}
