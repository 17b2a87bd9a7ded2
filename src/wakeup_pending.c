/*-------------------------------------------------------------------------
 *
 * wakeup_pending.c
 *		The deferred hints of a transaction that has not ended yet.
 *
 * All that can fail is done as the hints come: their records are laid out as the
 * ring has them, in the transaction's memory, and a place is reserved.  At the
 * commit nothing is left but to copy them.
 *
 * A savepoint that is rolled back takes its hints along.  The server numbers
 * subtransactions as they begin, so what came within one, its own inner ones
 * included, is what has its number or a higher one, and stands at the end.
 *
 * Hints come into the ring in the order in which their transactions get past the
 * commit.  Two transactions on one instance come after each other there too,
 * except that the later one can be the first by the microseconds that lie between
 * the moment others see a commit and its callback.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "settings.h"
#include "wakeup_pending.h"
#include "wakeup_ring.h"
#include "wakeup_worker.h"

/* Hints that one subtransaction sent in a row */
typedef struct PendingRun
{
	SubTransactionId subxact;
	int			start;			/* of its records */
	int64		nhints;
	int64		nlost;			/* that the ring could not hold in any case */
} PendingRun;

typedef struct Pending
{
	Oid			database;
	StringInfoData records;
	int			nruns;
	int			maxruns;
	PendingRun *runs;
} Pending;

static Pending *pending = NULL; /* in TopTransactionContext */

static bool pending_begin(void);
static PendingRun *pending_run(void);
static void at_transaction_end(XactEvent event, void *arg);
static void at_subtransaction_end(SubXactEvent event, SubTransactionId subxact,
								  SubTransactionId parent, void *arg);

/*
 * wakeup_pending_add keeps a payload to be sent after the commit.  Returns
 * false when there is nobody who would send it.
 */
bool
wakeup_pending_add(const char *payload)
{
	WakeupLength len = strlen(payload);
	PendingRun *run;

	if (pending == NULL && !pending_begin())
		return false;

	run = pending_run();
	run->nhints++;
	/* More than a ring holds need not be kept: it would be dropped */
	if (pending->records.len + sizeof(len) + len > (Size) setting_wakeup_ring_size * 1024)
		run->nlost++;
	else
	{
		appendBinaryStringInfo(&pending->records, (char *) &len, sizeof(len));
		appendBinaryStringInfo(&pending->records, payload, len);
	}
	return true;
}

/*
 * pending_begin reserves a place in the ring and sees to its sender.  Nothing
 * here can fail while a place is reserved that nobody would give up.
 */
static bool
pending_begin(void)
{
	static bool registered = false;
	MemoryContext old;
	Pending    *new;
	bool		start_worker;

	if (!registered)
	{
		RegisterXactCallback(at_transaction_end, NULL);
		RegisterSubXactCallback(at_subtransaction_end, NULL);
		registered = true;
	}

	old = MemoryContextSwitchTo(TopTransactionContext);
	new = palloc0(sizeof(Pending));
	new->database = MyDatabaseId;
	initStringInfo(&new->records);
	new->maxruns = 4;
	new->runs = palloc(sizeof(PendingRun) * new->maxruns);
	MemoryContextSwitchTo(old);

	if (!wakeup_ring_reserve(new->database, &start_worker))
		return false;
	if (start_worker && !wakeup_worker_start(new->database))
	{
		wakeup_ring_not_started(new->database);
		return false;
	}
	pending = new;
	return true;
}

/*
 * pending_run returns the run of the current subtransaction.
 */
static PendingRun *
pending_run(void)
{
	SubTransactionId subxact = GetCurrentSubTransactionId();
	PendingRun *run;

	if (pending->nruns > 0 && pending->runs[pending->nruns - 1].subxact == subxact)
		return &pending->runs[pending->nruns - 1];

	if (pending->nruns == pending->maxruns)
	{
		pending->runs = repalloc(pending->runs, sizeof(PendingRun) * pending->maxruns * 2);
		pending->maxruns *= 2;
	}
	run = &pending->runs[pending->nruns++];
	run->subxact = subxact;
	run->start = pending->records.len;
	run->nhints = 0;
	run->nlost = 0;
	return run;
}

/*
 * at_transaction_end hands the hints over, or drops them.  After a commit it
 * must not fail, and it does nothing that could.
 */
static void
at_transaction_end(XactEvent event, void *arg)
{
	Pending    *ended = pending;
	int64		nhints = 0;
	int64		nlost = 0;
	int			i;

	if (ended == NULL)
		return;
	for (i = 0; i < ended->nruns; i++)
	{
		nhints += ended->runs[i].nhints;
		nlost += ended->runs[i].nlost;
	}

	switch (event)
	{
		case XACT_EVENT_COMMIT:
			pending = NULL;
			wakeup_ring_release(ended->database, ended->records.data, ended->records.len, nlost);
			break;
		case XACT_EVENT_ABORT:
			pending = NULL;
			wakeup_ring_release(ended->database, NULL, 0, 0);
			break;
		case XACT_EVENT_PREPARE:
			/* Whoever commits it, and when, has no part in this memory */
			pending = NULL;
			wakeup_ring_release(ended->database, NULL, 0, nhints);
			break;
		default:
			break;
	}
}

/*
 * at_subtransaction_end drops the hints of a subtransaction that is rolled back.
 */
static void
at_subtransaction_end(SubXactEvent event, SubTransactionId subxact,
					  SubTransactionId parent, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB || pending == NULL)
		return;
	while (pending->nruns > 0 && pending->runs[pending->nruns - 1].subxact >= subxact)
	{
		pending->nruns--;
		pending->records.len = pending->runs[pending->nruns].start;
	}
}
