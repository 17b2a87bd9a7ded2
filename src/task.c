/*-------------------------------------------------------------------------
 *
 * task.c
 *		sayiir_save_task_result, sayiir_load_task_result, sayiir_task_id
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"

#include "arg.h"
#include "checkpoint.h"
#include "digest.h"
#include "errors.h"
#include "plan.h"

PG_FUNCTION_INFO_V1(sayiir_save_task_result);
PG_FUNCTION_INFO_V1(sayiir_load_task_result);
PG_FUNCTION_INFO_V1(sayiir_task_id);

/* Arguments of sayiir_save_task_result, in their order */
enum
{
	RESULT_INSTANCE_ID,
	RESULT_TASK_ID,
	RESULT_OUTPUT,
	RESULT_DATA,
	RESULT_EXPECTED_VERSION
};

/* A row when there is such an instance, its output when there is such a task */
static PlanStatement load_output = {
	.sql =
	"SELECT t.output"
	" FROM @.sayiir_workflow_snapshots AS s"
	" LEFT JOIN @.sayiir_workflow_tasks AS t"
	" ON t.instance_id = s.instance_id AND t.task_id = $2 AND t.status = 'completed'"
	" WHERE s.instance_id = $1",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, BYTEAOID},
};

/*
 * sayiir_save_task_result(instance_id, task_id, output, data, expected_version)
 *		RETURNS integer
 *
 * Stores the output of a task as the next version.  Returns that version, NULL
 * when the instance had ended.  Wakes nobody: the current task is still the
 * one just completed, until the save that moves the instance on.  Errors:
 * 22004, 22023, 54000 for the arguments, P0002, SY001.
 */
Datum
sayiir_save_task_result(PG_FUNCTION_ARGS)
{
	TaskResult	result;
	CheckpointOutcome outcome;
	PlanCall	call;

	arg_require(fcinfo, RESULT_INSTANCE_ID, "instance_id");
	arg_require(fcinfo, RESULT_TASK_ID, "task_id");
	arg_require(fcinfo, RESULT_OUTPUT, "output");

	result.instance_id = arg_instance_id(fcinfo, RESULT_INSTANCE_ID);
	result.task_id = arg_hash(fcinfo, RESULT_TASK_ID, "task_id").value;
	result.expected_version = arg_version(fcinfo, RESULT_EXPECTED_VERSION, "expected_version");
	result.output = arg_data(fcinfo, RESULT_OUTPUT, "output").value;
	result.data = arg_data(fcinfo, RESULT_DATA, "data");

	plan_begin(&call, fcinfo);
	outcome = checkpoint_result(&call, &result);
	plan_end(&call);

	if (outcome.version == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(outcome.version);
}

/*
 * sayiir_load_task_result(instance_id, task_id) RETURNS bytea
 *
 * The output of a completed task, NULL when it is not completed or has none.
 * Errors: 22004, 22023 for the arguments, P0002.
 */
Datum
sayiir_load_task_result(PG_FUNCTION_ARGS)
{
	NullableDatum args[2];
	NullableDatum output;
	PlanCall	call;
	text	   *instance_id;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "task_id");
	instance_id = arg_instance_id(fcinfo, 0);
	args[0] = plan_arg(PointerGetDatum(instance_id));
	args[1] = arg_hash(fcinfo, 1, "task_id");

	plan_begin_reading(&call, fcinfo);
	if (plan_run(&call, &load_output, args) == 0)
		error_no_instance(instance_id);
	output = plan_value_for_caller(&call, 0, 1);
	plan_end(&call);

	if (output.isnull)
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(PG_DETOAST_DATUM(output.value));
}

/*
 * sayiir_task_id(name text) RETURNS bytea
 *
 * The id of the task of this name: SHA-256 of the name in UTF-8.  Errors:
 * 22004 for NULL.
 */
Datum
sayiir_task_id(PG_FUNCTION_ARGS)
{
	text	   *name;
	char	   *bytes;
	char	   *utf8;
	int			len;

	arg_require(fcinfo, 0, "name");
	name = PG_GETARG_TEXT_PP(0);
	bytes = VARDATA_ANY(name);
	len = VARSIZE_ANY_EXHDR(name);
	utf8 = pg_server_to_any(bytes, len, PG_UTF8);
	if (utf8 != bytes)
		len = strlen(utf8);
	PG_RETURN_BYTEA_P(digest_sha256(utf8, len));
}
