/*-------------------------------------------------------------------------
 *
 * wakeup_worker.c
 *		The background worker that sends the deferred hints of a database.
 *
 * It notifies what it finds in the ring in one transaction with asynchronous
 * commit, so that the lock which NOTIFY takes at a commit is never held while
 * WAL is flushed, and not by savers at all.  While one batch is sent, the next
 * one gathers.
 *
 * It leaves after two seconds without a hint: DROP DATABASE and CREATE DATABASE
 * ... TEMPLATE wait five for the processes in a database to go.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/async.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "wakeup_ring.h"
#include "wakeup_worker.h"

#define BATCH_BYTES			(64 * 1024)		/* more than the longest record has */
#define LEAVE_AFTER_MS		2000
#define PAUSE_AFTER_FAILURE_MS	1000

/* A payload of a batch, and where in it it came */
typedef struct Payload
{
	const char *text;
	int			place;
	bool		repeated;		/* an equal one came before */
} Payload;

/* This process is the sender, and others count on it */
static bool attached = false;

static void at_exit(int code, Datum database);
static void send_or_drop(Oid database, char *batch, Size len);
static void send_batch(Oid database, char *batch, Size len);

/*
 * wakeup_worker_start asks the server for a worker.  Returns false when it has
 * none to spare (max_worker_processes).
 */
bool
wakeup_worker_start(Oid database)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "sayiir_pg", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "sayiir_wakeup_worker_main",
			sizeof(worker.bgw_function_name));
	snprintf(worker.bgw_name, sizeof(worker.bgw_name), "sayiir_pg wakeups of database %u",
			 database);
	strlcpy(worker.bgw_type, "sayiir_pg wakeups", sizeof(worker.bgw_type));
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

/*
 * sayiir_wakeup_worker_main is the worker: it sends until nothing has come for a
 * while.
 */
void
sayiir_wakeup_worker_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	MemoryContext context;
	char	   *batch;
	TimestampTz idle_since;

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();

	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
	before_shmem_exit(at_exit, arg);
	attached = wakeup_ring_attach(database);
	if (!attached)
		return;

	/* Whatever the database or the server sets: no flush, and no timeout for a lock */
	SetConfigOption("synchronous_commit", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("lock_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_isolation", "read committed", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_read_only", "off", PGC_SUSET, PGC_S_OVERRIDE);

	context = AllocSetContextCreate(TopMemoryContext, "sayiir_pg wakeups",
									ALLOCSET_DEFAULT_SIZES);
	batch = MemoryContextAlloc(TopMemoryContext, BATCH_BYTES);
	idle_since = GetCurrentTimestamp();

	for (;;)
	{
		Size		len;
		long		idle;

		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}

		len = wakeup_ring_take(database, batch, BATCH_BYTES);
		if (len > 0)
		{
			MemoryContextSwitchTo(context);
			send_or_drop(database, batch, len);
			MemoryContextSwitchTo(TopMemoryContext);
			MemoryContextReset(context);
			idle_since = GetCurrentTimestamp();
			continue;
		}

		idle = TimestampDifferenceMilliseconds(idle_since, GetCurrentTimestamp());
		if (idle >= LEAVE_AFTER_MS)
		{
			attached = !wakeup_ring_leave(database);
			if (!attached)
				return;
			/* A transaction is open that may still bring some */
			idle = 0;
			idle_since = GetCurrentTimestamp();
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LEAVE_AFTER_MS - idle, PG_WAIT_EXTENSION);
	}
}

/*
 * at_exit is for a worker that ends otherwise than by leaving: it was
 * terminated, or the server stops.  Who still counts on it gets another one.
 */
static void
at_exit(int code, Datum arg)
{
	Oid			database = DatumGetObjectId(arg);

	if (attached && wakeup_ring_detach(database))
		(void) wakeup_worker_start(database);
}

/*
 * send_or_drop sends a batch; one that cannot be sent (a full NOTIFY queue) is
 * counted, said in the server's log, and given up: the next hints may fare better.
 */
static void
send_or_drop(Oid database, char *batch, Size len)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool failed = false;

	PG_TRY();
	{
		send_batch(database, batch, len);
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		EmitErrorReport();
		AbortOutOfAnyTransaction();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		wakeup_ring_failed(database);
		failed = true;
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();

	if (failed)
	{
		pgstat_report_activity(STATE_IDLE, NULL);
		(void) WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 PAUSE_AFTER_FAILURE_MS, PG_WAIT_EXTENSION);
	}
}

static int
compare_text(const void *a, const void *b)
{
	const Payload *x = a;
	const Payload *y = b;
	int			order = strcmp(x->text, y->text);

	return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

static int
compare_place(const void *a, const void *b)
{
	const Payload *x = a;
	const Payload *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

/*
 * send_batch notifies the payloads of a batch in their order, each of those that
 * are equal once.
 */
static void
send_batch(Oid database, char *batch, Size len)
{
	Payload    *payloads;
	int			npayloads = 0;
	int			nsent = 0;
	Size		at;
	int			i;

	payloads = palloc(sizeof(Payload) * (len / sizeof(WakeupLength)));
	for (at = 0; at < len;)
	{
		WakeupLength length;
		char	   *text;

		memcpy(&length, batch + at, sizeof(length));
		text = palloc(length + 1);
		memcpy(text, batch + at + sizeof(length), length);
		text[length] = '\0';
		payloads[npayloads].text = text;
		payloads[npayloads].place = npayloads;
		payloads[npayloads].repeated = false;
		npayloads++;
		at += sizeof(length) + length;
	}

	qsort(payloads, npayloads, sizeof(Payload), compare_text);
	for (i = 1; i < npayloads; i++)
		payloads[i].repeated = strcmp(payloads[i].text, payloads[i - 1].text) == 0;
	qsort(payloads, npayloads, sizeof(Payload), compare_place);

	pgstat_report_activity(STATE_RUNNING, "sending wakeups");
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	for (i = 0; i < npayloads; i++)
	{
		if (payloads[i].repeated)
			continue;
		Async_Notify(TASK_READY_CHANNEL, payloads[i].text);
		nsent++;
	}
	CommitTransactionCommand();
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);

	wakeup_ring_done(database, nsent, npayloads - nsent);
}
