/*-------------------------------------------------------------------------
 *
 * history_store.h
 *		How the bytes of a version are stored: whole, or as what differs from an
 *		earlier version.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_HISTORY_STORE_H
#define SAYIIR_HISTORY_STORE_H

#include "plan.h"

#define NO_BASE		0			/* stored whole; versions begin with 1 */

/* How a version is stored, or is to be stored */
typedef struct StoredVersion
{
	int			version;
	int			base;			/* version that its bytes build on, or NO_BASE */
	int			size;			/* of the snapshot, in bytes */
	int			untried;		/* so many versions after it are to be stored
								 * whole without trying anything else */
	Datum		data_hash;		/* bytea */
	Datum		data;			/* bytea, as stored; may be a pointer to it */
} StoredVersion;

/* A select list for store_get(), and its number of columns */
#define STORED_COLUMNS(h) \
	h ".version, COALESCE(" h ".base, 0), COALESCE(" h ".size, octet_length(" h ".data))," \
	" " h ".untried, " h ".data_hash, " h ".data"
#define STORED_NCOLUMNS	6

extern void store_get(PlanCall *call, uint64 row, int first_column, StoredVersion *stored);
extern bool store_find(PlanCall *call, text *instance_id, int version, StoredVersion *stored);
extern void store_choose(PlanCall *call, text *instance_id, int version, Datum data,
						 Datum data_hash, StoredVersion *stored);
extern void store_choose_on(const StoredVersion *base, const bytea *base_data, Datum data,
							StoredVersion *stored);
extern bytea *store_rebuild(PlanCall *call, text *instance_id, const StoredVersion *stored,
							MemoryContext context);
extern bool store_is_plain(const StoredVersion *stored);
extern bool store_bytes_shared(const StoredVersion *stored);
extern int	store_delta_least(void);

#endif							/* SAYIIR_HISTORY_STORE_H */
