/*-------------------------------------------------------------------------
 *
 * encoding.c
 *		Text between the database's encoding and the UTF-8 that hints and
 *		Sayiir's snapshots are in.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "encoding.h"

/*
 * encoding_to_utf8 gives the UTF-8 form of text in the database's encoding:
 * the same bytes, or a copy in the current context.  Returns false when there
 * is none: a character that Unicode lacks, or in a database of encoding
 * SQL_ASCII bytes that are not UTF-8.  Never raises an error for what the
 * text is.
 */
bool
encoding_to_utf8(const char *bytes, int len, const char **utf8, int *utf8_len)
{
	int			encoding = GetDatabaseEncoding();
	Oid			conversion;
	char	   *result;
	Size		result_size;
	int			converted;

	*utf8 = bytes;
	*utf8_len = len;

	if (encoding == PG_UTF8 || len == 0)
		return true;
	if (encoding == PG_SQL_ASCII)
		return pg_verify_mbstr(PG_UTF8, bytes, len, true);

	conversion = FindDefaultConversionProc(encoding, PG_UTF8);
	if (!OidIsValid(conversion))
		return false;

	result_size = (Size) len * MAX_CONVERSION_GROWTH + 1;
	if (result_size > MaxAllocSize)
		return false;			/* far beyond what a hint can hold */
	result = palloc(result_size);
	converted = pg_do_encoding_conversion_buf(conversion, encoding, PG_UTF8,
											  (unsigned char *) unconstify(char *, bytes), len,
											  (unsigned char *) result, (int) result_size,
											  true);
	if (converted != len)
		return false;
	*utf8 = result;
	*utf8_len = strlen(result);
	return true;
}

/*
 * encoding_text_from_utf8 makes a text in the database's encoding of valid
 * UTF-8.  Raises 22P05 when that encoding cannot hold it.
 */
text *
encoding_text_from_utf8(const char *utf8, int len)
{
	char	   *server = pg_any_to_server(utf8, len, PG_UTF8);

	if (server == utf8)
		return cstring_to_text_with_len(utf8, len);
	return cstring_to_text(server);
}
