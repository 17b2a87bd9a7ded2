/*-------------------------------------------------------------------------
 *
 * checkpoint.h
 *		One new version of an instance: the one writer of the snapshot,
 *		history and task rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_CHECKPOINT_H
#define SAYIIR_CHECKPOINT_H

#include "utils/array.h"

#include "plan.h"
#include "status.h"

/* The output of a completed task */
typedef struct TaskOutput
{
	Datum		task_id;		/* bytea */
	Datum		output;			/* bytea */
} TaskOutput;

/* A save that a caller asks for.  Values are checked, data is detoasted. */
typedef struct Checkpoint
{
	text	   *instance_id;
	SnapshotStatus status;
	Datum		definition_hash;	/* bytea */
	NullableDatum current_task_id;	/* bytea */
	NullableDatum completed_task_count; /* int4; NULL: count on */
	NullableDatum error;		/* text */
	NullableDatum position_kind;	/* text */
	NullableDatum delay_wake_at;	/* timestamptz */
	NullableDatum trace_parent; /* text */
	Datum		task_priority;	/* int2 */
	ArrayType  *task_tags;
	NullableDatum last_task_id; /* bytea: the task just completed */
	NullableDatum last_output;	/* bytea; NULL: keep what is stored */
	TaskOutput *outputs;		/* of other tasks completed by then */
	int			noutputs;
	Datum		data;			/* bytea */
	int			expected_version;	/* or VERSION_NOT_EXPECTED */
} Checkpoint;

/* The snapshot row of an instance, locked until the end of the transaction */
typedef struct Instance
{
	text	   *instance_id;
	SnapshotStatus status;
	int			version;
	Datum		data_hash;		/* bytea */
	NullableDatum current_task_id;	/* bytea */
	NullableDatum trace_parent; /* text */
} Instance;

/* What became of a write */
typedef struct CheckpointOutcome
{
	int			version;		/* 0: the instance had ended */
	bool		written;		/* false also for a recognized repeat */
} CheckpointOutcome;

extern CheckpointOutcome checkpoint_save(PlanCall *call, Checkpoint *save);
extern bool checkpoint_lock(PlanCall *call, text *instance_id, Instance *instance);
extern int	checkpoint_write(PlanCall *call, const Instance *instance, Checkpoint *save);
extern int	checkpoint_add_result(PlanCall *call, const Instance *instance, NullableDatum data,
								  bool count, Datum task_id, Datum output);
extern bool checkpoint_delete(PlanCall *call, text *instance_id);

#endif							/* SAYIIR_CHECKPOINT_H */
