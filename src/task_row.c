/*-------------------------------------------------------------------------
 *
 * task_row.c
 *		The task rows of an instance.
 *
 * All callers hold the lock of the instance's snapshot row, so a task row has
 * one writer at a time and what a statement reads is the newest.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "arg.h"
#include "errors.h"
#include "task_row.h"

/* As text, each byte takes two, and a row has less than 1 GB */
#define ROW_MAX_BYTES	(500 * 1024 * 1024)

static PlanStatement find_completed = {
	.sql =
	"SELECT t.output IS NOT DISTINCT FROM $3, t.completed_version"
	" FROM @.sayiir_workflow_tasks AS t"
	" WHERE t.instance_id = $1 AND t.task_id = $2 AND t.status = 'completed'",
	.expected = SPI_OK_SELECT,
	.nargs = 3,
	.argtypes = {TEXTOID, BYTEAOID, BYTEAOID},
};

/* The usual case: the task is there since it became active */
static PlanStatement complete_known = {
	.sql =
	"UPDATE @.sayiir_workflow_tasks AS t"
	" SET status = 'completed', completed_at = now(), error = NULL,"
	" output = COALESCE($3, t.output), completed_version = $4"
	" WHERE t.instance_id = $1 AND t.task_id = $2 AND t.status <> 'completed'",
	.expected = SPI_OK_UPDATE,
	.nargs = 4,
	.argtypes = {TEXTOID, BYTEAOID, BYTEAOID, INT4OID},
};

/* A task that never was current, or one that is completed with another output */
static PlanStatement complete_other = {
	.sql =
	"INSERT INTO @.sayiir_workflow_tasks AS t"
	" (instance_id, task_id, status, completed_at, output, completed_version)"
	" VALUES ($1, $2, 'completed', now(), $3, $4)"
	" ON CONFLICT (instance_id, task_id) DO UPDATE"
	" SET completed_at = now(), output = EXCLUDED.output,"
	" completed_version = EXCLUDED.completed_version",
	.expected = SPI_OK_INSERT,
	.nargs = 4,
	.argtypes = {TEXTOID, BYTEAOID, BYTEAOID, INT4OID},
};

/*
 * Many at once, as a snapshot can bring them: a client that keeps outputs in
 * memory sends all of them with every save, so those that are stored already
 * are sorted out before anything is locked or written.
 */
static PlanStatement complete_all = {
	.sql =
	"INSERT INTO @.sayiir_workflow_tasks AS t"
	" (instance_id, task_id, status, completed_at, output, completed_version)"
	" SELECT $1, o.task_id, 'completed', now(), o.output, $4"
	" FROM unnest($2, $3) AS o (task_id, output)"
	" WHERE NOT EXISTS (SELECT FROM @.sayiir_workflow_tasks AS k"
	"  WHERE k.instance_id = $1 AND k.task_id = o.task_id AND k.status = 'completed'"
	"  AND (o.output IS NULL OR k.output = o.output))"
	" ON CONFLICT (instance_id, task_id) DO UPDATE"
	" SET status = 'completed', completed_at = now(), error = NULL,"
	" output = COALESCE(EXCLUDED.output, t.output),"
	" completed_version = EXCLUDED.completed_version",
	.expected = SPI_OK_INSERT,
	.nargs = 4,
	.argtypes = {TEXTOID, BYTEAARRAYOID, BYTEAARRAYOID, INT4OID},
};

/*
 * As a rule a task is new.  With the instance locked nobody else can insert it,
 * so it takes none of the care, and none of the WAL, of ON CONFLICT.
 */
static PlanStatement activate_new = {
	.sql =
	"INSERT INTO @.sayiir_workflow_tasks"
	" (instance_id, task_id, status, started_at, worker_id)"
	" SELECT $1, $2, 'active', now(), $3"
	" WHERE NOT EXISTS (SELECT FROM @.sayiir_workflow_tasks AS t"
	"  WHERE t.instance_id = $1 AND t.task_id = $2)",
	.expected = SPI_OK_INSERT,
	.nargs = 3,
	.argtypes = {TEXTOID, BYTEAOID, TEXTOID},
};

static PlanStatement activate_known = {
	.sql =
	"UPDATE @.sayiir_workflow_tasks AS t"
	" SET status = 'active', worker_id = $3, started_at = COALESCE(t.started_at, now()),"
	" completed_at = NULL, error = NULL"
	" WHERE t.instance_id = $1 AND t.task_id = $2 AND t.status NOT IN ('active', 'completed')",
	.expected = SPI_OK_UPDATE,
	.nargs = 3,
	.argtypes = {TEXTOID, BYTEAOID, TEXTOID},
};

