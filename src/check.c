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
#include "sql_function.h"
#include "status.h"

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
SQL_FUNCTION(sayiir_is_status, 1)
{
	PG_RETURN_BOOL(is_status(PG_GETARG_TEXT_PP(0)));
}

/*
 * sayiir_is_snapshot(status text, task_priority integer) RETURNS boolean, strict
 *
 * The CHECK of the snapshots.
 */
SQL_FUNCTION(sayiir_is_snapshot, 2)
{
	int32		priority = PG_GETARG_INT32(1);

	PG_RETURN_BOOL(is_status(PG_GETARG_TEXT_PP(0)) && priority >= 1 && priority <= 5);
}

/*
 * sayiir_is_task_status(status text) RETURNS boolean, strict
 *
 * The CHECK of the tasks.
 */
SQL_FUNCTION(sayiir_is_task_status, 1)
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
