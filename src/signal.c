/*-------------------------------------------------------------------------
 *
 * signal.c
 *		sayiir_cancel, sayiir_pause, sayiir_unpause, sayiir_store_signal,
 *		sayiir_get_signal, sayiir_clear_signal, sayiir_check_signals
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"

#include "arg.h"
#include "checkpoint.h"
#include "claim_row.h"
#include "errors.h"
#include "move.h"
#include "ready.h"
#include "signal_row.h"
#include "sql_function.h"

static PlanStatement get_signal = {
	.sql =
	"SELECT g.reason, g.requested_by, g.created_at"
	" FROM @.sayiir_workflow_signals AS g"
	" WHERE g.instance_id = $1 AND g.kind = $2",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, TEXTOID},
};

static Datum signal_request(FunctionCallInfo fcinfo, SignalKind kind);
static bool signal_is_done(const Instance *instance, SignalKind kind);
static SignalKind arg_kind(FunctionCallInfo fcinfo, int argno);

/*
 * sayiir_cancel(instance_id, reason, requested_by) RETURNS text
 *
 * Cancelled, or Pending while a worker holds the instance.  Errors: 22004,
 * 22023 for the arguments, P0002, SY003 for an instance that ended otherwise.
 */
SQL_FUNCTION(sayiir_cancel, 3)
{
	return signal_request(fcinfo, SIGNAL_CANCEL);
}

/*
 * sayiir_pause(instance_id, reason, requested_by) RETURNS text
 *
 * Paused, or Pending while a worker holds the instance; Cancelled when a cancel
 * was pending.  Errors: as for sayiir_cancel.
 */
SQL_FUNCTION(sayiir_pause, 3)
{
	return signal_request(fcinfo, SIGNAL_PAUSE);
}

/*
 * signal_request stores a signal and applies it if nobody holds the instance.
 */
static Datum
signal_request(FunctionCallInfo fcinfo, SignalKind kind)
{
	text	   *instance_id;
	Instance	instance;
	SignalRow	signal;
	PlanCall	call;
	const char *status;
	int			version;

	arg_require(fcinfo, 0, "instance_id");
	instance_id = arg_instance_id(fcinfo, 0);

	plan_begin(&call, fcinfo);
	if (!checkpoint_lock(&call, instance_id, &instance))
		error_no_instance(instance_id);
	if (signal_is_done(&instance, kind))
		status = status_name(instance.status);
	else
	{
		bool		held = claim_row_is_held(&call, instance_id);

		signal.kind = kind;
		signal.reason = arg_any(fcinfo, 1);
		signal.requested_by = arg_any(fcinfo, 2);
		signal_row_put(&call, instance_id, &signal, held);
		if (held)
			status = "Pending";
		else
		{
			/* What is pending, which may be a cancel from before */
			(void) signal_row_find(&call, instance_id, &signal);
			status = status_name(move_by_signal(&call, &instance, &signal, plan_null(),
												plan_null(), false, &version));
		}
	}
	plan_end(&call);
	PG_RETURN_TEXT_P(cstring_to_text(status));
}

/*
 * sayiir_store_signal(instance_id, kind, reason, requested_by) RETURNS void
 *
 * Stores a signal, for others to apply.  Errors: as for sayiir_cancel.
 */
SQL_FUNCTION(sayiir_store_signal, 4)
{
	text	   *instance_id;
	Instance	instance;
	SignalRow	signal;
	PlanCall	call;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "kind");
	instance_id = arg_instance_id(fcinfo, 0);
	signal.kind = arg_kind(fcinfo, 1);
	signal.reason = arg_any(fcinfo, 2);
	signal.requested_by = arg_any(fcinfo, 3);

	plan_begin(&call, fcinfo);
	if (!checkpoint_lock(&call, instance_id, &instance))
		error_no_instance(instance_id);
	if (!signal_is_done(&instance, signal.kind))
	{
		signal_row_put(&call, instance_id, &signal, claim_row_is_held(&call, instance_id));
		(void) ready_refresh(&call, instance_id);
	}
	plan_end(&call);
	PG_RETURN_VOID();
}

/*
 * sayiir_get_signal(instance_id, kind)
 *		RETURNS TABLE (reason text, requested_by text, created_at timestamptz)
 *
 * The pending signal of this kind: one row or none.  Errors: 22004, 22023 for
 * the arguments.
 */
SQL_SET_FUNCTION(sayiir_get_signal, 2, TEXTOID, TEXTOID, TIMESTAMPTZOID)
{
	NullableDatum args[2];
	PlanCall	call;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "kind");
	args[0] = plan_arg(PointerGetDatum(arg_instance_id(fcinfo, 0)));
	args[1] = plan_arg(CStringGetTextDatum(signal_kind_name(arg_kind(fcinfo, 1))));

	plan_begin_reading(&call, fcinfo);
	if (plan_run(&call, &get_signal, args) > 0)
		(void) plan_put_row(&call, 0, rsinfo);
	plan_end(&call);
	return (Datum) 0;
}

