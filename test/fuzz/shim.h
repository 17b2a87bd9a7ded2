/*-------------------------------------------------------------------------
 *
 * shim.h
 *		What src/frame*.c needs of a server, for a program without one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef FUZZ_SHIM_H
#define FUZZ_SHIM_H

#include <setjmp.h>

/* The error that ended the last SHIM_TRY, as far as it was reported. */
typedef struct ShimError
{
	int			code;
	char		message[512];
	char		detail[1024];
	char		hint[512];
} ShimError;

extern ShimError shim_error;
extern sigjmp_buf shim_handler;

extern void shim_free_all(void);

/* true at first; an error comes back here, and it is false */
#define SHIM_TRY()	(sigsetjmp(shim_handler, 0) == 0)

#endif							/* FUZZ_SHIM_H */
