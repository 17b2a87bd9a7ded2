/*-------------------------------------------------------------------------
 *
 * claim_row.h
 *		The claims of workers on instances.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_CLAIM_ROW_H
#define SAYIIR_CLAIM_ROW_H

#include "datatype/timestamp.h"
#include "utils/timestamp.h"

#include "plan.h"

typedef struct ClaimRow
{
	Datum		worker_id;		/* text */
	Datum		claim_token;	/* uuid */
	NullableDatum expires_at;	/* timestamptz; NULL: until released */
	bool		live;			/* at the moment of reading */
} ClaimRow;

extern bool claim_row_find(PlanCall *call, text *instance_id, ClaimRow *claim);
extern bool claim_row_is_held(PlanCall *call, text *instance_id);
extern void claim_row_require(PlanCall *call, text *instance_id, Datum token, ClaimRow *claim);
extern bool claim_row_take(PlanCall *call, text *instance_id, NullableDatum task_id,
						   Datum worker_id, TimestampTz claimed_at,
						   NullableDatum expires_at, Datum *token);
extern void claim_row_move(PlanCall *call, text *instance_id, Datum task_id,
						   NullableDatum expires_at);
extern NullableDatum claim_row_extend(PlanCall *call, text *instance_id, Datum token, Datum ttl);
extern void claim_row_delete(PlanCall *call, text *instance_id);
extern NullableDatum claim_expiry(TimestampTz from, NullableDatum ttl);

#endif							/* SAYIIR_CLAIM_ROW_H */
