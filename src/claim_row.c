/*-------------------------------------------------------------------------
 *
 * claim_row.c
 *		The claims of workers on instances.
 *
 * A claim is taken, moved and ended under the lock of the snapshot row, so
 * while a save is under way nobody takes its claim over.  Only a heartbeat
 * does without that lock: it touches nothing but the claim row, so that it
 * neither waits for a save nor hides the instance from anybody.
 *
 * Expiry is by the clock of the server, read once for each question.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

#include "claim_row.h"
#include "errors.h"

pg_noreturn static void refuse_token(PlanCall *call, text *instance_id);

static PlanStatement find_claim = {
	.sql =
	"SELECT c.worker_id, c.claim_token, c.expires_at,"
	" c.expires_at IS NULL OR c.expires_at > $2"
	" FROM @.sayiir_workflow_claims AS c"
	" WHERE c.instance_id = $1",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, TIMESTAMPTZOID},
};

/* A row that another session holds is not waited for: a heartbeat saves it */
static PlanStatement lock_expired_claim = {
	.sql =
	"SELECT c.instance_id FROM @.sayiir_workflow_claims AS c"
	" WHERE c.instance_id = $1 AND c.expires_at <= $2"
	" FOR UPDATE OF c SKIP LOCKED",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, TIMESTAMPTZOID},
};

static PlanStatement take_claim = {
	.sql =
	"WITH taken AS (DELETE FROM @.sayiir_workflow_ready AS r WHERE r.instance_id = $1)"
	" INSERT INTO @.sayiir_workflow_claims AS c"
	" (instance_id, task_id, worker_id, claim_token, claimed_at, expires_at)"
	" VALUES ($1, $2, $3, gen_random_uuid(), $4, $5)"
	" ON CONFLICT (instance_id) DO UPDATE"
	" SET task_id = EXCLUDED.task_id, worker_id = EXCLUDED.worker_id,"
	" claim_token = EXCLUDED.claim_token, claimed_at = EXCLUDED.claimed_at,"
	" expires_at = EXCLUDED.expires_at"
	" RETURNING c.claim_token",
	.expected = SPI_OK_INSERT_RETURNING,
	.nargs = 5,
	.argtypes = {TEXTOID, BYTEAOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID},
};

static PlanStatement move_claim = {
	.sql =
	"UPDATE @.sayiir_workflow_claims AS c"
	" SET task_id = $2, expires_at = $3"
	" WHERE c.instance_id = $1",
	.expected = SPI_OK_UPDATE,
	.nargs = 3,
	.argtypes = {TEXTOID, BYTEAOID, TIMESTAMPTZOID},
};

static PlanStatement extend_claim = {
	.sql =
	"UPDATE @.sayiir_workflow_claims AS c"
	" SET expires_at = CASE WHEN c.expires_at IS NULL THEN NULL ELSE $4 END"
	" WHERE c.instance_id = $1 AND c.claim_token = $2"
	" AND (c.expires_at IS NULL OR c.expires_at > $3)"
	" RETURNING c.expires_at",
	.expected = SPI_OK_UPDATE_RETURNING,
	.nargs = 4,
	.argtypes = {TEXTOID, UUIDOID, TIMESTAMPTZOID, TIMESTAMPTZOID},
};

static PlanStatement delete_claim = {
	.sql =
	"DELETE FROM @.sayiir_workflow_claims AS c WHERE c.instance_id = $1",
	.expected = SPI_OK_DELETE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

/*
 * claim_row_find reads the claim of an instance, live or expired.
 */
bool
claim_row_find(PlanCall *call, text *instance_id, ClaimRow *claim)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(TimestampTzGetDatum(GetCurrentTimestamp())),
	};

	if (plan_run(call, &find_claim, args) == 0)
		return false;
	claim->worker_id = plan_value(call, 0, 1).value;
	claim->claim_token = plan_value(call, 0, 2).value;
	claim->expires_at = plan_value(call, 0, 3);
	claim->live = DatumGetBool(plan_value(call, 0, 4).value);
	return true;
}

