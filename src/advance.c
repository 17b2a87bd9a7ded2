/*-------------------------------------------------------------------------
 *
 * advance.c
 *		sayiir_advance, in its two forms: one step of a worker in one commit
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "arg.h"
#include "checkpoint.h"
#include "claim_row.h"
#include "digest.h"
#include "errors.h"
#include "history.h"
#include "move.h"
#include "save_arg.h"
#include "signal_row.h"
#include "snapshot.h"
#include "sql_function.h"

#define ADVANCE_CLAIM_TOKEN	1	/* in both forms, behind data */

/* Arguments of the short form */
enum
{
	ADVANCE_JSON_NEXT_CLAIM_TTL = 2,
	ADVANCE_JSON_TRACE_PARENT,
	ADVANCE_JSON_EXPECTED_VERSION
};

/* Arguments of the explicit form */
static const SaveArguments explicit_arguments = {
	.claim_token = ADVANCE_CLAIM_TOKEN,
	.instance_id = 2,
	.status = 3,
	.definition_hash = 4,
	.current_task_id = 5,
	.completed_task_count = 6,
	.error = 7,
	.position_kind = 8,
	.delay_wake_at = 9,
	.trace_parent = 10,
	.task_priority = 11,
	.task_tags = 12,
	.last_completed_task_id = 13,
	.last_completed_output = 14,
	.expected_version = 15,
	.awaited_signal = 16,
};

#define ADVANCE_NEXT_CLAIM_TTL	17	/* of the explicit form */

/* What a step came to: the columns of the result */
typedef struct AdvanceResult
{
	int			version;		/* 0: the instance had ended */
	SnapshotStatus status;
	NullableDatum expires_at;	/* timestamptz; of the claim that goes on */
} AdvanceResult;

static Datum advance_run(FunctionCallInfo fcinfo, ReturnSetInfo *rsinfo, Checkpoint *save,
						 NullableDatum next_claim_ttl);
static void advance_step(PlanCall *call, Checkpoint *save, NullableDatum next_claim_ttl,
						 AdvanceResult *result);
static bool advance_is_repeat(PlanCall *call, const Checkpoint *save, const Instance *instance,
							  AdvanceResult *result);
static bool is_at_place(const Instance *instance, const Checkpoint *save);
static bool same_value(NullableDatum a, NullableDatum b, PGFunction equal);
static bool advance_wrote(const Checkpoint *save, Datum data_hash, const HistoryVersion *version);

/*
 * sayiir_advance(data, claim_token, next_claim_ttl, trace_parent, expected_version)
 *		RETURNS TABLE (history_version integer, status text, expires_at timestamptz)
 *
 * The step of a worker whose snapshot is in Sayiir's own format.  See
 * advance_step.  Errors: 22004, 22023, 54000, 22P03, 22P05 for the arguments,
 * SY001, SY002.
 */
SQL_SET_FUNCTION(sayiir_advance_json, 5, INT4OID, TEXTOID, TIMESTAMPTZOID)
{
	Checkpoint	save;
	NullableDatum ttl;

	arg_require(fcinfo, SAVE_DATA, "data");
	arg_require(fcinfo, ADVANCE_CLAIM_TOKEN, "claim_token");
	checkpoint_init(&save);
	ttl = arg_ttl(fcinfo, ADVANCE_JSON_NEXT_CLAIM_TTL, "next_claim_ttl");
	save.trace_parent = arg_any(fcinfo, ADVANCE_JSON_TRACE_PARENT);
	save.expected_version = arg_version(fcinfo, ADVANCE_JSON_EXPECTED_VERSION,
										"expected_version");
	save.claim_token = arg_any(fcinfo, ADVANCE_CLAIM_TOKEN);
	(void) snapshot_read(arg_data(fcinfo, SAVE_DATA, "data").value, &save);
	return advance_run(fcinfo, rsinfo, &save, ttl);
}

/*
 * sayiir_advance(data, claim_token, instance_id, status, definition_hash, ...)
 *		RETURNS TABLE (history_version integer, status text, expires_at timestamptz)
 *
 * The step of a worker whose snapshot is opaque.  Errors: 22004, 22023, 54000
 * for the arguments, SY001, SY002.
 */
SQL_SET_FUNCTION(sayiir_advance, 18, INT4OID, TEXTOID, TIMESTAMPTZOID)
{
	Checkpoint	save;
	NullableDatum ttl;

	arg_require(fcinfo, SAVE_DATA, "data");
	arg_require(fcinfo, ADVANCE_CLAIM_TOKEN, "claim_token");
	ttl = arg_ttl(fcinfo, ADVANCE_NEXT_CLAIM_TTL, "next_claim_ttl");
	save_arg_read(fcinfo, &explicit_arguments, &save);
	return advance_run(fcinfo, rsinfo, &save, ttl);
}

/*
 * advance_run does the step and gives its row.
 */
