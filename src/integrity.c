/*-------------------------------------------------------------------------
 *
 * integrity.c
 *		sayiir_check_integrity: a slow, obvious reading of the invariants that
 *		checkpoint.c keeps.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "arg.h"
#include "history.h"
#include "plan.h"
#include "ready.h"
#include "sql_function.h"

#define INTEGRITY_NCOLUMNS	3

#define ENDED	"('Completed', 'Failed', 'Cancelled')"

/*
 * The query, once for all instances and once for one: ONLY(x) is the condition
 * on the rows of x.  Each part gives instance, invariant, and what is wrong.
 */
#define INTEGRITY_SQL(ONLY) \
	/* I1: versions 1..N, or from the oldest on, and the snapshot row says N */ \
	"SELECT s.instance_id::text, 'I1', 'there is no version in the history'" \
	" FROM @.sayiir_workflow_snapshots AS s" \
	" WHERE " ONLY("s") " AND NOT EXISTS (SELECT FROM @.sayiir_workflow_versions AS h" \
	"  WHERE h.instance_id = s.instance_id)" \
	" UNION ALL " \
	"SELECT v.instance_id::text, 'I1', format('there are %s versions from %s to %s in the history'," \
	"  v.n, v.oldest, v.newest)" \
	" FROM (SELECT h.instance_id, count(*) AS n, min(h.version) AS oldest, max(h.version) AS newest" \
	"  FROM @.sayiir_workflow_versions AS h WHERE " ONLY("h") " GROUP BY h.instance_id) AS v" \
	" LEFT JOIN @.sayiir_workflow_snapshots AS s ON s.instance_id = v.instance_id" \
	" WHERE v.oldest <> COALESCE(s.oldest_version, 1) OR v.newest <> v.oldest + v.n - 1" \
	" UNION ALL " \
	"SELECT s.instance_id::text, 'I1', format('history_version is %s, the newest version is %s'," \
	"  s.history_version, v.newest)" \
	" FROM @.sayiir_workflow_snapshots AS s" \
	" JOIN (SELECT h.instance_id, max(h.version) AS newest" \
	"  FROM @.sayiir_workflow_versions AS h WHERE " ONLY("h") " GROUP BY h.instance_id) AS v" \
	" ON v.instance_id = s.instance_id" \
	" WHERE s.history_version <> v.newest" \
	" UNION ALL " \
	/* I2: status and hash of the newest; the bytes are looked at by themselves */ \
	"SELECT s.instance_id::text, 'I2', format('%s of the snapshot is not that of version %s'," \
	"  CASE WHEN s.status <> h.status THEN 'status' ELSE 'data_hash' END, h.version)" \
	" FROM @.sayiir_workflow_snapshots AS s" \
	" JOIN @.sayiir_workflow_versions AS h" \
	" ON h.instance_id = s.instance_id AND h.version = s.history_version" \
	" WHERE " ONLY("s") " AND (s.status <> h.status OR s.data_hash <> h.data_hash)" \
	" UNION ALL " \
	/* I3: nothing without its snapshot row; ended is ended */ \
	"SELECT v.instance_id::text, 'I3', format('%s history rows without a snapshot', v.n)" \
	" FROM (SELECT h.instance_id, count(*) AS n" \
	"  FROM @.sayiir_workflow_versions AS h WHERE " ONLY("h") " GROUP BY h.instance_id) AS v" \
	" WHERE NOT EXISTS (SELECT FROM @.sayiir_workflow_snapshots AS s" \
	"  WHERE s.instance_id = v.instance_id)" \
	" UNION ALL " \
	"SELECT v.instance_id::text, 'I3', format('%s task rows without a snapshot', v.n)" \
	" FROM (SELECT t.instance_id, count(*) AS n" \
	"  FROM @.sayiir_workflow_tasks AS t WHERE " ONLY("t") " GROUP BY t.instance_id) AS v" \
	" WHERE NOT EXISTS (SELECT FROM @.sayiir_workflow_snapshots AS s" \
	"  WHERE s.instance_id = v.instance_id)" \
	" UNION ALL " \
	"SELECT s.instance_id::text, 'I3', format('%s without completed_at', s.status)" \
	" FROM @.sayiir_workflow_snapshots AS s" \
	" WHERE " ONLY("s") " AND s.status IN " ENDED " AND s.completed_at IS NULL" \
	" UNION ALL " \
	"SELECT s.instance_id::text, 'I3', format('%s with %s active tasks', s.status, v.n)" \
	" FROM (SELECT t.instance_id, count(*) AS n" \
	"  FROM @.sayiir_workflow_tasks AS t WHERE " ONLY("t") " AND t.status = 'active'" \
	"  GROUP BY t.instance_id) AS v" \
	" JOIN @.sayiir_workflow_snapshots AS s ON s.instance_id = v.instance_id" \
	" WHERE s.status IN " ENDED \
	" UNION ALL " \
	/* I4: ended is the end */ \
	"SELECT v.instance_id::text, 'I4', format('version %s follows version %s, which ended the instance'," \
	"  v.newest, v.ended)" \
	" FROM (SELECT h.instance_id, max(h.version) AS newest," \
	"   min(h.version) FILTER (WHERE h.status IN " ENDED ") AS ended" \
	"  FROM @.sayiir_workflow_versions AS h WHERE " ONLY("h") " GROUP BY h.instance_id) AS v" \
	" WHERE v.newest > v.ended" \
	" UNION ALL " \
	/* I5: claims and signals */ \
	"SELECT c.instance_id::text, 'I5', CASE" \
	"  WHEN s.instance_id IS NULL THEN 'a claim without a snapshot'" \
	"  WHEN s.status <> 'InProgress' THEN format('%s with a claim', s.status)" \
	"  ELSE 'the claim is not for the current task' END" \
	" FROM @.sayiir_workflow_claims AS c" \
	" LEFT JOIN @.sayiir_workflow_snapshots AS s ON s.instance_id = c.instance_id" \
	" WHERE " ONLY("c") " AND (s.instance_id IS NULL OR s.status <> 'InProgress'" \
	"  OR s.current_task_id IS DISTINCT FROM c.task_id)" \
	" UNION ALL " \
	"SELECT g.instance_id::text, 'I5', CASE" \
	"  WHEN s.instance_id IS NULL THEN format('a signal (%s) without a snapshot', g.kind)" \
	"  WHEN s.status IN " ENDED " THEN format('%s with a signal (%s)', s.status, g.kind)" \
	"  ELSE format('a signal (%s) is left to a worker who is not there', g.kind) END" \
	" FROM @.sayiir_workflow_signals AS g" \
	" LEFT JOIN @.sayiir_workflow_snapshots AS s ON s.instance_id = g.instance_id" \
	" WHERE " ONLY("g") " AND (s.instance_id IS NULL OR s.status IN " ENDED \
	"  OR g.held AND NOT EXISTS (SELECT FROM @.sayiir_workflow_claims AS c" \
	"   WHERE c.instance_id = g.instance_id))" \
	" UNION ALL " \
	/* I6: the queue is what follows from the other tables */ \
	"SELECT COALESCE(q.instance_id, r.instance_id)::text, 'I6', CASE" \
	"  WHEN r.instance_id IS NULL THEN 'it can be claimed, but is not in the queue'" \
	"  WHEN q.instance_id IS NULL THEN 'it is in the queue, but cannot be claimed'" \
	"  ELSE 'its row in the queue is not what follows from its snapshot' END" \
	" FROM (SELECT s.instance_id, s.definition_hash, s.task_tags, s.task_priority," \
	"   s.current_task_id IS NOT NULL AND s.delay_wake_at IS NULL AS can_lag," \
	"   CASE WHEN w.has_event THEN s.waiting_since" \
	"   ELSE GREATEST(s.waiting_since, s.delay_wake_at) END AS ready_at" \
	"  FROM @.sayiir_workflow_snapshots AS s CROSS JOIN LATERAL" \
	"   (SELECT s.current_task_id IS NULL AND EXISTS (SELECT FROM @.sayiir_workflow_events AS e" \
	"     WHERE e.instance_id = s.instance_id AND e.signal_name = s.awaited_signal)" \
	"     AS has_event) AS w" \
	"  WHERE " ONLY("s") " AND s.status = 'InProgress'" \
	"  AND (s.current_task_id IS NOT NULL OR s.delay_wake_at IS NOT NULL OR w.has_event)" \
	"  AND NOT EXISTS (SELECT FROM @.sayiir_workflow_claims AS c" \
	"   WHERE c.instance_id = s.instance_id)" \
	"  AND NOT EXISTS (SELECT FROM @.sayiir_workflow_signals AS g" \
	"   WHERE g.instance_id = s.instance_id)) AS q" \
	" FULL JOIN (SELECT r.instance_id, r.kind, r.definition_hash, r.task_tags, r.task_priority, r.ready_at" \
	"  FROM @.sayiir_workflow_ready AS r WHERE " ONLY("r") ") AS r" \
	" ON r.instance_id = q.instance_id" \
	" WHERE q.instance_id IS NULL OR r.instance_id IS NULL OR r.ready_at > q.ready_at" \
	" OR r.ready_at < q.ready_at AND NOT q.can_lag" \
	" OR q.task_priority <> r.task_priority OR q.definition_hash <> r.definition_hash" \
	" OR q.task_tags::text[] <> r.task_tags::text[]" \
	" OR r.kind <> " READY_KIND("q.definition_hash", "q.task_tags", "q.task_priority")

