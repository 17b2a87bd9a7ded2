/*-------------------------------------------------------------------------
 *
 * fork.c
 *		sayiir_fork
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "arg.h"
#include "checkpoint.h"
#include "compat.h"
#include "encoding.h"
#include "errors.h"
#include "history.h"
#include "snapshot.h"
#include "sql_function.h"
#include "task_row.h"

static void fork_json(const Instance *source, Datum data, text *new_id, Checkpoint *save);
static void fork_opaque(PlanCall *call, const Instance *source, const HistoryVersion *from,
						Datum data, Checkpoint *save);
pg_noreturn static void error_exists(text *instance_id);

/*
 * sayiir_fork(instance_id, version, new_instance_id) RETURNS integer
 *
 * Creates an instance whose first version is that version of another instance,
 * with the outputs known then, and puts it where workers find it.  Returns its
 * version.  The other instance is locked, so that its history and its tasks are
 * those of one moment, and not changed.  Errors: 22004, 22023 for the arguments,
 * P0002 for an unknown instance or version, SY003 for a version that ended the
 * instance, 23505 when the new instance exists, 22P03 for a snapshot that looks
 * like one of Sayiir's and cannot be read.
 */
SQL_FUNCTION(sayiir_fork, 3)
{
	text	   *instance_id;
	text	   *new_id;
	int			version;
	Instance	source;
	HistoryVersion from;
	Checkpoint	save;
	Datum		data;
	PlanCall	call;

	arg_require(fcinfo, 0, "instance_id");
	arg_require(fcinfo, 1, "version");
	arg_require(fcinfo, 2, "new_instance_id");
	instance_id = arg_instance_id(fcinfo, 0);
	version = arg_version(fcinfo, 1, "version");
	new_id = DatumGetTextPP(arg_name(fcinfo, 2, "new_instance_id").value);

	plan_begin(&call, fcinfo);
	if (!checkpoint_lock(&call, instance_id, &source))
		error_no_instance(instance_id);
	if (!history_find(&call, instance_id, version, &from))
		error_no_version(instance_id, version);
	if (status_is_terminal(from.status))
		error_wrong_state(instance_id, from.status, "fork",
						  "Fork a version from before the end.");
	if (!history_read(&call, instance_id, version, &from, &data))
		error_no_version(instance_id, version);

	if (snapshot_is_json(data))
		fork_json(&source, data, new_id, &save);
	else
		fork_opaque(&call, &source, &from, data, &save);
	save.instance_id = new_id;
	save.tasks_of = instance_id;
	save.tasks_version = version;
	if (!checkpoint_create(&call, &save))
		error_exists(new_id);
	plan_end(&call);
	PG_RETURN_INT32(1);
}

/*
 * fork_json fills the save of a new instance from one of Sayiir's snapshots,
 * which gets the new id.
 */
static void
fork_json(const Instance *source, Datum data, text *new_id, Checkpoint *save)
{
	Frame	   *frame = snapshot_parse(PointerGetDatum(PG_DETOAST_DATUM_PACKED(data)));
	const char *utf8;
	int			len;

	if (!encoding_to_utf8(VARDATA_ANY(new_id), VARSIZE_ANY_EXHDR(new_id), &utf8, &len))
		ereport(ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("new_instance_id cannot be converted to UTF-8, in which a JSON snapshot carries it"),
				 errhint("Give an id of other characters.")));

	checkpoint_init(save);
	(void) snapshot_read(PointerGetDatum(frame_rename(frame, pnstrdup(utf8, len))), save);
	save->trace_parent = source->trace_parent;
	/* The completed tasks come with their rows */
	save->last_task_id = plan_null();
	save->last_output = plan_null();
}

/*
 * fork_opaque fills the save of a new instance from an opaque snapshot.  Of an
 * earlier version the history knows the status and the current task; of what
 * else is not in it, what stands now is taken, but for where the instance
 * waits.
 */
static void
fork_opaque(PlanCall *call, const Instance *source, const HistoryVersion *from,
			Datum data, Checkpoint *save)
{
	checkpoint_of_instance(source, save);
	save->data = PointerGetDatum(PG_DETOAST_DATUM_PACKED(data));
	save->status = from->status;
	save->current_task_id = from->current_task_id;
	save->error = plan_null();
	save->completed_task_count =
		plan_arg(Int32GetDatum(task_row_count(call, source->instance_id, from->version)));
	if (from->version != source->version)
	{
		save->position_kind = plan_null();
		save->delay_wake_at = plan_null();
		save->awaited_signal = plan_null();
		save->position_hash = plan_null();
	}
}

/*
 * error_exists raises 23505: the new instance is there already.
 */
static void
error_exists(text *instance_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("workflow instance \"%s\" exists already", text_to_cstring(instance_id)),
			 errhint("Give the new instance another id, or delete that one first.")));
}
