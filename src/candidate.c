/*-------------------------------------------------------------------------
 *
 * candidate.c
 *		One instance that can probably be claimed: claimed, and loaded.
 *
 * All that is stored of it is read before anything of it is written, in a
 * subtransaction that has no number since it writes nothing.  An instance that
 * cannot be read is held back: nobody's claim keeps it from the next callers for
 * a while, so that it stops neither this call nor all others, and a warning
 * tells of it again and again until somebody has dealt with it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "candidate.h"
#include "claim_row.h"
#include "errors.h"
#include "event_row.h"
#include "history.h"
#include "move.h"
#include "ready.h"
#include "snapshot_row.h"
#include "task_row.h"

/* Columns of the result of sayiir_claim_tasks */
enum
{
	CLAIMED_INSTANCE_ID,
	CLAIMED_TASK_ID,
	CLAIMED_TOKEN,
	CLAIMED_EXPIRES_AT,
	CLAIMED_POSITION_KIND,
	CLAIMED_HISTORY_VERSION,
	CLAIMED_DATA,
	CLAIMED_DEFINITION_HASH,
	CLAIMED_TRACE_PARENT,
	CLAIMED_TASK_IDS,
	CLAIMED_OUTPUTS,
	CLAIMED_NCOLUMNS
};

/* Who holds what is held back, and for how long: the README says so too */
#define NOBODY				"nobody: held back by sayiir_claim_tasks"
#define HELD_BACK_USECS		(10 * USECS_PER_MINUTE)

/*
 * Instances that one call puts into their places in the queue at most: a bound
 * for that call.  Those that follow are taken as they come.
 */
#define REQUEUED_PER_CALL	1000

/* An instance with what is stored of it */
typedef struct Loaded
{
	Instance	instance;
	Datum		data;			/* bytea, in the caller's memory */
	bool		outputs_fit;
	Datum		task_ids;		/* bytea[] */
	Datum		outputs;		/* bytea[], of these tasks */
	int64		event_size;		/* of the event that it is parked for, or -1 */
} Loaded;

static PlanStatement check_candidate = {
	.sql =
	"SELECT true FROM @.sayiir_workflow_ready AS r"
	" WHERE r.instance_id = $1 AND r.ready_at = $2 AND r.kind = $3",
	.expected = SPI_OK_SELECT,
	.nargs = 3,
	.argtypes = {TEXTOID, TIMESTAMPTZOID, INT8OID},
};

static TimestampTz due_at(const Instance *instance);
static bool candidate_load(PlanCall *call, Loaded *loaded);
static void load_part(PlanCall *call, void *arg);
static bool move_on(PlanCall *call, const ClaimRequest *request, Loaded *loaded, bool *moved);
static void put_claimed(const ClaimRequest *request, const Loaded *loaded,
						Datum token, NullableDatum expires_at);

/*
 * candidate_claim claims an instance that the queue had in this place and gives
 * it to the caller, if it is still to be had.  One that belongs in a later place
 * is put there.
 */
CandidateOutcome
candidate_claim(PlanCall *call, ClaimRequest *request, text *instance_id,
				TimestampTz ready_at, Datum kind)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(TimestampTzGetDatum(ready_at)),
		plan_arg(kind),
	};
	Loaded		loaded;
	NullableDatum expires_at;
	Datum		token;
	TimestampTz now;
	bool		moved;

	if (!snapshot_row_try_lock(call, instance_id, &loaded.instance) ||
		plan_run(call, &check_candidate, args) == 0)
		return CANDIDATE_GONE;
	if (due_at(&loaded.instance) > ready_at && request->requeued < REQUEUED_PER_CALL)
	{
		ready_requeue(call, instance_id, due_at(&loaded.instance));
		request->requeued++;
		return CANDIDATE_REQUEUED;
	}
	if (!candidate_load(call, &loaded))
		return CANDIDATE_GONE;
	if (!move_on(call, request, &loaded, &moved))
		return CANDIDATE_GONE;
	if (moved && !candidate_load(call, &loaded))
		return CANDIDATE_GONE;

	now = GetCurrentTimestamp();
	expires_at = claim_expiry(now, plan_arg(request->ttl));
	if (!claim_row_take(call, instance_id, loaded.instance.current_task_id,
						request->worker_id, now, expires_at, &token))
		return CANDIDATE_GONE;
	put_claimed(request, &loaded, token, expires_at);
	return CANDIDATE_CLAIMED;
}

/*
 * due_at returns since when an instance at a task waits, or from when on it is to
 * be claimed, which the queue can have missed (ready.c).
 */
static TimestampTz
due_at(const Instance *instance)
{
	if (instance->current_task_id.isnull)
		return DT_NOBEGIN;
	if (instance->delay_wake_at.isnull)
		return instance->waiting_since;
	return Max(instance->waiting_since, DatumGetTimestampTz(instance->delay_wake_at.value));
}

/*
 * candidate_hold_back keeps a locked instance from being claimed for a while,
 * and warns of what is wrong with it.
 */
