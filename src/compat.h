/*-------------------------------------------------------------------------
 *
 * compat.h
 *		What differs between server versions: the only file that asks for
 *		PG_VERSION_NUM.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_COMPAT_H
#define SAYIIR_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "sayiir_pg needs PostgreSQL 15 or later"
#endif

#include "common/base64.h"
#include "common/jsonapi.h"
#include "mb/pg_wchar.h"

/* Before a prototype since 18; what there was before went after it, and is gone. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn __attribute__((noreturn))
#endif

/* VARDATA and its kin: their own header since 16, before that postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * compat_json_lexer makes a lexer of UTF-8 text that does not unescape
 * strings. Since 17 the constructor can also fill a given struct, and takes the
 * text as const.
 */
static inline JsonLexContext *
compat_json_lexer(const char *json, int len)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContextCstringLen(NULL, json, len, PG_UTF8, false);
#else
	return makeJsonLexContextCstringLen(unconstify(char *, json), len, PG_UTF8, false);
#endif
}

/*
 * compat_json_lexer_move makes the lexer go on at this byte of its text, of
 * which the pointers are const since 17.
 */
static inline void
compat_json_lexer_move(JsonLexContext *lex, const char *to)
{
	lex->token_terminator = unconstify(char *, to);
}

/*
 * compat_base64_encode and compat_base64_decode: since 18 the side that is not
 * text is uint8.  They return a length, or -1.
 */
static inline int
compat_base64_encode(const char *raw, int len, char *text, int size)
{
#if PG_VERSION_NUM >= 180000
	return pg_b64_encode((const uint8 *) raw, len, text, size);
#else
	return pg_b64_encode(raw, len, text, size);
#endif
}

static inline int
compat_base64_decode(const char *text, int len, char *raw, int size)
{
#if PG_VERSION_NUM >= 180000
	return pg_b64_decode(text, len, (uint8 *) raw, size);
#else
	return pg_b64_decode(text, len, raw, size);
#endif
}

#endif							/* SAYIIR_COMPAT_H */
