/*-------------------------------------------------------------------------
 *
 * json_value.c
 *		Strings, integers and arrays of bytes in a JSON text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "json_reader.h"

static const char *unescape(JsonReader *reader, uint32 start, uint32 stop, uint32 *len);
static uint32 hex_escape(const char *digits);

/*
 * json_read_text returns the string that is the current token, unescaped: in
 * place where it has no escapes, else palloc'd; not NUL-terminated.
 */
const char *
json_read_text(JsonReader *reader, uint32 *len)
{
	const char *text;

	json_expect(reader, JSON_TOKEN_STRING, "a string");
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

	json_expect(reader, JSON_TOKEN_NUMBER, "a number");
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

	json_expect(reader, JSON_TOKEN_ARRAY_START, "an array of bytes");
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
		json_enter(reader);
		reader->path[reader->depth].index = count;
		json_advance(reader);
		(void) json_read_integer(reader, 0, 255);
		json_advance(reader);
		json_syntax_error(reader, "expected a comma or the end of the array");
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
