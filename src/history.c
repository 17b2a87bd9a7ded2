/*-------------------------------------------------------------------------
 *
 * history.c
 *		The versions of an instance: the one place that reads and writes
 *		snapshot bytes.
 *
 * Writers hold the lock of the instance's snapshot row, so versions follow
 * each other without a hole and two writers never meet here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arg.h"
#include "compat.h"
#include "digest.h"
#include "errors.h"
#include "history.h"
#include "history_store.h"

/*
 * A plain version up to this size is handed over as it was read for the check of
 * its hash, and a larger one as a pointer to where it is stored, so that it is
 * not held twice.
 */
#define HAND_OVER_BYTES		(1024 * 1024)

/* What rebuild_part is to rebuild */
typedef struct Rebuild
{
	text	   *instance_id;
	const StoredVersion *stored;
	MemoryContext context;
	bytea	   *data;			/* NULL: damaged */
} Rebuild;

static bytea *history_rebuild(PlanCall *call, text *instance_id, const StoredVersion *stored);
static void rebuild_part(PlanCall *call, void *arg);
static void history_get(PlanCall *call, HistoryVersion *found, int version);
static void history_put(PlanCall *call, text *instance_id, const HistoryVersion *version,
						const StoredVersion *stored);
static void history_replace(PlanCall *call, text *instance_id, const StoredVersion *stored);

static PlanStatement append_version = {
	.sql =
	"INSERT INTO @.sayiir_workflow_versions"
	" (instance_id, version, status, current_task_id, data, data_hash, created_at,"
	" size, base, untried)"
	" VALUES ($1, $2, $3, $4, $5, $6, now(), $7, $8, $9)",
	.expected = SPI_OK_INSERT,
	.nargs = 9,
	.argtypes = {TEXTOID, INT4OID, TEXTOID, BYTEAOID, BYTEAOID, BYTEAOID,
	INT4OID, INT4OID, INT2OID},
};

/*
 * The bytes do not pass through this library.  A large snapshot that is stored
 * whole is not written again, but referred to; a delta, which is small, is
 * repeated.
 */
static PlanStatement carry_version = {
	.sql =
	"INSERT INTO @.sayiir_workflow_versions"
	" (instance_id, version, status, current_task_id, data_hash, created_at, size, untried,"
	" base, data)"
	" SELECT h.instance_id, $3, h.status, h.current_task_id, h.data_hash, now(),"
	" CASE WHEN w.refer THEN COALESCE(h.size, octet_length(h.data)) ELSE h.size END, h.untried,"
	" CASE WHEN w.refer THEN h.version ELSE h.base END,"
	" CASE WHEN w.refer THEN ''::bytea ELSE h.data END"
	" FROM @.sayiir_workflow_versions AS h CROSS JOIN LATERAL"
	"  (SELECT h.base IS NULL AND COALESCE(h.size, octet_length(h.data)) >= $4 AS refer) AS w"
	" WHERE h.instance_id = $1 AND h.version = $2",
	.expected = SPI_OK_INSERT,
	.nargs = 4,
	.argtypes = {TEXTOID, INT4OID, INT4OID, INT4OID},
};

#define FIND_STATUS				1
#define FIND_CURRENT_TASK_ID	2
#define FIND_DATA_HASH			3
#define FIND_CREATED_AT			4
#define FIND_STORED				5
#define FIND_DATA				(FIND_STORED + STORED_NCOLUMNS - 1)

