/*-------------------------------------------------------------------------
 *
 * plan.h
 *		Saved statements: the only way by which this library runs SQL.
 *
 * A room declares each of its statements as a static PlanStatement, beside the
 * code that runs it.  In the text, '@.' stands for the schema of the
 * extension and a dot; parameters have built-in types; what the text names without a
 * schema is found in pg_catalog, since all SQL-callable functions pin
 * search_path.  The text must keep its meaning whatever the caller has set: no
 * backslash, no array literal, no comparison with a NULL constant.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_PLAN_H
#define SAYIIR_PLAN_H

#include "executor/spi.h"
#include "fmgr.h"

#define PLAN_MAX_ARGS		24
#define PLAN_MAX_COLUMNS	16

typedef struct PlanStatement
{
	const char *sql;			/* '@.' is the schema of the extension */
	int			expected;		/* SPI_OK_* that it must return */
	bool		scans;			/* reads whole tables, on purpose */
	bool		serializes;		/* is on the row that writers meet at */
	int			nargs;
	Oid			argtypes[PLAN_MAX_ARGS];

	/* owned by plan.c */
	SPIPlanPtr	plan;
	uint64		generation;		/* of the schema that the plan was made for */
} PlanStatement;

/* One call of an SQL-callable function, between plan_begin and plan_end */
typedef struct PlanCall
{
	MemoryContext caller;		/* where results for the caller go */
	bool		read_only;		/* under the snapshot of the calling query */
	SPITupleTable *rows;		/* of the newest plan_run */
	uint64		nrows;			/* rows returned, or rows written */
} PlanCall;

/* A part of a call that plan_try runs */
typedef void (*PlanPart) (PlanCall *call, void *arg);

/* Receives one row of plan_for_each; false ends the reading */
typedef bool (*PlanRowReceiver) (PlanCall *call, uint64 row, void *arg);

extern void plan_begin(PlanCall *call, FunctionCallInfo fcinfo);
extern void plan_begin_reading(PlanCall *call, FunctionCallInfo fcinfo);
extern void plan_begin_inside(PlanCall *call, const PlanCall *outer);
extern void plan_end(PlanCall *call);
extern ErrorData *plan_try(PlanCall *call, PlanPart part, void *arg);
extern uint64 plan_run(PlanCall *call, PlanStatement *statement, const NullableDatum *args);
extern void plan_for_each(PlanCall *call, PlanStatement *statement, const NullableDatum *args,
						  PlanRowReceiver receiver, void *arg);
extern bool plan_put_row(PlanCall *call, uint64 row, void *rsinfo);
extern NullableDatum plan_value(PlanCall *call, uint64 row, int column);
extern NullableDatum plan_value_for_caller(PlanCall *call, uint64 row, int column);

static inline NullableDatum
plan_arg(Datum value)
{
	NullableDatum arg = {value, false};

	return arg;
}

static inline NullableDatum
plan_null(void)
{
	NullableDatum arg = {(Datum) 0, true};

	return arg;
}

#endif							/* SAYIIR_PLAN_H */
