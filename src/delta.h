/*-------------------------------------------------------------------------
 *
 * delta.h
 *		Bytes as what differs from other bytes, by libzstd.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_DELTA_H
#define SAYIIR_DELTA_H

/* How hard delta_compress looks for what is the same */
typedef enum DeltaEffort
{
	DELTA_QUICK,				/* finds what has stayed in its order */
	DELTA_LONG					/* finds what has moved far, in twice the time */
} DeltaEffort;

extern int	delta_compress(DeltaEffort effort,
						   const char *data, int len, const char *before, int before_len,
						   char *to, int to_len);
extern bool delta_expand(const char *stored, int stored_len,
						 const char *before, int before_len, char *to, int len);

#endif							/* SAYIIR_DELTA_H */