/*
 * sayiir_clear_signal(instance_id, kind) RETURNS boolean
 *
 * Takes a pending signal back; the instance can be claimed again if none is
 * left.  Errors: 22004, 22023 for the arguments.
 */
SQL_FUNCTION(sayiir_clear_signal, 2)
{
	text	   *instance_id;
	SignalKind	kind;
	Instance	instance;
	PlanCall	call;
	bool		found;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "kind");
	instance_id = arg_instance_id(fcinfo, 0);
	kind = arg_kind(fcinfo, 1);

	plan_begin(&call, fcinfo);
	found = checkpoint_lock(&call, instance_id, &instance) &&
		signal_row_delete(&call, instance_id, kind);
	if (found)
		checkpoint_wake(&call, &instance);
	plan_end(&call);
	PG_RETURN_BOOL(found);
}

/*
 * sayiir_check_signals(instance_id, interrupted_at_task, data) RETURNS text
 *
 * Applies what is pending: Cancelled, Paused, or NULL when nothing was.  Errors:
 * 22004, 22023, 54000, 22P03 for the arguments.
 */
SQL_FUNCTION(sayiir_check_signals, 3)
{
	text	   *instance_id;
	NullableDatum interrupted_task;
	NullableDatum data;
	Instance	instance;
	SignalRow	signal;
	PlanCall	call;
	const char *status = NULL;
	int			version;

	arg_require(fcinfo, 0, "instance_id");
	instance_id = arg_instance_id(fcinfo, 0);
	interrupted_task = arg_hash(fcinfo, 1, "interrupted_at_task");
	data = arg_data(fcinfo, 2, "data");

	plan_begin(&call, fcinfo);
	/* Looked at without a lock first: there is none as a rule */
	if (signal_row_find(&call, instance_id, &signal) &&
		checkpoint_lock(&call, instance_id, &instance) &&
		signal_row_find(&call, instance_id, &signal))
		status = status_name(move_by_signal(&call, &instance, &signal, interrupted_task,
											data, false, &version));
	plan_end(&call);

	if (status == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(status));
}

/*
 * sayiir_unpause(instance_id, data) RETURNS integer
 *
 * Lets a paused instance go on where it was and returns the version.  Errors:
 * 22004, 22023, 54000, 22P03 for the arguments, P0002, SY003 when not paused.
 */
SQL_FUNCTION(sayiir_unpause, 2)
{
	text	   *instance_id;
	NullableDatum data;
	Instance	instance;
	PlanCall	call;
	int			version;

	arg_require(fcinfo, 0, "instance_id");
	instance_id = arg_instance_id(fcinfo, 0);
	data = arg_data(fcinfo, 1, "data");

	plan_begin(&call, fcinfo);
	if (!checkpoint_lock(&call, instance_id, &instance))
		error_no_instance(instance_id);
	if (instance.status != STATUS_PAUSED)
		error_wrong_state(instance_id, instance.status, "unpause",
						  "Only a paused instance can be unpaused.");
	version = move_out_of_pause(&call, &instance, data);
	plan_end(&call);
	PG_RETURN_INT32(version);
}

/*
 * signal_is_done tells whether the instance is already what the signal would
 * make of it.  Raises SY003 when it cannot become that any more.
 */
static bool
signal_is_done(const Instance *instance, SignalKind kind)
{
	if (instance->status == STATUS_COMPLETED || instance->status == STATUS_FAILED ||
		(instance->status == STATUS_CANCELLED && kind == SIGNAL_PAUSE))
		error_wrong_state(instance->instance_id, instance->status,
						  kind == SIGNAL_CANCEL ? "cancel" : "pause",
						  "A workflow that has ended stays as it is.");
	return instance->status ==
		(kind == SIGNAL_CANCEL ? STATUS_CANCELLED : STATUS_PAUSED);
}

/*
 * arg_kind returns the kind of signal that the argument names, else raises
 * 22023.
 */
static SignalKind
arg_kind(FunctionCallInfo fcinfo, int argno)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(argno));

	if (strcmp(name, signal_kind_name(SIGNAL_CANCEL)) == 0)
		return SIGNAL_CANCEL;
	if (strcmp(name, signal_kind_name(SIGNAL_PAUSE)) == 0)
		return SIGNAL_PAUSE;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown kind of signal \"%s\"", name),
			 errhint("A kind is Cancel or Pause.")));
}
