/*-------------------------------------------------------------------------
 *
 * status.h
 *		The statuses of a workflow instance and their names.
 *
 * The names are stored as text; check.c is what the CHECK constraints of the tables ask.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_STATUS_H
#define SAYIIR_STATUS_H

typedef enum SnapshotStatus
{
	STATUS_IN_PROGRESS,
	STATUS_PAUSED,
	STATUS_COMPLETED,			/* this and what follows is terminal */
	STATUS_FAILED,
	STATUS_CANCELLED
} SnapshotStatus;

extern const char *status_name(SnapshotStatus status);
extern bool status_parse(const char *name, int len, SnapshotStatus *status);
extern const char *status_of_closed_task(SnapshotStatus status);

/*
 * status_is_terminal tells whether a workflow in this status has ended.
 */
static inline bool
status_is_terminal(SnapshotStatus status)
{
	return status >= STATUS_COMPLETED;
}

#endif							/* SAYIIR_STATUS_H */
