/*-------------------------------------------------------------------------
 *
 * plan.c
 *		Saved statements: prepare, keep, validate, run, check the result.
 *
 * Plans live as long as the backend, which serves one database.  They are
 * made for the schema that the extension is in: when the called function is
 * found in another schema (ALTER EXTENSION ... SET SCHEMA), or the schema
 * under another name, the generation changes and each statement is prepared
 * anew at its next use.  All else that can change under a plan (ALTER TABLE,
 * DROP and CREATE EXTENSION) makes the server's plan cache invalidate it; an
 * invalid plan is retired and made from its text again.
 *
 * Plans are generic: every statement finds its rows by key.  They are made
 * with sequential scans disabled, since a plan made while a table is empty
 * would otherwise scan it for as long as the backend lives.
 *
 * Above READ COMMITTED, the statements on the row that writers meet at run under
 * the snapshot of the transaction, and raise 40001 when that row has changed
 * since.  The others of a function that writes then see the newest, as the
 * server's own checks of foreign keys do: a claim or a signal leaves that row
 * as it is, and the snapshot of the transaction would hide it for good.
 *
 * Results live in SPI's own memory and are gone after plan_end(); what goes to
 * the caller is copied by plan_value_for_caller().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "errors.h"
#include "plan.h"

#define PLAN_FETCH_ROWS		1000	/* rows that plan_for_each holds at once */

static void plan_find_schema(Oid function);
static void plan_prepare(PlanStatement *statement);
static void plan_retire(SPIPlanPtr plan);
static SPIPlanPtr plan_ready(PlanStatement *statement);
static void plan_bind(const PlanStatement *statement, const NullableDatum *args,
					  Datum *values, char *nulls);

/* The schema that plans are made for; the name in TopMemoryContext */
static Oid	schema_oid = InvalidOid;
static char *schema_name = NULL;
static uint64 schema_generation = 0;

/* Plans to be freed, and the transaction, by its start, that retired them */
static List *retired_plans = NIL;
static TimestampTz retired_in = 0;

/*
 * plan_begin starts the part of a function that runs statements: finds the
 * extension's schema through the called function and connects to SPI.
 */
