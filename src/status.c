/*-------------------------------------------------------------------------
 *
 * status.c
 *		The statuses of a workflow instance and their names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "status.h"

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
