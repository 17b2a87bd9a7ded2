/*-------------------------------------------------------------------------
 *
 * sql_function.c
 *		Refuses calls of functions that the SQL of another version declares.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "sql_function.h"

static void check_columns(FunctionCallInfo fcinfo, TupleDesc columns, const Oid *types,
						  int ncolumns);
static int	errmsg_mismatch(FunctionCallInfo fcinfo);
static int	errhint_mismatch(void);

/*
 * sql_function_rows prepares the result of a set function, an SRF in
 * materialize mode, and returns it.  Raises 55000 when the function is
 * declared with other columns than these.
 */
ReturnSetInfo *
sql_function_rows(FunctionCallInfo fcinfo, const Oid *types, int ncolumns)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	/* Before the server finds that rows are no single values, or the reverse, or that they are unknown */
	if (rsinfo != NULL && IsA(rsinfo, ReturnSetInfo))
		check_columns(fcinfo, rsinfo->expectedDesc, types, ncolumns);
	/* A single column is the same as SETOF its type, which is no row type */
	InitMaterializedSRF(fcinfo, ncolumns == 1 ? MAT_SRF_USE_EXPECTED_DESC : 0);
	check_columns(fcinfo, rsinfo->setDesc, types, ncolumns);
	return rsinfo;
}

/*
 * check_columns raises 55000 unless the columns are known and of these types.
 */
static void
check_columns(FunctionCallInfo fcinfo, TupleDesc columns, const Oid *types, int ncolumns)
{
	bool		same = columns != NULL && columns->natts == ncolumns;
	int			i;

	for (i = 0; same && i < ncolumns; i++)
		same = TupleDescAttr(columns, i)->atttypid == types[i];
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg_mismatch(fcinfo),
				 errdetail("It is declared with other result columns than the library of version %s gives.",
						   SAYIIR_PG_VERSION),
				 errhint_mismatch()));
}

/*
 * sql_function_refuse raises 55000: the function is not declared as the library has
 * it.
 */
void
sql_function_refuse(FunctionCallInfo fcinfo, int nargs, bool set)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg_mismatch(fcinfo),
			 PG_NARGS() != nargs ?
			 errdetail("The number of its arguments is %d where it is declared, but %d in the library of version %s.",
					   PG_NARGS(), nargs, SAYIIR_PG_VERSION) :
			 errdetail(set ?
					   "It is declared to return one value, but returns a set in the library of version %s." :
					   "It is declared to return a set, but returns one value in the library of version %s.",
					   SAYIIR_PG_VERSION),
			 errhint_mismatch()));
}

static int
errmsg_mismatch(FunctionCallInfo fcinfo)
{
	char	   *name = get_func_name(fcinfo->flinfo->fn_oid);

	return errmsg("function %s does not fit the loaded library of sayiir_pg",
				  quote_identifier(name != NULL ? name : "?"));
}

static int
errhint_mismatch(void)
{
	return errhint("Run ALTER EXTENSION sayiir_pg UPDATE. If that was done, connect again: "
				   "this session has loaded the library of before.");
}
