/*-------------------------------------------------------------------------
 *
 * history_store.c
 *		How the bytes of a version are stored: whole, or as what differs from an
 *		earlier version.
 *
 * A stored version is one of
 *		plain	size and base are NULL, and data is the snapshot: what "full" writes,
 *				and what the server then compresses by its own means;
 *		packed	base is NULL, and data is a zstd frame, shorter than size;
 *		delta	data is a zstd frame that refers to the bytes of version base;
 *		same	data is empty: the bytes are those of version base.
 * The path of a version is itself, its base, the base of that, and so on to the
 * first that is stored whole, its root.  All that a version needs is on its
 * path, and nothing on it is newer than the version.
 *
 * Not every delta builds on the version just before: in a chain of such a load
 * would read every version since the root, and the root is what costs most, so
 * there should be few of them.  Versions are numbered from their root, and each
 * builds on the one whose number lacks its lowest bit: 7 on 6, 6 on 4, 4 on the
 * root, which is 0.  The path to a version is as long as its number has bits, and
 * the deltas stay small: half of them bring what one step has changed, a
 * quarter what two have, and so on.  After ROOT_VERSIONS, or when a delta is not
 * much smaller than the whole, there is a new root.  Each of these bases is on
 * the path of the version just before, so a save reads that path and nothing
 * else.
 *
 * Nothing here is cached between calls.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"

#include "arg.h"
#include "compat.h"
#include "delta.h"
#include "digest.h"
#include "history_store.h"
#include "settings.h"

/*
 * What is smaller is stored plain, and what is larger too: reading the version
 * before costs more than it saves, or too much memory.
 */
#define DELTA_LEAST_BYTES	3072
#define DELTA_MOST_BYTES	(64 * 1024 * 1024)

/*
 * Versions that build on a root.  More of them would save next to nothing, and
 * make a load longer.
 */
#define ROOT_VERSIONS		64

/* Rows that a load reads at most */
#define PATH_MOST_ROWS		32

/* A delta is worth it below this part of what the whole would take */
#define DELTA_WORTH(whole)	((int64) (whole) * 7 / 10)

/*
 * With more than this, members may have changed places, and a second look is
 * worth its time.  That is so only where there is room for many of them.
 */
#define DELTA_SMALL(size)	Max((size) / 64, 512)

/* A packed whole is worth it below this part of the snapshot */
#define PACKED_WORTH(size)	((int64) (size) * 9 / 10)

/*
 * After a version that differs in everything, so many are not tried: a try
 * costs as much as saving random bytes, and should not be seen beside them.
 */
#define VERSIONS_UNTRIED	127

/* The path of a version, in SPI's memory, the newest first and the root last */
typedef struct Path
{
	StoredVersion rows[PATH_MOST_ROWS + 1];
	int			nrows;
} Path;

static PlanStatement find_stored = {
	.sql =
	"SELECT " STORED_COLUMNS("h")
	" FROM @.sayiir_workflow_versions AS h"
	" WHERE h.instance_id = $1 AND h.version = $2",
	.expected = SPI_OK_SELECT,
	.nargs = 2,
	.argtypes = {TEXTOID, INT4OID},
};

/* A base is older, so this ends whatever the rows say */
static PlanStatement find_path = {
	.sql =
	"WITH RECURSIVE path AS ("
	"SELECT h.version, h.base, h.size, h.untried, h.data_hash, h.data"
	" FROM @.sayiir_workflow_versions AS h"
	" WHERE h.instance_id = $1 AND h.version = $2"
	" UNION ALL "
	"SELECT h.version, h.base, h.size, h.untried, h.data_hash, h.data"
	" FROM path AS p JOIN @.sayiir_workflow_versions AS h"
	" ON h.instance_id = $1 AND h.version = p.base"
	" WHERE p.base < p.version"
	") SELECT " STORED_COLUMNS("p") " FROM path AS p ORDER BY p.version DESC LIMIT $3",
	.expected = SPI_OK_SELECT,
	.nargs = 3,
	.argtypes = {TEXTOID, INT4OID, INT4OID},
};

static bool path_read(PlanCall *call, text *instance_id, const StoredVersion *newest,
					  Path *path);
