/*-------------------------------------------------------------------------
 *
 * json_reader.c
 *		One pass over JSON text in UTF-8, driven by tables of known members.
 *
 * The server's lexer finds the tokens, without unescaping: it would convert to
 * the server encoding and allocate every string. What it does not check is
 * checked here: duplicate members, depth, and that the text is read to its end.
 * What most of the bytes are is not left to it, for speed: punctuation, strings
 * without escapes, and arrays of bytes.
 *
 * The text must be valid UTF-8 without zero bytes. It need not end in a NUL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "json_reader.h"

#define PAIRWISE_NAMES		8		/* as many names are compared in pairs */

static const char *closing_quote(const char *at, const char *end);
static void check_names(JsonReader *reader, uint32 first);
static int	compare_names(const void *a, const void *b);

/*
 * json_reader_start makes a reader of the bytes from .. to - 1 of "base" and
 * makes their first token current.
 */
void
json_reader_start(JsonReader *reader, const char *base, uint32 from, uint32 to)
{
	reader->base = base;
	reader->end = base + to;
	reader->lex = compat_json_lexer(base + from, to - from);
	reader->depth = 0;
	reader->names = NULL;
	reader->name_count = 0;
	reader->name_capacity = 0;
	reader->start = reader->stop = from;
	json_advance(reader);
}

/*
 * json_reader_finish checks that only white space follows the value that was
 * read.
 */
void
json_reader_finish(JsonReader *reader)
{
	const char *rest = reader->lex->token_terminator;

	while (rest < reader->end &&
		   (*rest == ' ' || *rest == '\t' || *rest == '\n' || *rest == '\r'))
		rest++;
	if (rest < reader->end)
		ereport(ERROR,
				(errmsg("snapshot has trailing bytes"),
				 json_error_at(reader, rest - reader->base)));
	if (reader->names)
		pfree(reader->names);
}

/*
 * json_advance makes the next token the current one.
 */
