/*-------------------------------------------------------------------------
 *
 * history.c
 *		The versions of an instance: the one place that reads and writes
 *		snapshot bytes.
 *
 * Writers hold the lock of the instance's snapshot row, so versions follow
 * each other without a hole and two writers never meet here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "compat.h"
#include "errors.h"
#include "history.h"

static void history_get(PlanCall *call, HistoryVersion *found, int version);

static PlanStatement append_version = {
	.sql =
	"INSERT INTO @.sayiir_workflow_snapshot_history"
	" (instance_id, version, status, current_task_id, data, data_hash, created_at)"
	" VALUES ($1, $2, $3, $4, $5, $6, now())",
	.expected = SPI_OK_INSERT,
	.nargs = 6,
	.argtypes = {TEXTOID, INT4OID, TEXTOID, BYTEAOID, BYTEAOID, BYTEAOID},
};

/* The bytes do not pass through this library */
static PlanStatement carry_version = {
	.sql =
	"INSERT INTO @.sayiir_workflow_snapshot_history"
	" (instance_id, version, status, current_task_id, data, data_hash, created_at)"
	" SELECT h.instance_id, $3, h.status, h.current_task_id, h.data, h.data_hash, now()"
	" FROM @.sayiir_workflow_snapshot_history AS h"
	" WHERE h.instance_id = $1 AND h.version = $2",
	.expected = SPI_OK_INSERT,
	.nargs = 3,
	.argtypes = {TEXTOID, INT4OID, INT4OID},
};

#define FIND_STATUS				1
#define FIND_CURRENT_TASK_ID	2
#define FIND_DATA_HASH			3
#define FIND_CREATED_AT			4
#define FIND_DATA				5

static PlanStatement find_version = {
	.sql =
	"SELECT h.status, h.current_task_id, h.data_hash, h.created_at"
	" FROM @.sayiir_workflow_snapshot_history AS h"
	" WHERE h.instance_id = $1 AND h.version = $2",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

static PlanStatement read_version = {
	.sql =
	"SELECT h.status, h.current_task_id, h.data_hash, h.created_at, h.data"
	" FROM @.sayiir_workflow_snapshot_history AS h"
	" WHERE h.instance_id = $1 AND h.version = $2",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

static PlanStatement delete_versions = {
	.sql =
	"DELETE FROM @.sayiir_workflow_snapshot_history AS h WHERE h.instance_id = $1",
	.expected = SPI_OK_DELETE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

/*
 * history_append writes a version with these bytes.  A trigger that swallows
 * the row is an error (09000): nobody could load that version.  Raises 54000 for
 * more than 256 MB.
 */
void
history_append(PlanCall *call, text *instance_id,
			   const HistoryVersion *version, Datum data)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version->version)),
		plan_arg(CStringGetTextDatum(status_name(version->status))),
		version->current_task_id,
		plan_arg(data),
		plan_arg(version->data_hash),
	};

	/* What the server made of a snapshot can have grown beyond what it takes */
	arg_check_size(VARSIZE_ANY_EXHDR(data), "data");
	if (plan_run(call, &append_version, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_snapshot_history");
}

/*
 * history_carry writes a version that repeats another one.
 */
void
history_carry(PlanCall *call, text *instance_id, int from, int to)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(from)),
		plan_arg(Int32GetDatum(to)),
	};

	if (plan_run(call, &carry_version, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_snapshot_history");
}

/*
 * history_find tells whether there is such a version, and what is beside its
 * bytes.  It sees what was committed before now.
 */
bool
history_find(PlanCall *call, text *instance_id, int version,
			 HistoryVersion *found)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version)),
	};

	if (plan_run(call, &find_version, args) == 0)
		return false;
	history_get(call, found, version);
	return true;
}

/*
 * history_read is history_find with the bytes, under the snapshot of the
 * calling query.  All that it returns outlives the call of plan_end(); the
 * bytes may be a pointer to where they are stored.
 */
bool
history_read(PlanCall *call, text *instance_id, int version,
			 HistoryVersion *found, Datum *data)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version)),
	};

	if (plan_run(call, &read_version, args) == 0)
		return false;
	history_get(call, found, version);
	*data = plan_value_for_caller(call, 0, FIND_DATA).value;
	return true;
}

/*
 * history_delete deletes all versions of an instance.
 */
void
history_delete(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &delete_versions, args);
}

/*
 * history_get reads what is beside the bytes out of the newest result.
 */
static void
history_get(PlanCall *call, HistoryVersion *found, int version)
{
	text	   *status = DatumGetTextPP(plan_value(call, 0, FIND_STATUS).value);

	found->version = version;
	if (!status_parse(VARDATA_ANY(status), VARSIZE_ANY_EXHDR(status), &found->status))
		elog(ERROR, "unknown status in sayiir_workflow_snapshot_history");
	found->current_task_id = plan_value_for_caller(call, 0, FIND_CURRENT_TASK_ID);
	found->data_hash = plan_value_for_caller(call, 0, FIND_DATA_HASH).value;
	found->created_at = DatumGetTimestampTz(plan_value(call, 0, FIND_CREATED_AT).value);
}
