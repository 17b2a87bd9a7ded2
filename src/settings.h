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
	NOTIFY_TRANSACTIONAL
} NotifyMode;

extern int	setting_notify;		/* a NotifyMode */

extern void settings_init(void);

#endif							/* SAYIIR_SETTINGS_H */
