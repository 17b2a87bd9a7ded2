/*-------------------------------------------------------------------------
 *
 * hint.h
 *		The wakeup payload: what a notification tells a worker.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_HINT_H
#define SAYIIR_HINT_H

/* UTF-8, not terminated */
typedef struct HintText
{
	const char *bytes;
	int			len;
} HintText;

typedef struct Hint
{
	HintText	instance_id;
	const uint8 *task_id;		/* HASH_BYTES */
	const uint8 *definition_hash;	/* HASH_BYTES */
	int			ntags;
	HintText   *tags;
} Hint;

extern Size hint_encoded_length(const Hint *hint);
extern char *hint_encode(const Hint *hint);
extern Hint *hint_decode(const char *payload, int len);

#endif							/* SAYIIR_HINT_H */
