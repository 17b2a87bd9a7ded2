/*-------------------------------------------------------------------------
 *
 * move.h
 *		Changes that the server itself makes to a snapshot.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_MOVE_H
#define SAYIIR_MOVE_H

#include "checkpoint.h"
#include "frame.h"
#include "signal_row.h"

extern Datum move_newest_data(PlanCall *call, const Instance *instance);
extern bool move_is_parked_for(const Instance *instance, Datum name);
extern Frame *move_frame_at(const Instance *instance, Datum data, const char *position_kind,
							bool tolerant);
extern bool move_fits(const Frame *frame, int64 output_size);
extern int64 move_delay_output_size(PlanCall *call, const Instance *instance,
									const Frame *frame);
extern void move_past_signal(PlanCall *call, const Instance *instance, Frame *frame,
							 Datum payload, ClaimFate claim, NullableDatum worker);
extern void move_past_delay(PlanCall *call, const Instance *instance, Frame *frame,
							ClaimFate claim, NullableDatum worker);
extern SnapshotStatus move_by_signal(PlanCall *call, const Instance *instance,
									 const SignalRow *signal, NullableDatum interrupted_task,
									 NullableDatum data, bool tolerant, int *version);
extern int	move_out_of_pause(PlanCall *call, const Instance *instance, NullableDatum data);

#endif							/* SAYIIR_MOVE_H */
