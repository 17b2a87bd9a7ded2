/*-------------------------------------------------------------------------
 *
 * save.c
 *		sayiir_save_snapshot, in its two forms
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "arg.h"
#include "checkpoint.h"
#include "snapshot.h"
#include "wakeup.h"

PG_FUNCTION_INFO_V1(sayiir_save_snapshot);
PG_FUNCTION_INFO_V1(sayiir_save_json_snapshot);

/* Arguments of the explicit form, in their order */
enum
{
	SAVE_DATA,
	SAVE_INSTANCE_ID,
	SAVE_STATUS,
	SAVE_DEFINITION_HASH,
	SAVE_CURRENT_TASK_ID,
	SAVE_COMPLETED_TASK_COUNT,
	SAVE_ERROR,
	SAVE_POSITION_KIND,
	SAVE_DELAY_WAKE_AT,
	SAVE_TRACE_PARENT,
	SAVE_TASK_PRIORITY,
	SAVE_TASK_TAGS,
	SAVE_LAST_COMPLETED_TASK_ID,
	SAVE_LAST_COMPLETED_OUTPUT,
	SAVE_EXPECTED_VERSION
};

/* Arguments of the short form */
enum
{
	SAVE_JSON_DATA,
	SAVE_JSON_TRACE_PARENT,
	SAVE_JSON_EXPECTED_VERSION
};

static Datum save_run(FunctionCallInfo fcinfo, Checkpoint *save);

/*
 * sayiir_save_snapshot(data, instance_id, status, definition_hash, ...) RETURNS integer
 *
 * Checkpoints an instance whose snapshot is opaque.  Returns the version
 * written, NULL when the instance had ended.  Errors: 22004, 22023, 54000 for
 * the arguments, SY001 for another version than the expected one.
 */
Datum
sayiir_save_snapshot(PG_FUNCTION_ARGS)
{
	Checkpoint	save = {0};

	arg_require(fcinfo, SAVE_DATA, "data");
	arg_require(fcinfo, SAVE_INSTANCE_ID, "instance_id");
	arg_require(fcinfo, SAVE_STATUS, "status");
	arg_require(fcinfo, SAVE_DEFINITION_HASH, "definition_hash");

	save.instance_id = arg_instance_id(fcinfo, SAVE_INSTANCE_ID);
	save.status = arg_status(fcinfo, SAVE_STATUS);
	save.definition_hash = arg_hash(fcinfo, SAVE_DEFINITION_HASH, "definition_hash").value;
	save.current_task_id = arg_hash(fcinfo, SAVE_CURRENT_TASK_ID, "current_task_id");
	save.completed_task_count = arg_count(fcinfo, SAVE_COMPLETED_TASK_COUNT,
										  "completed_task_count");
	save.error = arg_any(fcinfo, SAVE_ERROR);
	save.position_kind = arg_any(fcinfo, SAVE_POSITION_KIND);
	save.delay_wake_at = arg_any(fcinfo, SAVE_DELAY_WAKE_AT);
	save.trace_parent = arg_any(fcinfo, SAVE_TRACE_PARENT);
	save.task_priority = arg_priority(fcinfo, SAVE_TASK_PRIORITY);
	save.task_tags = arg_tags(fcinfo, SAVE_TASK_TAGS);
	save.last_task_id = arg_hash(fcinfo, SAVE_LAST_COMPLETED_TASK_ID,
								 "last_completed_task_id");
	if (save.last_task_id.isnull && !PG_ARGISNULL(SAVE_LAST_COMPLETED_OUTPUT))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("last_completed_output is given without last_completed_task_id"),
				 errhint("Say which task the output is of.")));
	save.expected_version = arg_version(fcinfo, SAVE_EXPECTED_VERSION, "expected_version");
	save.last_output = arg_data(fcinfo, SAVE_LAST_COMPLETED_OUTPUT, "last_completed_output");
	save.data = arg_data(fcinfo, SAVE_DATA, "data").value;

	return save_run(fcinfo, &save);
}

/*
 * sayiir_save_snapshot(data, trace_parent, expected_version) RETURNS integer
 *
 * Checkpoints an instance whose snapshot is in Sayiir's own format: all else is
 * read out of it, and outputs are moved to the task rows.  Returns as above.
 * Errors: 22004, 22023, 54000, 22P03, 22P05 for the arguments, SY001.
 */
Datum
sayiir_save_json_snapshot(PG_FUNCTION_ARGS)
{
	Checkpoint	save = {0};

	arg_require(fcinfo, SAVE_JSON_DATA, "data");
	save.trace_parent = arg_any(fcinfo, SAVE_JSON_TRACE_PARENT);
	save.expected_version = arg_version(fcinfo, SAVE_JSON_EXPECTED_VERSION, "expected_version");
	(void) snapshot_read(arg_data(fcinfo, SAVE_JSON_DATA, "data").value, &save);

	return save_run(fcinfo, &save);
}

/*
 * save_run does the save and tells listeners when it made a task ready.
 */
static Datum
save_run(FunctionCallInfo fcinfo, Checkpoint *save)
{
	CheckpointOutcome outcome;
	PlanCall	call;

	plan_begin(&call, fcinfo);
	outcome = checkpoint_save(&call, save);
	if (outcome.written &&
		save->status == STATUS_IN_PROGRESS &&
		!save->current_task_id.isnull)
		wakeup_task_ready(save->instance_id, save->current_task_id.value,
						  save->definition_hash, save->task_tags);
	plan_end(&call);

	if (outcome.version == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(outcome.version);
}
