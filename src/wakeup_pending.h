/*-------------------------------------------------------------------------
 *
 * wakeup_pending.h
 *		The deferred hints of a transaction that has not ended yet.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_WAKEUP_PENDING_H
#define SAYIIR_WAKEUP_PENDING_H

extern bool wakeup_pending_add(const char *payload);

#endif							/* SAYIIR_WAKEUP_PENDING_H */
