/*-------------------------------------------------------------------------
 *
 * errors.c
 *		The errors that more than one room raises, each worded once.
 *
 * Messages name the instance, never its data.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "errors.h"

/*
 * error_is_of_instance tells whether an error says something about the instance
 * that was dealt with, so that a call about many can leave this one aside: what
 * is stored of it, or what a trigger or constraint says of it.  Everything else
 * (a conflict, a cancel, a full disk, a missing right) would meet the next one too.
 */
bool
error_is_of_instance(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_TRIGGERED_ACTION_EXCEPTION:
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION:
		case ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION:
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
		case ERRCODE_PLPGSQL_ERROR: /* RAISE, as a rule in a trigger */
			return true;
		default:
			return sqlstate == ERRCODE_DATA_CORRUPTED || sqlstate == ERRCODE_INDEX_CORRUPTED;
	}
}

/*
 * error_no_instance raises P0002: there is no instance of this id.
 */
void
error_no_instance(text *instance_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("workflow instance \"%s\" does not exist",
					text_to_cstring(instance_id)),
			 errhint("An instance exists from its first sayiir_save_snapshot until sayiir_delete_snapshot.")));
}

/*
 * error_no_version raises P0002: the instance has no such version.
 */
void
error_no_version(text *instance_id, int version)
{
	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("workflow instance \"%s\" has no version %d",
					text_to_cstring(instance_id), version),
			 errhint("Leave version out to load the newest.")));
}

/*
 * error_history_lost raises XX001: the history lacks the version that the
 * snapshot row names.
 */
void
error_history_lost(text *instance_id, int version)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("version %d of workflow instance \"%s\" is missing from the history",
					version, text_to_cstring(instance_id)),
			 errhint("sayiir_check_integrity tells what else is missing.")));
}

/*
 * error_history_corrupt raises XX001: what is stored of a version does not give
 * the bytes that were saved.
 */
void
error_history_corrupt(text *instance_id, int version)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("version %d of workflow instance \"%s\" is corrupted in the history",
					version, text_to_cstring(instance_id)),
			 errdetail("Its stored bytes do not give the snapshot whose SHA-256 is beside them."),
			 errhint("sayiir_check_integrity tells which other versions are; load another one, or restore a backup.")));
}

/*
 * error_version_conflict raises SY001: the stored version is not the one that
 * the caller built on.  A missing instance counts as version 0.
 */
void
error_version_conflict(text *instance_id, int expected, int found)
{
	ereport(ERROR,
			(errcode(ERRCODE_SAYIIR_VERSION_CONFLICT),
			 errmsg("version conflict on workflow instance \"%s\"",
					text_to_cstring(instance_id)),
			 errdetail("Expected version %d, found version %d.", expected, found),
			 errhint("Load the instance again and build on its newest version.")));
}

/*
 * error_paused raises SY003: a save does not resume a paused instance.
 */
void
error_paused(text *instance_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_SAYIIR_WRONG_STATE),
			 errmsg("workflow instance \"%s\" is paused", text_to_cstring(instance_id)),
			 errdetail("A save as InProgress is not allowed in this state."),
			 errhint("Let it go on with sayiir_unpause first.")));
}

/*
 * error_wrong_state raises SY003: what is asked for is not allowed in this
 * state.
 */
void
error_wrong_state(text *instance_id, SnapshotStatus status, const char *action,
				  const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_SAYIIR_WRONG_STATE),
			 errmsg("cannot %s workflow instance \"%s\", which is %s", action,
					text_to_cstring(instance_id), status_name(status)),
			 errhint("%s", hint)));
}

/*
 * error_suppressed raises 09000: a trigger that somebody put on a table of the
 * store has swallowed a row without which the version could not be loaded.
 */
void
error_suppressed(text *instance_id, const char *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
			 errmsg("a row of workflow instance \"%s\" was not written to table \"%s\"",
					text_to_cstring(instance_id), table),
			 errhint("Look for a BEFORE trigger on that table that returns NULL.")));
}
