/*-------------------------------------------------------------------------
 *
 * signal_row.h
 *		Pending control signals: what operators asked for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_SIGNAL_ROW_H
#define SAYIIR_SIGNAL_ROW_H

#include "plan.h"

typedef enum SignalKind
{
	SIGNAL_CANCEL,
	SIGNAL_PAUSE
} SignalKind;

typedef struct SignalRow
{
	SignalKind	kind;
	NullableDatum reason;		/* text */
	NullableDatum requested_by; /* text */
} SignalRow;

extern const char *signal_kind_name(SignalKind kind);
extern bool signal_row_find(PlanCall *call, text *instance_id, SignalRow *signal);
extern void signal_row_put(PlanCall *call, text *instance_id, const SignalRow *signal,
						   bool held);
extern void signal_row_let_go(PlanCall *call, text *instance_id);
extern bool signal_row_delete(PlanCall *call, text *instance_id, SignalKind kind);

#endif							/* SAYIIR_SIGNAL_ROW_H */
