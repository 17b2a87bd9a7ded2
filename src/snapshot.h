/*-------------------------------------------------------------------------
 *
 * snapshot.h
 *		What a snapshot in Sayiir's own format says, as a checkpoint.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_SNAPSHOT_H
#define SAYIIR_SNAPSHOT_H

#include "checkpoint.h"
#include "compat.h"
#include "frame.h"

extern bool snapshot_is_json(Datum data);
extern Frame *snapshot_parse(Datum data);
extern Frame *snapshot_parse_stored(Datum data, text *instance_id, SnapshotStatus status);
extern void snapshot_check_texts(const Frame *frame);
pg_noreturn extern void snapshot_refuse_stored(text *instance_id, const char *why);
extern void snapshot_check_instance(const Frame *frame, text *instance_id);
extern Frame *snapshot_read(Datum data, Checkpoint *save);

#endif							/* SAYIIR_SNAPSHOT_H */
