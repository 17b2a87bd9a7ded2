/*-------------------------------------------------------------------------
 *
 * wakeup_ring.c
 *		Hints of committed transactions on their way to the process that
 *		sends them: shared memory, there when the library is preloaded.
 *
 * Each database that uses sayiir.notify = deferred has a ring of bytes: records
 * of a length and a payload, which committing transactions put and the
 * database's one sender takes.  A transaction reserves a place while it can
 * still fail, which sees to it that there is a sender, and gives it up when it
 * ends, with its hints or without.
 *
 * Invariants, under the lock:
 *	-	a ring belongs to a database as long as it has a sender, a byte or a
 *		reservation; after that another database can take it over;
 *	-	who finds bytes or a reservation finds a sender, or one that was asked
 *		for not longer than START_TIMEOUT_MS ago, or the next transaction asks
 *		for one;
 *	-	queued = sent + coalesced + what is in the ring or taken + what of
 *		dropped was lost after it had been put.
 *
 * The lock is held for as long as a few kilobytes are copied.  Nothing here
 * allocates memory or raises an error: it runs in commits that can no longer fail.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "settings.h"
#include "wakeup_ring.h"

#define RING_NAME			"sayiir_pg wakeups"
#define RING_COUNT			16		/* databases at a time */
#define START_TIMEOUT_MS	5000	/* a process asked for is given up after it */

typedef enum SenderState
{
	SENDER_NONE,
	SENDER_STARTING,			/* asked for */
	SENDER_RUNNING
} SenderState;

typedef struct Ring
{
	Oid			database;		/* InvalidOid: nobody's */
	SenderState sender;
	TimestampTz asked_at;		/* for the sender that is starting */
	Latch	   *latch;			/* of the sender that runs */
	int			nreserved;		/* transactions that may still put */
	int64		ntaken;			/* records that the sender has, neither sent nor lost */
	Size		head;			/* of the first byte that is not taken */
	Size		used;			/* bytes from there on, round the end */
	int64		nrecords;		/* in those bytes */
	WakeupStats stats;
} Ring;

typedef struct Rings
{
	LWLock	   *lock;
	Ring		ring[RING_COUNT];
	char		bytes[FLEXIBLE_ARRAY_MEMBER];	/* ring_bytes() of each */
} Rings;

static Rings *rings = NULL;		/* NULL unless preloaded */
static bool requested = false;
static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static Size
ring_bytes(void)
{
	return (Size) setting_wakeup_ring_size * 1024;
}

static Size
shared_size(void)
{
	return add_size(offsetof(Rings, bytes), mul_size(RING_COUNT, ring_bytes()));
}

static void
request_shared_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();
	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche(RING_NAME, 1);
}

