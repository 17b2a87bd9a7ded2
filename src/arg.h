/*-------------------------------------------------------------------------
 *
 * arg.h
 *		Checks of the arguments of SQL-callable functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_ARG_H
#define SAYIIR_ARG_H

#include "fmgr.h"
#include "utils/array.h"

#include "status.h"

#define INSTANCE_ID_MAX_BYTES	256
#define NAME_MAX_BYTES			256
#define HASH_BYTES				32		/* SHA-256: task ids, definition hashes */
#define DATA_MAX_BYTES			(256 * 1024 * 1024)	/* a snapshot or an output */

#define DEFAULT_PRIORITY		3
#define VERSION_NOT_EXPECTED	(-1)	/* save whatever version is stored */

extern void arg_require(FunctionCallInfo fcinfo, int argno, const char *name);
extern void arg_check_instance_id(text *id);
extern text *arg_instance_id(FunctionCallInfo fcinfo, int argno);
extern void arg_check_name(text *value, const char *name);
extern NullableDatum arg_name(FunctionCallInfo fcinfo, int argno, const char *name);
extern NullableDatum arg_ttl(FunctionCallInfo fcinfo, int argno, const char *name);
extern SnapshotStatus arg_status(FunctionCallInfo fcinfo, int argno);
extern NullableDatum arg_any(FunctionCallInfo fcinfo, int argno);
extern NullableDatum arg_hash(FunctionCallInfo fcinfo, int argno, const char *name);
extern NullableDatum arg_hashes(FunctionCallInfo fcinfo, int argno, const char *name);
extern int64 arg_interval_usecs(Datum interval, int64 most);
extern NullableDatum arg_count(FunctionCallInfo fcinfo, int argno, const char *name);
extern int	arg_version(FunctionCallInfo fcinfo, int argno, const char *name);
extern Datum arg_priority(FunctionCallInfo fcinfo, int argno);
extern ArrayType *arg_tags(FunctionCallInfo fcinfo, int argno, const char *name);
extern void arg_check_size(Size size, const char *name);
extern NullableDatum arg_data(FunctionCallInfo fcinfo, int argno, const char *name);

#endif							/* SAYIIR_ARG_H */
