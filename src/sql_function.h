/*-------------------------------------------------------------------------
 *
 * sql_function.h
 *		How a function that SQL calls is defined.
 *
 * The library and the SQL objects are upgraded one after the other: a new
 * library meets the declarations of an older version until ALTER EXTENSION ...
 * UPDATE, and a session that has the older library loaded keeps it after that.
 * So each function knows how many arguments it takes, and what its rows look
 * like, and refuses a call by a declaration of another shape; it would read
 * what nobody passed.  Types are not compared: a function of which the type of an
 * argument or of the result changes gets a new C symbol (CONTRIBUTING.md).
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_SQL_FUNCTION_H
#define SAYIIR_SQL_FUNCTION_H

#include "fmgr.h"
#include "nodes/execnodes.h"

#include "compat.h"

/*
 * SQL_FUNCTION begins the definition of a function that returns one value; its
 * body sees fcinfo.
 */
#define SQL_FUNCTION(name, nargs) \
PG_FUNCTION_INFO_V1(name); \
static Datum name##_body(PG_FUNCTION_ARGS); \
Datum \
name(PG_FUNCTION_ARGS) \
{ \
	sql_function_check(fcinfo, nargs, false); \
	return name##_body(fcinfo); \
} \
static Datum \
name##_body(PG_FUNCTION_ARGS)

/*
 * SQL_SET_FUNCTION begins that of a function which returns rows of columns of
 * these types, or a set of the one type; its body also sees rsinfo, where it
 * puts them.
 */
#define SQL_SET_FUNCTION(name, nargs, ...) \
PG_FUNCTION_INFO_V1(name); \
static Datum name##_body(FunctionCallInfo fcinfo, ReturnSetInfo *rsinfo); \
Datum \
name(PG_FUNCTION_ARGS) \
{ \
	static const Oid columns[] = {__VA_ARGS__}; \
\
	sql_function_check(fcinfo, nargs, true); \
	return name##_body(fcinfo, sql_function_rows(fcinfo, columns, lengthof(columns))); \
} \
static Datum \
name##_body(FunctionCallInfo fcinfo, ReturnSetInfo *rsinfo)

extern ReturnSetInfo *sql_function_rows(FunctionCallInfo fcinfo, const Oid *types, int ncolumns);
pg_noreturn extern void sql_function_refuse(FunctionCallInfo fcinfo, int nargs, bool set);

static inline void
sql_function_check(FunctionCallInfo fcinfo, int nargs, bool set)
{
	if (unlikely(PG_NARGS() != nargs || fcinfo->flinfo->fn_retset != set))
		sql_function_refuse(fcinfo, nargs, set);
}

#endif							/* SAYIIR_SQL_FUNCTION_H */
