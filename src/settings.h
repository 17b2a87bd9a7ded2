/*-------------------------------------------------------------------------
 *
 * settings.h
 *		The sayiir.* settings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_SETTINGS_H
#define SAYIIR_SETTINGS_H

/* Values of sayiir.notify */
typedef enum NotifyMode
{
	NOTIFY_OFF,
	NOTIFY_TRANSACTIONAL,
	NOTIFY_DEFERRED
} NotifyMode;

/* Values of sayiir.history */
typedef enum HistoryMode
{
	HISTORY_FULL,
	HISTORY_DELTA
} HistoryMode;

extern int	setting_notify;		/* a NotifyMode */
extern int	setting_history;	/* a HistoryMode */
extern int	setting_wakeup_ring_size;	/* in kilobytes; of each database */

extern void settings_init(void);

#endif							/* SAYIIR_SETTINGS_H */
