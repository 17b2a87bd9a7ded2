/*-------------------------------------------------------------------------
 *
 * load.c
 *		sayiir_load_snapshot, sayiir_list_snapshots, sayiir_delete_snapshot
 *
 * The reading functions are STABLE: all that they read, they read under the
 * snapshot of the calling query, so that a load is one moment, and they run on
 * a standby.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "arg.h"
#include "checkpoint.h"
#include "errors.h"
#include "history.h"
#include "plan.h"
#include "sql_function.h"
#include "task_row.h"

/* Columns of the result of sayiir_load_snapshot */
enum
{
	LOAD_STATUS,
	LOAD_HISTORY_VERSION,
	LOAD_DATA,
	LOAD_DATA_HASH,
	LOAD_TRACE_PARENT,
	LOAD_DEFINITION_HASH,
	LOAD_CURRENT_TASK_ID,
	LOAD_COMPLETED_TASK_COUNT,
	LOAD_ERROR,
	LOAD_TASK_IDS,
	LOAD_OUTPUTS,
	LOAD_UPDATED_AT,
	LOAD_NCOLUMNS
};

/* Columns of load_snapshot */
#define SNAPSHOT_VERSION		1
#define SNAPSHOT_TRACE_PARENT	2
#define SNAPSHOT_DEFINITION		3
#define SNAPSHOT_COUNT			4
#define SNAPSHOT_ERROR			5
#define SNAPSHOT_UPDATED_AT		6

