/*-------------------------------------------------------------------------
 *
 * settings.c
 *		The sayiir.* settings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "settings.h"

/*
 * sayiir.notify: how a save tells waiting workers.  Anybody may set it: it
 * changes what others hear, not what is stored, and a caller of
 * sayiir_save_snapshot could as well send the notification itself.
 */
int			setting_notify = NOTIFY_TRANSACTIONAL;

static const struct config_enum_entry notify_options[] = {
	{"transactional", NOTIFY_TRANSACTIONAL, false},
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
 * settings_init defines the settings; the prefix is reserved last.
 */
void
settings_init(void)
{
	DefineCustomEnumVariable("sayiir.notify",
							 "How a save wakes workers that listen on sayiir_task_ready.",
							 "\"transactional\" notifies when the saving transaction commits, \"off\" not at all.",
							 &setting_notify,
							 NOTIFY_TRANSACTIONAL,
							 notify_options,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);

	DefineCustomEnumVariable("sayiir.history",
							 "How the versions of a workflow are stored.",
							 "\"delta\" stores what differs from an earlier version where that is smaller, \"full\" always all.",
							 &setting_history,
							 HISTORY_DEFAULT,
							 history_options,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);

	MarkGUCPrefixReserved("sayiir");
}
