/*-------------------------------------------------------------------------
 *
 * candidate.h
 *		One instance that can probably be claimed: claimed, and loaded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_CANDIDATE_H
#define SAYIIR_CANDIDATE_H

#include "nodes/execnodes.h"

#include "checkpoint.h"

/* What the caller of sayiir_claim_tasks asks for */
typedef struct ClaimRequest
{
	Datum		worker_id;		/* text */
	int			max_tasks;
	Datum		ttl;			/* interval */
	Datum		worker_tags;	/* text[] */
	NullableDatum definition_hashes;	/* bytea[] */
	int64		aging;			/* microseconds */
	TimestampTz now;
	ReturnSetInfo *rsinfo;		/* gets a row for each claim */
	int			requeued;		/* candidates that were not yet in their place */
} ClaimRequest;

/* What became of a candidate */
typedef enum CandidateOutcome
{
	CANDIDATE_CLAIMED,
	CANDIDATE_REQUEUED,			/* a later candidate of its kind */
	CANDIDATE_GONE				/* not to be had */
} CandidateOutcome;

extern CandidateOutcome candidate_claim(PlanCall *call, ClaimRequest *request,
										text *instance_id, TimestampTz ready_at, Datum kind);
extern void candidate_hold_back(PlanCall *call, const Instance *instance,
								const ErrorData *error);

#endif							/* SAYIIR_CANDIDATE_H */
