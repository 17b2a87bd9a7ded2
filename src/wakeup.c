/*-------------------------------------------------------------------------
 *
 * wakeup.c
 *		When a hint is sent, and by which way; sayiir_decode_hint,
 *		sayiir_wakeup_stats.
 *
 * A hint is only a hint: a worker that missed one finds the task at its next
 * poll.  So nothing about a hint may fail the save that it belongs to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/async.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "arg.h"
#include "compat.h"
#include "digest.h"
#include "encoding.h"
#include "hint.h"
#include "settings.h"
#include "sql_function.h"
#include "wakeup.h"
#include "wakeup_pending.h"
#include "wakeup_ring.h"
#include "wakeup_worker.h"

/* NOTIFY refuses a payload of this length; the server does not export it */
#define NOTIFY_PAYLOAD_LIMIT	(BLCKSZ - NAMEDATALEN - 128)

/*
 * wakeup_ready tells listeners, when the transaction commits, that this task can
 * be run, or, with NULL, that an instance at another place wants a worker: its
 * hint has a task id of zeros.  A hint that is too long for NOTIFY is sent empty; one
 * whose text cannot become UTF-8 is not sent.
 *
 * With sayiir.notify = deferred it is sent after the commit, by another process;
 * when that cannot be had, as if the setting were transactional.
 *
 * PostgreSQL refuses PREPARE TRANSACTION after a transactional hint, so this is called
 * only when there is somebody to be woken.
 */
void
wakeup_ready(text *instance_id, NullableDatum task_id, Datum definition_hash,
			 ArrayType *tags)
{
	static const uint8 no_task[HASH_BYTES] = {0};
	Hint		hint;
	Datum	   *elements;
	const char *payload;
	int			i;

	if (setting_notify == NOTIFY_OFF)
		return;

	if (!encoding_to_utf8(VARDATA_ANY(instance_id), VARSIZE_ANY_EXHDR(instance_id),
						  &hint.instance_id.bytes, &hint.instance_id.len))
		return;
	hint.task_id = task_id.isnull ? no_task :
		(const uint8 *) VARDATA_ANY(DatumGetByteaPP(task_id.value));
	hint.definition_hash = (const uint8 *) VARDATA_ANY(DatumGetByteaPP(definition_hash));

	deconstruct_array(tags, TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, NULL, &hint.ntags);
	hint.tags = palloc(sizeof(HintText) * (hint.ntags + 1));
	for (i = 0; i < hint.ntags; i++)
	{
		text	   *tag = DatumGetTextPP(elements[i]);

		if (!encoding_to_utf8(VARDATA_ANY(tag), VARSIZE_ANY_EXHDR(tag),
							  &hint.tags[i].bytes, &hint.tags[i].len))
			return;
	}

	payload = hint_encoded_length(&hint) >= NOTIFY_PAYLOAD_LIMIT ? "" : hint_encode(&hint);
	if (setting_notify != NOTIFY_DEFERRED || !wakeup_pending_add(payload))
		Async_Notify(TASK_READY_CHANNEL, payload);
}

/*
 * sayiir_decode_hint(payload text)
 *		RETURNS TABLE (instance_id text, task_id bytea, definition_hash bytea, tags text[])
 *
 * One row; none for an empty payload.  Raises 22004 for NULL, 22P03 for what
 * is not a hint, 22P05 for text that the database's encoding cannot hold.
 */
SQL_SET_FUNCTION(sayiir_decode_hint, 1, TEXTOID, BYTEAOID, BYTEAOID, TEXTARRAYOID)
{
	text	   *payload;
	Hint	   *hint;
	Datum		values[4];
	bool		nulls[4] = {false};
	Datum	   *tags;
	int			i;

	arg_require(fcinfo, 0, "payload");
	payload = PG_GETARG_TEXT_PP(0);

	if (VARSIZE_ANY_EXHDR(payload) == 0)
		return (Datum) 0;

	hint = hint_decode(VARDATA_ANY(payload), VARSIZE_ANY_EXHDR(payload));
	tags = palloc(sizeof(Datum) * (hint->ntags + 1));
	for (i = 0; i < hint->ntags; i++)
		tags[i] = PointerGetDatum(encoding_text_from_utf8(hint->tags[i].bytes,
														  hint->tags[i].len));

	values[0] = PointerGetDatum(encoding_text_from_utf8(hint->instance_id.bytes,
														hint->instance_id.len));
	values[1] = digest_datum(hint->task_id);
	values[2] = digest_datum(hint->definition_hash);
	values[3] = PointerGetDatum(construct_array(tags, hint->ntags, TEXTOID, -1, false,
												TYPALIGN_INT));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

/*
 * sayiir_wakeup_stats()
 *		RETURNS TABLE (queued bigint, sent bigint, coalesced bigint, dropped bigint)
 *
 * One row: what became of this database's deferred hints since the server
 * started; zeros when there were none, or the library was not preloaded.
 */
SQL_SET_FUNCTION(sayiir_wakeup_stats, 0, INT8OID, INT8OID, INT8OID, INT8OID)
{
	WakeupStats stats;
	Datum		values[4];
	bool		nulls[4] = {false};

	wakeup_ring_stats(MyDatabaseId, &stats);
	values[0] = Int64GetDatum(stats.queued);
	values[1] = Int64GetDatum(stats.sent);
	values[2] = Int64GetDatum(stats.coalesced);
	values[3] = Int64GetDatum(stats.dropped);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}
