/*-------------------------------------------------------------------------
 *
 * json_reader.c
 *		One pass over JSON text in UTF-8, driven by tables of known members.
 *
 * The server's lexer finds the tokens, without unescaping: it would convert to
 * the server encoding and allocate every string. What it does not check is
 * checked here: duplicate members, depth, and that the text is read to its end.
 * Two things do not go through it because they are most of the bytes: single
 * punctuation characters, and arrays of bytes.
 *
 * The text must be valid UTF-8 without zero bytes. It need not end in a NUL.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "json_reader.h"

#define PATH_MAX_BYTES		400		/* of a path in a message */
#define NAME_MAX_BYTES		64		/* of a name in a message */
#define PAIRWISE_NAMES		8		/* as many names are compared in pairs */

static void advance(JsonReader *reader);
static void expect(JsonReader *reader, JsonTokenType token, const char *expected);
static void enter(JsonReader *reader);
static void check_names(JsonReader *reader, uint32 first);
static int	compare_names(const void *a, const void *b);
static const char *unescape(JsonReader *reader, uint32 start, uint32 stop, uint32 *len);
static uint32 hex_escape(const char *digits);
static const char *token_text(JsonTokenType token);
static void lexer_failed(JsonReader *reader) pg_attribute_noreturn();
static void syntax_error(JsonReader *reader, const char *what) pg_attribute_noreturn();
static void truncated(JsonReader *reader) pg_attribute_noreturn();

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
	advance(reader);
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
 * advance makes the next token the current one.
 */
