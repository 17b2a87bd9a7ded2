-- sayiir_check_integrity on claims, signals and the queue (I5, I6): each planted violation is named, a sound store has none.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- Sound: everything that the functions can do, side by side.
CREATE PROCEDURE qa.busy() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM qa.ws('s task'), qa.ws('s held'), qa.claim('s held'), qa.ws('s expired'), qa.claim('s expired'), qa.expire('s expired'), qa.ws('s retry', p_wake => '2099-01-01Z');
	PERFORM qa.ws('s delay', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2099-01-01Z'), qa.ws('s signal', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), qa.ws('s event', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2099-01-01Z'), sayiir_send_event('s event', 'go', '\x01');
	PERFORM qa.ws('s paused'), sayiir_pause('s paused'), sayiir_store_signal('s paused', 'Cancel'), qa.ws('s pending'), sayiir_store_signal('s pending', 'Cancel'), qa.ws('s pending held'), qa.claim('s pending held'), sayiir_pause('s pending held');
	PERFORM qa.ws('s ended', 'Failed', p_cur => NULL), sayiir_send_event('s ended', 'go', '\x01'), sayiir_send_event('s nobody', 'go', '\x01');
	PERFORM sayiir_save_snapshot(qa.jp('s json', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}}'));
END $$;
CALL qa.busy();
SELECT * FROM sayiir_check_integrity();
SELECT count(*) FROM qa.claims(p_max => 2);
SELECT * FROM sayiir_check_integrity();

-- Plants, shows what is said of the store, checks that asking for the instance says the same, and takes everything out again.
CREATE PROCEDURE qa.plant(id text, VARIADIC statements text[]) LANGUAGE plpgsql AS $$
DECLARE
	s text;
	r record;
BEGIN
	FOREACH s IN ARRAY statements LOOP
		EXECUTE format(s, id);
	END LOOP;
	FOR r IN SELECT * FROM sayiir_check_integrity() ORDER BY 1, 2, 3 LOOP
		RAISE INFO '%: % %', r.violated_by, r.invariant, r.detail;
	END LOOP;
	IF EXISTS (SELECT * FROM sayiir_check_integrity() EXCEPT ALL SELECT * FROM sayiir_check_integrity(id)) OR EXISTS (SELECT * FROM sayiir_check_integrity(id) EXCEPT ALL SELECT * FROM sayiir_check_integrity())
		THEN RAISE INFO 'OTHERWISE WHEN ASKED FOR THE INSTANCE'; END IF;
	FOR s IN SELECT a.attrelid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r' WHERE a.attname = 'instance_id' AND c.relname LIKE 'sayiir%' ORDER BY 1 LOOP
		EXECUTE format('DELETE FROM %s WHERE instance_id = %L', s, id);
	END LOOP;
