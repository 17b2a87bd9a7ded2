/*-------------------------------------------------------------------------
 *
 * history_view.c
 *		sayiir_history, sayiir_history_data, sayiir_history_stats
 *
 * All of it is read under the snapshot of the calling query, and on a standby
 * too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "arg.h"
#include "errors.h"
#include "history.h"
#include "plan.h"
#include "sql_function.h"

static PlanStatement find_instance = {
	.sql =
	"SELECT true FROM @.sayiir_workflow_snapshots AS s WHERE s.instance_id = $1",
	.expected = SPI_OK_SELECT,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

/* The length of what is stored, compressed or not, without fetching it */
static PlanStatement list_versions = {
	.sql =
	"SELECT h.version, h.status, h.current_task_id, h.data_hash,"
	" COALESCE(h.size, octet_length(h.data)),"
	" pg_column_size(h.data), h.created_at"
	" FROM @.sayiir_workflow_versions AS h"
	" WHERE h.instance_id = $1 AND h.version > $2 ORDER BY h.version LIMIT $3",
	.expected = SPI_OK_SELECT,
	.nargs = 3,
	.argtypes = {TEXTOID, INT4OID, INT4OID},
};

static PlanStatement count_versions = {
	.sql =
	"SELECT s.status, count(DISTINCT h.instance_id), count(*),"
	" count(*) FILTER (WHERE h.base IS NULL), count(h.base),"
	" sum(pg_column_size(h.data)), sum(COALESCE(h.size, octet_length(h.data)))"
	" FROM @.sayiir_workflow_versions AS h"
	" JOIN @.sayiir_workflow_snapshots AS s ON s.instance_id = h.instance_id"
	" GROUP BY s.status ORDER BY s.status",
	.expected = SPI_OK_SELECT,
	.scans = true,
	.nargs = 0,
};

/*
 * sayiir_history(instance_id, after, max_rows) RETURNS TABLE (...)
 *
 * The versions of an instance that come after a number, not more than max_rows,
 * in their order, without the bytes.  Errors: 22004, 22023 for the arguments,
 * P0002 for an unknown instance.
 */
SQL_SET_FUNCTION(sayiir_history, 3,
				 INT4OID, TEXTOID, BYTEAOID, BYTEAOID, INT4OID, INT4OID, TIMESTAMPTZOID)
{
	NullableDatum args[3];
	text	   *instance_id;
	PlanCall	call;

	arg_require(fcinfo, 0, "instance_id");
	instance_id = arg_instance_id(fcinfo, 0);
	args[0] = plan_arg(PointerGetDatum(instance_id));
	args[1] = arg_count(fcinfo, 1, "after");
	if (args[1].isnull)
		args[1] = plan_arg(Int32GetDatum(0));
	args[2] = arg_count(fcinfo, 2, "max_rows");

	plan_begin_reading(&call, fcinfo);
	if (plan_run(&call, &find_instance, args) == 0)
		error_no_instance(instance_id);
	plan_for_each(&call, &list_versions, args, plan_put_row, rsinfo);
	plan_end(&call);
	return (Datum) 0;
}

/*
 * sayiir_history_data(instance_id, version) RETURNS bytea
 *
 * The snapshot of a version: what the view of the history shows of it.  Errors:
 * 22004 for the arguments, P0002 for an unknown version, XX001 for one
 * whose stored bytes do not give what was saved.
 */
SQL_FUNCTION(sayiir_history_data, 2)
{
	HistoryVersion found;
	text	   *instance_id;
	int			version;
	Datum		data;
	PlanCall	call;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "version");
	instance_id = PG_GETARG_TEXT_PP(0);
	version = PG_GETARG_INT32(1);

	plan_begin_reading(&call, fcinfo);
	if (!history_read(&call, instance_id, version, &found, &data))
		error_no_version(instance_id, version);
	plan_end(&call);
	PG_RETURN_DATUM(data);
}

/*
 * sayiir_history_stats() RETURNS TABLE (...)
 *
 * One row for each status that an instance has: how many versions are kept, how
 * many of them whole, in how many bytes, and how many bytes the snapshots have.
 * Reads every row of the history, none of the bytes.
 */
SQL_SET_FUNCTION(sayiir_history_stats, 0,
				 TEXTOID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID)
{
	PlanCall	call;

	plan_begin_reading(&call, fcinfo);
	plan_for_each(&call, &count_versions, NULL, plan_put_row, rsinfo);
	plan_end(&call);
	return (Datum) 0;
}
