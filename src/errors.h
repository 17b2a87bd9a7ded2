/*-------------------------------------------------------------------------
 *
 * errors.h
 *		Own SQLSTATEs, and the errors that more than one room raises.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_ERRORS_H
#define SAYIIR_ERRORS_H

#include "utils/errcodes.h"

#include "compat.h"
#include "status.h"

/* Class SY: conditions that a client is expected to tell apart and handle */
#define ERRCODE_SAYIIR_VERSION_CONFLICT		MAKE_SQLSTATE('S','Y','0','0','1')
#define ERRCODE_SAYIIR_CLAIM_LOST			MAKE_SQLSTATE('S','Y','0','0','2')
#define ERRCODE_SAYIIR_WRONG_STATE			MAKE_SQLSTATE('S','Y','0','0','3')

extern bool error_is_of_instance(int sqlstate);
pg_noreturn extern void error_no_instance(text *instance_id);
pg_noreturn extern void error_no_version(text *instance_id, int version);
pg_noreturn extern void error_history_lost(text *instance_id, int version);
pg_noreturn extern void error_history_corrupt(text *instance_id, int version);
pg_noreturn extern void error_version_conflict(text *instance_id, int expected, int found);
pg_noreturn extern void error_paused(text *instance_id);
pg_noreturn extern void error_wrong_state(text *instance_id, SnapshotStatus status,
										  const char *action, const char *hint);
pg_noreturn extern void error_suppressed(text *instance_id, const char *table);

#endif							/* SAYIIR_ERRORS_H */
