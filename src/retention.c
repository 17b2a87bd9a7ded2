/*-------------------------------------------------------------------------
 *
 * retention.c
 *		sayiir_prune_history, sayiir_delete_terminal
 *
 * Both work in bounded batches for a scheduler that calls them until they return
 * 0.  They wait for nobody: an instance that somebody has locked is passed over,
 * and is there the next time.  Who comes while they have an instance waits for
 * its row, until the end of their transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "checkpoint.h"
#include "plan.h"
#include "sql_function.h"

#define RETENTION_DEFAULT_BATCH		1000

/* One call of sayiir_prune_history */
typedef struct Prune
{
	NullableDatum keep_versions;	/* int4 */
	NullableDatum before;		/* timestamptz */
	NullableDatum status;		/* text */
	int64		left;			/* rows that this call may still delete */
	int64		pruned;
} Prune;

/*
 * Instances of which the oldest version may go.  That is looked at again under
 * lock.
 */
static PlanStatement find_prunable = {
	.sql =
	"SELECT s.instance_id::text FROM @.sayiir_workflow_snapshots AS s"
	" WHERE s.oldest_version < s.history_version"
	" AND ($1 IS NULL OR s.history_version - s.oldest_version >= $1)"
	" AND ($3 IS NULL OR s.status = $3)"
	" AND ($2 IS NULL OR EXISTS (SELECT FROM @.sayiir_workflow_versions AS h"
	"  WHERE h.instance_id = s.instance_id AND h.version = s.oldest_version"
	"  AND h.created_at < $2))",
	.expected = SPI_OK_SELECT,
	.scans = true,
	.nargs = 3,
	.argtypes = {INT4OID, TIMESTAMPTZOID, TEXTOID},
};

/*
 * The last version to go: before the newest, before those to be kept, before the
 * first that is not old enough, and not more than the batch.
 */
static PlanStatement find_cut = {
	.sql =
	"SELECT s.oldest_version, LEAST(s.history_version - GREATEST($2, 1),"
	" s.oldest_version::bigint + $5 - 1,"
	" (SELECT h.version - 1 FROM @.sayiir_workflow_versions AS h"
	"  WHERE $3 IS NOT NULL AND h.instance_id = $1 AND h.version >= s.oldest_version"
	"  AND h.created_at >= $3"
	"  ORDER BY h.version LIMIT 1))::int4"
	" FROM @.sayiir_workflow_snapshots AS s"
	" WHERE s.instance_id = $1 AND ($4 IS NULL OR s.status = $4)",
	.expected = SPI_OK_SELECT,
	.nargs = 5,
	.argtypes = {TEXTOID, INT4OID, TIMESTAMPTZOID, TEXTOID, INT8OID},
};

static PlanStatement lock_ended = {
	.sql =
	"SELECT s.instance_id::text FROM @.sayiir_workflow_snapshots AS s"
	" WHERE s.completed_at < $1 AND s.status IN ('Completed', 'Failed', 'Cancelled')"
	" ORDER BY s.completed_at LIMIT $2 FOR UPDATE OF s SKIP LOCKED",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TIMESTAMPTZOID, INT4OID},
};

static bool prune_instance(PlanCall *call, uint64 row, void *arg);
static Datum instant_before(Datum interval);
static int	batch_arg(FunctionCallInfo fcinfo, int argno);

/*
 * sayiir_prune_history(keep_versions, older_than, status, batch) RETURNS bigint
 *
 * Deletes of each instance (of this status) the oldest versions, as far as all
 * of them are beyond the newest keep_versions and were written longer ago than
 * older_than; never the newest.  A limit that is NULL stands in nobody's way.
 * Returns how many were deleted, at most batch.  Errors: 22023 for the arguments.
 */