static PlanStatement close_all = {
	.sql =
	"UPDATE @.sayiir_workflow_tasks AS t"
	" SET status = $2, completed_at = now(), error = $3,"
	" completed_version = CASE WHEN $2 = 'completed' THEN $4 ELSE t.completed_version END"
	" WHERE t.instance_id = $1 AND t.status = 'active'",
	.expected = SPI_OK_UPDATE,
	.nargs = 4,
	.argtypes = {TEXTOID, TEXTOID, TEXTOID, INT4OID},
};

static PlanStatement find_output = {
	.sql =
	"SELECT t.output FROM @.sayiir_workflow_tasks AS t"
	" WHERE t.instance_id = $1 AND t.task_id = $2 AND t.status = 'completed'",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, BYTEAOID},
};

/* Rows that another client wrote know no version: they count as always there */
static PlanStatement load_outputs = {
	.sql =
	"SELECT t.task_id, t.output"
	" FROM @.sayiir_workflow_tasks AS t"
	" WHERE t.instance_id = $1 AND t.status = 'completed' AND t.output IS NOT NULL"
	" AND COALESCE(t.completed_version, 0) <= $2"
	" ORDER BY t.task_id",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

static PlanStatement count_completed = {
	.sql =
	"SELECT count(*)::int4 FROM @.sayiir_workflow_tasks AS t"
	" WHERE t.instance_id = $1 AND t.status = 'completed'"
	" AND COALESCE(t.completed_version, 0) <= $2",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

/* The outputs do not pass through this library */
static PlanStatement copy_completed = {
	.sql =
	"INSERT INTO @.sayiir_workflow_tasks"
	" (instance_id, task_id, status, worker_id, started_at, completed_at, output, completed_version)"
	" SELECT $3, t.task_id, t.status, t.worker_id, t.started_at, t.completed_at, t.output, $4"
	" FROM @.sayiir_workflow_tasks AS t"
	" WHERE t.instance_id = $1 AND t.status = 'completed'"
	" AND COALESCE(t.completed_version, 0) <= $2",
	.expected = SPI_OK_INSERT,
	.nargs = 4,
	.argtypes = {TEXTOID, INT4OID, TEXTOID, INT4OID},
};

static PlanStatement delete_all = {
	.sql =
	"DELETE FROM @.sayiir_workflow_tasks AS t WHERE t.instance_id = $1",
	.expected = SPI_OK_DELETE,
	.nargs = 1,
	.argtypes = {TEXTOID},
};

/*
 * task_row_find_completed tells whether the task is completed, with which
 * version and whether with this output.
 */
bool
task_row_find_completed(PlanCall *call, text *instance_id, Datum task_id,
						NullableDatum output, TaskRow *found)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(task_id),
		output,
	};
	NullableDatum version;

	if (plan_run(call, &find_completed, args) == 0)
		return false;
	found->same_output = DatumGetBool(plan_value(call, 0, 1).value);
	version = plan_value(call, 0, 2);
	found->completed_version = version.isnull ? 0 : DatumGetInt32(version.value);
	return true;
}

/*
 * task_row_complete makes the task completed with this output, NULL for the
 * output that is stored.  Returns whether it was not completed before.  A
 * trigger that swallows the row is an error (09000): the output would be lost.
 */