static PlanStatement find_version = {
	.sql =
	"SELECT h.status, h.current_task_id, h.data_hash, h.created_at"
	" FROM @.sayiir_workflow_versions AS h"
	" WHERE h.instance_id = $1 AND h.version = $2",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

static PlanStatement read_version = {
	.sql =
	"SELECT h.status, h.current_task_id, h.data_hash, h.created_at, " STORED_COLUMNS("h")
	" FROM @.sayiir_workflow_versions AS h"
	" WHERE h.instance_id = $1 AND h.version = $2",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

static PlanStatement find_dependents = {
	.sql =
	"SELECT " STORED_COLUMNS("h")
	" FROM @.sayiir_workflow_versions AS h"
	" WHERE h.instance_id = $1 AND h.version > $2 AND h.base <= $2"
	" ORDER BY h.version",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

static PlanStatement replace_version = {
	.sql =
	"UPDATE @.sayiir_workflow_versions AS h"
	" SET data = $3, size = $4, base = $5, untried = $6"
	" WHERE h.instance_id = $1 AND h.version = $2",
	.expected = SPI_OK_UPDATE,
	.nargs = 6,
	.argtypes = {TEXTOID, INT4OID, BYTEAOID, INT4OID, INT4OID, INT2OID},
};

static PlanStatement delete_versions = {
	.sql =
	"DELETE FROM @.sayiir_workflow_versions AS h"
	" WHERE h.instance_id = $1 AND h.version <= $2",
	.expected = SPI_OK_DELETE,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

/*
 * history_append writes a version with these bytes.  A trigger that swallows
 * the row is an error (09000): nobody could load that version.  Raises 54000 for
 * more than 256 MB.
 */
void
history_append(PlanCall *call, text *instance_id,
			   const HistoryVersion *version, Datum data)
{
	StoredVersion stored;

	/* What the server made of a snapshot can have grown beyond what it takes */
	arg_check_size(VARSIZE_ANY_EXHDR(data), "data");
	store_choose(call, instance_id, version->version, data, version->data_hash, &stored);
	history_put(call, instance_id, version, &stored);
	if (DatumGetPointer(stored.data) != DatumGetPointer(data))
		pfree(DatumGetPointer(stored.data));
}

/*
 * history_carry writes a version that repeats another one.
 */
void
history_carry(PlanCall *call, text *instance_id, int from, int to)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(from)),
		plan_arg(Int32GetDatum(to)),
		plan_arg(Int32GetDatum(store_delta_least())),
	};

	if (plan_run(call, &carry_version, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_versions");
}

/*
 * history_find tells whether there is such a version, and what is beside its
 * bytes.  It sees what was committed before now.
 */
bool
history_find(PlanCall *call, text *instance_id, int version,
			 HistoryVersion *found)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version)),
	};

	if (plan_run(call, &find_version, args) == 0)
		return false;
	history_get(call, found, version);
	return true;
}

/*
 * history_read is history_find with the bytes, under the snapshot of the
 * calling query.  All that it returns outlives the call of plan_end(); the
 * bytes are palloc'd, and may be a pointer to where they are stored.  Raises
 * XX001 when they are not those that were saved.
 */
bool
history_read(PlanCall *call, text *instance_id, int version,
			 HistoryVersion *found, Datum *data)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version)),
	};
	StoredVersion stored;
	bytea	   *bytes;

	if (plan_run(call, &read_version, args) == 0)
		return false;
	history_get(call, found, version);
	store_get(call, 0, FIND_STORED, &stored);
	*data = plan_value_for_caller(call, 0, FIND_DATA).value;

	bytes = store_rebuild(call, instance_id, &stored, call->caller);
	if (bytes == NULL)
		error_history_corrupt(instance_id, version);
	if (stored.size > HAND_OVER_BYTES && store_is_plain(&stored))
		pfree(bytes);
	else
	{
		pfree(DatumGetPointer(*data));
		*data = PointerGetDatum(bytes);
	}
	return true;
}

/*
 * history_is_sound tells whether the stored bytes of a version give what was
 * saved.  Returns false also when there is no such version.
 */
bool
history_is_sound(PlanCall *call, text *instance_id, int version)
{
	StoredVersion stored;
	bytea	   *bytes;

	if (!store_find(call, instance_id, version, &stored))
		return false;
	bytes = history_rebuild(call, instance_id, &stored);
	if (bytes == NULL)
		return false;
	pfree(bytes);
	return true;
}

/*
 * history_rebuild returns the bytes of a version, in this context, or NULL when
 * what is stored does not give what was saved, or cannot even be read.
 */
static bytea *
history_rebuild(PlanCall *call, text *instance_id, const StoredVersion *stored)
{
	Rebuild		rebuild = {instance_id, stored, CurrentMemoryContext, NULL};
	ErrorData  *error = plan_try(call, rebuild_part, &rebuild);

	if (error == NULL)
		return rebuild.data;
	FreeErrorData(error);
	return NULL;
}

/*
 * rebuild_part is the part of history_rebuild that can fail.
 */
static void
rebuild_part(PlanCall *call, void *arg)
{
	Rebuild    *rebuild = arg;

	rebuild->data = store_rebuild(call, rebuild->instance_id, rebuild->stored,
								  rebuild->context);
}

