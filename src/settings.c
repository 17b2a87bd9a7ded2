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

	MarkGUCPrefixReserved("sayiir");
}
