/*-------------------------------------------------------------------------
 *
 * hint.c
 *		The wakeup payload: what a notification tells a worker.
 *
 * A payload is base64, without padding, of
 *	 one byte			version, 2
 *	 u64 and bytes		instance id
 *	 32 bytes			task id
 *	 32 bytes			definition hash
 *	 u64				number of tags, and for each
 *	 u64 and bytes		the tag
 * where every u64 is little-endian and counts bytes, and text is UTF-8.
 * Sayiir's listeners read exactly this.  No database access here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "arg.h"
#include "compat.h"
#include "hint.h"

#define HINT_VERSION	2
#define HINT_U64		8
#define HINT_MAX_BYTES	(1024 * 1024)	/* far more than NOTIFY carries */

/* Where a reader is in the decoded bytes */
typedef struct HintReader
{
	const char *next;
	const char *end;
} HintReader;

static void put_u64(StringInfo out, uint64 value);
static void put_text(StringInfo out, const HintText *text);
static const char *take(HintReader *reader, uint64 len);
static uint64 take_u64(HintReader *reader);
static HintText take_text(HintReader *reader);
pg_noreturn static void refuse(const char *why);

/*
 * hint_encoded_length returns the length of the payload of a hint, without
 * making it.
 */
Size
hint_encoded_length(const Hint *hint)
{
	Size		raw = 1 + HINT_U64 + hint->instance_id.len + 2 * HASH_BYTES + HINT_U64;
	int			i;

	for (i = 0; i < hint->ntags; i++)
		raw += HINT_U64 + hint->tags[i].len;
	return (raw * 4 + 2) / 3;	/* no padding */
}

/*
 * hint_encode returns the payload of a hint, in the current context.
 */
char *
hint_encode(const Hint *hint)
{
	StringInfoData raw;
	char	   *payload;
	int			size;
	int			len;
	int			i;

	initStringInfo(&raw);
	appendStringInfoChar(&raw, HINT_VERSION);
	put_text(&raw, &hint->instance_id);
	appendBinaryStringInfo(&raw, (const char *) hint->task_id, HASH_BYTES);
	appendBinaryStringInfo(&raw, (const char *) hint->definition_hash, HASH_BYTES);
	put_u64(&raw, hint->ntags);
	for (i = 0; i < hint->ntags; i++)
		put_text(&raw, &hint->tags[i]);

	size = pg_b64_enc_len(raw.len) + 1;
	payload = palloc(size);
	len = compat_base64_encode(raw.data, raw.len, payload, size);
	if (len < 0)
		elog(ERROR, "could not encode hint");
	while (len > 0 && payload[len - 1] == '=')
		len--;
	payload[len] = '\0';
	pfree(raw.data);
	return payload;
}

/*
 * hint_decode reads a payload that is not empty.  The hint is in the current
 * context.  Raises 22P03 for anything that hint_encode does not write.
 */
Hint *
hint_decode(const char *payload, int len)
{
	Hint	   *hint = palloc0(sizeof(Hint));
	int			padding = (4 - len % 4) % 4;
	char	   *padded;
	char	   *raw;
	int			raw_size;
	int			raw_len;
	HintReader	reader;
	uint64		ntags;
	int			i;

	if (len > HINT_MAX_BYTES)
		refuse("It is longer than any.");

	padded = palloc(len + padding + 1);
	memcpy(padded, payload, len);
	memset(padded + len, '=', padding);
	padded[len + padding] = '\0';
	raw_size = pg_b64_dec_len(len + padding) + 1;
	raw = palloc(raw_size);
	raw_len = padding == 3 || memchr(payload, '=', len) != NULL ? -1 :
		compat_base64_decode(padded, len + padding, raw, raw_size);
	if (raw_len < 0)
		refuse("It is not base64 without padding.");

	reader.next = raw;
	reader.end = raw + raw_len;
	if (*take(&reader, 1) != HINT_VERSION)
		refuse("It is not of version 2.");
	hint->instance_id = take_text(&reader);
	hint->task_id = (const uint8 *) take(&reader, HASH_BYTES);
	hint->definition_hash = (const uint8 *) take(&reader, HASH_BYTES);
	ntags = take_u64(&reader);
	if (ntags > (uint64) (reader.end - reader.next) / HINT_U64)
		refuse("It is truncated.");
	hint->ntags = (int) ntags;
	hint->tags = palloc(sizeof(HintText) * (hint->ntags + 1));
	for (i = 0; i < hint->ntags; i++)
		hint->tags[i] = take_text(&reader);
	if (reader.next != reader.end)
		refuse("Bytes follow its end.");

	/* The last character can carry bits that mean nothing: they must be 0 */
	if (strcmp(hint_encode(hint), pnstrdup(payload, len)) != 0)
		refuse("It is not base64 without padding.");
	return hint;
}

static void
put_u64(StringInfo out, uint64 value)
{
	int			i;

	for (i = 0; i < HINT_U64; i++)
		appendStringInfoChar(out, (char) (value >> (8 * i) & 0xFF));
}

static void
put_text(StringInfo out, const HintText *text)
{
	put_u64(out, text->len);
	appendBinaryStringInfo(out, text->bytes, text->len);
}

/*
 * take returns the next len bytes and steps over them.
 */
static const char *
take(HintReader *reader, uint64 len)
{
	const char *bytes = reader->next;

	if (len > (uint64) (reader->end - reader->next))
		refuse("It is truncated.");
	reader->next += len;
	return bytes;
}

static uint64
take_u64(HintReader *reader)
{
	const uint8 *bytes = (const uint8 *) take(reader, HINT_U64);
	uint64		value = 0;
	int			i;

	for (i = 0; i < HINT_U64; i++)
		value |= (uint64) bytes[i] << (8 * i);
	return value;
}

static HintText
take_text(HintReader *reader)
{
	HintText	text;
	uint64		len = take_u64(reader);

	text.bytes = take(reader, len);
	text.len = (int) len;
	if (!pg_verify_mbstr(PG_UTF8, text.bytes, text.len, true))
		refuse("It contains text that is not UTF-8.");
	return text;
}

/*
 * refuse raises 22P03 for a payload, with a sentence that says why.
 */
static void
refuse(const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("payload is not a task hint"),
			 errdetail_internal("%s", why),
			 errhint("Give the payload of a notification on channel sayiir_task_ready; treat any other as a call to look for work.")));
}