SQL_FUNCTION(sayiir_prune_history, 4)
{
	Prune		prune;
	NullableDatum args[3];
	PlanCall	call;

	prune.keep_versions = arg_count(fcinfo, 0, "keep_versions");
	prune.before = PG_ARGISNULL(1) ? plan_null() : plan_arg(instant_before(PG_GETARG_DATUM(1)));
	prune.status = PG_ARGISNULL(2) ? plan_null() :
		plan_arg(CStringGetTextDatum(status_name(arg_status(fcinfo, 2))));
	prune.left = batch_arg(fcinfo, 3);
	prune.pruned = 0;

	plan_begin(&call, fcinfo);
	if (prune.left > 0)
	{
		args[0] = prune.keep_versions;
		args[1] = prune.before;
		args[2] = prune.status;
		plan_for_each(&call, &find_prunable, args, prune_instance, &prune);
	}
	plan_end(&call);
	PG_RETURN_INT64(prune.pruned);
}

/*
 * prune_instance cuts what may go off the history of one instance.  Returns
 * false when the batch is full.
 */
static bool
prune_instance(PlanCall *call, uint64 row, void *arg)
{
	Prune	   *prune = arg;
	text	   *instance_id = DatumGetTextPP(plan_value(call, row, 1).value);
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		prune->keep_versions,
		prune->before,
		prune->status,
		plan_arg(Int64GetDatum(prune->left)),
	};
	Instance	instance;
	PlanCall	inner;
	int64		cut = 0;

	CHECK_FOR_INTERRUPTS();
	plan_begin_inside(&inner, call);
	if (checkpoint_try_lock(&inner, instance_id, &instance) &&
		plan_run(&inner, &find_cut, args) > 0)
	{
		int			oldest = DatumGetInt32(plan_value(&inner, 0, 1).value);
		int			last = DatumGetInt32(plan_value(&inner, 0, 2).value);

		if (last >= oldest)
		{
			cut = checkpoint_prune(&inner, instance_id, last);
			if (cut == 0)
				ereport(WARNING,
						(errcode(ERRCODE_DATA_CORRUPTED),
						 errmsg("the history of workflow instance \"%s\" is not pruned, since a version that stays is corrupted",
								text_to_cstring(instance_id)),
						 errhint("sayiir_check_integrity tells which versions are corrupted.")));
		}
	}
	plan_end(&inner);

	prune->pruned += cut;
	prune->left -= cut;
	return prune->left > 0;
}

/*
 * sayiir_delete_terminal(older_than, batch) RETURNS bigint
 *
 * Deletes instances that ended longer ago, the oldest first, with all that hangs
 * on them, and returns how many, at most batch.  Errors: 22004, 22023 for the
 * arguments.
 */
SQL_FUNCTION(sayiir_delete_terminal, 2)
{
	NullableDatum args[2];
	PlanCall	call;
	PlanCall	inner;
	uint64		n;
	uint64		i;

	arg_require(fcinfo, 0, "older_than");
	args[1] = plan_arg(Int32GetDatum(batch_arg(fcinfo, 1)));
	args[0] = plan_arg(instant_before(PG_GETARG_DATUM(0)));

	plan_begin(&call, fcinfo);
	n = plan_run(&call, &lock_ended, args);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		plan_begin_inside(&inner, &call);
		(void) checkpoint_delete(&inner, DatumGetTextPP(plan_value(&call, i, 1).value));
		plan_end(&inner);
	}
	plan_end(&call);
	PG_RETURN_INT64((int64) n);
}

/*
 * instant_before returns the instant that is an interval before now, by the
 * clock.
 */
static Datum
instant_before(Datum interval)
{
	return DirectFunctionCall2(timestamptz_mi_interval,
							   TimestampTzGetDatum(GetCurrentTimestamp()), interval);
}

/*
 * batch_arg returns how many a call may delete.
 */
static int
batch_arg(FunctionCallInfo fcinfo, int argno)
{
	NullableDatum batch = arg_count(fcinfo, argno, "batch");

	return batch.isnull ? RETENTION_DEFAULT_BATCH : DatumGetInt32(batch.value);
}
