/*-------------------------------------------------------------------------
 *
 * rfc3339.h
 *		Timestamps as Sayiir's snapshots spell them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_RFC3339_H
#define SAYIIR_RFC3339_H

#include "datatype/timestamp.h"

#define RFC3339_BUFFER	32		/* of rfc3339_format, NUL included */

extern bool rfc3339_parse(const char *text, int len, TimestampTz *result);
extern void rfc3339_format(TimestampTz at, char *buffer);
extern int64 unix_seconds(TimestampTz at);

#endif							/* SAYIIR_RFC3339_H */