static bytea *path_rebuild(const Path *path, int from);
static bool stored_expand(const StoredVersion *stored, const bytea *before, bytea *to);
static int	path_base_for(const Path *path, int version);
static void stored_plain(Datum data, StoredVersion *stored);
static bool stored_packed(Datum data, StoredVersion *stored);
static bool stored_delta(const StoredVersion *root, const StoredVersion *base,
						 const bytea *base_data, Datum data, int64 room,
						 StoredVersion *stored);

/*
 * store_get reads STORED_COLUMNS, which begin at this column, in SPI's memory.
 */
void
store_get(PlanCall *call, uint64 row, int first_column, StoredVersion *stored)
{
	int			n = first_column;

	stored->version = DatumGetInt32(plan_value(call, row, n++).value);
	stored->base = DatumGetInt32(plan_value(call, row, n++).value);
	stored->size = DatumGetInt32(plan_value(call, row, n++).value);
	stored->untried = DatumGetInt16(plan_value(call, row, n++).value);
	stored->data_hash = plan_value(call, row, n++).value;
	stored->data = plan_value(call, row, n++).value;
}

/*
 * store_find tells whether there is such a version, and how it is stored.
 */
bool
store_find(PlanCall *call, text *instance_id, int version, StoredVersion *stored)
{
	NullableDatum args[] = {
		plan_arg(PointerGetDatum(instance_id)),
		plan_arg(Int32GetDatum(version)),
	};

	if (plan_run(call, &find_stored, args) == 0)
		return false;
	store_get(call, 0, 1, stored);
	return true;
}

/*
 * store_is_plain tells whether a version is stored as it is.
 */
bool
store_is_plain(const StoredVersion *stored)
{
	return stored->base == NO_BASE &&
		toast_raw_datum_size(stored->data) == (Size) stored->size + VARHDRSZ;
}

/*
 * store_bytes_shared tells whether a version is stored as the same bytes as
 * another one.
 */
bool
store_bytes_shared(const StoredVersion *stored)
{
	return stored->base != NO_BASE && toast_raw_datum_size(stored->data) == VARHDRSZ;
}

/*
 * store_delta_least returns from how many bytes on a snapshot is stored in
 * another way than plain; a number that none has when that is switched off.
 */
int
store_delta_least(void)
{
	return setting_history == HISTORY_DELTA ? DELTA_LEAST_BYTES : PG_INT32_MAX;
}

/*
 * store_choose decides how a new version is stored, and makes the bytes for it.
 * Only a snapshot that is worth it has the path of the version before read.
 */
void
store_choose(PlanCall *call, text *instance_id, int version, Datum data,
			 Datum data_hash, StoredVersion *stored)
{
	int			size = VARSIZE_ANY_EXHDR(data);
	StoredVersion before;
	Path		path;
	int			from;
	int64		room;
	bytea	   *base_data;
	bool		hopeless = false;
	int			i;

	stored->version = version;
	stored->data_hash = data_hash;
	if (size < store_delta_least() || size > DELTA_MOST_BYTES)
	{
		stored_plain(data, stored);
		return;
	}
	if (version == 1 || !store_find(call, instance_id, version - 1, &before))
	{
		if (!stored_packed(data, stored))
			stored_plain(data, stored);
		return;
	}

	if (before.size == size && digest_equal(before.data_hash, data_hash))
	{
		stored->base = store_bytes_shared(&before) ? before.base : before.version;
		stored->size = size;
		stored->untried = before.untried;
		stored->data = PointerGetDatum(palloc0(VARHDRSZ));
		SET_VARSIZE(DatumGetPointer(stored->data), VARHDRSZ);
		return;
	}

	if (before.untried > 0)
	{
		stored_plain(data, stored);
		stored->untried = before.untried - 1;
		return;
	}

	if (path_read(call, instance_id, &before, &path) &&
		(from = path_base_for(&path, version)) >= 0)
	{
		room = 2 * (int64) size;
		for (i = from; i < path.nrows; i++)
		{
			room -= toast_datum_size(path.rows[i].data);
			if (path.rows[i].size > DELTA_MOST_BYTES)
				room = 0;
		}
		if (room > 0 && path.nrows - from < PATH_MOST_ROWS - 1 &&
			(base_data = path_rebuild(&path, from)) != NULL)
		{
			bool		worth = stored_delta(&path.rows[path.nrows - 1], &path.rows[from],
											 base_data, data, room, stored);

			pfree(base_data);
			if (worth)
				return;

			/*
			 * Far from its root a delta grows, and a new root is due.  When
			 * already the first after a root is not worth it, and it does not
			 * shrink by itself, more of the same is likely to come.
			 */
			hopeless = from == path.nrows - 1 && from <= 1 &&
				before.size >= DELTA_LEAST_BYTES && size / 2 < before.size;
		}
	}
	if (!stored_packed(data, stored))
	{
		stored_plain(data, stored);
		if (hopeless)
			stored->untried = VERSIONS_UNTRIED;
	}
}