void
plan_begin(PlanCall *call, FunctionCallInfo fcinfo)
{
	plan_find_schema(fcinfo->flinfo->fn_oid);

	call->caller = CurrentMemoryContext;
	call->read_only = false;
	call->rows = NULL;
	call->nrows = 0;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

/*
 * plan_begin_reading is plan_begin for a function that only reads, all of it
 * under the snapshot of the calling query.  Statements of other functions see
 * what was committed before each of them.
 */
void
plan_begin_reading(PlanCall *call, FunctionCallInfo fcinfo)
{
	plan_begin(call, fcinfo);
	call->read_only = true;
}

/*
 * plan_begin_inside starts a part of a call for which the rows of the outer one
 * stay, such as a receiver of plan_for_each; what it reads goes with its own
 * plan_end.
 */
void
plan_begin_inside(PlanCall *call, const PlanCall *outer)
{
	*call = *outer;
	call->caller = CurrentMemoryContext;
	call->rows = NULL;
	call->nrows = 0;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

/*
 * plan_end ends what plan_begin started; rows of the call are gone then.  An
 * error needs no plan_end: the abort of the transaction cleans up.
 */
void
plan_end(PlanCall *call)
{
	call->rows = NULL;
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
}

/*
 * plan_try runs a part of a call that is about one instance among many.  Returns
 * NULL, or the error that it raised, palloc'd, if that is this instance's own:
 * then nothing that the part wrote remains, and neither do locks that it took.
 *
 * That takes a subtransaction, which has a number of its own only when the part
 * writes: then it is for what happens now and then.  A parallel query allows none:
 * there the error goes on.
 */
ErrorData *
plan_try(PlanCall *call, PlanPart part, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	if (IsInParallelMode())
	{
		part(call, arg);
		return NULL;
	}

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		part(call, arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!error_is_of_instance(error->sqlerrcode))
			PG_RE_THROW();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	call->rows = NULL;
	return error;
}

/*
 * plan_run runs a statement with these arguments and returns the number of
 * rows that it returned or, without RETURNING, wrote.
 */
uint64
plan_run(PlanCall *call, PlanStatement *statement, const NullableDatum *args)
{
	SPIPlanPtr	plan = plan_ready(statement);
	Datum		values[PLAN_MAX_ARGS];
	char		nulls[PLAN_MAX_ARGS];
	int			result;

	plan_bind(statement, args, values, nulls);
	if (IsolationUsesXactSnapshot() && !call->read_only && !statement->serializes)
	{
		/* be sure that all of our own work is visible */
		CommandCounterIncrement();
		result = SPI_execute_snapshot(plan, values, nulls, GetLatestSnapshot(),
									  InvalidSnapshot, false, true, 0);
	}
	else
		result = SPI_execute_plan(plan, values, nulls, call->read_only, 0);
	if (result != statement->expected)
		elog(ERROR, "unexpected result %s of statement: %s",
			 SPI_result_code_string(result), statement->sql);

	call->rows = SPI_tuptable;
	call->nrows = SPI_processed;
	return call->nrows;
}

/*
 * plan_for_each runs a query and gives its rows to the receiver one by one,
 * holding only some at a time, however many there are.
 */
void
plan_for_each(PlanCall *call, PlanStatement *statement, const NullableDatum *args,
			  PlanRowReceiver receiver, void *arg)
{
	SPIPlanPtr	plan = plan_ready(statement);
	Datum		values[PLAN_MAX_ARGS];
	char		nulls[PLAN_MAX_ARGS];
	Portal		portal;
	bool		more = true;

	plan_bind(statement, args, values, nulls);
	portal = SPI_cursor_open(NULL, plan, values, nulls, call->read_only);

	while (more)
	{
		uint64		row;

		SPI_cursor_fetch(portal, true, PLAN_FETCH_ROWS);
		call->rows = SPI_tuptable;
		call->nrows = SPI_processed;
		more = call->nrows == PLAN_FETCH_ROWS;
		for (row = 0; row < call->nrows; row++)
		{
			if (!receiver(call, row, arg))
			{
				more = false;
				break;
			}
		}
		SPI_freetuptable(call->rows);
		call->rows = NULL;
	}
	SPI_cursor_close(portal);
}

/*
 * plan_put_row adds a row, as it is, to the result of a set-returning function,
 * whose ReturnSetInfo it is given; it is a receiver for plan_for_each.
 */
bool
plan_put_row(PlanCall *call, uint64 row, void *rsinfo)
{
	ReturnSetInfo *result = rsinfo;
	int			ncolumns = result->setDesc->natts;
	Datum		values[PLAN_MAX_COLUMNS];
	bool		nulls[PLAN_MAX_COLUMNS];
	int			i;

	Assert(ncolumns <= PLAN_MAX_COLUMNS);
	for (i = 0; i < ncolumns; i++)
	{
		NullableDatum value = plan_value(call, row, i + 1);

		values[i] = value.value;
		nulls[i] = value.isnull;
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	return true;
}

/*
 * plan_value returns a column (from 1) of a row (from 0) of the newest
 * result.  It lives until plan_end().
 */
NullableDatum
plan_value(PlanCall *call, uint64 row, int column)
{
	NullableDatum result;

	Assert(row < call->nrows);
	result.value = SPI_getbinval(call->rows->vals[row], call->rows->tupdesc,
								 column, &result.isnull);
	return result;
}

/*
 * plan_value_for_caller is plan_value, copied to where it outlives plan_end().
 */
NullableDatum
plan_value_for_caller(PlanCall *call, uint64 row, int column)
{
	NullableDatum result = plan_value(call, row, column);
	Form_pg_attribute column_type = TupleDescAttr(call->rows->tupdesc, column - 1);

	if (!result.isnull && !column_type->attbyval)
	{
		MemoryContext old = MemoryContextSwitchTo(call->caller);

		result.value = datumCopy(result.value, false, column_type->attlen);
		MemoryContextSwitchTo(old);
	}
	return result;
}

/*
 * plan_find_schema makes the schema of this function the one that statements
 * are for.
 */
static void
plan_find_schema(Oid function)
{
	Oid			oid = get_func_namespace(function);
	char	   *name = get_namespace_name(oid);

	if (name == NULL)
		elog(ERROR, "cache lookup failed for the schema of function %u", function);

	if (oid != schema_oid || strcmp(name, schema_name) != 0)
	{
		char	   *kept = MemoryContextStrdup(TopMemoryContext, name);

		if (schema_name != NULL)
			pfree(schema_name);
		schema_name = kept;
		schema_oid = oid;
		schema_generation++;
	}
	pfree(name);
}

/*
 * plan_ready returns the valid plan of a statement, making it if need be.
 */
static SPIPlanPtr
plan_ready(PlanStatement *statement)
{
	if (statement->plan != NULL &&
		statement->generation == schema_generation &&
		SPI_plan_is_valid(statement->plan))
		return statement->plan;

	if (statement->plan != NULL)
	{
		SPIPlanPtr	old = statement->plan;

		statement->plan = NULL;
		plan_retire(old);
	}
	plan_prepare(statement);
	return statement->plan;
}

/*
 * plan_retire frees a plan later: a trigger on our tables that calls one of our
 * functions can find a plan invalid that the call around it is executing.  What
 * was retired in an earlier transaction nobody executes any more.
 */
static void
plan_retire(SPIPlanPtr plan)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	TimestampTz now = GetCurrentTransactionStartTimestamp();

	if (retired_plans != NIL && retired_in != now)
	{
		List	   *plans = retired_plans;
		ListCell   *cell;

		retired_plans = NIL;
		foreach(cell, plans)
			SPI_freeplan((SPIPlanPtr) lfirst(cell));
		list_free(plans);
	}
	retired_plans = lappend(retired_plans, plan);
	retired_in = now;
	MemoryContextSwitchTo(old);
}

/*
 * plan_prepare makes the plan of a statement that has none.  The plan is
 * published only when nothing can fail any more.
 */
static void
plan_prepare(PlanStatement *statement)
{
	const char *schema = quote_identifier(schema_name);
	StringInfoData sql;
	const char *c;
	SPIPlanPtr	plan;

	initStringInfo(&sql);
	for (c = statement->sql; *c != '\0'; c++)
	{
		if (c[0] == '@' && c[1] == '.')
			appendStringInfoString(&sql, schema);
		else
			appendStringInfoChar(&sql, *c);
	}

	plan = SPI_prepare_cursor(sql.data, statement->nargs, statement->argtypes,
							  CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed with %s: %s",
			 SPI_result_code_string(SPI_result), sql.data);
	if (SPI_keepplan(plan) != 0)
		elog(ERROR, "SPI_keepplan failed: %s", sql.data);
	statement->plan = plan;
	statement->generation = schema_generation;
	pfree(sql.data);

	if (!statement->scans)
	{
		int			nest_level = NewGUCNestLevel();
		CachedPlan *generic;

		(void) set_config_option("enable_seqscan", "off", PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
		generic = SPI_plan_get_cached_plan(plan);
		if (generic != NULL)
			ReleaseCachedPlan(generic, CurrentResourceOwner);
		AtEOXact_GUC(true, nest_level);
	}
}

/*
 * plan_bind turns arguments into what SPI takes.
 */
static void
plan_bind(const PlanStatement *statement, const NullableDatum *args,
		  Datum *values, char *nulls)
{
	int			i;

	for (i = 0; i < statement->nargs; i++)
	{
		values[i] = args[i].value;
		nulls[i] = args[i].isnull ? 'n' : ' ';
	}
}
