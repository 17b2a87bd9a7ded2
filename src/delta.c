/*-------------------------------------------------------------------------
 *
 * delta.c
 *		Bytes as what differs from other bytes, by libzstd.
 *
 * The format is zstd's own, with the bytes before as the prefix that a frame
 * may refer to; without bytes before it is a plain zstd frame.
 *
 * Memory: one context for each direction, made at the first use in a backend
 * and kept, since making one costs as much as a small snapshot.  libzstd
 * allocates outside of memory contexts and raises no errors, and nothing here
 * raises one while it works, so nothing is lost by an abort.  What a large
 * snapshot made a context grow to is given back at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "delta.h"

#ifdef USE_LIBZSTD_HISTORY

#include <zstd.h>
#include <zstd_errors.h>

/*
 * Measured on JSON snapshots of 100 kB: higher levels take several times as
 * long and save nothing on what differs little.
 */
#define DELTA_LEVEL			1

/*
 * The table of level 1 forgets the beginning of what is larger than this; the
 * matcher for long distances then finds it again.
 */
#define DELTA_LONG_BYTES	(512 * 1024)

/* More than this a context does not keep */
#define DELTA_KEEP_BYTES	(4 * 1024 * 1024)

static ZSTD_CCtx *compressor = NULL;
static ZSTD_DCtx *expander = NULL;

/*
 * delta_compress writes data as what differs from the bytes before (NULL for
 * none) and returns its length, or -1 when it does not fit or could not be
 * done: the caller then keeps the data whole.
 */
int
delta_compress(DeltaEffort effort, const char *data, int len,
			   const char *before, int before_len, char *to, int to_len)
{
	uint64		window = (uint64) len + (before == NULL ? 0 : before_len);
	int			window_log = 10;
	size_t		result;

	if (compressor == NULL)
		compressor = ZSTD_createCCtx();
	if (compressor == NULL)
		return -1;

	while ((UINT64CONST(1) << window_log) < window)
		window_log++;

	ZSTD_CCtx_reset(compressor, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, DELTA_LEVEL);
	/* The size is stored beside it, and the whole has its SHA-256 */
	ZSTD_CCtx_setParameter(compressor, ZSTD_c_contentSizeFlag, 0);
	if (before != NULL)
	{
		ZSTD_CCtx_setParameter(compressor, ZSTD_c_windowLog, window_log);
		if (effort == DELTA_LONG || window > DELTA_LONG_BYTES)
			ZSTD_CCtx_setParameter(compressor, ZSTD_c_enableLongDistanceMatching, 1);
		if (effort == DELTA_LONG)
		{
			/* One position of 16: the members of a JSON map are as short as that */
			ZSTD_CCtx_setParameter(compressor, ZSTD_c_ldmHashRateLog, 4);
			ZSTD_CCtx_setParameter(compressor, ZSTD_c_ldmMinMatch, 64);
			ZSTD_CCtx_setParameter(compressor, ZSTD_c_ldmHashLog, Max(window_log - 4, 6));
		}
		ZSTD_CCtx_refPrefix(compressor, before, before_len);
	}
	result = ZSTD_compress2(compressor, to, to_len, data, len);

	if (ZSTD_sizeof_CCtx(compressor) > DELTA_KEEP_BYTES)
	{
		ZSTD_freeCCtx(compressor);
		compressor = NULL;
	}
	return ZSTD_isError(result) ? -1 : (int) result;
}

/*
 * delta_expand writes the len bytes that were compressed with these bytes
 * before.  Returns false when what is stored does not give just that many.
 */
bool
delta_expand(const char *stored, int stored_len, const char *before, int before_len,
			 char *to, int len)
{
	size_t		result;

	if (expander == NULL)
		expander = ZSTD_createDCtx();
	if (expander == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));

	ZSTD_DCtx_reset(expander, ZSTD_reset_session_only);
	if (before != NULL)
		ZSTD_DCtx_refPrefix(expander, before, before_len);
	result = ZSTD_decompressDCtx(expander, to, len, stored, stored_len);
	if (ZSTD_isError(result) && ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return !ZSTD_isError(result) && result == (size_t) len;
}

#else							/* !USE_LIBZSTD_HISTORY */

/*
 * delta_compress of a build without libzstd: everything is kept whole.
 */
int
delta_compress(DeltaEffort effort, const char *data, int len,
			   const char *before, int before_len, char *to, int to_len)
{
	return -1;
}

/*
 * delta_expand of a build without libzstd meets what another build has written.
 */
bool
delta_expand(const char *stored, int stored_len, const char *before, int before_len,
			 char *to, int len)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a version that is stored compressed cannot be read"),
			 errdetail("This build of sayiir_pg is without libzstd."),
			 errhint("Install a build with libzstd.")));
	return false;
}

#endif							/* USE_LIBZSTD_HISTORY */
