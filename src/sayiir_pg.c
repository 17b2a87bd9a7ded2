/*-------------------------------------------------------------------------
 *
 * sayiir_pg.c
 *		Entry of the library: module magic and start-up.
 *
 * Memory: a call works in the caller's context and in SPI's own, which go
 * with the call; what outlives a call is the plans and the name of the
 * extension's schema (plan.c), once in a backend.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"
#include "settings.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	settings_init();
}