static void
advance(JsonReader *reader)
{
	const char *at = reader->lex->token_terminator;

	while (at < reader->end &&
		   (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
		at++;
	if (at == reader->end)
		truncated(reader);

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
			if (json_lex(reader->lex) != JSON_SUCCESS)
				lexer_failed(reader);
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
 * expect raises an error of type unless the current token is this one.
 */
static void
expect(JsonReader *reader, JsonTokenType token, const char *expected)
{
	if (reader->token != token)
		json_wrong_type(reader, expected);
}

/*
 * enter goes one level down, into an object or an array.
 */
static void
enter(JsonReader *reader)
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
	expect(reader, JSON_TOKEN_OBJECT_START, "an object");
	enter(reader);
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

	advance(reader);
	if (reader->token == JSON_TOKEN_OBJECT_END)
	{
		check_names(reader, object->first_name);
		reader->depth--;
		return false;
	}
	if (object->begun)
	{
		if (reader->token != JSON_TOKEN_COMMA)
			syntax_error(reader, "expected a comma or the end of the object");
		advance(reader);
	}
	object->begun = true;
	if (reader->token != JSON_TOKEN_STRING)
		syntax_error(reader, "expected the name of a member");

	object->name_start = reader->start;
	object->name_end = reader->stop;
	object->name = json_read_text(reader, &object->name_len);
	step->name = object->name;
	step->name_len = object->name_len;

	advance(reader);
	if (reader->token != JSON_TOKEN_COLON)
		syntax_error(reader, "expected a colon");
	advance(reader);
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
	expect(reader, JSON_TOKEN_ARRAY_START, "an array");
	enter(reader);
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

	advance(reader);
	if (reader->token == JSON_TOKEN_ARRAY_END)
	{
		reader->depth--;
		return false;
	}
	if (begun)
	{
		if (reader->token != JSON_TOKEN_COMMA)
			syntax_error(reader, "expected a comma or the end of the array");
		advance(reader);
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
			syntax_error(reader, "expected a value");
	}
}

/*
 * json_read_text returns the string that is the current token, unescaped: in
 * place where it has no escapes, else palloc'd; not NUL-terminated.
 */
const char *
json_read_text(JsonReader *reader, uint32 *len)
{
	const char *text;

	expect(reader, JSON_TOKEN_STRING, "a string");
	text = reader->base + reader->start + 1;
	*len = reader->stop - reader->start - 2;
	if (memchr(text, '\\', *len) != NULL)
		return unescape(reader, reader->start + 1, reader->stop - 1, len);
	return text;
}

/*
 * json_read_cstring returns the string that is the current token, palloc'd.
 */
char *
json_read_cstring(JsonReader *reader)
{
	uint32		len;
	const char *text = json_read_text(reader, &len);

	return pnstrdup(text, len);
}

/*
 * unescape returns the bytes start .. stop - 1, the inside of a string whose
 * escapes the lexer has seen, as palloc'd UTF-8. A surrogate without its
 * partner and U+0000 are errors: neither can be in a string of UTF-8 that ends
 * in a NUL.
 */
static const char *
unescape(JsonReader *reader, uint32 start, uint32 stop, uint32 *len)
{
	const char *from = reader->base + start;
	const char *end = reader->base + stop;
	char	   *result = palloc(stop - start + 1);	/* no escape gets longer */
	char	   *to = result;

	while (from < end)
	{
		uint32		code;

		if (*from != '\\')
		{
			*to++ = *from++;
			continue;
		}
		from++;
		switch (*from++)
		{
			case 'b':
				*to++ = '\b';
				break;
			case 'f':
				*to++ = '\f';
				break;
			case 'n':
				*to++ = '\n';
				break;
			case 'r':
				*to++ = '\r';
				break;
			case 't':
				*to++ = '\t';
				break;
			case 'u':
				code = hex_escape(from);
				from += 4;
				if (code >= 0xD800 && code <= 0xDBFF && end - from >= 6 &&
					from[0] == '\\' && from[1] == 'u')
				{
					uint32		low = hex_escape(from + 2);

					if (low >= 0xDC00 && low <= 0xDFFF)
					{
						code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
						from += 6;
					}
				}
				if (code == 0)
					ereport(ERROR,
							(errmsg("snapshot has a zero character in a string"),
							 json_error_at(reader, from - 6 - reader->base)));
				if (code >= 0xD800 && code <= 0xDFFF)
					ereport(ERROR,
							(errmsg("snapshot has half a surrogate pair in a string"),
							 json_error_at(reader, from - 6 - reader->base)));
				unicode_to_utf8(code, (unsigned char *) to);
				to += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
				break;
			default:			/* quote, backslash, slash */
				*to++ = from[-1];
				break;
		}
	}
	*to = '\0';
	*len = to - result;
	return result;
}

/*
 * hex_escape returns the value of four hexadecimal digits, which the lexer has
 * checked.
 */
static uint32
hex_escape(const char *digits)
{
	uint32		value = 0;
	int			i;

	for (i = 0; i < 4; i++)
	{
		char		c = digits[i];

		value = value * 16 +
			(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return value;
}

/*
 * json_read_integer returns the number that is the current token. Anything but
 * an integer in min .. max, written with digits alone, is an error.
 */
uint64
json_read_integer(JsonReader *reader, uint64 min, uint64 max)
{
	const char *at = reader->base + reader->start;
	const char *end = reader->base + reader->stop;
	uint64		value = 0;
	bool		in_range = true;

	expect(reader, JSON_TOKEN_NUMBER, "a number");
	for (; at < end; at++)
	{
		uint64		digit = (unsigned char) *at - '0';

		if (digit > 9)
		{
			if (*at == '-')
			{
				in_range = false;
				continue;
			}
			ereport(ERROR,
					(errmsg("snapshot has a number that is not an integer"),
					 json_error_at(reader, reader->start)));
		}
		if (value > (PG_UINT64_MAX - digit) / 10)
			in_range = false;
		else
			value = value * 10 + digit;
	}
	if (!in_range || value < min || value > max)
		ereport(ERROR,
				(errmsg("snapshot has a number out of range"),
				 json_error_at(reader, reader->start),
				 errhint("Allowed here: " UINT64_FORMAT " to " UINT64_FORMAT ".", min, max)));
	return value;
}

/*
 * json_read_bytes reads an array of bytes as numbers, which begins at the
 * current token, and returns how many there are.
 */
uint32
json_read_bytes(JsonReader *reader)
{
	const char *at;
	const char *end = reader->end;
	uint32		count = 0;
	uint32		value;

#define SKIP_SPACE() \
	while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) \
		at++

	expect(reader, JSON_TOKEN_ARRAY_START, "an array of bytes");
	at = reader->lex->token_terminator;
	SKIP_SPACE();
	if (at < end && *at == ']')
		goto done;

	for (;;)
	{
		uint32		digit;
		const char *number = at;

		if ((count & 0xFFFF) == 0)
			CHECK_FOR_INTERRUPTS();

		if (at == end || (value = (unsigned char) *at - '0') > 9)
			goto odd;
		at++;
		while (at < end && (digit = (unsigned char) *at - '0') <= 9)
		{
			value = value * 10 + digit;
			at++;
			if (value > 255 || at - number > 3)
				goto odd;
		}
		if (*number == '0' && at - number > 1)
			goto odd;
		SKIP_SPACE();
		count++;
		if (at == end)
			goto odd;
		if (*at == ']')
			break;
		if (*at != ',')
			goto odd;
		at++;
		SKIP_SPACE();
		continue;

odd:

		/*
		 * Not a byte, or not followed by what must follow it. Which it is,
		 * the lexer can tell when it starts again at this element.
		 */
		compat_json_lexer_move(reader->lex, number);
		enter(reader);
		reader->path[reader->depth].index = count;
		advance(reader);
		(void) json_read_integer(reader, 0, 255);
		advance(reader);
		syntax_error(reader, "expected a comma or the end of the array");
	}

done:
	at++;
	reader->token = JSON_TOKEN_ARRAY_END;
	reader->start = at - 1 - reader->base;
	reader->stop = at - reader->base;
	compat_json_lexer_move(reader->lex, at);
	return count;
#undef SKIP_SPACE
}

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
		syntax_error(reader, "expected a value");
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
 * lexer_failed raises the error that the lexer found. Its own texts quote the
 * payload, so they are not used.
 */
static void
lexer_failed(JsonReader *reader)
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
			truncated(reader);
	}
	syntax_error(reader, "invalid token or escape");
}

/*
 * syntax_error raises an error of JSON's grammar at the current token.
 */
static void
syntax_error(JsonReader *reader, const char *what)
{
	ereport(ERROR,
			(errmsg("snapshot is not valid JSON: %s", what),
			 json_error_at(reader, reader->start)));
}

/*
 * truncated raises the error that the text ends too early.
 */
static void
truncated(JsonReader *reader)
{
	ereport(ERROR,
			(errmsg("snapshot is truncated"),
			 json_error_at(reader, reader->end - reader->base)));
}
