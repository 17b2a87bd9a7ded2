/*-------------------------------------------------------------------------
 *
 * wakeup.h
 *		When a hint is sent, and by which way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_WAKEUP_H
#define SAYIIR_WAKEUP_H

#include "utils/array.h"

extern void wakeup_ready(text *instance_id, NullableDatum task_id, Datum definition_hash,
						 ArrayType *tags);

#endif							/* SAYIIR_WAKEUP_H */
