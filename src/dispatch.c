/*-------------------------------------------------------------------------
 *
 * dispatch.c
 *		sayiir_claim_tasks: find, claim and load what is most urgent
 *
 * The queue (ready.c) is ordered by kind of work, that is by definition, tags
 * and priority, and within a kind by how long an instance has been waiting.  The
 * first of each kind is found by one step through the index per kind; then the
 * most urgent of these firsts is tried, and the next of its kind takes its
 * place.  So the cost does not depend on how many instances there are.
 *
 * What the queue says is what was committed when it was read.  A candidate
 * counts only after its snapshot row was locked, without waiting, and the queue
 * looked at again (candidate.c): two callers never get the same, and never wait.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "candidate.h"
#include "checkpoint.h"
#include "claim_row.h"
#include "move.h"
#include "ready.h"
#include "signal_row.h"
#include "snapshot_row.h"
#include "sql_function.h"

/* Arguments, in their order */
enum
{
	CLAIM_WORKER_ID,
	CLAIM_MAX_TASKS,
	CLAIM_TTL,
	CLAIM_WORKER_TAGS,
	CLAIM_AGING,
	CLAIM_DEFINITION_HASHES
};

#define DEFAULT_MAX_TASKS	1
#define DEFAULT_TTL_USECS	(30 * USECS_PER_SEC)
#define DEFAULT_AGING_USECS	USECS_PER_MINUTE

/*
 * Expired claims that one call gives back at most, when many workers died at
 * once: a bound for that call, and more than are there as a rule.
 */
#define EXPIRED_PER_CALL	1000

/* Candidates of one kind that are read at a time */
#define KIND_BATCH			16

/* Beyond this, aging means never; a sum of instants stays within int64 */
#define AGING_MAX_USECS		(INT64CONST(1000000) * USECS_PER_DAY)

/* One kind of work: equal definition, tags and priority */
typedef struct Kind
{
	Datum		kind;			/* int8, as in the queue */
	int			task_priority;
	int			next;			/* candidate to be tried */
	int			ncandidates;
	TimestampTz ready_at[KIND_BATCH];
	text	   *instance_id[KIND_BATCH];
} Kind;

/* A signal that no worker is left to apply */
typedef struct PendingSignal
{
	Instance	instance;		/* locked */
	SignalRow	signal;
} PendingSignal;

/* $1 now, $2 tags of the worker, $3 definitions */
static PlanStatement find_heads = {
	.sql =
	"WITH RECURSIVE head (kind, ready_at, instance_id, definition_hash, task_tags, task_priority) AS ("
	" (SELECT r.kind, r.ready_at, r.instance_id, r.definition_hash, r.task_tags, r.task_priority"
	"  FROM @.sayiir_workflow_ready AS r"
	"  ORDER BY r.kind, r.ready_at, r.instance_id LIMIT 1)"
	" UNION ALL"
	" SELECT n.kind, n.ready_at, n.instance_id, n.definition_hash, n.task_tags, n.task_priority"
	" FROM head AS h CROSS JOIN LATERAL ("
	"  SELECT r.kind, r.ready_at, r.instance_id, r.definition_hash, r.task_tags, r.task_priority"
	"  FROM @.sayiir_workflow_ready AS r WHERE r.kind > h.kind"
	"  ORDER BY r.kind, r.ready_at, r.instance_id LIMIT 1) AS n"
	")"
	" SELECT h.kind, h.task_priority, h.ready_at, h.instance_id::text"
	" FROM head AS h"
	" WHERE h.ready_at <= $1"
	" AND (cardinality($2) = 0 OR h.task_tags <@ $2)"
	" AND ($3 IS NULL OR h.definition_hash = ANY ($3))",
	.expected = SPI_OK_SELECT,
	.nargs = 3,
	.argtypes = {TIMESTAMPTZOID, TEXTARRAYOID, BYTEAARRAYOID},
};

static PlanStatement find_next = {
	.sql =
	"SELECT r.ready_at, r.instance_id::text"
	" FROM @.sayiir_workflow_ready AS r"
	" WHERE r.kind = $1 AND (r.ready_at, r.instance_id) > ($2, $3) AND r.ready_at <= $4"
	" ORDER BY r.ready_at, r.instance_id LIMIT $5",
	.expected = SPI_OK_SELECT,
	.nargs = 5,
	.argtypes = {INT8OID, TIMESTAMPTZOID, TEXTOID, TIMESTAMPTZOID, INT4OID},
};

/* Whoever else is at a claim or its instance is not waited for */
static PlanStatement lock_expired = {
	.sql =
	"SELECT c.instance_id::text"
	" FROM @.sayiir_workflow_claims AS c"
	" JOIN @.sayiir_workflow_snapshots AS s ON s.instance_id = c.instance_id"
	" WHERE c.expires_at <= $1 ORDER BY c.expires_at LIMIT $2"
	" FOR NO KEY UPDATE OF s SKIP LOCKED FOR UPDATE OF c SKIP LOCKED",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TIMESTAMPTZOID, INT4OID},
};

