/*-------------------------------------------------------------------------
 *
 * digest.c
 *		SHA-256 by the server's own code, which is OpenSSL's where the server
 *		was built with it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "compat.h"
#include "digest.h"

/* A query can be cancelled between two pieces of this size. */
#define DIGEST_PIECE	(16 * 1024 * 1024)

/*
 * digest_sha256 returns the SHA-256 of len bytes, in the current context.
 */
bytea *
digest_sha256(const void *data, Size len)
{
	pg_cryptohash_ctx *ctx = pg_cryptohash_create(PG_SHA256);
	bytea	   *result = palloc(VARHDRSZ + PG_SHA256_DIGEST_LENGTH);
	const uint8 *next = data;

	SET_VARSIZE(result, VARHDRSZ + PG_SHA256_DIGEST_LENGTH);

	if (ctx == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	if (pg_cryptohash_init(ctx) < 0)
		elog(ERROR, "could not initialize %s context: %s", "SHA256",
			 pg_cryptohash_error(ctx));
	while (len > DIGEST_PIECE)
	{
		if (pg_cryptohash_update(ctx, next, DIGEST_PIECE) < 0)
			elog(ERROR, "could not update %s context: %s", "SHA256",
				 pg_cryptohash_error(ctx));
		next += DIGEST_PIECE;
		len -= DIGEST_PIECE;
		CHECK_FOR_INTERRUPTS();
	}
	if (pg_cryptohash_update(ctx, next, len) < 0 ||
		pg_cryptohash_final(ctx, (uint8 *) VARDATA(result),
							PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not compute %s hash: %s", "SHA256",
			 pg_cryptohash_error(ctx));
	pg_cryptohash_free(ctx);

	return result;
}

/*
 * digest_datum makes a bytea of the bytes of a digest, or an id.
 */
Datum
digest_datum(const uint8 *digest)
{
	bytea	   *result = palloc(VARHDRSZ + PG_SHA256_DIGEST_LENGTH);

	SET_VARSIZE(result, VARHDRSZ + PG_SHA256_DIGEST_LENGTH);
	memcpy(VARDATA(result), digest, PG_SHA256_DIGEST_LENGTH);
	return PointerGetDatum(result);
}

/*
 * digest_of_data returns the SHA-256 of a value of type bytea, detoasted.
 */
Datum
digest_of_data(Datum data)
{
	return PointerGetDatum(digest_sha256(VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data)));
}

/*
 * digest_equal compares two digests, or ids, which are digests of names.
 */
bool
digest_equal(Datum a, Datum b)
{
	bytea	   *left = DatumGetByteaPP(a);
	bytea	   *right = DatumGetByteaPP(b);

	return VARSIZE_ANY_EXHDR(left) == VARSIZE_ANY_EXHDR(right) &&
		memcmp(VARDATA_ANY(left), VARDATA_ANY(right), VARSIZE_ANY_EXHDR(left)) == 0;
}

/*
 * digest_equal_or_null is digest_equal, where two NULLs are the same.
 */
bool
digest_equal_or_null(NullableDatum a, NullableDatum b)
{
	if (a.isnull || b.isnull)
		return a.isnull && b.isnull;
	return digest_equal(a.value, b.value);
}
