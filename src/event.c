/*-------------------------------------------------------------------------
 *
 * event.c
 *		sayiir_send_event, sayiir_consume_event, sayiir_prune_events
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "checkpoint.h"
#include "event_row.h"
#include "move.h"
#include "ready.h"
#include "sql_function.h"
#include "wakeup.h"

#define PRUNE_DEFAULT_BATCH	1000

static bool lock_or_keep_apart(PlanCall *call, text *instance_id, Instance *instance);
static bool event_deliver(PlanCall *call, const Instance *instance, Datum name, Datum payload);

/*
 * sayiir_send_event(instance_id, signal_name, payload) RETURNS boolean
 *
 * True when the instance was parked for this name: then it goes on, or a worker
 * is told to take it on.  Else the event waits.  Errors: 22004, 22023, 54000
 * for the arguments.
 */
SQL_FUNCTION(sayiir_send_event, 3)
{
	text	   *instance_id;
	Datum		name;
	Datum		payload;
	Instance	instance;
	PlanCall	call;
	bool		exists;
	bool		parked = false;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "signal_name");
	arg_require(fcinfo, 2, "payload");
	instance_id = arg_instance_id(fcinfo, 0);
	name = arg_name(fcinfo, 1, "signal_name").value;
	payload = arg_data(fcinfo, 2, "payload").value;

	plan_begin(&call, fcinfo);
	exists = lock_or_keep_apart(&call, instance_id, &instance);
	if (exists && move_is_parked_for(&instance, name))
	{
		parked = true;
		if (!event_deliver(&call, &instance, name, payload))
		{
			event_row_put(&call, instance_id, name, payload);
			if (ready_refresh(&call, instance_id))
				wakeup_ready(instance_id, plan_null(), instance.definition_hash,
							 DatumGetArrayTypeP(instance.task_tags));
		}
	}
	else
		event_row_put(&call, instance_id, name, payload);
	plan_end(&call);
	PG_RETURN_BOOL(parked);
}

/*
 * lock_or_keep_apart locks an instance, or, when there is none, keeps those away
 * who are about to create and park it.
 */
static bool
lock_or_keep_apart(PlanCall *call, text *instance_id, Instance *instance)
{
	if (checkpoint_lock(call, instance_id, instance))
		return true;
	(void) event_row_lock(instance_id, EVENT_SENDER);
	return checkpoint_lock(call, instance_id, instance);
}

/*
 * event_deliver moves an instance on that is parked for this event, if the
 * server can read its snapshot.  An event that came before is delivered first.
 */
static bool
event_deliver(PlanCall *call, const Instance *instance, Datum name, Datum payload)
{
	Frame	   *frame;

	frame = move_frame_at(instance, move_newest_data(call, instance), "AtSignal", false);
	if (frame == NULL)
		return false;

	if (event_row_exists(call, instance->instance_id, name))
	{
		event_row_put(call, instance->instance_id, name, payload);
		(void) event_row_take(call, instance->instance_id, name, &payload);
	}
	move_past_signal(call, instance, frame, payload, CLAIM_ENDS, plan_null());
	return true;
}

/*
 * sayiir_consume_event(instance_id, signal_name) RETURNS bytea
 *
 * Takes the oldest unread event of this name and returns its payload, NULL when
 * there is none.  Waits for another consumer.  Errors: 22004, 22023 for the
 * arguments.
 */
SQL_FUNCTION(sayiir_consume_event, 2)
{
	text	   *instance_id;
	Datum		name;
	Datum		payload;
	Instance	instance;
	PlanCall	call;
	bool		exists;
	bool		found;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "signal_name");
	instance_id = arg_instance_id(fcinfo, 0);
	name = arg_name(fcinfo, 1, "signal_name").value;

	plan_begin(&call, fcinfo);
	exists = lock_or_keep_apart(&call, instance_id, &instance);
	found = event_row_take(&call, instance_id, name, &payload);
	if (found && exists)
		(void) ready_refresh(&call, instance_id);
	plan_end(&call);

	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(payload);
}

/*
 * sayiir_prune_events(older_than, batch) RETURNS bigint
 *
 * Deletes events that were sent longer ago and whose instance does not exist,
 * at most batch of them, and returns how many.  Errors: 22004, 22023 for the
 * arguments.
 */
SQL_FUNCTION(sayiir_prune_events, 2)
{
	NullableDatum batch;
	PlanCall	call;
	Datum		before;
	int64		pruned;

	arg_require(fcinfo, 0, "older_than");
	batch = arg_count(fcinfo, 1, "batch");
	before = DirectFunctionCall2(timestamptz_mi_interval,
								 TimestampTzGetDatum(GetCurrentTimestamp()),
								 PG_GETARG_DATUM(0));

	plan_begin(&call, fcinfo);
	pruned = event_row_prune(&call, before,
							 batch.isnull ? PRUNE_DEFAULT_BATCH : DatumGetInt32(batch.value));
	plan_end(&call);
	PG_RETURN_INT64(pruned);
}
