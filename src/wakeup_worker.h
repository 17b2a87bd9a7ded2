/*-------------------------------------------------------------------------
 *
 * wakeup_worker.h
 *		The background worker that sends the deferred hints of a database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SAYIIR_WAKEUP_WORKER_H
#define SAYIIR_WAKEUP_WORKER_H

#define TASK_READY_CHANNEL	"sayiir_task_ready"

extern bool wakeup_worker_start(Oid database);
extern PGDLLEXPORT void sayiir_wakeup_worker_main(Datum database);

#endif							/* SAYIIR_WAKEUP_WORKER_H */