/*
 * store_choose_on decides how a version is stored whose base is given, with its
 * bytes, or, with NULL, that is to be stored whole.
 */
void
store_choose_on(const StoredVersion *base, const bytea *base_data, Datum data,
				StoredVersion *stored)
{
	int			size = VARSIZE_ANY_EXHDR(data);

	if (base != NULL &&
		stored_delta(base, base, base_data, data, 2 * (int64) size, stored))
		return;
	if (size < DELTA_LEAST_BYTES || size > DELTA_MOST_BYTES || !stored_packed(data, stored))
		stored_plain(data, stored);
}

/*
 * store_rebuild returns the bytes of a version, in this context, or NULL
 * when what is stored does not give the bytes that were saved.
 */
bytea *
store_rebuild(PlanCall *call, text *instance_id, const StoredVersion *stored,
			  MemoryContext context)
{
	Path		path;
	bytea	   *data = NULL;
	bytea	   *hash;
	bool		same;

	if (path_read(call, instance_id, stored, &path))
	{
		/* Only now: running a statement leaves us in SPI's context */
		MemoryContext old = MemoryContextSwitchTo(context);

		data = path_rebuild(&path, 0);
		MemoryContextSwitchTo(old);
	}
	if (data == NULL)
		return NULL;

	hash = digest_sha256(VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data));
	same = digest_equal(PointerGetDatum(hash), stored->data_hash);
	pfree(hash);
	if (same)
		return data;
	pfree(data);
	return NULL;
}

/*
 * path_read reads the path of a version.  Returns false when it does not end in
 * one that is stored whole, or is longer than any that is written.
 */
static bool
path_read(PlanCall *call, text *instance_id, const StoredVersion *newest, Path *path)
{
	uint64		i;

	path->rows[0] = *newest;
	path->nrows = 1;
	if (newest->base != NO_BASE)
	{
		NullableDatum args[] = {
			plan_arg(PointerGetDatum(instance_id)),
			plan_arg(Int32GetDatum(newest->base)),
			plan_arg(Int32GetDatum(PATH_MOST_ROWS)),
		};
		uint64		n = newest->base < newest->version ? plan_run(call, &find_path, args) : 0;

		for (i = 0; i < n; i++)
			store_get(call, i, 1, &path->rows[path->nrows++]);
	}
	return path->rows[path->nrows - 1].base == NO_BASE;
}

/*
 * path_rebuild returns the bytes of a row of a path, palloc'd, or NULL when the
 * stored bytes cannot be read.  Two buffers take turns, however long the path
 * is: fresh memory for each row would cost more than the rows.
 */
static bytea *
path_rebuild(const Path *path, int from)
{
	bytea	   *data = NULL;
	bytea	   *spare = NULL;
	int			data_room = 0;
	int			spare_room = 0;
	int			room = 0;
	int			i;

	for (i = from; i < path->nrows; i++)
	{
		if (path->rows[i].size < 0 || path->rows[i].size > DATA_MAX_BYTES)
			return NULL;
		room = Max(room, path->rows[i].size);
	}

	for (i = path->nrows - 1; i >= from; i--)
	{
		const StoredVersion *row = &path->rows[i];

		CHECK_FOR_INTERRUPTS();
		if (store_is_plain(row))
		{
			/* A copy, so that the caller may free it, whatever it is */
			data = DatumGetByteaPCopy(row->data);
			data_room = row->size;
		}
		else if (store_bytes_shared(row))
		{
			if (VARSIZE_ANY_EXHDR(data) != row->size)
				break;
		}
		else
		{
			bytea	   *before = data;
			int			before_room = data_room;

			if (spare_room < row->size)
			{
				if (spare != NULL)
					pfree(spare);
				spare = palloc(VARHDRSZ + room);
				spare_room = room;
			}
			if (!stored_expand(row, before, spare))
				break;
			data = spare;
			data_room = spare_room;
			spare = before;
			spare_room = before_room;
		}
	}
	if (spare != NULL)
		pfree(spare);
	if (i >= from)
	{
		if (data != NULL)
			pfree(data);
		return NULL;
	}
	return data;
}