static PlanStatement load_snapshot = {
	.sql =
	"SELECT s.history_version, s.trace_parent, s.definition_hash,"
	" s.completed_task_count, s.error, s.updated_at"
	" FROM @.sayiir_workflow_snapshots AS s"
	" WHERE s.instance_id = $1",
	.expected = SPI_OK_SELECT,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement list_all = {
	.sql =
	"SELECT s.instance_id::text FROM @.sayiir_workflow_snapshots AS s"
	" WHERE s.instance_id > $1 ORDER BY s.instance_id LIMIT $2",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

static PlanStatement list_of_status = {
	.sql =
	"SELECT s.instance_id::text FROM @.sayiir_workflow_snapshots AS s"
	" WHERE s.status = $3 AND s.instance_id > $1 ORDER BY s.instance_id LIMIT $2",
	.expected = SPI_OK_SELECT,
	.nargs = 3,
	.argtypes = {TEXTOID, INT4OID, TEXTOID},
};


/*
 * sayiir_load_snapshot(instance_id, version) RETURNS TABLE (...)
 *
 * One row: the newest version, or the given one, with the outputs known then.
 * task_ids and outputs are both NULL when the outputs together pass 256 MB, or
 * outputs and data together 500 MB.
 * Errors: 22004, 22023 for the arguments, P0002 for an unknown instance or
 * version.
 */
SQL_SET_FUNCTION(sayiir_load_snapshot, 2,
				 TEXTOID, INT4OID, BYTEAOID, BYTEAOID, TEXTOID, BYTEAOID, BYTEAOID,
				 INT4OID, TEXTOID, BYTEAARRAYOID, BYTEAARRAYOID, TIMESTAMPTZOID)
{
	NullableDatum args[1];
	NullableDatum columns[SNAPSHOT_UPDATED_AT + 1];
	Datum		values[LOAD_NCOLUMNS];
	bool		nulls[LOAD_NCOLUMNS] = {false};
	HistoryVersion found;
	text	   *instance_id;
	int			version;
	int			newest;
	PlanCall	call;
	int			i;

	arg_require(fcinfo, 0, "instance_id");
	instance_id = arg_instance_id(fcinfo, 0);
	version = arg_version(fcinfo, 1, "version");

	plan_begin_reading(&call, fcinfo);

	args[0] = plan_arg(PointerGetDatum(instance_id));
	if (plan_run(&call, &load_snapshot, args) == 0)
		error_no_instance(instance_id);
	for (i = SNAPSHOT_VERSION; i <= SNAPSHOT_UPDATED_AT; i++)
		columns[i] = plan_value(&call, 0, i);
	newest = DatumGetInt32(columns[SNAPSHOT_VERSION].value);
	if (version == VERSION_NOT_EXPECTED)
		version = newest;

	if (!history_read(&call, instance_id, version, &found, &values[LOAD_DATA]))
	{
		if (version == newest)
			error_history_lost(instance_id, version);
		error_no_version(instance_id, version);
	}

	values[LOAD_STATUS] = CStringGetTextDatum(status_name(found.status));
	values[LOAD_HISTORY_VERSION] = Int32GetDatum(found.version);
	values[LOAD_DATA_HASH] = found.data_hash;
	values[LOAD_TRACE_PARENT] = columns[SNAPSHOT_TRACE_PARENT].value;
	nulls[LOAD_TRACE_PARENT] = columns[SNAPSHOT_TRACE_PARENT].isnull;
	values[LOAD_DEFINITION_HASH] = columns[SNAPSHOT_DEFINITION].value;
	values[LOAD_CURRENT_TASK_ID] = found.current_task_id.value;
	nulls[LOAD_CURRENT_TASK_ID] = found.current_task_id.isnull;
	values[LOAD_COMPLETED_TASK_COUNT] = columns[SNAPSHOT_COUNT].value;
	values[LOAD_ERROR] = columns[SNAPSHOT_ERROR].value;
	nulls[LOAD_ERROR] = columns[SNAPSHOT_ERROR].isnull;
	values[LOAD_UPDATED_AT] = columns[SNAPSHOT_UPDATED_AT].value;
	if (!task_row_load_outputs(&call, instance_id, version, values[LOAD_DATA],
							   &values[LOAD_TASK_IDS], &values[LOAD_OUTPUTS]))
		nulls[LOAD_TASK_IDS] = nulls[LOAD_OUTPUTS] = true;

	/* The row is copied; a pointer to stored bytes stays one */
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	plan_end(&call);
	return (Datum) 0;
}

/*
 * sayiir_list_snapshots(status, after, max_rows) RETURNS SETOF text
 *
 * The ids that come after "after" in the order of collation C, of one status
 * or all, not more than max_rows.  However many there are, the backend holds
 * some of them at a time; what passes work_mem is in a temporary file.
 * Errors: 22023 for an unknown status or a negative limit.
 */
SQL_SET_FUNCTION(sayiir_list_snapshots, 3, TEXTOID)
{
	NullableDatum args[3];
	PlanCall	call;

	if (!PG_ARGISNULL(0))
		args[2] = plan_arg(CStringGetTextDatum(status_name(arg_status(fcinfo, 0))));
	args[0] = PG_ARGISNULL(1) ? plan_arg(CStringGetTextDatum("")) : arg_any(fcinfo, 1);
	args[1] = arg_count(fcinfo, 2, "max_rows");

	plan_begin_reading(&call, fcinfo);
	plan_for_each(&call, PG_ARGISNULL(0) ? &list_all : &list_of_status, args,
				  plan_put_row, rsinfo);
	plan_end(&call);
	return (Datum) 0;
}

/*
 * sayiir_delete_snapshot(instance_id) RETURNS void
 *
 * Deletes an instance and all that hangs on it.  Errors: 22004, 22023 for the
 * argument, P0002 for an unknown instance.
 */
SQL_FUNCTION(sayiir_delete_snapshot, 1)
{
	text	   *instance_id;
	PlanCall	call;

	arg_require(fcinfo, 0, "instance_id");
	instance_id = arg_instance_id(fcinfo, 0);

	plan_begin(&call, fcinfo);
	if (!checkpoint_delete(&call, instance_id))
		error_no_instance(instance_id);
	plan_end(&call);
	PG_RETURN_VOID();
}
