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
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "checkpoint.h"
#include "claim_row.h"
#include "compat.h"
#include "digest.h"
#include "errors.h"
#include "history.h"
#include "move.h"
#include "plan.h"
#include "snapshot.h"
#include "sql_function.h"
#include "task_row.h"

/* Arguments of sayiir_save_task_result, in their order */
enum
{
	RESULT_INSTANCE_ID,
	RESULT_TASK_ID,
	RESULT_OUTPUT,
	RESULT_DATA,
	RESULT_EXPECTED_VERSION,
	RESULT_CLAIM_TOKEN
};

/* The output of one task, stored beside whatever else goes on */
typedef struct TaskResult
{
	text	   *instance_id;
	Datum		task_id;		/* bytea */
	Datum		output;			/* bytea */
	NullableDatum data;			/* bytea; NULL: the snapshot stays, or is
								 * edited when it is one of Sayiir's */
	int			expected_version;	/* or VERSION_NOT_EXPECTED */
	NullableDatum claim_token;	/* uuid; NULL: not under a claim */

	/* when data is one of Sayiir's snapshots: what it says */
	Frame	   *frame;
	Checkpoint	save;
} TaskResult;

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

static int	result_store(PlanCall *call, TaskResult *result);
static void result_read_data(PlanCall *call, TaskResult *result, const Instance *instance);
static bool result_is_repeat(PlanCall *call, const TaskResult *result, const Instance *instance,
							 bool *completed_before, int *version);
static int	result_write_data(PlanCall *call, TaskResult *result, const Instance *instance);
static int	result_write(PlanCall *call, const TaskResult *result, const Instance *instance,
						 bool completed_before);

/*
 * sayiir_save_task_result(instance_id, task_id, output, data, expected_version,
 *		claim_token) RETURNS integer
 *
 * Stores the output of a task as the next version.  Returns that version, NULL
 * when the instance had ended.  Wakes nobody: the current task is still the
 * one just completed, until the save that moves the instance on.  Errors:
 * 22004, 22023, 54000, 22P03, 22P05 for the arguments, P0002, SY001, SY002.
 */
SQL_FUNCTION(sayiir_save_task_result, 6)
{
	TaskResult	result = {0};
	PlanCall	call;
	int			version;

	arg_require(fcinfo, RESULT_INSTANCE_ID, "instance_id");
	arg_require(fcinfo, RESULT_TASK_ID, "task_id");
	arg_require(fcinfo, RESULT_OUTPUT, "output");

	result.instance_id = arg_instance_id(fcinfo, RESULT_INSTANCE_ID);
	result.task_id = arg_hash(fcinfo, RESULT_TASK_ID, "task_id").value;
	result.expected_version = arg_version(fcinfo, RESULT_EXPECTED_VERSION, "expected_version");
	result.claim_token = arg_any(fcinfo, RESULT_CLAIM_TOKEN);
	result.output = arg_data(fcinfo, RESULT_OUTPUT, "output").value;
	result.data = arg_data(fcinfo, RESULT_DATA, "data");

	plan_begin(&call, fcinfo);
	version = result_store(&call, &result);
	plan_end(&call);

	if (version == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(version);
}

/*
 * result_store stores a result under the lock of its instance, after the checks
 * in the order of the contract.  Returns the version, 0 when the instance had
 * ended.
 */
static int
result_store(PlanCall *call, TaskResult *result)
{
	Instance	instance;
	bool		completed_before;
	int			version;

	if (!checkpoint_lock(call, result->instance_id, &instance))
		error_no_instance(result->instance_id);
	if (!result->data.isnull)
		result_read_data(call, result, &instance);

	if (result_is_repeat(call, result, &instance, &completed_before, &version))
		return version;
	if (status_is_terminal(instance.status))
		return 0;
	if (!result->claim_token.isnull)
		claim_row_require(call, result->instance_id, result->claim_token.value, NULL);
	if (result->frame != NULL && result->frame->status != instance.status)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("data is %s, but workflow instance \"%s\" is %s",
						status_name(result->frame->status),
						text_to_cstring(result->instance_id),
						status_name(instance.status)),
				 errhint("Leave data out to have the stored snapshot edited, or save it with sayiir_save_snapshot.")));
	checkpoint_check_version(&instance, result->expected_version);

	if (result->frame != NULL)
		return result_write_data(call, result, &instance);
	return result_write(call, result, &instance, completed_before);
}