void
json_advance(JsonReader *reader)
{
	const char *at = reader->lex->token_terminator;
	const char *quote;

	while (at < reader->end &&
		   (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
		at++;
	if (at == reader->end)
		json_truncated(reader);

	switch (*at)
	{
		case '{':
			reader->token = JSON_TOKEN_OBJECT_START;
			break;
		case '}':
			reader->token = JSON_TOKEN_OBJECT_END;
			break;
		case '[':
			reader->token = JSON_TOKEN_ARRAY_START;
			break;
		case ']':
			reader->token = JSON_TOKEN_ARRAY_END;
			break;
		case ':':
			reader->token = JSON_TOKEN_COLON;
			break;
		case ',':
			reader->token = JSON_TOKEN_COMMA;
			break;
		default:
			if (*at == '"' && (quote = closing_quote(at + 1, reader->end)) != NULL)
			{
				reader->token = JSON_TOKEN_STRING;
				reader->start = at - reader->base;
				reader->stop = quote + 1 - reader->base;
				compat_json_lexer_move(reader->lex, quote + 1);
				return;
			}
			if (json_lex(reader->lex) != JSON_SUCCESS)
				json_lexer_failed(reader);
			reader->token = reader->lex->token_type;
			reader->start = reader->lex->token_start - reader->base;
			reader->stop = reader->lex->token_terminator - reader->base;
			return;
	}
	reader->start = at - reader->base;
	reader->stop = reader->start + 1;
	compat_json_lexer_move(reader->lex, at + 1);
}

/*
 * closing_quote finds the end of a string in which nothing is escaped; "at" is
 * its first character. Returns NULL when a backslash or a control character
 * comes first, or the end: such a string is the lexer's.
 */
static const char *
closing_quote(const char *at, const char *end)
{
#define EACH_BYTE(value)	(UINT64CONST(0x0101010101010101) * (value))
#define HAS_ZERO(word)		(((word) - EACH_BYTE(1)) & ~(word))

	/* eight bytes at a time while none of them is of interest */
	while (end - at >= sizeof(uint64))
	{
		uint64		word;
		uint64		found;

		memcpy(&word, at, sizeof(word));
		found = HAS_ZERO(word ^ EACH_BYTE('"')) | HAS_ZERO(word ^ EACH_BYTE('\\')) |
			((word - EACH_BYTE(' ')) & ~word);
		if (found & EACH_BYTE(0x80))
			break;
		at += sizeof(word);
	}
	for (; at < end && *at != '\\' && (unsigned char) *at >= ' '; at++)
	{
		if (*at == '"')
			return at;
	}
	return NULL;
#undef EACH_BYTE
#undef HAS_ZERO
}

/*
 * json_expect raises an error of type unless the current token is this one.
 */
void
json_expect(JsonReader *reader, JsonTokenType token, const char *expected)
{
	if (reader->token != token)
		json_wrong_type(reader, expected);
}

/*
 * json_enter goes one level down, into an object or an array.
 */
void
json_enter(JsonReader *reader)
{
	JsonStep   *step;

	check_stack_depth();
	if (reader->depth == JSON_MAX_DEPTH)
		ereport(ERROR,
				(errmsg("snapshot is nested too deeply"),
				 json_error_at(reader, reader->start),
				 errhint("Objects and arrays may be nested in up to %d levels.",
						 JSON_MAX_DEPTH)));
	step = &reader->path[++reader->depth];
	step->name = NULL;
	step->name_len = 0;
	step->index = PG_UINT32_MAX;
}

/*
 * json_object_begin begins an object, the current token; anything else there
 * is an error.
 */
void
json_object_begin(JsonReader *reader, JsonObject *object)
{
	json_expect(reader, JSON_TOKEN_OBJECT_START, "an object");
	json_enter(reader);
	object->begun = false;
	object->first_name = reader->name_count;

	/* no index to show until there is a name */
	reader->path[reader->depth].name = "";
}

/*
 * json_object_next goes to the next member and makes the first token of its
 * value current; the value before must have been read. Returns false at the
 * object's end, after it has checked the names that were noted.
 */
bool
json_object_next(JsonReader *reader, JsonObject *object)
{
	JsonStep   *step = &reader->path[reader->depth];

	CHECK_FOR_INTERRUPTS();

	json_advance(reader);
	if (reader->token == JSON_TOKEN_OBJECT_END)
	{
		check_names(reader, object->first_name);
		reader->depth--;
		return false;
	}
	if (object->begun)
	{
		if (reader->token != JSON_TOKEN_COMMA)
			json_syntax_error(reader, "expected a comma or the end of the object");
		json_advance(reader);
	}
	object->begun = true;
	if (reader->token != JSON_TOKEN_STRING)
		json_syntax_error(reader, "expected the name of a member");

	/* What is wrong with a name is not inside the member before it */
	step->name = NULL;
	step->name_len = 0;
	object->name_start = reader->start;
	object->name_end = reader->stop;
	object->name = json_read_text(reader, &object->name_len);
	step->name = object->name;
	step->name_len = object->name_len;

	json_advance(reader);
	if (reader->token != JSON_TOKEN_COLON)
		json_syntax_error(reader, "expected a colon");
	json_advance(reader);
	object->value_start = reader->start;
	return true;
}

/*
 * json_object_note_name keeps the present member's name, for the check of
 * duplicates at the object's end.
 */
void
json_object_note_name(JsonReader *reader, const JsonObject *object)
{
	JsonName   *name;

	if (reader->name_count == reader->name_capacity)
	{
		/* an object of nothing but short names can need more than 1 GB here */
		uint32		capacity = reader->name_capacity ? reader->name_capacity * 2 : 64;
		Size		size = capacity * sizeof(JsonName);

		if (reader->names)
			reader->names = repalloc_huge(reader->names, size);
		else
			reader->names = palloc(size);
		reader->name_capacity = capacity;
	}
	name = &reader->names[reader->name_count++];
	name->name = object->name;
	name->name_len = object->name_len;
	name->offset = object->name_start;
}

/*
 * check_names raises an error when two of the names from "first" on are the
 * same, and forgets them.
 */
static void
check_names(JsonReader *reader, uint32 first)
{
	JsonName   *names;
	uint32		count = reader->name_count - first;
	uint32		i,
				j;

	if (count == 0)
		return;
	names = reader->names + first;
	reader->name_count = first;
	if (count <= PAIRWISE_NAMES)
	{
		for (i = 1; i < count; i++)
			for (j = 0; j < i; j++)
				if (names[i].name_len == names[j].name_len &&
					memcmp(names[i].name, names[j].name, names[i].name_len) == 0)
				{
					reader->path[reader->depth].name = names[i].name;
					reader->path[reader->depth].name_len = names[i].name_len;
					json_duplicate(reader, names[i].offset);
				}
		return;
	}

	qsort(names, count, sizeof(JsonName), compare_names);
	for (i = 1; i < count; i++)
	{
		if (names[i].name_len == names[i - 1].name_len &&
			memcmp(names[i].name, names[i - 1].name, names[i].name_len) == 0)
		{
			reader->path[reader->depth].name = names[i].name;
			reader->path[reader->depth].name_len = names[i].name_len;
			json_duplicate(reader, Max(names[i].offset, names[i - 1].offset));
		}
	}
}

/*
 * compare_names orders names by length first, which is the cheapest.
 */
static int
compare_names(const void *a, const void *b)
{
	const JsonName *left = a;
	const JsonName *right = b;

	if (left->name_len != right->name_len)
		return left->name_len < right->name_len ? -1 : 1;
	return memcmp(left->name, right->name, left->name_len);
}

/*
 * json_read_object reads an object: a member of the table (at most 32) by its
 * function, any other is skipped. After each of them "after" is called, unless
 * NULL, with the value's last token as the current one. "state" is handed on.
 * A member that is missing or null where it must not be is an error.
 */
void
json_read_object(JsonReader *reader, const JsonMember *members, int count,
				 JsonReadEntry after, void *state)
{
	JsonObject	object;
	uint32		seen = 0;
	int			i;

	Assert(count <= 32);
	json_object_begin(reader, &object);
	while (json_object_next(reader, &object))
	{
		for (i = 0; i < count; i++)
		{
			if (strncmp(members[i].name, object.name, object.name_len) == 0 &&
				members[i].name[object.name_len] == '\0')
				break;
		}

		if (i == count)
		{
			json_object_note_name(reader, &object);
			json_skip(reader);
		}
		else
		{
			if (seen & ((uint32) 1 << i))
				json_duplicate(reader, object.name_start);
			seen |= (uint32) 1 << i;
			if (reader->token != JSON_TOKEN_NULL || !(members[i].flags & JSON_NULLABLE))
				members[i].read(reader, state);
		}

		if (after)
			after(reader, &object, state);
	}

	for (i = 0; i < count; i++)
	{
		if ((members[i].flags & JSON_REQUIRED) && !(seen & ((uint32) 1 << i)))
			json_missing(reader, members[i].name);
	}
}

/*
 * json_read_map reads an object whose names are data; "read" reads each value.
 */
void
json_read_map(JsonReader *reader, JsonReadEntry read, void *state)
{
	JsonObject	object;

	json_object_begin(reader, &object);
	while (json_object_next(reader, &object))
	{
		json_object_note_name(reader, &object);
		read(reader, &object, state);
	}
}

/*
 * json_array_begin begins an array, the current token; anything else there is
 * an error.
 */
void
json_array_begin(JsonReader *reader)
{
	json_expect(reader, JSON_TOKEN_ARRAY_START, "an array");
	json_enter(reader);
}

/*
 * json_array_next goes to the next element and makes its first token current;
 * the element before must have been read. Returns false at the array's end.
 */
bool
json_array_next(JsonReader *reader)
{
	JsonStep   *step = &reader->path[reader->depth];
	bool		begun = step->index != PG_UINT32_MAX;

	CHECK_FOR_INTERRUPTS();

	json_advance(reader);
	if (reader->token == JSON_TOKEN_ARRAY_END)
	{
		reader->depth--;
		return false;
	}
	if (begun)
	{
		if (reader->token != JSON_TOKEN_COMMA)
			json_syntax_error(reader, "expected a comma or the end of the array");
		json_advance(reader);
	}
	step->index++;
	return true;
}

/*
 * json_skip reads any value and checks that it is sound.
 */
void
json_skip(JsonReader *reader)
{
	JsonObject	object;

	switch (reader->token)
	{
		case JSON_TOKEN_OBJECT_START:
			json_object_begin(reader, &object);
			while (json_object_next(reader, &object))
			{
				json_object_note_name(reader, &object);
				json_skip(reader);
			}
			break;
		case JSON_TOKEN_ARRAY_START:
			json_array_begin(reader);
			while (json_array_next(reader))
				json_skip(reader);
			break;
		case JSON_TOKEN_STRING:
		case JSON_TOKEN_NUMBER:
		case JSON_TOKEN_TRUE:
		case JSON_TOKEN_FALSE:
		case JSON_TOKEN_NULL:
			break;
		default:
			json_syntax_error(reader, "expected a value");
	}
}
