/*-------------------------------------------------------------------------
 *
 * save_arg.h
 *		The arguments of an explicit save, which several functions take.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_SAVE_ARG_H
#define SAYIIR_SAVE_ARG_H

#include "fmgr.h"

#include "checkpoint.h"

#define SAVE_DATA	0			/* the first argument of them all */

/* Where a function has its other arguments */
typedef struct SaveArguments
{
	int			instance_id;
	int			status;
	int			definition_hash;
	int			current_task_id;
	int			completed_task_count;
	int			error;
	int			position_kind;
	int			delay_wake_at;
	int			trace_parent;
	int			task_priority;
	int			task_tags;
	int			last_completed_task_id;
	int			last_completed_output;
	int			expected_version;
	int			claim_token;
	int			awaited_signal;
} SaveArguments;

extern const SaveArguments save_explicit_arguments;

extern void save_arg_read(FunctionCallInfo fcinfo, const SaveArguments *at, Checkpoint *save);

#endif							/* SAYIIR_SAVE_ARG_H */