END $$;
-- I5: no claim without its instance, none on one that has ended or is paused, only for the present place
CALL qa.plant('claim alone', $$INSERT INTO sayiir_workflow_claims VALUES (%L, qa.t('a'), 'w', gen_random_uuid(), now(), NULL)$$);
CALL qa.plant('claim on ended', $$SELECT qa.ws(%L, 'Completed', p_cur => NULL)$$, $$INSERT INTO sayiir_workflow_claims VALUES (%L, NULL, 'w', gen_random_uuid(), now(), NULL)$$);
CALL qa.plant('claim on paused', $$SELECT qa.ws(%L, 'Paused')$$, $$INSERT INTO sayiir_workflow_claims VALUES (%L, qa.t('a'), 'w', gen_random_uuid(), now(), NULL)$$);
CALL qa.plant('claim for another task', $$SELECT qa.ws(%L)$$, $$SELECT qa.claim(%L)$$, $$UPDATE sayiir_workflow_claims SET task_id = qa.t('b') WHERE instance_id = %L$$);
CALL qa.plant('claim for no task', $$SELECT qa.ws(%L)$$, $$SELECT qa.claim(%L)$$, $$UPDATE sayiir_workflow_claims SET task_id = NULL WHERE instance_id = %L$$);
CALL qa.plant('expired claim for another task', $$SELECT qa.ws(%L)$$, $$SELECT qa.claim(%L)$$, $$UPDATE sayiir_workflow_claims SET task_id = qa.t('b'), expires_at = '2020-01-01' WHERE instance_id = %L$$);
-- no signal without its instance, none on one that has ended
CALL qa.plant('signal alone', $$INSERT INTO sayiir_workflow_signals VALUES (%L, 'Cancel')$$);
CALL qa.plant('signal on ended', $$SELECT qa.ws(%L, 'Cancelled', p_cur => NULL)$$, $$INSERT INTO sayiir_workflow_signals VALUES (%1$L, 'Cancel'), (%1$L, 'Pause')$$);
CALL qa.plant('signal on completed', $$SELECT qa.ws(%L, 'Completed', p_cur => NULL)$$, $$INSERT INTO sayiir_workflow_signals VALUES (%1$L, 'Pause')$$);
-- I6: the queue is what follows from the other tables (rows in it are made like that of an instance that is there)
CALL qa.plant('not queued', $$SELECT qa.ws(%L)$$, $$DELETE FROM sayiir_workflow_ready WHERE instance_id = %L$$);
CALL qa.plant('queued alone', $$INSERT INTO sayiir_workflow_ready SELECT (jsonb_populate_record(r, jsonb_build_object('instance_id', %L))).* FROM sayiir_workflow_ready r WHERE instance_id = 's retry'$$);
CALL qa.plant('queued and held', $$SELECT qa.ws(%L)$$, $$INSERT INTO sayiir_workflow_claims VALUES (%L, qa.t('a'), 'w', gen_random_uuid(), now(), NULL)$$);
CALL qa.plant('queued and pending', $$SELECT qa.ws(%L)$$, $$INSERT INTO sayiir_workflow_signals VALUES (%L, 'Cancel')$$);
CALL qa.plant('queued and ended', $$SELECT qa.ws(%L, 'Failed', p_cur => NULL)$$, $$INSERT INTO sayiir_workflow_ready SELECT (jsonb_populate_record(r, jsonb_build_object('instance_id', %L))).* FROM sayiir_workflow_ready r WHERE instance_id = 's retry'$$);
CALL qa.plant('queued and paused', $$SELECT qa.ws(%L, 'Paused')$$, $$INSERT INTO sayiir_workflow_ready SELECT (jsonb_populate_record(r, jsonb_build_object('instance_id', %L))).* FROM sayiir_workflow_ready r WHERE instance_id = 's retry'$$);
CALL qa.plant('queued and parked', $$SELECT qa.ws(%L, p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go')$$, $$INSERT INTO sayiir_workflow_ready SELECT (jsonb_populate_record(r, jsonb_build_object('instance_id', %L))).* FROM sayiir_workflow_ready r WHERE instance_id = 's retry'$$);
CALL qa.plant('event unnoticed', $$SELECT qa.ws(%L, p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go')$$, $$INSERT INTO sayiir_workflow_events (instance_id, signal_name, payload) VALUES (%L, 'go', '')$$);
CALL qa.plant('event unnoticed before its time', $$SELECT qa.ws(%L, p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2099-01-01Z')$$, $$INSERT INTO sayiir_workflow_events (instance_id, signal_name, payload) VALUES (%L, 'go', '')$$);
CALL qa.plant('event gone', $$SELECT qa.ws(%L, p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go')$$, $$SELECT sayiir_send_event(%L, 'go', '\x01')$$, $$DELETE FROM sayiir_workflow_events WHERE instance_id = %L$$);
CALL qa.plant('delay unnoticed', $$SELECT qa.ws(%L, p_cur => NULL, p_kind => 'AtDelay', p_wake => '2099-01-01Z')$$, $$DELETE FROM sayiir_workflow_ready WHERE instance_id = %L$$);
CALL qa.plant('other instant', $$SELECT qa.ws(%L)$$, $$UPDATE sayiir_workflow_ready SET ready_at = ready_at + interval '1 second' WHERE instance_id = %L$$);
-- earlier is right for a task that can be claimed already, and for nothing else
CALL qa.plant('earlier retry', $$SELECT qa.ws(%L, p_wake => '2099-01-01Z')$$, $$UPDATE sayiir_workflow_ready SET ready_at = ready_at - interval '1 second' WHERE instance_id = %L$$);
CALL qa.plant('earlier delay', $$SELECT qa.ws(%L, p_cur => NULL, p_kind => 'AtDelay', p_wake => '2099-01-01Z')$$, $$UPDATE sayiir_workflow_ready SET ready_at = ready_at - interval '1 second' WHERE instance_id = %L$$);
CALL qa.plant('earlier task', $$SELECT qa.ws(%L)$$, $$UPDATE sayiir_workflow_ready SET ready_at = ready_at - interval '1 second' WHERE instance_id = %L$$);
CALL qa.plant('other priority', $$SELECT qa.ws(%L)$$, $$UPDATE sayiir_workflow_ready SET task_priority = 1 WHERE instance_id = %L$$);
CALL qa.plant('other tags', $$SELECT qa.ws(%L, p_tags => '{a}')$$, $$UPDATE sayiir_workflow_ready SET task_tags = '{b}' WHERE instance_id = %L$$);
CALL qa.plant('other definition', $$SELECT qa.ws(%L)$$, $$UPDATE sayiir_workflow_ready SET definition_hash = qa.t('wf2') WHERE instance_id = %L$$);
CALL qa.plant('other kind of work', $$SELECT qa.ws(%L)$$, $$UPDATE sayiir_workflow_ready SET kind = kind + 1 WHERE instance_id = %L$$);
-- several of one
CALL qa.plant('all of it', $$INSERT INTO sayiir_workflow_claims VALUES (%L, NULL, 'w', gen_random_uuid(), now(), NULL)$$, $$INSERT INTO sayiir_workflow_signals VALUES (%1$L, 'Cancel'), (%1$L, 'Pause')$$, $$INSERT INTO sayiir_workflow_ready SELECT (jsonb_populate_record(r, jsonb_build_object('instance_id', %L))).* FROM sayiir_workflow_ready r WHERE instance_id = 's retry'$$);
-- events of nobody are none: they may come first
CALL qa.plant('event alone', $$INSERT INTO sayiir_workflow_events (instance_id, signal_name, payload) VALUES (%L, 'go', '')$$);
SELECT count(*) FROM sayiir_check_integrity();
SELECT count(*) FROM sayiir_check_integrity('s held');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