/*
 * history_cut deletes the versions up to this one, which is not the newest, and
 * returns how many they were.  What later versions need of them is written anew
 * first: the first that stays is stored whole, and what built on older ones, at
 * most a few versions, builds on that one.  Returns 0, and changes nothing, when
 * one of those cannot be rebuilt.
 */
int64
history_cut(PlanCall *call, text *instance_id, int version)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version)),
	};
	uint64		n = plan_run(call, &find_dependents, args);
	StoredVersion *dependents = palloc(sizeof(StoredVersion) * (n + 1));
	StoredVersion first;
	bytea	   *first_data = NULL;
	uint64		i;

	for (i = 0; i < n; i++)
		store_get(call, i, 1, &dependents[i]);

	/* All are rebuilt before the first is changed */
	for (i = 0; i < n; i++)
	{
		bytea	   *data = history_rebuild(call, instance_id, &dependents[i]);

		if (data == NULL)
			return 0;
		if (i == 0 && dependents[i].version == version + 1)
			first_data = data;
		else
			pfree(data);
	}
	if (n > 0 && first_data == NULL)
	{
		if (!store_find(call, instance_id, version + 1, &first) ||
			(first_data = history_rebuild(call, instance_id, &first)) == NULL)
			return 0;
	}

	for (i = n; i > 0; i--)
	{
		StoredVersion *stored = &dependents[i - 1];
		bool		is_first = stored->version == version + 1;
		bytea	   *data = is_first ? first_data :
			store_rebuild(call, instance_id, stored, CurrentMemoryContext);

		first = *stored;
		first.version = version + 1;
		first.data = PointerGetDatum(first_data);
		first.size = VARSIZE_ANY_EXHDR(first_data);
		store_choose_on(is_first ? NULL : &first, first_data, PointerGetDatum(data), stored);
		history_replace(call, instance_id, stored);
		if (DatumGetPointer(stored->data) != (Pointer) data)
			pfree(DatumGetPointer(stored->data));
		if (!is_first)
			pfree(data);
	}
	if (first_data != NULL)
		pfree(first_data);
	pfree(dependents);
	return (int64) plan_run(call, &delete_versions, args);
}

/*
 * history_delete deletes all versions of an instance.
 */
void
history_delete(PlanCall *call, text *instance_id)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(PG_INT32_MAX)),
	};

	plan_run(call, &delete_versions, args);
}

/*
 * history_put inserts the row of a version.
 */
static void
history_put(PlanCall *call, text *instance_id, const HistoryVersion *version,
			const StoredVersion *stored)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version->version)),
		plan_arg(CStringGetTextDatum(status_name(version->status))),
		version->current_task_id,
		plan_arg(stored->data),
		plan_arg(version->data_hash),
		store_is_plain(stored) ? plan_null() : plan_arg(Int32GetDatum(stored->size)),
		stored->base == NO_BASE ? plan_null() : plan_arg(Int32GetDatum(stored->base)),
		plan_arg(Int16GetDatum(stored->untried)),
	};

	if (plan_run(call, &append_version, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_versions");
}

/*
 * history_replace stores the bytes of a version in another way.
 */
static void
history_replace(PlanCall *call, text *instance_id, const StoredVersion *stored)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(stored->version)),
		plan_arg(stored->data),
		store_is_plain(stored) ? plan_null() : plan_arg(Int32GetDatum(stored->size)),
		stored->base == NO_BASE ? plan_null() : plan_arg(Int32GetDatum(stored->base)),
		plan_arg(Int16GetDatum(stored->untried)),
	};

	if (plan_run(call, &replace_version, args) != 1)
		error_suppressed(instance_id, "sayiir_workflow_versions");
}

/*
 * history_get reads what is beside the bytes out of the newest result.
 */
static void
history_get(PlanCall *call, HistoryVersion *found, int version)
{
	text	   *status = DatumGetTextPP(plan_value(call, 0, FIND_STATUS).value);

	found->version = version;
	if (!status_parse(VARDATA_ANY(status), VARSIZE_ANY_EXHDR(status), &found->status))
		elog(ERROR, "unknown status in sayiir_workflow_versions");
	found->current_task_id = plan_value_for_caller(call, 0, FIND_CURRENT_TASK_ID);
	found->data_hash = plan_value_for_caller(call, 0, FIND_DATA_HASH).value;
	found->created_at = DatumGetTimestampTz(plan_value(call, 0, FIND_CREATED_AT).value);
}
