-- One of Sayiir's own snapshots that came by the explicit form: stored as given, and edited when something has to be.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

CREATE FUNCTION qa.both(p_id text, p_pos text, p_kind text, p_wake timestamptz DEFAULT NULL, p_awaits text DEFAULT NULL) RETURNS integer LANGUAGE sql AS $$
	SELECT qa.ws(p_id, p_data => qa.jp(p_id, p_pos), p_cur => NULL, p_kind => p_kind, p_wake => p_wake, p_awaits => p_awaits) $$;
-- A due delay is moved on.
SELECT qa.both('delay', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}}', 'AtDelay', '2020-01-01Z');
SELECT qa.claims();
SELECT qa.place('delay'), qa.payload('delay');
-- An event for what is parked: moved on, whichever of the two came first.
SELECT qa.both('event last', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":null,"next_task_id":"@e"}}', 'AtSignal', p_awaits => 'go'), sayiir_send_event('event last', 'go', '\x01');
SELECT qa.place('event last');
SELECT sayiir_send_event('event first', 'go', '\x01'), qa.both('event first', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":null,"next_task_id":"@e"}}', 'AtSignal', p_awaits => 'go');
SELECT qa.claims(p_max => 10);
SELECT qa.place('event first');
SELECT qa.wipe();
-- Cancelled, paused, and on again: rewritten.
SELECT qa.ws('c', p_data => qa.jp('c', '{"AtTask":{"task_id":"@a"}}')), sayiir_cancel('c'), qa.payload('c');
SELECT qa.ws('p', p_data => qa.jp('p', '{"AtTask":{"task_id":"@a"}}')), sayiir_pause('p'), qa.payload('p');
SELECT sayiir_unpause('p'), qa.payload('p'), qa.place('p');
-- What is another's, in another state, or broken cannot be edited: 22P03, nothing written; opaque bytes can be carried.
SELECT qa.ws('other', p_data => qa.jp('someone', '{"AtTask":{"task_id":"@a"}}'));
SELECT qa.ws('state', p_data => qa.js('state', '{"Failed":{"error":"e"}}'));
SELECT qa.ws('broken', p_data => '\x535952530101'::bytea || '{"instance_id":');
SELECT qa.ws('parked, broken', p_data => '\x535952530101'::bytea || '{', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go');
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT id, left(qa.try(format('SELECT sayiir_cancel(%L)', id)), 6), left(qa.try(format('SELECT sayiir_pause(%L)', id)), 6) FROM unnest('{other,state,broken}'::text[]) id;
SELECT left(qa.try($$SELECT sayiir_send_event('parked, broken', 'go', '\x01')$$), 6);
SELECT qa.whole() = f AS untouched FROM qa.before;
SELECT qa.try($$SELECT sayiir_cancel('other')$$);
-- the message names the instance, the hint says what to do
SELECT answer LIKE '%"broken"%' AND answer LIKE '%hint: %' FROM qa.try($$SELECT sayiir_cancel('broken')$$) answer;
-- a save of the right bytes puts it right, and so do the bytes that the call brings
SELECT sayiir_store_signal('other', 'Cancel'), sayiir_check_signals('other', data => qa.jp('other', '{"AtTask":{"task_id":"@a"}}')), qa.place('other');
SELECT sayiir_save_snapshot(qa.jp('broken', '{"AtTask":{"task_id":"@a"}}')), sayiir_cancel('broken');
-- broken ones that are due do not keep the others from being given out
SELECT qa.wipe() > 0;
SELECT qa.ws('broken delay', p_data => '\x535952530101'::bytea || '{', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2020-01-01Z', p_prio => 1),
	sayiir_send_event('broken signal', 'go', '\x01'), qa.ws('broken signal', p_data => '\x535952530101'::bytea || '{', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_prio => 1), qa.ws('fine');
CREATE TABLE qa.got AS SELECT instance_id FROM sayiir_claim_tasks('w', 10);
SELECT * FROM qa.got WHERE instance_id = 'fine';
-- codec 2 and anything else is opaque
SELECT qa.ws('rkyv', p_data => '\x53595253010201'), sayiir_pause('rkyv'), sayiir_unpause('rkyv'), sayiir_cancel('rkyv'), qa.payload('rkyv');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
