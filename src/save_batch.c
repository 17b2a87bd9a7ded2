/*-------------------------------------------------------------------------
 *
 * save_batch.c
 *		sayiir_save_snapshots: many instances, each one checkpoint, in one
 *		call
 *
 * Everything is checked before anything is written.  The instances are saved in
 * the order of their ids, byte by byte, whatever the order of the arguments, so
 * that two batches wait for each other but never each for the other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "arg.h"
#include "checkpoint.h"
#include "compat.h"
#include "save_arg.h"
#include "sql_function.h"

#define BATCH_NARGS	17
#define BATCH_TAGS	11

/* The arguments: as those of an explicit save, an array of each */
static const struct
{
	const char *name;
	Oid			type;			/* of the elements */
	bool		required;
}			batch_arguments[BATCH_NARGS] =
{
	{"data", BYTEAOID, true},
	{"instance_id", TEXTOID, true},
	{"status", TEXTOID, true},
	{"definition_hash", BYTEAOID, true},
	{"current_task_id", BYTEAOID, false},
	{"completed_task_count", INT4OID, false},
	{"error", TEXTOID, false},
	{"position_kind", TEXTOID, false},
	{"delay_wake_at", TIMESTAMPTZOID, false},
	{"trace_parent", TEXTOID, false},
	{"task_priority", INT4OID, false},
	{"task_tags", TEXTOID, false},	/* array literals */
	{"last_completed_task_id", BYTEAOID, false},
	{"last_completed_output", BYTEAOID, false},
	{"expected_version", INT4OID, false},
	{"claim_token", UUIDOID, false},
	{"awaited_signal", TEXTOID, false},
};

/* One argument, taken apart; n is -1 for a NULL, which stands for the default everywhere */
typedef struct BatchColumn
{
	int			n;
	Datum	   *values;
	bool	   *nulls;
} BatchColumn;

static int	batch_columns(FunctionCallInfo fcinfo, BatchColumn *columns);
static Checkpoint *batch_read(FunctionCallInfo fcinfo, const BatchColumn *columns, int n);
static int *batch_order(const Checkpoint *saves, int n);
static int	compare_ids(const void *a, const void *b, void *saves);
static void in_element(void *element);

/*
 * sayiir_save_snapshots(data, instance_id, status, definition_hash, ...) RETURNS integer[]
 *
 * Checkpoints many instances whose snapshots are opaque, all or none: element i
 * of each array makes the call of sayiir_save_snapshot for the i-th, and its result is
 * element i of the result.  Errors: those of sayiir_save_snapshot, with the
 * element in their context; 22004 for a NULL in place of an array that must not
 * be NULL; 22023 for arrays of different lengths or several dimensions and for an
 * instance that comes twice; 22P02 for tags that are no array.
 */
SQL_FUNCTION(sayiir_save_snapshots, BATCH_NARGS)
{
	BatchColumn columns[BATCH_NARGS];
	Checkpoint *saves;
	Datum	   *versions;
	bool	   *nulls;
	int		   *order;
	int			n;
	int			dims[1];
	int			lbs[1] = {1};
	int			i;
	int			element;
	PlanCall	call;
	ErrorContextCallback context;

	n = batch_columns(fcinfo, columns);
	if (n == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(INT4OID));
	saves = batch_read(fcinfo, columns, n);
	order = batch_order(saves, n);
	versions = palloc(sizeof(Datum) * n);
	nulls = palloc(sizeof(bool) * n);

	context.callback = in_element;
	context.arg = &element;
	context.previous = error_context_stack;
	error_context_stack = &context;

	plan_begin(&call, fcinfo);
	for (i = 0; i < n; i++)
	{
		PlanCall	inside;
		CheckpointOutcome outcome;

		CHECK_FOR_INTERRUPTS();
		element = order[i];
		plan_begin_inside(&inside, &call);
		outcome = checkpoint_save(&inside, &saves[element]);
		plan_end(&inside);
		versions[element] = Int32GetDatum(outcome.version);
		nulls[element] = outcome.version == 0;
	}
	plan_end(&call);
	error_context_stack = context.previous;

	dims[0] = n;
	PG_RETURN_ARRAYTYPE_P(construct_md_array(versions, nulls, 1, dims, lbs, INT4OID,
											 sizeof(int32), true, TYPALIGN_INT));
}

/*
 * batch_columns takes the arguments apart and returns how many saves they make.
 */
