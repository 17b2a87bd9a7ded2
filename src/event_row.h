/*-------------------------------------------------------------------------
 *
 * event_row.h
 *		Events that were sent and not consumed yet.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_EVENT_ROW_H
#define SAYIIR_EVENT_ROW_H

#include "plan.h"

/* Who deals with events of an instance that may be about to be */
typedef enum EventParty
{
	EVENT_SENDER,				/* or consumer, who finds no instance */
	EVENT_PARKER,				/* a save that parks the instance */
	EVENT_PRUNER				/* does not wait */
} EventParty;

extern bool event_row_lock(text *instance_id, EventParty party);
extern int64 event_row_size(PlanCall *call, text *instance_id, Datum name);
extern bool event_row_exists(PlanCall *call, text *instance_id, Datum name);
extern void event_row_put(PlanCall *call, text *instance_id, Datum name, Datum payload);
extern bool event_row_take(PlanCall *call, text *instance_id, Datum name, Datum *payload);
extern void event_row_delete_all(PlanCall *call, text *instance_id);
extern int64 event_row_prune(PlanCall *call, Datum before, int batch);

#endif							/* SAYIIR_EVENT_ROW_H */