static void
find_shared_memory(void)
{
	bool		found;

	if (next_startup_hook != NULL)
		next_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	rings = ShmemInitStruct(RING_NAME, shared_size(), &found);
	if (!found)
	{
		memset(rings, 0, offsetof(Rings, bytes));
		rings->lock = &GetNamedLWLockTranche(RING_NAME)->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

/*
 * wakeup_ring_init asks for the shared memory; to be called while the library is
 * preloaded.
 */
void
wakeup_ring_init(void)
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = find_shared_memory;
	requested = true;
}

/*
 * wakeup_ring_is_there tells whether the library was preloaded.
 */
bool
wakeup_ring_is_there(void)
{
	return requested;
}

/*
 * find returns the ring of a database, or NULL.  The caller holds the lock.
 */
static Ring *
find(Oid database)
{
	int			i;

	for (i = 0; i < RING_COUNT; i++)
	{
		if (rings->ring[i].database == database)
			return &rings->ring[i];
	}
	return NULL;
}

static bool
sender_is_wanted(const Ring *ring)
{
	return ring->sender == SENDER_NONE ||
		(ring->sender == SENDER_STARTING &&
		 TimestampDifferenceExceeds(ring->asked_at, GetCurrentTimestamp(), START_TIMEOUT_MS));
}

/*
 * find_free returns a ring that nobody uses, one that was never used before one
 * that some database has counted in, or NULL.
 *
 * What is left in a ring whose sender never came up is of a database that cannot be
 * connected to, most likely because it was dropped.
 */
static Ring *
find_free(void)
{
	Ring	   *unused = NULL;
	int			i;

	for (i = 0; i < RING_COUNT; i++)
	{
		Ring	   *ring = &rings->ring[i];

		if (!OidIsValid(ring->database))
			return ring;
		if (unused == NULL && ring->nreserved == 0 && sender_is_wanted(ring) &&
			(ring->used == 0 || ring->sender == SENDER_STARTING))
			unused = ring;
	}
	return unused;
}

/*
 * copy_in and copy_out copy bytes at a distance from the head, round the end.
 */
static void
copy_in(Ring *ring, Size distance, const char *from, Size len)
{
	char	   *bytes = rings->bytes + (ring - rings->ring) * ring_bytes();
	Size		at = (ring->head + distance) % ring_bytes();
	Size		first = Min(len, ring_bytes() - at);

	memcpy(bytes + at, from, first);
	memcpy(bytes, from + first, len - first);
}

static void
copy_out(const Ring *ring, Size distance, char *to, Size len)
{
	const char *bytes = rings->bytes + (ring - rings->ring) * ring_bytes();
	Size		at = (ring->head + distance) % ring_bytes();
	Size		first = Min(len, ring_bytes() - at);

	memcpy(to, bytes + at, first);
	memcpy(to + first, bytes, len - first);
}

/*
 * wakeup_ring_stats gives the counters of a database: zeros when it never had a
 * hint deferred, or so long ago that others took its ring over.
 */
void
wakeup_ring_stats(Oid database, WakeupStats *stats)
{
	Ring	   *ring;

	memset(stats, 0, sizeof(WakeupStats));
	if (rings == NULL)
		return;

	LWLockAcquire(rings->lock, LW_SHARED);
	ring = find(database);
	if (ring != NULL)
		*stats = ring->stats;
	LWLockRelease(rings->lock);
}

/*
 * wakeup_ring_reserve makes sure of a ring for the hints of a transaction.
 * Returns false when there is none to be had.  With *start_worker set, the caller
 * has to start the sender.
 */
bool
wakeup_ring_reserve(Oid database, bool *start_worker)
{
	Ring	   *ring;

	*start_worker = false;
	if (rings == NULL)
		return false;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	if (ring == NULL)
	{
		ring = find_free();
		if (ring != NULL)
		{
			memset(ring, 0, sizeof(Ring));
			ring->database = database;
		}
	}
	if (ring != NULL)
	{
		ring->nreserved++;
		if (sender_is_wanted(ring))
		{
			ring->sender = SENDER_STARTING;
			ring->asked_at = GetCurrentTimestamp();
			*start_worker = true;
		}
	}
	LWLockRelease(rings->lock);
	return ring != NULL;
}

/*
 * wakeup_ring_not_started gives a reservation up: its sender could not be
 * started.
 */
void
wakeup_ring_not_started(Oid database)
{
	Ring	   *ring;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	ring->nreserved--;
	if (ring->sender == SENDER_STARTING)
		ring->sender = SENDER_NONE;
	LWLockRelease(rings->lock);
}

/*
 * wakeup_ring_release gives a reservation up and puts these records, of which
 * those that find no room are dropped; nlost others were dropped before.
 */
void
wakeup_ring_release(Oid database, const char *records, Size len, int64 nlost)
{
	Ring	   *ring;
	Latch	   *latch;
	Size		at = 0;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	ring->nreserved--;
	ring->stats.dropped += nlost;
	while (at < len)
	{
		WakeupLength payload;
		Size		record;

		memcpy(&payload, records + at, sizeof(payload));
		record = sizeof(payload) + payload;
		if (record <= ring_bytes() - ring->used)
		{
			copy_in(ring, ring->used, records + at, record);
			ring->used += record;
			ring->nrecords++;
			ring->stats.queued++;
		}
		else
			ring->stats.dropped++;
		at += record;
	}
	latch = ring->used > 0 ? ring->latch : NULL;
	LWLockRelease(rings->lock);

	/* The latch of a process that has ended meanwhile is another one's, which does not mind */
	if (latch != NULL)
		SetLatch(latch);
}

/*
 * wakeup_ring_attach makes this process the sender of a database.  Returns
 * false when it has one, or none is wanted any more.
 */
bool
wakeup_ring_attach(Oid database)
{
	Ring	   *ring;
	bool		attached = false;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	if (ring != NULL && ring->sender != SENDER_RUNNING)
	{
		ring->sender = SENDER_RUNNING;
		ring->latch = MyLatch;
		attached = true;
	}
	LWLockRelease(rings->lock);
	return attached;
}

/*
 * wakeup_ring_take moves records, as many as fit, into the sender's buffer of at
 * least the length of the longest, and returns their length.
 */
Size
wakeup_ring_take(Oid database, char *buffer, Size size)
{
	Ring	   *ring;
	Size		len = 0;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	while (len < ring->used)
	{
		WakeupLength payload;
		Size		record;

		copy_out(ring, len, (char *) &payload, sizeof(payload));
		record = sizeof(payload) + payload;
		if (record > size - len)
			break;
		copy_out(ring, len, buffer + len, record);
		len += record;
		ring->nrecords--;
		ring->ntaken++;
	}
	ring->head = (ring->head + len) % ring_bytes();
	ring->used -= len;
	LWLockRelease(rings->lock);
	return len;
}

/*
 * wakeup_ring_done says what became of the records taken: these were sent, and
 * those were equal to some of them.
 */
void
wakeup_ring_done(Oid database, int64 sent, int64 coalesced)
{
	Ring	   *ring;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	Assert(ring->ntaken == sent + coalesced);
	ring->ntaken = 0;
	ring->stats.sent += sent;
	ring->stats.coalesced += coalesced;
	LWLockRelease(rings->lock);
}

/*
 * wakeup_ring_failed says that the records taken were not sent.
 */
void
wakeup_ring_failed(Oid database)
{
	Ring	   *ring;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	ring->stats.dropped += ring->ntaken;
	ring->ntaken = 0;
	LWLockRelease(rings->lock);
}

/*
 * wakeup_ring_leave ends this process's being the sender, unless somebody needs
 * it.
 */
bool
wakeup_ring_leave(Oid database)
{
	Ring	   *ring;
	bool		left;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	left = ring->used == 0 && ring->nreserved == 0;
	if (left)
	{
		ring->sender = SENDER_NONE;
		ring->latch = NULL;
	}
	LWLockRelease(rings->lock);
	return left;
}

/*
 * wakeup_ring_detach ends it whatever the state, for a sender that dies: what
 * it has taken is dropped.  Returns whether it has to start another one.
 */
bool
wakeup_ring_detach(Oid database)
{
	Ring	   *ring;
	bool		wanted;

	LWLockAcquire(rings->lock, LW_EXCLUSIVE);
	ring = find(database);
	ring->stats.dropped += ring->ntaken;
	ring->ntaken = 0;
	ring->latch = NULL;
	wanted = ring->used > 0 || ring->nreserved > 0;
	ring->sender = wanted ? SENDER_STARTING : SENDER_NONE;
	ring->asked_at = GetCurrentTimestamp();
	LWLockRelease(rings->lock);
	return wanted;
}
