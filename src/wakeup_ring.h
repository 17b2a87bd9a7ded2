/*-------------------------------------------------------------------------
 *
 * wakeup_ring.h
 *		Hints of committed transactions on their way to the process that
 *		sends them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_WAKEUP_RING_H
#define SAYIIR_WAKEUP_RING_H

/* Counters of one database since the server started */
typedef struct WakeupStats
{
	int64		queued;			/* put into the ring */
	int64		sent;			/* notified */
	int64		coalesced;		/* equal to another one of its batch */
	int64		dropped;		/* found no room, or were lost on the way */
} WakeupStats;

/* What a payload is preceded by, in a ring and wherever it is prepared for one */
typedef uint32 WakeupLength;

extern void wakeup_ring_init(void);
extern bool wakeup_ring_is_there(void);
extern void wakeup_ring_stats(Oid database, WakeupStats *stats);

/* For the transaction that has hints */
extern bool wakeup_ring_reserve(Oid database, bool *start_worker);
extern void wakeup_ring_not_started(Oid database);
extern void wakeup_ring_release(Oid database, const char *records, Size len, int64 nlost);

/* For the process that sends them */
extern bool wakeup_ring_attach(Oid database);
extern Size wakeup_ring_take(Oid database, char *buffer, Size size);
extern void wakeup_ring_done(Oid database, int64 sent, int64 coalesced);
extern void wakeup_ring_failed(Oid database);
extern bool wakeup_ring_leave(Oid database);
extern bool wakeup_ring_detach(Oid database);

#endif							/* SAYIIR_WAKEUP_RING_H */
