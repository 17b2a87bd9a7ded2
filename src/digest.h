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

#endif							/* SAYIIR_DIGEST_H */
