/*-------------------------------------------------------------------------
 *
 * claim.c
 *		sayiir_claim_task, sayiir_extend_claim, sayiir_release_claim
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "checkpoint.h"
#include "claim_row.h"
#include "digest.h"
#include "errors.h"
#include "move.h"
#include "ready.h"
#include "signal_row.h"
#include "snapshot_row.h"
#include "sql_function.h"

/* Arguments of sayiir_claim_task, in their order */
enum
{
	CLAIM_INSTANCE_ID,
	CLAIM_TASK_ID,
	CLAIM_WORKER_ID,
	CLAIM_TTL
};

/*
 * sayiir_claim_task(instance_id, task_id, worker_id, ttl)
 *		RETURNS TABLE (claim_token uuid, claimed_at timestamptz, expires_at timestamptz)
 *
 * One row, or none when the task cannot be had now.  Never waits for anybody.
 * Errors: 22004, 22023 for the arguments, P0002 for an unknown instance.
 */
SQL_SET_FUNCTION(sayiir_claim_task, 4, UUIDOID, TIMESTAMPTZOID, TIMESTAMPTZOID)
{
	text	   *instance_id;
	NullableDatum task_id;
	NullableDatum worker_id;
	NullableDatum ttl;
	NullableDatum expires_at;
	TimestampTz now;
	Instance	instance;
	SignalRow	signal;
	PlanCall	call;
	Datum		values[3];
	bool		nulls[3] = {false};

	arg_require(fcinfo, CLAIM_INSTANCE_ID, "instance_id");
	arg_require(fcinfo, CLAIM_TASK_ID, "task_id");
	arg_require(fcinfo, CLAIM_WORKER_ID, "worker_id");
	instance_id = arg_instance_id(fcinfo, CLAIM_INSTANCE_ID);
	task_id = arg_hash(fcinfo, CLAIM_TASK_ID, "task_id");
	worker_id = arg_name(fcinfo, CLAIM_WORKER_ID, "worker_id");
	ttl = arg_ttl(fcinfo, CLAIM_TTL, "ttl");

	plan_begin(&call, fcinfo);
	if (!snapshot_row_try_lock(&call, instance_id, &instance))
	{
		if (!snapshot_row_exists(&call, instance_id))
			error_no_instance(instance_id);
	}
	else if (instance.status == STATUS_IN_PROGRESS &&
			 digest_equal_or_null(instance.current_task_id, task_id) &&
			 !signal_row_find(&call, instance_id, &signal))
	{
		now = GetCurrentTimestamp();
		expires_at = claim_expiry(now, ttl);
		if (claim_row_take(&call, instance_id, task_id, worker_id.value, now, expires_at,
						   &values[0]))
		{
			values[1] = TimestampTzGetDatum(now);
			values[2] = expires_at.value;
			nulls[2] = expires_at.isnull;
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
	plan_end(&call);
	return (Datum) 0;
}

/*
 * sayiir_extend_claim(instance_id, claim_token, ttl) RETURNS timestamptz
 *
 * Makes the claim expire ttl from now and returns when; NULL for a claim that
 * does not expire.  Errors: 22004, 22023 for the arguments, SY002.
 */
SQL_FUNCTION(sayiir_extend_claim, 3)
{
	text	   *instance_id;
	NullableDatum ttl;
	NullableDatum expires_at;
	PlanCall	call;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "claim_token");
	arg_require(fcinfo, 2, "ttl");
	instance_id = arg_instance_id(fcinfo, 0);
	ttl = arg_ttl(fcinfo, 2, "ttl");

	plan_begin(&call, fcinfo);
	expires_at = claim_row_extend(&call, instance_id, PG_GETARG_DATUM(1), ttl.value);
	plan_end(&call);

	if (expires_at.isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(expires_at.value);
}

/*
 * sayiir_release_claim(instance_id, claim_token, retry_after) RETURNS void
 *
 * Gives a claim back: a pending signal is applied, else the task can be had
 * again, at once or after a while.  Errors: 22004, 22023 for the arguments,
 * SY002.
 */
SQL_FUNCTION(sayiir_release_claim, 3)
{
	text	   *instance_id;
	NullableDatum retry_after;
	Instance	instance;
	SignalRow	signal;
	PlanCall	call;
	int			version;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "claim_token");
	instance_id = arg_instance_id(fcinfo, 0);
	retry_after = arg_ttl(fcinfo, 2, "retry_after");

	plan_begin(&call, fcinfo);
	if (!checkpoint_lock(&call, instance_id, &instance))
		instance.instance_id = instance_id; /* then there is no claim either */
	claim_row_require(&call, instance_id, PG_GETARG_DATUM(1), NULL);

	claim_row_delete(&call, instance_id);
	if (signal_row_find(&call, instance_id, &signal))
		(void) move_by_signal(&call, &instance, &signal, plan_null(), plan_null(), true, &version);
	else if (retry_after.isnull)
		checkpoint_wake(&call, &instance);
	else
	{
		snapshot_row_delay(&call, instance_id,
						   claim_expiry(GetCurrentTimestamp(), retry_after).value);
		(void) ready_refresh(&call, instance_id);
	}
	plan_end(&call);
	PG_RETURN_VOID();
}
