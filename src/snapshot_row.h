/*-------------------------------------------------------------------------
 *
 * snapshot_row.h
 *		The snapshot row of an instance, on which everything serializes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_SNAPSHOT_ROW_H
#define SAYIIR_SNAPSHOT_ROW_H

#include "checkpoint.h"

/* A snapshot row that has just been written */
typedef struct SnapshotWritten
{
	int			version;
	bool		moved;			/* to another place than before */
	Datum		waiting_since;	/* timestamptz: of the place */
	bool		count_is_full;	/* no other task can be counted */
} SnapshotWritten;

extern bool snapshot_row_update(PlanCall *call, const Checkpoint *save, Datum data_hash,
								SnapshotWritten *written);
extern void snapshot_row_resume(PlanCall *call, text *instance_id);
extern bool snapshot_row_insert(PlanCall *call, const Checkpoint *save, Datum data_hash,
								SnapshotWritten *written);
extern void snapshot_row_uncount(PlanCall *call, text *instance_id);
extern int	snapshot_row_add_result(PlanCall *call, text *instance_id, bool count,
									NullableDatum data_hash);
extern bool snapshot_row_lock(PlanCall *call, text *instance_id, Instance *instance);
extern bool snapshot_row_try_lock(PlanCall *call, text *instance_id, Instance *instance);
extern bool snapshot_row_exists(PlanCall *call, text *instance_id);
extern void snapshot_row_pruned(PlanCall *call, text *instance_id, int oldest_version);
extern void snapshot_row_delay(PlanCall *call, text *instance_id, Datum until);
extern bool snapshot_row_delete(PlanCall *call, text *instance_id);

#endif							/* SAYIIR_SNAPSHOT_ROW_H */
