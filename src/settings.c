/*-------------------------------------------------------------------------
 *
 * settings.c
 *		The sayiir.* settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "settings.h"
#include "wakeup_ring.h"

/*
 * sayiir.notify: how a save tells waiting workers.  Anybody may set it: it
 * changes what others hear, not what is stored, and a caller of
 * sayiir_save_snapshot could as well send the notification itself.
 */
int			setting_notify = NOTIFY_TRANSACTIONAL;

static const struct config_enum_entry notify_options[] = {
	{"transactional", NOTIFY_TRANSACTIONAL, false},
	{"deferred", NOTIFY_DEFERRED, false},
	{"off", NOTIFY_OFF, false},
	{NULL, 0, false}
};

/*
 * sayiir.history: how a new version is stored.  Anybody may set it: whatever it
 * was, each version is read back as it was saved.  A build without libzstd knows
 * whole versions alone, and refuses the other value.
 */
#ifdef USE_LIBZSTD_HISTORY
#define HISTORY_DEFAULT		HISTORY_DELTA
#else
#define HISTORY_DEFAULT		HISTORY_FULL
#endif

int			setting_history = HISTORY_DEFAULT;

static const struct config_enum_entry history_options[] = {
#ifdef USE_LIBZSTD_HISTORY
	{"delta", HISTORY_DELTA, false},
#endif
	{"full", HISTORY_FULL, false},
	{NULL, 0, false}
};

/*
 * sayiir.wakeup_ring_size: how many kilobytes of hints can wait, in each database,
 * for the process that sends them.  A hint has some 200 bytes.
 */
int			setting_wakeup_ring_size = 512;

/*
 * check_notify refuses "deferred" (22023) where nobody would send: the library
 * was not preloaded.  For ALTER ROLE and ALTER DATABASE, which can be meant for a later
 * start of the server, it is a notice.  A value that was set before the library is
 * loaded, in a configuration file or by ALTER ROLE, is refused with a warning by
 * the server, which then goes on with the default.
 */
static bool
check_notify(int *newval, void **extra, GucSource source)
{
	if (*newval != NOTIFY_DEFERRED || wakeup_ring_is_there())
		return true;
	if (source == PGC_S_TEST)
	{
		ereport(NOTICE,
				(errmsg("sayiir.notify = deferred takes effect when sayiir_pg is preloaded"),
				 errhint("Add sayiir_pg to shared_preload_libraries and restart the server.")));
		return true;
	}
	GUC_check_errcode(ERRCODE_INVALID_PARAMETER_VALUE);
	GUC_check_errmsg("sayiir.notify cannot be \"deferred\": sayiir_pg is not preloaded");
	GUC_check_errdetail("The process that sends deferred hints gets them through shared memory, which is set up at server start.");
	GUC_check_errhint("Add sayiir_pg to shared_preload_libraries and restart the server.");
	return false;
}

/*
 * settings_init defines the settings; the prefix is reserved last.
 */
void
settings_init(void)
{
	/* First: the values of the configuration file are checked as the settings are defined */
	if (process_shared_preload_libraries_in_progress)
		wakeup_ring_init();

	DefineCustomEnumVariable("sayiir.notify",
							 "How a save wakes workers that listen on sayiir_task_ready.",
							 "\"transactional\" notifies when the saving transaction commits, \"deferred\" after that, by another process, \"off\" not at all.",
							 &setting_notify,
							 NOTIFY_TRANSACTIONAL,
							 notify_options,
							 PGC_USERSET,
							 0,
							 check_notify, NULL, NULL);

	DefineCustomEnumVariable("sayiir.history",
							 "How the versions of a workflow are stored.",
							 "\"delta\" stores what differs from an earlier version where that is smaller, \"full\" always all.",
							 &setting_history,
							 HISTORY_DEFAULT,
							 history_options,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);

	if (process_shared_preload_libraries_in_progress)
	{
		DefineCustomIntVariable("sayiir.wakeup_ring_size",
								"How much memory holds deferred wakeups until they are sent, for each database.",
								"Wakeups that find no room are dropped, and counted by sayiir_wakeup_stats().",
								&setting_wakeup_ring_size,
								512, 16, 65536,
								PGC_POSTMASTER,
								GUC_UNIT_KB,
								NULL, NULL, NULL);
	}

	MarkGUCPrefixReserved("sayiir");
}
