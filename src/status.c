/*-------------------------------------------------------------------------
 *
 * status.c
 *		The statuses of a workflow instance and their names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"
#include "status.h"

PG_FUNCTION_INFO_V1(sayiir_is_status);
PG_FUNCTION_INFO_V1(sayiir_is_snapshot);
PG_FUNCTION_INFO_V1(sayiir_is_task_status);

static const struct
{
	const char *name;			/* as stored, and in Sayiir's snapshots */
	const char *closed_task;	/* status of a task that was active when the
								 * workflow ended so; NULL: it goes on */
}			statuses[] = {
	[STATUS_IN_PROGRESS] = {"InProgress", NULL},
	[STATUS_PAUSED] = {"Paused", NULL},
	[STATUS_COMPLETED] = {"Completed", "completed"},
	[STATUS_FAILED] = {"Failed", "failed"},
	[STATUS_CANCELLED] = {"Cancelled", "cancelled"},
};

/*
 * status_name returns the name of a status, a constant string.
 */
const char *
status_name(SnapshotStatus status)
{
	return statuses[status].name;
}

/*
 * status_parse finds the status of this name, given by address and length.
 * Returns false when there is none of that name.
 */
bool
status_parse(const char *name, int len, SnapshotStatus *status)
{
	int			i;

	for (i = 0; i < (int) lengthof(statuses); i++)
	{
		if (strlen(statuses[i].name) == (size_t) len &&
			memcmp(statuses[i].name, name, len) == 0)
		{
			*status = (SnapshotStatus) i;
			return true;
		}
	}
	return false;
}

/*
 * status_of_closed_task returns the status that an active task gets when its
 * workflow ends in this terminal status.
 */
const char *
status_of_closed_task(SnapshotStatus status)
{
	Assert(status_is_terminal(status));
	return statuses[status].closed_task;
}

/*
 * is_status tells whether a text is the name of a status of an instance.
 */
static bool
is_status(text *name)
{
	SnapshotStatus status;

	return status_parse(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &status);
}

/*
 * sayiir_is_status(status text) RETURNS boolean, strict
 *
 * The CHECK of the history.
 */
Datum
sayiir_is_status(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(is_status(PG_GETARG_TEXT_PP(0)));
}

/*
 * sayiir_is_snapshot(status text, task_priority integer) RETURNS boolean, strict
 *
 * The CHECK of the snapshots.
 */
Datum
sayiir_is_snapshot(PG_FUNCTION_ARGS)
{
	int32		priority = PG_GETARG_INT32(1);

	PG_RETURN_BOOL(is_status(PG_GETARG_TEXT_PP(0)) && priority >= 1 && priority <= 5);
}

/*
 * sayiir_is_task_status(status text) RETURNS boolean, strict
 *
 * The CHECK of the tasks.
 */
Datum
sayiir_is_task_status(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {
		"pending", "active", "completed", "failed", "cancelled"
	};
	text	   *name = PG_GETARG_TEXT_PP(0);
	int			len = VARSIZE_ANY_EXHDR(name);
	int			i;

	for (i = 0; i < (int) lengthof(names); i++)
	{
		if (strlen(names[i]) == (size_t) len && memcmp(names[i], VARDATA_ANY(name), len) == 0)
			PG_RETURN_BOOL(true);
	}
	PG_RETURN_BOOL(false);
}
