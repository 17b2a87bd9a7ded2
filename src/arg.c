/*-------------------------------------------------------------------------
 *
 * arg.c
 *		Checks of the arguments of SQL-callable functions.
 *
 * Each function takes the call, the number of the argument (from 0) and,
 * where it serves arguments of several names, the name for messages.  A NULL
 * in an argument that must not be NULL is refused by arg_require(), which a
 * function calls for all of them first; the functions below it take a NULL
 * for «the default».  Sizes come last, so the caller fetches data after all
 * else.  Nothing here reads or writes the database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "compat.h"

/*
 * arg_require raises 22004 when the argument is NULL.
 */
void
arg_require(FunctionCallInfo fcinfo, int argno, const char *name)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL", name),
				 errhint("Give a value for %s.", name)));
}

/*
 * arg_instance_id returns the instance id: 1 to 256 bytes, else 22023.  The
 * argument must not be NULL.
 */
text *
arg_instance_id(FunctionCallInfo fcinfo, int argno)
{
	text	   *id = PG_GETARG_TEXT_PP(argno);

	arg_check_instance_id(id);
	return id;
}

/*
 * arg_check_instance_id raises 22023 for an instance id, from wherever, that
 * is not 1 to 256 bytes long.
 */
void
arg_check_instance_id(text *id)
{
	int			len = VARSIZE_ANY_EXHDR(id);

	if (len == 0 || len > INSTANCE_ID_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 len == 0 ?
				 errmsg("instance_id must not be empty") :
				 errmsg("instance_id is %d bytes long, more than %d",
						len, INSTANCE_ID_MAX_BYTES),
				 errhint("An instance id has 1 to %d bytes.", INSTANCE_ID_MAX_BYTES)));
}

/*
 * arg_name returns a name that is 1 to 256 bytes long, or NULL, else raises
 * 22023.
 */
NullableDatum
arg_name(FunctionCallInfo fcinfo, int argno, const char *name)
{
	NullableDatum result = fcinfo->args[argno];

	if (result.isnull)
		return result;

	result.value = PointerGetDatum(PG_GETARG_TEXT_PP(argno));
	arg_check_name(DatumGetTextPP(result.value), name);
	return result;
}

/*
 * arg_check_name raises 22023 for a name, from wherever, that is not 1 to 256
 * bytes long.
 */
void
arg_check_name(text *value, const char *name)
{
	int			len = VARSIZE_ANY_EXHDR(value);

	if (len == 0 || len > NAME_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 len == 0 ?
				 errmsg("%s must not be empty", name) :
				 errmsg("%s is %d bytes long, more than %d", name, len, NAME_MAX_BYTES),
				 errhint("It has 1 to %d bytes.", NAME_MAX_BYTES)));
}

/*
 * arg_ttl returns an interval that is positive, or NULL, else raises 22023.
 */
NullableDatum
arg_ttl(FunctionCallInfo fcinfo, int argno, const char *name)
{
	NullableDatum result = fcinfo->args[argno];
	Interval	zero = {0};

	if (!result.isnull &&
		!DatumGetBool(DirectFunctionCall2(interval_gt, result.value, IntervalPGetDatum(&zero))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be positive", name),
				 errhint("Give an interval such as '30 seconds'.")));
	return result;
}

/*
 * arg_status returns the status that the argument names, else raises 22023.
 * The argument must not be NULL.
 */
SnapshotStatus
arg_status(FunctionCallInfo fcinfo, int argno)
{
	text	   *name = PG_GETARG_TEXT_PP(argno);
	SnapshotStatus status;

	if (!status_parse(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &status))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown status \"%s\"", text_to_cstring(name)),
				 errhint("A status is InProgress, Paused, Completed, Failed or Cancelled.")));
	return status;
}

/*
 * arg_any returns the argument as it is, NULL or not.
 */
NullableDatum
arg_any(FunctionCallInfo fcinfo, int argno)
{
	return fcinfo->args[argno];
}

/*
 * arg_hash returns a task id or definition hash: 32 bytes or NULL, else
 * raises 22023.
 */
NullableDatum
arg_hash(FunctionCallInfo fcinfo, int argno, const char *name)
{
	NullableDatum result = fcinfo->args[argno];
	bytea	   *bytes;

	if (result.isnull)
		return result;

	bytes = PG_GETARG_BYTEA_PP(argno);
	if (VARSIZE_ANY_EXHDR(bytes) != HASH_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be %d bytes long, not %d",
						name, HASH_BYTES, (int) VARSIZE_ANY_EXHDR(bytes)),
				 errhint("It is a SHA-256, as sayiir_task_id(name) gives for a task.")));
	result.value = PointerGetDatum(bytes);
	return result;
}

