/*-------------------------------------------------------------------------
 *
 * history.h
 *		The versions of an instance: the one place that reads and writes
 *		snapshot bytes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_HISTORY_H
#define SAYIIR_HISTORY_H

#include "datatype/timestamp.h"

#include "plan.h"
#include "status.h"

/* One version: what is beside its bytes */
typedef struct HistoryVersion
{
	int			version;
	SnapshotStatus status;
	NullableDatum current_task_id;	/* bytea */
	Datum		data_hash;		/* bytea */
	TimestampTz created_at;		/* set by reading */
} HistoryVersion;

extern void history_append(PlanCall *call, text *instance_id,
						   const HistoryVersion *version, Datum data);
extern void history_carry(PlanCall *call, text *instance_id, int from, int to);
extern bool history_find(PlanCall *call, text *instance_id, int version,
						 HistoryVersion *found);
extern bool history_read(PlanCall *call, text *instance_id, int version,
						 HistoryVersion *found, Datum *data);
extern bool history_is_sound(PlanCall *call, text *instance_id, int version);
extern int64 history_cut(PlanCall *call, text *instance_id, int version);
extern void history_delete(PlanCall *call, text *instance_id);

#endif							/* SAYIIR_HISTORY_H */
