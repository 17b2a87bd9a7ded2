/*-------------------------------------------------------------------------
 *
 * save_arg.c
 *		The arguments of an explicit save, which several functions take.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "arg.h"
#include "save_arg.h"

/* Of sayiir_save_snapshot and sayiir_save_snapshots: data comes first, then these */
const SaveArguments save_explicit_arguments = {
	.instance_id = 1,
	.status = 2,
	.definition_hash = 3,
	.current_task_id = 4,
	.completed_task_count = 5,
	.error = 6,
	.position_kind = 7,
	.delay_wake_at = 8,
	.trace_parent = 9,
	.task_priority = 10,
	.task_tags = 11,
	.last_completed_task_id = 12,
	.last_completed_output = 13,
	.expected_version = 14,
	.claim_token = 15,
	.awaited_signal = 16,
};

/*
 * save_arg_read checks the arguments of an explicit save and fills it: first
 * that none is NULL that must not be (22004), then their values (22023), then
 * sizes (54000).
 */
void
save_arg_read(FunctionCallInfo fcinfo, const SaveArguments *at, Checkpoint *save)
{
	arg_require(fcinfo, SAVE_DATA, "data");
	arg_require(fcinfo, at->instance_id, "instance_id");
	arg_require(fcinfo, at->status, "status");
	arg_require(fcinfo, at->definition_hash, "definition_hash");

	checkpoint_init(save);
	save->instance_id = arg_instance_id(fcinfo, at->instance_id);
	save->status = arg_status(fcinfo, at->status);
	save->definition_hash = arg_hash(fcinfo, at->definition_hash, "definition_hash").value;
	save->current_task_id = arg_hash(fcinfo, at->current_task_id, "current_task_id");
	save->completed_task_count = arg_count(fcinfo, at->completed_task_count,
										   "completed_task_count");
	save->error = arg_any(fcinfo, at->error);
	save->position_kind = arg_any(fcinfo, at->position_kind);
	save->delay_wake_at = arg_any(fcinfo, at->delay_wake_at);
	save->trace_parent = arg_any(fcinfo, at->trace_parent);
	save->task_priority = arg_priority(fcinfo, at->task_priority);
	save->task_tags = arg_tags(fcinfo, at->task_tags, "task_tags");
	save->awaited_signal = arg_name(fcinfo, at->awaited_signal, "awaited_signal");
	save->last_task_id = arg_hash(fcinfo, at->last_completed_task_id,
								  "last_completed_task_id");
	if (save->last_task_id.isnull && !PG_ARGISNULL(at->last_completed_output))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("last_completed_output is given without last_completed_task_id"),
				 errhint("Say which task the output is of.")));
	save->expected_version = arg_version(fcinfo, at->expected_version, "expected_version");
	save->claim_token = arg_any(fcinfo, at->claim_token);
	save->last_output = arg_data(fcinfo, at->last_completed_output, "last_completed_output");
	save->data = arg_data(fcinfo, SAVE_DATA, "data").value;
}