/*
 * arg_hashes returns a list of definition hashes, 32 bytes each, or NULL, else
 * raises 22023.
 */
NullableDatum
arg_hashes(FunctionCallInfo fcinfo, int argno, const char *name)
{
	NullableDatum result = fcinfo->args[argno];
	ArrayType  *list;
	Datum	   *hashes;
	bool	   *nulls;
	int			n;
	int			i;

	if (result.isnull)
		return result;

	list = PG_GETARG_ARRAYTYPE_P(argno);
	deconstruct_array(list, BYTEAOID, -1, false, TYPALIGN_INT, &hashes, &nulls, &n);
	for (i = 0; i < n; i++)
	{
		if (nulls[i] || VARSIZE_ANY_EXHDR(DatumGetByteaPP(hashes[i])) != HASH_BYTES)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("each of %s must be %d bytes long", name, HASH_BYTES),
					 errhint("Give the SHA-256 of each definition, or NULL for any.")));
	}
	result.value = PointerGetDatum(list);
	return result;
}

/*
 * arg_interval_usecs returns the length of a positive interval in microseconds,
 * a month as 30 days, and not more than "most".
 */
int64
arg_interval_usecs(Datum interval, int64 most)
{
	Interval   *span = DatumGetIntervalP(interval);
	double		usecs = ((double) span->month * DAYS_PER_MONTH + span->day) * USECS_PER_DAY +
		span->time;

	return usecs >= (double) most ? most : Max((int64) usecs, 1);
}

/*
 * arg_count returns a number that is at least 0 or NULL, else raises 22023.
 */
NullableDatum
arg_count(FunctionCallInfo fcinfo, int argno, const char *name)
{
	NullableDatum result = fcinfo->args[argno];

	if (!result.isnull && DatumGetInt32(result.value) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative, but is %d",
						name, DatumGetInt32(result.value)),
				 errhint("Give 0 or more, or NULL for the default.")));
	return result;
}

/*
 * arg_version returns an expected version, at least 0 (else 22023), or
 * VERSION_NOT_EXPECTED for NULL.
 */
int
arg_version(FunctionCallInfo fcinfo, int argno, const char *name)
{
	NullableDatum version = arg_count(fcinfo, argno, name);

	return version.isnull ? VERSION_NOT_EXPECTED : DatumGetInt32(version.value);
}

/*
 * arg_priority returns a priority as int2: 1 to 5 (else 22023), 3 for NULL.
 */
Datum
arg_priority(FunctionCallInfo fcinfo, int argno)
{
	int			priority = PG_ARGISNULL(argno) ? DEFAULT_PRIORITY : PG_GETARG_INT32(argno);

	if (priority < 1 || priority > 5)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("task_priority must be 1 to 5, but is %d", priority),
				 errhint("1 is the most urgent, 3 the default.")));
	return Int16GetDatum(priority);
}

/*
 * arg_tags returns a list of tags, empty for NULL.  A NULL among them or a
 * second dimension is refused with 22023; the lower bound is the caller's and
 * is kept.
 */
ArrayType *
arg_tags(FunctionCallInfo fcinfo, int argno, const char *name)
{
	ArrayType  *tags;

	if (PG_ARGISNULL(argno))
		return construct_empty_array(TEXTOID);

	tags = PG_GETARG_ARRAYTYPE_P(argno);
	if (ARR_NDIM(tags) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must have one dimension, not %d", name, ARR_NDIM(tags)),
				 errhint("Give a plain list, such as ARRAY['gpu', 'eu'].")));
	if (array_contains_nulls(tags))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not contain a NULL", name),
				 errhint("Leave the element out.")));
	return tags;
}

/*
 * arg_check_size raises 54000 for a snapshot or an output of more than 256 MB.
 */
void
arg_check_size(Size size, const char *name)
{
	if (size > DATA_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s is %zu bytes long, more than %d",
						name, size, DATA_MAX_BYTES),
				 errhint("Keep large results elsewhere and save a reference to them.")));
}

/*
 * arg_data returns a snapshot or an output, detoasted, or NULL.  More than
 * 256 MB are refused with 54000, before anything is copied.
 */
NullableDatum
arg_data(FunctionCallInfo fcinfo, int argno, const char *name)
{
	NullableDatum result = fcinfo->args[argno];

	if (result.isnull)
		return result;

	arg_check_size(toast_raw_datum_size(result.value) - VARHDRSZ, name);
	result.value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(result.value));
	return result;
}