/*
 * result_read_data reads the snapshot that came with a result, if the stored
 * one is one of Sayiir's: then this one has to be one too, of the same
 * instance.
 */
static void
result_read_data(PlanCall *call, TaskResult *result, const Instance *instance)
{
	if (!snapshot_is_json(move_newest_data(call, instance)))
		return;

	checkpoint_init(&result->save);
	result->frame = snapshot_read(result->data.value, &result->save);
	snapshot_check_instance(result->frame, result->instance_id);
	result->data = plan_arg(result->save.data);
}

/*
 * result_is_repeat tells whether the task is completed with this output and the
 * snapshot is the one stored, and by which version.  If not, it tells whether
 * the task was completed before, with another output.
 */
static bool
result_is_repeat(PlanCall *call, const TaskResult *result, const Instance *instance,
				 bool *completed_before, int *version)
{
	TaskRow		task;
	HistoryVersion written;
	Datum		data_hash;

	*completed_before = task_row_find_completed(call, result->instance_id,
												result->task_id, plan_arg(result->output), &task);
	if (!*completed_before || !task.same_output)
		return false;

	*version = task.completed_version != 0 ? task.completed_version : instance->version;
	if (result->data.isnull)
		return true;

	data_hash = digest_of_data(result->data.value);
	if (history_find(call, result->instance_id, *version, &written) &&
		digest_equal(written.data_hash, data_hash))
		return true;
	*version = instance->version;
	return digest_equal(instance->data_hash, data_hash);
}

/*
 * result_write_data stores a result with the snapshot that came with it, which
 * is one of Sayiir's: it is saved like any other, but for the output, which is
 * the caller's, and what it does not say.
 */
static int
result_write_data(PlanCall *call, TaskResult *result, const Instance *instance)
{
	Checkpoint *save = &result->save;
	TaskOutput *outputs = palloc(sizeof(TaskOutput) * (save->noutputs + 1));
	int			noutputs = 0;
	int			i;

	if (!save->last_task_id.isnull)
	{
		outputs[noutputs].task_id = save->last_task_id.value;
		outputs[noutputs++].output = save->last_output;
	}
	for (i = 0; i < save->noutputs; i++)
		outputs[noutputs++] = save->outputs[i];

	/* One task, one output */
	save->outputs = outputs;
	save->noutputs = 0;
	for (i = 0; i < noutputs; i++)
	{
		if (!digest_equal(outputs[i].task_id, result->task_id))
			save->outputs[save->noutputs++] = outputs[i];
	}
	save->last_task_id = plan_arg(result->task_id);
	save->last_output = plan_arg(result->output);
	save->trace_parent = instance->trace_parent;
	save->quiet = true;
	if (!save->completed_task_count.isnull &&
		frame_find_task(result->frame, (const uint8 *) VARDATA_ANY(result->task_id)) < 0)
		save->completed_task_count.value =
			Int32GetDatum(DatumGetInt32(save->completed_task_count.value) + 1);
	return checkpoint_write(call, save);
}

/*
 * result_write stores a result without a snapshot, or with an opaque one.  A
 * stored snapshot of Sayiir's is edited: the task joins its completed tasks.
 */
static int
result_write(PlanCall *call, const TaskResult *result, const Instance *instance,
			 bool completed_before)
{
	NullableDatum data = result->data;

	if (data.isnull)
	{
		Datum		stored = move_newest_data(call, instance);

		if (snapshot_is_json(stored))
		{
			Frame	   *frame = snapshot_parse_stored(PointerGetDatum(PG_DETOAST_DATUM_PACKED(stored)),
														  instance->instance_id, instance->status);
			const uint8 *task_id = (const uint8 *) VARDATA_ANY(result->task_id);
			if (frame_find_task(frame, task_id) >= 0)
				completed_before = true;
			data = plan_arg(PointerGetDatum(frame_add_result(frame, task_id,
															 GetCurrentTransactionStartTimestamp())));
		}
	}
	return checkpoint_add_result(call, instance, data, !completed_before,
								 result->task_id, result->output);
}

/*
 * sayiir_load_task_result(instance_id, task_id) RETURNS bytea
 *
 * The output of a completed task, NULL when it is not completed or has none.
 * Errors: 22004, 22023 for the arguments, P0002.
 */
SQL_FUNCTION(sayiir_load_task_result, 2)
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
SQL_FUNCTION(sayiir_task_id, 1)
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