/*
 * claim_row_is_held tells whether a live claim exists.
 */
bool
claim_row_is_held(PlanCall *call, text *instance_id)
{
	ClaimRow	claim;

	return claim_row_find(call, instance_id, &claim) && claim.live;
}

/*
 * claim_row_require raises SY002 unless the claim of the instance is live and
 * has this token.  The claim is given back where the caller wants it.
 */
void
claim_row_require(PlanCall *call, text *instance_id, Datum token, ClaimRow *claim)
{
	ClaimRow	found;

	if (!claim_row_find(call, instance_id, &found) || !found.live ||
		memcmp(DatumGetUUIDP(found.claim_token), DatumGetUUIDP(token), UUID_LEN) != 0)
		refuse_token(call, instance_id);
	if (claim != NULL)
		*claim = found;
}

/*
 * claim_row_take makes a claim for an instance that has no live one, in place
 * of an expired one, and takes it out of the queue.  Returns false when there
 * is a live one after all, or somebody else is at it.  The token is in SPI's
 * memory.
 */
bool
claim_row_take(PlanCall *call, text *instance_id, NullableDatum task_id,
			   Datum worker_id, TimestampTz claimed_at, NullableDatum expires_at,
			   Datum *token)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		task_id,
		plan_arg(worker_id),
		plan_arg(TimestampTzGetDatum(claimed_at)),
		expires_at,
	};
	ClaimRow	claim;

	if (claim_row_find(call, instance_id, &claim))
	{
		NullableDatum lock[] = {
			plan_arg(PointerGetDatum(instance_id)),
			plan_arg(TimestampTzGetDatum(claimed_at)),
		};

		if (claim.live || plan_run(call, &lock_expired_claim, lock) == 0)
			return false;
	}
	if (plan_run(call, &take_claim, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_claims");
	*token = plan_value(call, 0, 1).value;
	return true;
}

/*
 * claim_row_move makes a claim that goes on one for the next task.
 */
void
claim_row_move(PlanCall *call, text *instance_id, Datum task_id, NullableDatum expires_at)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(task_id),
		expires_at,
	};

	if (plan_run(call, &move_claim, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_claims");
}

/*
 * claim_row_extend makes a live claim expire ttl from now and returns when, NULL
 * for a claim that does not expire.  Raises SY002 when there is no live claim
 * with this token.  Locks the claim row alone.
 */
NullableDatum
claim_row_extend(PlanCall *call, text *instance_id, Datum token, Datum ttl)
{
	TimestampTz now = GetCurrentTimestamp();
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(token),
		plan_arg(TimestampTzGetDatum(now)),
		claim_expiry(now, plan_arg(ttl)),
	};

	if (plan_run(call, &extend_claim, args) == 0)
		refuse_token(call, instance_id);
	return plan_value(call, 0, 1);
}

/*
 * claim_row_delete ends the claim of an instance, if it has one.
 */
void
claim_row_delete(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &delete_claim, args);
}

/*
 * claim_expiry returns the instant that is ttl after another, NULL for NULL.
 */
NullableDatum
claim_expiry(TimestampTz from, NullableDatum ttl)
{
	if (ttl.isnull)
		return plan_null();
	return plan_arg(DirectFunctionCall2(timestamptz_pl_interval,
										TimestampTzGetDatum(from), ttl.value));
}

/*
 * refuse_token raises SY002 for a token that is not that of a live claim; the
 * detail says whose the present one is.
 */
static void
refuse_token(PlanCall *call, text *instance_id)
{
	ClaimRow	claim;
	bool		held = claim_row_find(call, instance_id, &claim) && claim.live;

	ereport(ERROR,
			(errcode(ERRCODE_SAYIIR_CLAIM_LOST),
			 errmsg("claim on workflow instance \"%s\" is lost",
					text_to_cstring(instance_id)),
			 held ?
			 errdetail("It is held by worker \"%s\" under another token.",
					   TextDatumGetCString(claim.worker_id)) :
			 errdetail("There is no live claim with this token."),
			 errhint("Give up this piece of work and claim another.")));
}
