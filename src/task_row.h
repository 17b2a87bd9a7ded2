/*-------------------------------------------------------------------------
 *
 * task_row.h
 *		The task rows of an instance.  Only checkpoint.c writes through this.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_TASK_ROW_H
#define SAYIIR_TASK_ROW_H

#include "checkpoint.h"

/* What is stored of a completed task, compared with an output */
typedef struct TaskRow
{
	bool		same_output;	/* stored output equals the given one */
	int			completed_version;	/* 0 when not known */
} TaskRow;

extern bool task_row_find_completed(PlanCall *call, text *instance_id, Datum task_id,
									NullableDatum output, TaskRow *found);
extern bool task_row_complete(PlanCall *call, text *instance_id, Datum task_id,
							  NullableDatum output, int version);
extern void task_row_complete_all(PlanCall *call, text *instance_id, const TaskOutput *outputs,
								  int noutputs, int version);
extern void task_row_activate(PlanCall *call, text *instance_id, Datum task_id,
							  NullableDatum worker_id);
extern NullableDatum task_row_output(PlanCall *call, text *instance_id, Datum task_id);
extern bool task_row_load_outputs(PlanCall *call, text *instance_id, int version,
								  Datum data, Datum *task_ids, Datum *outputs);
extern void task_row_close_all(PlanCall *call, text *instance_id, SnapshotStatus ended,
							   NullableDatum error, int version);
extern int	task_row_count(PlanCall *call, text *instance_id, int version);
extern void task_row_copy(PlanCall *call, text *from, int from_version,
						  text *to, int to_version);
extern void task_row_delete_all(PlanCall *call, text *instance_id);

#endif							/* SAYIIR_TASK_ROW_H */
