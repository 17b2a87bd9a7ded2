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

#include "datatype/timestamp.h"
#include "utils/array.h"

#include "plan.h"
#include "status.h"

/* The output of a completed task */
typedef struct TaskOutput
{
	Datum		task_id;		/* bytea */
	NullableDatum output;		/* bytea; NULL: keep what is stored */
} TaskOutput;

/* What becomes of the claim when the instance is still in progress */
typedef enum ClaimFate
{
	CLAIM_ENDS_WITH_MOVE,		/* it ends if the save moves the instance */
	CLAIM_ENDS,					/* it ends, and the next task's hint is sent */
	CLAIM_ENDS_QUIETLY,			/* it ends, and more is written at once */
	CLAIM_GOES_ON				/* for the task that is current now */
} ClaimFate;

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
	NullableDatum awaited_signal;	/* text */
	NullableDatum position_hash;	/* int8; NULL for an opaque snapshot */
	NullableDatum last_task_id; /* bytea: the task just completed */
	NullableDatum last_output;	/* bytea; NULL: keep what is stored */
	TaskOutput *outputs;		/* of other tasks completed by then */
	int			noutputs;
	Datum		data;			/* bytea */
	int			expected_version;	/* or VERSION_NOT_EXPECTED */
	NullableDatum claim_token;	/* uuid; NULL: not under a claim */
	text	   *tasks_of;		/* a new instance begins with the completed tasks
								 * of this one, NULL for none */
	int			tasks_version;	/* as they were at this version of it */

	bool		quiet;			/* wakes nobody */
	ClaimFate	claim;
	NullableDatum claim_worker; /* text; who has the next task from the start */
	NullableDatum claim_expires_at; /* timestamptz; of the claim that goes on */
} Checkpoint;

/* The snapshot row of an instance, locked until the end of the transaction */
typedef struct Instance
{
	text	   *instance_id;
	SnapshotStatus status;
	int			version;
	Datum		data_hash;		/* bytea */
	Datum		definition_hash;	/* bytea */
	NullableDatum current_task_id;	/* bytea */
	NullableDatum error;		/* text */
	NullableDatum position_kind;	/* text */
	NullableDatum delay_wake_at;	/* timestamptz */
	NullableDatum trace_parent; /* text */
	Datum		task_priority;	/* int2 */
	Datum		task_tags;		/* text[] */
	NullableDatum awaited_signal;	/* text */
	NullableDatum position_hash;	/* int8 */
	int			completed_task_count;
	TimestampTz waiting_since;	/* at this place */
} Instance;

/* What became of a write */
typedef struct CheckpointOutcome
{
	int			version;		/* 0: the instance had ended */
	bool		written;		/* false also for a recognized repeat */
} CheckpointOutcome;

extern void checkpoint_init(Checkpoint *save);
extern CheckpointOutcome checkpoint_save(PlanCall *call, Checkpoint *save);
extern bool checkpoint_create(PlanCall *call, Checkpoint *save);
extern bool checkpoint_lock(PlanCall *call, text *instance_id, Instance *instance);
extern bool checkpoint_try_lock(PlanCall *call, text *instance_id, Instance *instance);
extern void checkpoint_check_version(const Instance *instance, int expected);
extern void checkpoint_of_instance(const Instance *instance, Checkpoint *save);
extern int	checkpoint_write(PlanCall *call, Checkpoint *save);
extern int	checkpoint_add_result(PlanCall *call, const Instance *instance, NullableDatum data,
								  bool count, Datum task_id, Datum output);
extern void checkpoint_wake(PlanCall *call, const Instance *instance);
extern int64 checkpoint_prune(PlanCall *call, text *instance_id, int version);
extern bool checkpoint_delete(PlanCall *call, text *instance_id);

#endif							/* SAYIIR_CHECKPOINT_H */
