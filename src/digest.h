/*-------------------------------------------------------------------------
 *
 * digest.h
 *		SHA-256 by the server's own code.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_DIGEST_H
#define SAYIIR_DIGEST_H

extern bytea *digest_sha256(const void *data, Size len);
extern Datum digest_datum(const uint8 *digest);
extern Datum digest_of_data(Datum data);
extern bool digest_equal(Datum a, Datum b);
extern bool digest_equal_or_null(NullableDatum a, NullableDatum b);

#endif							/* SAYIIR_DIGEST_H */
