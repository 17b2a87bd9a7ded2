/*-------------------------------------------------------------------------
 *
 * save.c
 *		sayiir_save_snapshot, in its two forms
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "arg.h"
#include "checkpoint.h"
#include "save_arg.h"
#include "snapshot.h"
#include "sql_function.h"

/* Arguments of the short form: data comes first, then these */
enum
{
	SAVE_JSON_TRACE_PARENT = 1,
	SAVE_JSON_EXPECTED_VERSION,
	SAVE_JSON_CLAIM_TOKEN
};

static Datum save_run(FunctionCallInfo fcinfo, Checkpoint *save);

/*
 * sayiir_save_snapshot(data, instance_id, status, definition_hash, ...) RETURNS integer
 *
 * Checkpoints an instance whose snapshot is opaque.  Returns the version
 * written, NULL when the instance had ended.  Errors: 22004, 22023, 54000 for
 * the arguments, SY001 for another version than the expected one, SY002 for a
 * token that is not that of a live claim, SY003 for a paused instance.
 */
SQL_FUNCTION(sayiir_save_snapshot, 17)
{
	Checkpoint	save;

	save_arg_read(fcinfo, &save_explicit_arguments, &save);
	return save_run(fcinfo, &save);
}

/*
 * sayiir_save_snapshot(data, trace_parent, expected_version, claim_token) RETURNS integer
 *
 * Checkpoints an instance whose snapshot is in Sayiir's own format: all else is
 * read out of it, and outputs are moved to the task rows.  Returns as above.
 * Errors: as above, 22P03 for data that cannot be read, 22P05 for text that the
 * database's encoding cannot hold.
 */
SQL_FUNCTION(sayiir_save_json_snapshot, 4)
{
	Checkpoint	save;

	arg_require(fcinfo, SAVE_DATA, "data");
	checkpoint_init(&save);
	save.trace_parent = arg_any(fcinfo, SAVE_JSON_TRACE_PARENT);
	save.expected_version = arg_version(fcinfo, SAVE_JSON_EXPECTED_VERSION, "expected_version");
	save.claim_token = arg_any(fcinfo, SAVE_JSON_CLAIM_TOKEN);
	(void) snapshot_read(arg_data(fcinfo, SAVE_DATA, "data").value, &save);
	return save_run(fcinfo, &save);
}

/*
 * save_run does the save.
 */
static Datum
save_run(FunctionCallInfo fcinfo, Checkpoint *save)
{
	CheckpointOutcome outcome;
	PlanCall	call;

	plan_begin(&call, fcinfo);
	outcome = checkpoint_save(&call, save);
	plan_end(&call);

	if (outcome.version == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(outcome.version);
}