void
candidate_hold_back(PlanCall *call, const Instance *instance, const ErrorData *error)
{
	TimestampTz now = GetCurrentTimestamp();
	Datum		token;

	if (!claim_row_take(call, instance->instance_id, instance->current_task_id,
						CStringGetTextDatum(NOBODY), now,
						plan_arg(TimestampTzGetDatum(now + HELD_BACK_USECS)), &token))
		return;
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("workflow instance \"%s\" is held back from all workers",
					text_to_cstring(instance->instance_id)),
			 errdetail("What it raised: %s.", error->message),
			 errhint("sayiir_check_integrity tells what is wrong with it; save it with other bytes, fork an earlier version, or delete it.")));
}

/*
 * candidate_load reads all that is stored of a locked instance.  Returns false
 * when that cannot be, and the instance is held back.
 */
static bool
candidate_load(PlanCall *call, Loaded *loaded)
{
	ErrorData  *error = plan_try(call, load_part, loaded);

	if (error == NULL)
		return true;
	candidate_hold_back(call, &loaded->instance, error);
	FreeErrorData(error);
	return false;
}

/*
 * load_part is the part of candidate_load that can fail.
 */
static void
load_part(PlanCall *call, void *arg)
{
	Loaded	   *loaded = arg;
	const Instance *instance = &loaded->instance;

	loaded->data = move_newest_data(call, instance);
	loaded->outputs_fit = task_row_load_outputs(call, instance->instance_id, instance->version,
												loaded->data, &loaded->task_ids,
												&loaded->outputs);
	loaded->event_size = -1;
	if (instance->current_task_id.isnull && !instance->awaited_signal.isnull)
		loaded->event_size = event_row_size(call, instance->instance_id,
											instance->awaited_signal.value);
}

/*
 * move_on moves an instance whose snapshot the server can read past a delay that
 * is over, or a signal whose event is there, and tells whether it did.  Returns
 * false when there is nothing to claim then; a place that a worker has to act on
 * is left alone.
 */
static bool
move_on(PlanCall *call, const ClaimRequest *request, Loaded *loaded, bool *moved)
{
	Instance   *instance = &loaded->instance;
	NullableDatum worker = plan_arg(request->worker_id);
	Frame	   *frame;
	Datum		payload;

	*moved = false;
	/* An instance without a next version is a worker's, who will be told so */
	if (!instance->current_task_id.isnull || instance->version == PG_INT32_MAX)
		return true;

	if (!instance->awaited_signal.isnull)
	{
		if (loaded->event_size < 0)
			return true;
		frame = move_frame_at(instance, loaded->data, "AtSignal", true);
		if (frame == NULL || !move_fits(frame, loaded->event_size) ||
			!event_row_take(call, instance->instance_id, instance->awaited_signal.value,
							&payload))
			return true;
		move_past_signal(call, instance, frame, payload, CLAIM_ENDS_QUIETLY, worker);
	}
	else
	{
		frame = move_frame_at(instance, loaded->data, "AtDelay", true);
		if (frame == NULL || !move_fits(frame, move_delay_output_size(call, instance, frame)))
			return true;
		move_past_delay(call, instance, frame, CLAIM_ENDS_QUIETLY, worker);
	}
	*moved = true;
	pfree(DatumGetPointer(loaded->data));

	/* It is ours: this reads what has become of it */
	if (!snapshot_row_try_lock(call, instance->instance_id, instance) ||
		instance->status != STATUS_IN_PROGRESS)
		return false;
	if (!instance->delay_wake_at.isnull &&
		DatumGetTimestampTz(instance->delay_wake_at.value) > request->now)
	{
		/* Its next task is a retry that is not due */
		(void) ready_refresh(call, instance->instance_id);
		return false;
	}
	return true;
}

/*
 * put_claimed gives a claimed instance to the caller.
 */
static void
put_claimed(const ClaimRequest *request, const Loaded *loaded,
			Datum token, NullableDatum expires_at)
{
	const Instance *instance = &loaded->instance;
	Datum		values[CLAIMED_NCOLUMNS];
	bool		nulls[CLAIMED_NCOLUMNS] = {false};

	values[CLAIMED_INSTANCE_ID] = PointerGetDatum(instance->instance_id);
	values[CLAIMED_TASK_ID] = instance->current_task_id.value;
	nulls[CLAIMED_TASK_ID] = instance->current_task_id.isnull;
	values[CLAIMED_TOKEN] = token;
	values[CLAIMED_EXPIRES_AT] = expires_at.value;
	values[CLAIMED_POSITION_KIND] = instance->position_kind.value;
	nulls[CLAIMED_POSITION_KIND] = instance->position_kind.isnull;
	values[CLAIMED_HISTORY_VERSION] = Int32GetDatum(instance->version);
	values[CLAIMED_DATA] = loaded->data;
	values[CLAIMED_DEFINITION_HASH] = instance->definition_hash;
	values[CLAIMED_TRACE_PARENT] = instance->trace_parent.value;
	nulls[CLAIMED_TRACE_PARENT] = instance->trace_parent.isnull;
	values[CLAIMED_TASK_IDS] = loaded->task_ids;
	values[CLAIMED_OUTPUTS] = loaded->outputs;
	nulls[CLAIMED_TASK_IDS] = nulls[CLAIMED_OUTPUTS] = !loaded->outputs_fit;

	tuplestore_putvalues(request->rsinfo->setResult, request->rsinfo->setDesc, values, nulls);
	/* The row is copied, and there may be many of them */
	pfree(DatumGetPointer(loaded->data));
}