#define EVERY_INSTANCE(x)	"true"
#define ONE_INSTANCE(x)		x ".instance_id = $1"

static PlanStatement check_all = {
	.sql = INTEGRITY_SQL(EVERY_INSTANCE),
	.expected = SPI_OK_SELECT,
	.scans = true,
	.nargs = 0,
};

static PlanStatement check_one = {
	.sql = INTEGRITY_SQL(ONE_INSTANCE),
	.expected = SPI_OK_SELECT,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

/* Every version, to be rebuilt */
#define VERSIONS_SQL(ONLY) \
	"SELECT h.instance_id::text, h.version FROM @.sayiir_workflow_versions AS h" \
	" WHERE " ONLY("h") " ORDER BY h.instance_id, h.version"

static PlanStatement versions_of_all = {
	.sql = VERSIONS_SQL(EVERY_INSTANCE),
	.expected = SPI_OK_SELECT,
	.scans = true,
	.nargs = 0,
};

static PlanStatement versions_of_one = {
	.sql = VERSIONS_SQL(ONE_INSTANCE),
	.expected = SPI_OK_SELECT,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static bool integrity_rebuild(PlanCall *call, uint64 row, void *arg);

/*
 * sayiir_check_integrity(instance_id)
 *		RETURNS TABLE (violated_by text, invariant text, detail text)
 *
 * One row per violation, of this instance or, with NULL, of any.  Reads every
 * snapshot's bytes.  Takes no lock.  Errors: 22023 for the argument.
 */
SQL_SET_FUNCTION(sayiir_check_integrity, 1, TEXTOID, TEXTOID, TEXTOID)
{
	NullableDatum args[1] = {plan_null()};
	PlanCall	call;

	if (!PG_ARGISNULL(0))
		args[0] = plan_arg(PointerGetDatum(arg_instance_id(fcinfo, 0)));

	plan_begin_reading(&call, fcinfo);
	plan_for_each(&call, PG_ARGISNULL(0) ? &check_all : &check_one, args,
				  plan_put_row, rsinfo);
	plan_for_each(&call, PG_ARGISNULL(0) ? &versions_of_all : &versions_of_one, args,
				  integrity_rebuild, rsinfo);
	plan_end(&call);
	return (Datum) 0;
}

/*
 * integrity_rebuild rebuilds one version, and adds a violation of I2 when its
 * bytes are not what was saved.
 */
static bool
integrity_rebuild(PlanCall *call, uint64 row, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	Datum		instance_id = plan_value(call, row, 1).value;
	int			version = DatumGetInt32(plan_value(call, row, 2).value);
	PlanCall	inner;
	bool		sound;

	plan_begin_inside(&inner, call);
	sound = history_is_sound(&inner, DatumGetTextPP(instance_id), version);
	plan_end(&inner);
	if (!sound)
	{
		Datum		values[INTEGRITY_NCOLUMNS];
		bool		nulls[INTEGRITY_NCOLUMNS] = {false};

		values[0] = instance_id;
		values[1] = CStringGetTextDatum("I2");
		values[2] = CStringGetTextDatum(psprintf("data_hash of version %d is not the SHA-256 of its data",
												 version));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return true;
}
