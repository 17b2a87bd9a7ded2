/*-------------------------------------------------------------------------
 *
 * signal_row.c
 *		Pending control signals: what operators asked for.
 *
 * Written under the lock of the snapshot row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "signal_row.h"

/* A cancel outweighs a pause: it is the first by name, too */
static PlanStatement find_signal = {
	.sql =
	"SELECT g.kind = 'Cancel', g.reason, g.requested_by"
	" FROM @.sayiir_workflow_signals AS g"
	" WHERE g.instance_id = $1 ORDER BY g.kind LIMIT 1",
	.expected = SPI_OK_SELECT,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement put_signal = {
	.sql =
	"INSERT INTO @.sayiir_workflow_signals"
	" (instance_id, kind, reason, requested_by, created_at, held)"
	" VALUES ($1, $2, $3, $4, now(), $5)"
	" ON CONFLICT (instance_id, kind) DO UPDATE"
	" SET reason = EXCLUDED.reason, requested_by = EXCLUDED.requested_by,"
	" created_at = EXCLUDED.created_at, held = EXCLUDED.held",
	.expected = SPI_OK_INSERT,
	.nargs = 5,
	.argtypes = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID},
};

static PlanStatement let_go = {
	.sql =
	"UPDATE @.sayiir_workflow_signals AS g SET held = false"
	" WHERE g.instance_id = $1 AND g.held",
	.expected = SPI_OK_UPDATE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

static PlanStatement delete_signal = {
	.sql =
	"DELETE FROM @.sayiir_workflow_signals AS g"
	" WHERE g.instance_id = $1 AND g.kind = $2",
	.expected = SPI_OK_DELETE,
	.nargs = 2,
	.argtypes = {TEXTOID, TEXTOID},
};

/*
 * signal_kind_name returns the name of a kind, as stored.
 */
const char *
signal_kind_name(SignalKind kind)
{
	return kind == SIGNAL_CANCEL ? "Cancel" : "Pause";
}

/*
 * signal_row_find reads the pending signal of an instance, the cancel if there
 * are both.
 */
bool
signal_row_find(PlanCall *call, text *instance_id, SignalRow *signal)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	if (plan_run(call, &find_signal, args) == 0)
		return false;
	signal->kind = DatumGetBool(plan_value(call, 0, 1).value) ? SIGNAL_CANCEL : SIGNAL_PAUSE;
	signal->reason = plan_value(call, 0, 2);
	signal->requested_by = plan_value(call, 0, 3);
	return true;
}

/*
 * signal_row_put stores a signal, in place of one of the same kind.  It is held
 * while a worker has a live claim, who is to apply it.
 */
void
signal_row_put(PlanCall *call, text *instance_id, const SignalRow *signal, bool held)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(CStringGetTextDatum(signal_kind_name(signal->kind))),
		signal->reason,
		signal->requested_by,
		plan_arg(BoolGetDatum(held)),
	};

	plan_run(call, &put_signal, args);
}

/*
 * signal_row_let_go makes the signals of an instance, whose claim has ended
 * without their being applied, anybody's to apply.
 */
void
signal_row_let_go(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &let_go, args);
}

/*
 * signal_row_delete takes a signal back and tells whether there was one.
 */
bool
signal_row_delete(PlanCall *call, text *instance_id, SignalKind kind)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(CStringGetTextDatum(signal_kind_name(kind))),
	};

	return plan_run(call, &delete_signal, args) > 0;
}
