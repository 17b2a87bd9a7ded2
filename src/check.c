/*-------------------------------------------------------------------------
 *
 * check.c
 *		sayiir_is_status, sayiir_is_snapshot, sayiir_is_task_status: what the
 *		CHECK constraints of the tables ask
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
