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
	Datum		data;			/* bytea */
	int			expected_version;	/* or VERSION_NOT_EXPECTED */
} Checkpoint;

/* The output of one task, stored beside whatever else goes on */
typedef struct TaskResult
{
	text	   *instance_id;
	Datum		task_id;		/* bytea */
	Datum		output;			/* bytea */
	NullableDatum data;			/* bytea; NULL: the snapshot stays */
	int			expected_version;	/* or VERSION_NOT_EXPECTED */
} TaskResult;

/* What became of a write */
typedef struct CheckpointOutcome
{
	int			version;		/* 0: the instance had ended */
	bool		written;		/* false also for a recognized repeat */
} CheckpointOutcome;

extern CheckpointOutcome checkpoint_save(PlanCall *call, Checkpoint *save);
extern CheckpointOutcome checkpoint_result(PlanCall *call, TaskResult *result);
extern bool checkpoint_delete(PlanCall *call, text *instance_id);

#endif							/* SAYIIR_CHECKPOINT_H */