static Datum
advance_run(FunctionCallInfo fcinfo, ReturnSetInfo *rsinfo, Checkpoint *save,
			NullableDatum next_claim_ttl)
{
	AdvanceResult result;
	PlanCall	call;
	Datum		values[3];
	bool		nulls[3];

	plan_begin(&call, fcinfo);
	advance_step(&call, save, next_claim_ttl, &result);
	values[0] = Int32GetDatum(result.version);
	nulls[0] = result.version == 0;
	values[1] = CStringGetTextDatum(status_name(result.status));
	nulls[1] = false;
	values[2] = result.expires_at.value;
	nulls[2] = result.expires_at.isnull;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	plan_end(&call);
	return (Datum) 0;
}

/*
 * advance_step saves the state of a worker under its claim; then a pending
 * signal is applied, if there is one; else, with a ttl and a state that is at a
 * task, the claim goes on for that task under the same token; else it ends, and
 * the hint of the next task is sent.
 *
 * On an instance that has ended nothing is written; the result says how it
 * ended, with version 0.  Raises SY002 when the claim is lost, SY001 when
 * another version than the expected one is stored.
 */
static void
advance_step(PlanCall *call, Checkpoint *save, NullableDatum next_claim_ttl,
			 AdvanceResult *result)
{
	Instance	instance;
	ClaimRow	claim;
	SignalRow	signal;
	bool		has_signal;

	result->expires_at = plan_null();
	result->version = 0;

	if (!checkpoint_lock(call, save->instance_id, &instance))
		claim_row_require(call, save->instance_id, save->claim_token.value, NULL);
	if (advance_is_repeat(call, save, &instance, result))
		return;
	if (status_is_terminal(instance.status))
	{
		result->status = instance.status;
		return;
	}
	claim_row_require(call, save->instance_id, save->claim_token.value, &claim);
	if (save->status == STATUS_IN_PROGRESS && instance.status == STATUS_PAUSED)
		error_paused(save->instance_id);
	checkpoint_check_version(&instance, save->expected_version);

	has_signal = !status_is_terminal(save->status) &&
		signal_row_find(call, save->instance_id, &signal) &&
		!(save->status == STATUS_PAUSED && signal.kind == SIGNAL_PAUSE);
	if (has_signal)
		save->claim = CLAIM_ENDS_QUIETLY;
	else if (!next_claim_ttl.isnull && save->status == STATUS_IN_PROGRESS &&
			 !save->current_task_id.isnull)
	{
		save->claim = CLAIM_GOES_ON;
		save->claim_worker = plan_arg(claim.worker_id);
		save->claim_expires_at = claim_expiry(GetCurrentTimestamp(), next_claim_ttl);
		result->expires_at = save->claim_expires_at;
	}
	else
		save->claim = CLAIM_ENDS;

	result->version = checkpoint_write(call, save);
	result->status = save->status;

	if (has_signal)
	{
		if (!checkpoint_lock(call, save->instance_id, &instance))
			elog(ERROR, "a locked workflow instance is gone");
		result->status = move_by_signal(call, &instance, &signal, plan_null(), plan_null(),
										false, &result->version);
	}
}

/*
 * advance_is_repeat tells whether this step has been written before, and then
 * what has become of it: the newest version is that step's, or it is the signal
 * that the same transaction applied after it.
 */
static bool
advance_is_repeat(PlanCall *call, const Checkpoint *save, const Instance *instance,
				  AdvanceResult *result)
{
	Datum		data_hash = digest_of_data(save->data);
	HistoryVersion newest;
	HistoryVersion before;
	ClaimRow	claim;

	if (!history_find(call, save->instance_id, instance->version, &newest))
		return false;
	if (!(advance_wrote(save, data_hash, &newest) && is_at_place(instance, save)) &&
		!((newest.status == STATUS_CANCELLED || newest.status == STATUS_PAUSED) &&
		  history_find(call, save->instance_id, instance->version - 1, &before) &&
		  before.created_at == newest.created_at &&
		  advance_wrote(save, data_hash, &before)))
		return false;

	result->version = instance->version;
	result->status = instance->status;
	if (claim_row_find(call, save->instance_id, &claim) &&
		memcmp(DatumGetUUIDP(claim.claim_token), DatumGetUUIDP(save->claim_token.value),
			   UUID_LEN) == 0)
		result->expires_at = claim.expires_at;
	return true;
}

/*
 * is_at_place tells whether an instance is at the place that a save brings it to:
 * an opaque snapshot can stay the same while the workflow goes on.
 */
static bool
is_at_place(const Instance *instance, const Checkpoint *save)
{
	return same_value(instance->position_kind, save->position_kind, texteq) &&
		same_value(instance->delay_wake_at, save->delay_wake_at, timestamp_eq) &&
		same_value(instance->awaited_signal, save->awaited_signal, texteq);
}

/*
 * same_value compares two values, of which both can be NULL.
 */
static bool
same_value(NullableDatum a, NullableDatum b, PGFunction equal)
{
	if (a.isnull || b.isnull)
		return a.isnull && b.isnull;
	return DatumGetBool(DirectFunctionCall2Coll(equal, C_COLLATION_OID, a.value, b.value));
}

/*
 * advance_wrote tells whether a version is what this save would write.
 */
static bool
advance_wrote(const Checkpoint *save, Datum data_hash, const HistoryVersion *version)
{
	return version->status == save->status &&
		digest_equal(version->data_hash, data_hash) &&
		digest_equal_or_null(version->current_task_id, save->current_task_id);
}
