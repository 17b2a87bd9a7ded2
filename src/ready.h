/*-------------------------------------------------------------------------
 *
 * ready.h
 *		What can be claimed: the queue that follows from the other tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_READY_H
#define SAYIIR_READY_H

#include "datatype/timestamp.h"

#include "plan.h"

/*
 * SQL for the kind of work: equal for equal definition, tags and priority.  One
 * number keeps the index small and a step through it cheap.
 */
#define READY_KIND(definition_hash, task_tags, task_priority) \
	"hashtextextended(encode(" definition_hash ", 'hex')," \
	" hash_array_extended(" task_tags " COLLATE \"C\", 0) # " task_priority "::bigint)"

/* An instance in progress at a task, just after its save */
typedef struct ReadyTask
{
	text	   *instance_id;
	Datum		definition_hash;	/* bytea */
	Datum		task_tags;		/* text[] */
	Datum		task_priority;	/* int2 */
	Datum		ready_at;		/* timestamptz */
} ReadyTask;

extern bool ready_has_task(PlanCall *call, const ReadyTask *task);
extern bool ready_put_task(PlanCall *call, const ReadyTask *task, bool end_claim);
extern void ready_requeue(PlanCall *call, text *instance_id, TimestampTz ready_at);
extern bool ready_refresh(PlanCall *call, text *instance_id);
extern void ready_give_back(PlanCall *call, Datum instance_ids);
extern void ready_end_claim(PlanCall *call, text *instance_id);
extern void ready_forget(PlanCall *call, text *instance_id);

#endif							/* SAYIIR_READY_H */