/*
 * stored_expand writes the bytes of a version that is stored as a zstd frame,
 * given those of its base, if it has one.  Returns false when that cannot be.
 */
static bool
stored_expand(const StoredVersion *stored, const bytea *before, bytea *to)
{
	bytea	   *bytes = DatumGetByteaPP(stored->data);
	bool		done;

	SET_VARSIZE(to, VARHDRSZ + stored->size);
	done = delta_expand(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
						before == NULL ? NULL : VARDATA_ANY(before),
						before == NULL ? 0 : VARSIZE_ANY_EXHDR(before),
						VARDATA(to), stored->size);
	if ((Pointer) bytes != DatumGetPointer(stored->data))
		pfree(bytes);
	return done;
}

/*
 * path_base_for returns which row of the path of the version before a new one
 * builds on, as the head of this file says, or -1 when a new root is due.
 */
static int
path_base_for(const Path *path, int version)
{
	int			number = version - path->rows[path->nrows - 1].version;
	int			base = version - (number & -number);
	int			i = 0;

	if (number >= ROOT_VERSIONS)
		return -1;
	while (i < path->nrows - 1 && path->rows[i].version > base)
		i++;
	/* Building on the same bytes' own row is one row less to read */
	while (i < path->nrows - 1 && store_bytes_shared(&path->rows[i]))
		i++;
	return i;
}

/*
 * stored_plain makes a version be stored as it is.
 */
static void
stored_plain(Datum data, StoredVersion *stored)
{
	stored->base = NO_BASE;
	stored->size = VARSIZE_ANY_EXHDR(data);
	stored->untried = 0;
	stored->data = data;
}

/*
 * stored_packed makes a version be stored whole in a zstd frame, if that is
 * worth it.
 */
static bool
stored_packed(Datum data, StoredVersion *stored)
{
	int			size = VARSIZE_ANY_EXHDR(data);
	int			room = PACKED_WORTH(size);
	bytea	   *bytes = palloc(VARHDRSZ + room);
	int			len = delta_compress(DELTA_QUICK, VARDATA_ANY(data), size, NULL, 0,
										 VARDATA(bytes), room);

	if (len < 0)
	{
		pfree(bytes);
		return false;
	}
	SET_VARSIZE(bytes, VARHDRSZ + len);
	stored->base = NO_BASE;
	stored->size = size;
	stored->untried = 0;
	stored->data = PointerGetDatum(bytes);
	return true;
}

/*
 * stored_delta makes a version be stored as what differs from base, if that is
 * worth it: small beside the whole, as that of the root tells, and not more
 * than the room that a load has left.
 */
static bool
stored_delta(const StoredVersion *root, const StoredVersion *base, const bytea *base_data,
			 Datum data, int64 room, StoredVersion *stored)
{
	int			size = VARSIZE_ANY_EXHDR(data);
	int64		whole = (int64) toast_datum_size(root->data) * size / Max(root->size, 1);
	bytea	   *bytes;
	int			len;

	room = Min(room, DELTA_WORTH(Min(whole, size)));
	if (room <= 0)
		return false;
	bytes = palloc(VARHDRSZ + room);
	len = delta_compress(DELTA_QUICK, VARDATA_ANY(data), size,
						 VARDATA_ANY(base_data), VARSIZE_ANY_EXHDR(base_data),
						 VARDATA(bytes), room);
	if (len <= 0)
	{
		pfree(bytes);
		return false;
	}
	if (len > DELTA_SMALL(size))
	{
		bytea	   *better = palloc(VARHDRSZ + len);
		int			better_len = delta_compress(DELTA_LONG, VARDATA_ANY(data), size,
												VARDATA_ANY(base_data), VARSIZE_ANY_EXHDR(base_data),
												VARDATA(better), len - 1);

		if (better_len > 0)
		{
			bytea	   *worse = bytes;

			bytes = better;
			better = worse;
			len = better_len;
		}
		pfree(better);
	}
	SET_VARSIZE(bytes, VARHDRSZ + len);
	stored->base = base->version;
	stored->size = size;
	stored->untried = 0;
	stored->data = PointerGetDatum(bytes);
	return true;
}
