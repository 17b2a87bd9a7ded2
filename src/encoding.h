/*-------------------------------------------------------------------------
 *
 * encoding.h
 *		Text between the database's encoding and the UTF-8 that hints and
 *		Sayiir's snapshots are in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_ENCODING_H
#define SAYIIR_ENCODING_H

extern bool encoding_to_utf8(const char *bytes, int len, const char **utf8, int *utf8_len);
extern text *encoding_text_from_utf8(const char *utf8, int len);

#endif							/* SAYIIR_ENCODING_H */