bool
task_row_complete(PlanCall *call, text *instance_id, Datum task_id,
				  NullableDatum output, int version)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(task_id),
		output,
		plan_arg(Int32GetDatum(version)),
	};
	TaskRow		task;
	bool		completed;

	if (plan_run(call, &complete_known, args) > 0)
		return true;

	completed = task_row_find_completed(call, instance_id, task_id, output, &task);
	if (completed && (output.isnull || task.same_output))
		return false;
	if (plan_run(call, &complete_other, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_tasks");
	return !completed;
}

/*
 * task_row_complete_all makes tasks completed with their outputs, each task once
 * in the list, where a NULL keeps the output that is stored.
 */
void
task_row_complete_all(PlanCall *call, text *instance_id, const TaskOutput *outputs,
					  int noutputs, int version)
{
	Datum	   *ids = palloc(sizeof(Datum) * noutputs);
	Datum	   *values = palloc(sizeof(Datum) * noutputs);
	bool	   *nulls = palloc(sizeof(bool) * noutputs);
	int			lower = 1;
	NullableDatum args[4];
	int			i;

	for (i = 0; i < noutputs; i++)
	{
		ids[i] = outputs[i].task_id;
		values[i] = outputs[i].output.value;
		nulls[i] = outputs[i].output.isnull;
	}
	args[0] = plan_arg(PointerGetDatum(instance_id));
	args[1] = plan_arg(PointerGetDatum(construct_array(ids, noutputs, BYTEAOID, -1,
													   false, TYPALIGN_INT)));
	args[2] = plan_arg(PointerGetDatum(construct_md_array(values, nulls, 1, &noutputs, &lower,
														  BYTEAOID, -1, false, TYPALIGN_INT)));
	args[3] = plan_arg(Int32GetDatum(version));
	plan_run(call, &complete_all, args);
}

/*
 * task_row_activate makes the task active.  One that is completed stays so, and
 * the first started_at stays.  worker_id is the worker whose claim covers it
 * from the start, or NULL.
 */
void
task_row_activate(PlanCall *call, text *instance_id, Datum task_id,
				  NullableDatum worker_id)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(task_id),
		worker_id,
	};

	if (plan_run(call, &activate_new, args) == 0)
		plan_run(call, &activate_known, args);
}

/*
 * task_row_close_all closes every active task of an instance that ended so,
 * with the error of the workflow, which may be NULL.
 */
void
task_row_close_all(PlanCall *call, text *instance_id, SnapshotStatus ended,
				   NullableDatum error, int version)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(CStringGetTextDatum(status_of_closed_task(ended))),
		error,
		plan_arg(Int32GetDatum(version)),
	};

	plan_run(call, &close_all, args);
}

/*
 * task_row_output returns the output of a completed task, NULL when it is not
 * completed or has none.
 */
NullableDatum
task_row_output(PlanCall *call, text *instance_id, Datum task_id)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(task_id),
	};

	if (plan_run(call, &find_output, args) == 0)
		return plan_null();
	return plan_value(call, 0, 1);
}

/*
 * task_row_load_outputs gives the ids and the outputs of the tasks completed by
 * this version, as two arrays that pair up, in SPI's memory.  Returns false when
 * the outputs together pass 256 MB, or a row that also has this data would be
 * too large to be sent as text: they have to be loaded one by one then.
 */
bool
task_row_load_outputs(PlanCall *call, text *instance_id, int version,
					  Datum data, Datum *task_ids, Datum *outputs)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version)),
	};
	uint64		n = plan_run(call, &load_outputs, args);
	Datum	   *ids = palloc(sizeof(Datum) * (n + 1));
	Datum	   *values = palloc(sizeof(Datum) * (n + 1));
	Size		total = 0;
	uint64		i;

	for (i = 0; i < n; i++)
	{
		ids[i] = plan_value(call, i, 1).value;
		values[i] = plan_value(call, i, 2).value;
		total += toast_raw_datum_size(values[i]) - VARHDRSZ;
	}
	if (total > DATA_MAX_BYTES ||
		total + toast_raw_datum_size(data) > ROW_MAX_BYTES)
		return false;
	*task_ids = PointerGetDatum(construct_array(ids, (int) n, BYTEAOID, -1,
												false, TYPALIGN_INT));
	*outputs = PointerGetDatum(construct_array(values, (int) n, BYTEAOID, -1,
											   false, TYPALIGN_INT));
	return true;
}

/*
 * task_row_count returns how many tasks were completed by this version.
 */
int
task_row_count(PlanCall *call, text *instance_id, int version)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version)),
	};

	plan_run(call, &count_completed, args);
	return DatumGetInt32(plan_value(call, 0, 1).value);
}

/*
 * task_row_copy gives an instance that has no tasks yet those that another one
 * had completed by a version, as completed by its own.
 */
void
task_row_copy(PlanCall *call, text *from, int from_version, text *to, int to_version)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(from)),
		plan_arg(Int32GetDatum(from_version)),
		plan_arg(PointerGetDatum(to)),
		plan_arg(Int32GetDatum(to_version)),
	};

	plan_run(call, &copy_completed, args);
}

/*
 * task_row_delete_all deletes the tasks of an instance.
 */
void
task_row_delete_all(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {plan_arg(PointerGetDatum(instance_id))};

	plan_run(call, &delete_all, args);
}