/* The same for signals that no worker is left to apply */
static PlanStatement lock_unapplied = {
	.sql =
	"SELECT s.instance_id::text"
	" FROM (SELECT DISTINCT p.instance_id FROM @.sayiir_workflow_signals AS p"
	"  WHERE NOT p.held) AS g"
	" JOIN @.sayiir_workflow_snapshots AS s ON s.instance_id = g.instance_id"
	" WHERE NOT EXISTS (SELECT FROM @.sayiir_workflow_claims AS c"
	"  WHERE c.instance_id = g.instance_id"
	"  AND (c.expires_at IS NULL OR c.expires_at > $1))"
	" ORDER BY g.instance_id LIMIT $2 FOR NO KEY UPDATE OF s SKIP LOCKED",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TIMESTAMPTZOID, INT4OID},
};

static void request_read(FunctionCallInfo fcinfo, ClaimRequest *request);
static void apply_signals(PlanCall *call, const ClaimRequest *request);
static void apply_part(PlanCall *call, void *arg);
static void give_back_expired(PlanCall *call, const ClaimRequest *request);
static int	collect_ids(PlanCall *call, PlanStatement *statement, TimestampTz now, int limit,
						text ***ids);
static int	find_kinds(PlanCall *call, const ClaimRequest *request, Kind **kinds);
static void kind_refill(PlanCall *call, const ClaimRequest *request, Kind *kind);
static Kind *most_urgent(const ClaimRequest *request, Kind *kinds, int nkinds);

/*
 * sayiir_claim_tasks(worker_id, max_tasks, ttl, worker_tags, aging, definition_hashes)
 *		RETURNS TABLE (...)
 *
 * Up to max_tasks rows, the most urgent first.  Never waits for another claim.
 * Errors: 22004, 22023 for the arguments.
 */
SQL_SET_FUNCTION(sayiir_claim_tasks, 6,
				 TEXTOID, BYTEAOID, UUIDOID, TIMESTAMPTZOID, TEXTOID, INT4OID, BYTEAOID,
				 BYTEAOID, TEXTOID, BYTEAARRAYOID, BYTEAARRAYOID)
{
	ClaimRequest request;
	PlanCall	call;
	Kind	   *kinds;
	int			nkinds;
	int			claimed = 0;

	request_read(fcinfo, &request);
	request.rsinfo = rsinfo;

	if (request.max_tasks == 0)
		return (Datum) 0;

	plan_begin(&call, fcinfo);
	give_back_expired(&call, &request);
	apply_signals(&call, &request);

	nkinds = find_kinds(&call, &request, &kinds);
	while (claimed < request.max_tasks)
	{
		Kind	   *kind = most_urgent(&request, kinds, nkinds);

		if (kind == NULL)
			break;
		switch (candidate_claim(&call, &request, kind->instance_id[kind->next],
								kind->ready_at[kind->next], kind->kind))
		{
			case CANDIDATE_CLAIMED:
				claimed++;
				break;
			case CANDIDATE_REQUEUED:
				/* Those read with it may come before it, or after */
				kind->ncandidates = kind->next + 1;
				break;
			case CANDIDATE_GONE:
				break;
		}
		kind->next++;
		if (kind->next == kind->ncandidates)
			kind_refill(&call, &request, kind);
	}
	plan_end(&call);
	return (Datum) 0;
}

/*
 * request_read checks the arguments.
 */
static void
request_read(FunctionCallInfo fcinfo, ClaimRequest *request)
{
	NullableDatum arg;

	arg_require(fcinfo, CLAIM_WORKER_ID, "worker_id");
	request->worker_id = arg_name(fcinfo, CLAIM_WORKER_ID, "worker_id").value;

	arg = arg_count(fcinfo, CLAIM_MAX_TASKS, "max_tasks");
	request->max_tasks = arg.isnull ? DEFAULT_MAX_TASKS : DatumGetInt32(arg.value);

	arg = arg_ttl(fcinfo, CLAIM_TTL, "ttl");
	if (arg.isnull)
	{
		Interval   *ttl = palloc0(sizeof(Interval));

		ttl->time = DEFAULT_TTL_USECS;
		arg.value = IntervalPGetDatum(ttl);
	}
	request->ttl = arg.value;

	request->worker_tags = PointerGetDatum(arg_tags(fcinfo, CLAIM_WORKER_TAGS, "worker_tags"));

	arg = arg_ttl(fcinfo, CLAIM_AGING, "aging");
	request->aging = arg.isnull ? DEFAULT_AGING_USECS :
		arg_interval_usecs(arg.value, AGING_MAX_USECS);

	request->definition_hashes = arg_hashes(fcinfo, CLAIM_DEFINITION_HASHES,
											"definition_hashes");
	request->now = GetCurrentTimestamp();
	request->requeued = 0;
}

/*
 * apply_signals applies signals of instances that no worker holds.  A signal
 * that cannot be applied does not stand in the way of others: its instance is
 * held back.
 */