static int
batch_columns(FunctionCallInfo fcinfo, BatchColumn *columns)
{
	int			i;

	for (i = 0; i < BATCH_NARGS; i++)
	{
		if (batch_arguments[i].required)
			arg_require(fcinfo, i, batch_arguments[i].name);
	}

	for (i = 0; i < BATCH_NARGS; i++)
	{
		ArrayType  *array;
		int16		typlen;
		bool		typbyval;
		char		typalign;

		columns[i].n = -1;
		if (PG_ARGISNULL(i))
			continue;
		array = PG_GETARG_ARRAYTYPE_P(i);
		if (ARR_NDIM(array) > 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must have one dimension, not %d",
							batch_arguments[i].name, ARR_NDIM(array)),
					 i == BATCH_TAGS ?
					 errhint("Give one array literal for each snapshot, such as ARRAY['{gpu,eu}', '{}'].") :
					 errhint("Give one element for each snapshot.")));
		get_typlenbyvalalign(batch_arguments[i].type, &typlen, &typbyval, &typalign);
		deconstruct_array(array, batch_arguments[i].type, typlen, typbyval, typalign,
						  &columns[i].values, &columns[i].nulls, &columns[i].n);
		if (columns[i].n != columns[0].n)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s has %d elements, but data has %d",
							batch_arguments[i].name, columns[i].n, columns[0].n),
					 errhint("Give one element for each snapshot, or NULL in place of the array for the default.")));
	}
	return columns[0].n;
}

/*
 * batch_read checks all saves, as if each were a call of its own.
 */
static Checkpoint *
batch_read(FunctionCallInfo fcinfo, const BatchColumn *columns, int n)
{
	LOCAL_FCINFO(one, BATCH_NARGS);
	Checkpoint *saves = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Checkpoint) * n);
	int			element;
	ErrorContextCallback context;

	InitFunctionCallInfoData(*one, fcinfo->flinfo, BATCH_NARGS, fcinfo->fncollation, NULL, NULL);
	context.callback = in_element;
	context.arg = &element;
	context.previous = error_context_stack;
	error_context_stack = &context;

	for (element = 0; element < n; element++)
	{
		int			i;

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < BATCH_NARGS; i++)
		{
			one->args[i].isnull = columns[i].n < 0 || columns[i].nulls[element];
			one->args[i].value = one->args[i].isnull ? (Datum) 0 : columns[i].values[element];
		}
		if (!one->args[BATCH_TAGS].isnull)
			one->args[BATCH_TAGS].value =
				OidInputFunctionCall(F_ARRAY_IN, TextDatumGetCString(one->args[BATCH_TAGS].value),
									 TEXTOID, -1);
		save_arg_read(one, &save_explicit_arguments, &saves[element]);
	}

	error_context_stack = context.previous;
	return saves;
}

/*
 * batch_order returns the elements in the order in which they are saved, and
 * raises 22023 when two are of one instance.
 */
static int *
batch_order(const Checkpoint *saves, int n)
{
	int		   *order = palloc(sizeof(int) * n);
	int			i;

	for (i = 0; i < n; i++)
		order[i] = i;
	qsort_arg(order, n, sizeof(int), compare_ids, (void *) saves);
	for (i = 1; i < n; i++)
	{
		if (compare_ids(&order[i - 1], &order[i], (void *) saves) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("workflow instance \"%s\" is in the batch twice",
							text_to_cstring(saves[order[i]].instance_id)),
					 errdetail("Elements %d and %d have this instance_id.",
							   Min(order[i - 1], order[i]) + 1, Max(order[i - 1], order[i]) + 1),
					 errhint("Save its versions in separate calls.")));
	}
	return order;
}

static int
compare_ids(const void *a, const void *b, void *arg)
{
	const Checkpoint *saves = arg;
	const text *x = saves[*(const int *) a].instance_id;
	const text *y = saves[*(const int *) b].instance_id;
	int			xlen = VARSIZE_ANY_EXHDR(x);
	int			ylen = VARSIZE_ANY_EXHDR(y);
	int			order = memcmp(VARDATA_ANY(x), VARDATA_ANY(y), Min(xlen, ylen));

	return order != 0 ? order : xlen - ylen;
}

/*
 * in_element says in an error's context which element it is about, from 1.
 */
static void
in_element(void *element)
{
	errcontext("element %d of the batch", *(int *) element + 1);
}