static void
apply_signals(PlanCall *call, const ClaimRequest *request)
{
	text	  **ids;
	int			n = collect_ids(call, &lock_unapplied, request->now, request->max_tasks, &ids);
	int			i;

	for (i = 0; i < n; i++)
	{
		PendingSignal pending;
		ErrorData  *error;

		if (!snapshot_row_try_lock(call, ids[i], &pending.instance) ||
			status_is_terminal(pending.instance.status) ||
			claim_row_is_held(call, ids[i]) ||
			!signal_row_find(call, ids[i], &pending.signal))
			continue;
		error = plan_try(call, apply_part, &pending);
		if (error != NULL)
		{
			candidate_hold_back(call, &pending.instance, error);
			FreeErrorData(error);
		}
	}
}

/*
 * apply_part is the part of apply_signals that can fail.
 */
static void
apply_part(PlanCall *call, void *arg)
{
	PendingSignal *pending = arg;
	int			version;

	(void) move_by_signal(call, &pending->instance, &pending->signal, plan_null(), plan_null(),
						  true, &version);
}

/*
 * give_back_expired ends claims that have expired, the oldest first, so that
 * their instances are in the queue again, waiting as long as before.
 */
static void
give_back_expired(PlanCall *call, const ClaimRequest *request)
{
	text	  **ids;
	int			n = collect_ids(call, &lock_expired, request->now, EXPIRED_PER_CALL, &ids);
	Datum	   *elements = palloc(sizeof(Datum) * (n + 1));
	int			i;

	if (n == 0)
		return;
	for (i = 0; i < n; i++)
		elements[i] = PointerGetDatum(ids[i]);
	ready_give_back(call, PointerGetDatum(construct_array(elements, n, TEXTOID, -1, false,
														  TYPALIGN_INT)));
}

/*
 * collect_ids reads instance ids: they are worked on by other statements then.
 */
static int
collect_ids(PlanCall *call, PlanStatement *statement, TimestampTz now, int limit,
			text ***ids)
{
	NullableDatum args[] = {
		plan_arg(TimestampTzGetDatum(now)),
		plan_arg(Int32GetDatum(limit)),
	};
	int			n = (int) plan_run(call, statement, args);
	int			i;

	*ids = palloc(sizeof(text *) * (n + 1));
	for (i = 0; i < n; i++)
		(*ids)[i] = DatumGetTextPP(plan_value(call, i, 1).value);
	return n;
}

/*
 * find_kinds finds the kinds of work that suit the worker and have an instance
 * that can be claimed now, each with the longest waiting one.
 */
static int
find_kinds(PlanCall *call, const ClaimRequest *request, Kind **kinds)
{
	NullableDatum args[] = {
		plan_arg(TimestampTzGetDatum(request->now)),
		plan_arg(request->worker_tags),
		request->definition_hashes,
	};
	int			n = (int) plan_run(call, &find_heads, args);
	int			i;

	*kinds = palloc(sizeof(Kind) * (n + 1));
	for (i = 0; i < n; i++)
	{
		Kind	   *kind = &(*kinds)[i];

		kind->kind = plan_value(call, i, 1).value;
		kind->task_priority = DatumGetInt16(plan_value(call, i, 2).value);
		kind->ready_at[0] = DatumGetTimestampTz(plan_value(call, i, 3).value);
		kind->instance_id[0] = DatumGetTextPP(plan_value(call, i, 4).value);
		kind->next = 0;
		kind->ncandidates = 1;
	}
	return n;
}

/*
 * kind_refill reads the candidates of a kind that follow the last one tried.
 */
static void
kind_refill(PlanCall *call, const ClaimRequest *request, Kind *kind)
{
	int			last = kind->ncandidates - 1;
	NullableDatum args[] = {
		plan_arg(kind->kind),
		plan_arg(TimestampTzGetDatum(kind->ready_at[last])),
		plan_arg(PointerGetDatum(kind->instance_id[last])),
		plan_arg(TimestampTzGetDatum(request->now)),
		plan_arg(Int32GetDatum(KIND_BATCH)),
	};
	int			i;

	kind->next = 0;
	kind->ncandidates = (int) plan_run(call, &find_next, args);
	for (i = 0; i < kind->ncandidates; i++)
	{
		kind->ready_at[i] = DatumGetTimestampTz(plan_value(call, i, 1).value);
		kind->instance_id[i] = DatumGetTextPP(plan_value(call, i, 2).value);
	}
}

/*
 * most_urgent returns the kind whose candidate is to be tried next, NULL when
 * there is none.  One "aging" of waiting is worth one level of priority, so the
 * order is that of ready_at + priority * aging; among equals, the longest
 * waiting.
 */
static Kind *
most_urgent(const ClaimRequest *request, Kind *kinds, int nkinds)
{
	Kind	   *best = NULL;
	int64		best_score = 0;
	int			i;

	for (i = 0; i < nkinds; i++)
	{
		Kind	   *kind = &kinds[i];
		int64		score;

		if (kind->next >= kind->ncandidates)
			continue;
		score = kind->ready_at[kind->next] + kind->task_priority * request->aging;
		if (best == NULL || score < best_score ||
			(score == best_score && kind->ready_at[kind->next] < best->ready_at[best->next]))
		{
			best = kind;
			best_score = score;
		}
	}
	return best;
}
