-- Events: delivered to who is parked for them, buffered for everybody else, first in first out.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- Parked: true. An opaque one stays where it is, the event beside it, and is given out; a second event queues behind.
SELECT qa.ws('o', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), sayiir_send_event('o', 'go', '\x01'), qa.place('o');
SELECT sayiir_send_event('o', 'go', '\x02'), qa.place('o');
SELECT qa.claims(p_max => 10);
SELECT sayiir_consume_event('o', 'go'), qa.adv('o', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_data => '\x03'), qa.place('o');
SELECT qa.claims(p_max => 10);
SELECT sayiir_consume_event('o', 'go'), sayiir_consume_event('o', 'go');
SELECT sayiir_release_claim('o', qa.k('o'));
SELECT qa.claims(p_max => 10);
-- parked and held by a worker: true, stored for the worker to find
SELECT qa.ws('held', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2020-01-01Z');
SELECT qa.claims();
SELECT sayiir_send_event('held', 'go', '\x01'), qa.place('held');
-- A consumer other than the parked one's worker makes it wait again.
SELECT sayiir_release_claim('held', qa.k('held')), sayiir_consume_event('held', 'go'), qa.ws('held', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2099-01-01Z', p_data => '\x02');
SELECT qa.claims(p_max => 10);

-- JSON: the signal completes with the payload, the position moves on, the hint goes out; or the workflow ends with it.
SELECT sayiir_save_snapshot(qa.jp('j', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":"2099-01-01T00:00:00Z","next_task_id":"@e"}}', '{"@b":{"task_id":"@b","output":[7]}}', '"@b"', ',"task_priority":1,"task_tags":["t"],"zzz":1.0'), '00-j');
SELECT sayiir_send_event('j', 'go', '\x010203'), qa.place('j'), qa.payload('j');
SELECT task_priority, task_tags, trace_parent FROM sayiir_workflow_snapshots WHERE instance_id = 'j';
SELECT sayiir_send_event('j', 'go', '\x04'), qa.place('j');
SELECT qa.claims(p_tags => '{t}', p_max => 10);
SELECT sayiir_save_snapshot(qa.jp('je', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":null,"next_task_id":null}}', '{"@b":{"task_id":"@b","output":[7]}}', '"@b"'));
SELECT sayiir_send_event('je', 'go', '\x0aff'), qa.place('je'), qa.payload('je'), sayiir_send_event('je', 'go', '\x05');
SELECT completed_at = updated_at FROM sayiir_workflow_snapshots WHERE instance_id = 'je';
-- an empty payload
SELECT sayiir_save_snapshot(qa.jp('j0', '{"AtSignal":{"signal_id":"@g","signal_name":"go","next_task_id":"@e"}}')), sayiir_send_event('j0', 'go', ''), qa.place('j0');
-- a second wait for the same signal id: its output is the newer payload
SELECT sayiir_save_snapshot(qa.jp('j0', '{"AtSignal":{"signal_id":"@g","signal_name":"go","next_task_id":"@f"}}', '{"@g":{"task_id":"@g","output":[]}}')), sayiir_send_event('j0', 'go', '\x09'), qa.place('j0'), qa.payload('j0');
-- one that came before goes first
SELECT sayiir_send_event('jf', 'go', '\x01'), sayiir_save_snapshot(qa.jp('jf', '{"AtSignal":{"signal_id":"@g","signal_name":"go","next_task_id":"@e"}}')), sayiir_send_event('jf', 'go', '\x02'), qa.place('jf');
-- held by a worker at the time: it goes on, the claim has ended
SELECT sayiir_save_snapshot(qa.jp('jh', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}}', more => ',"task_priority":1'));
SELECT qa.claims();
SELECT sayiir_send_event('jh', 'go', '\x01'), qa.place('jh');
SELECT left(qa.try($$SELECT qa.jadv(qa.jp('jh', '{"AtTask":{"task_id":"@x"}}'), 'jh')$$), 5);
-- a pending cancel is applied by the next call, the event is not lost
SELECT sayiir_save_snapshot(qa.jp('jc', '{"AtSignal":{"signal_id":"@g","signal_name":"go","next_task_id":"@e"}}')), sayiir_store_signal('jc', 'Cancel'), sayiir_send_event('jc', 'go', '\x01'), qa.place('jc');

-- Not parked for it: false, buffered. Unknown, at a task, parked for another name, paused, ended.
SELECT sayiir_send_event('nobody', 'go', '\x01'), qa.place('nobody');
SELECT qa.ws('task'), sayiir_send_event('task', 'go', '\x01'), qa.place('task');
SELECT qa.ws('other', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), sayiir_send_event('other', 'Go', '\x01'), sayiir_send_event('other', 'go ', '\x02'), sayiir_send_event('other', 'g', '\x03'), qa.place('other');
SELECT qa.ws('paused', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), sayiir_pause('paused'), sayiir_send_event('paused', 'go', '\x01'), qa.place('paused');
SELECT qa.ws(s, s, p_cur => NULL), sayiir_send_event(s, 'go', '\x01'), qa.place(s) FROM unnest('{Completed,Failed,Cancelled}'::text[]) s;
SELECT qa.wipe() > 0;
-- an instance made later finds it; made by a save at a task, and parked after that
SELECT sayiir_send_event('later', 'go', '\x01'), qa.ws('later'), qa.ws('later', p_data => '\x02', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_prio => 1);
SELECT qa.claims();
SELECT qa.place('later');
-- awaited at a task is not parked: the task comes first
SELECT qa.ws('both', p_awaits => 'go'), sayiir_send_event('both', 'go', '\x01'), qa.place('both');

-- First in, first out, for each instance and name.
SELECT sayiir_send_event('fifo', n, set_byte('\x00', 0, i)) FROM generate_series(1, 3) i, unnest('{a,b}'::text[]) n;
SELECT sayiir_consume_event('fifo', 'a'), sayiir_consume_event('fifo', 'b'), sayiir_consume_event('fifo', 'a'), sayiir_consume_event('fifo', 'a'), sayiir_consume_event('fifo', 'a') IS NULL, sayiir_consume_event('fifo', 'c') IS NULL;
SELECT qa.place('fifo');
BEGIN;
SELECT sayiir_consume_event('fifo', 'b');
ROLLBACK;
SELECT sayiir_consume_event('fifo', 'b'), sayiir_consume_event(instance_id => 'fifo', signal_name => 'b'), sayiir_consume_event('fifo', 'b') IS NULL;
-- consumed in the transaction of the save that uses it: both or neither
SELECT qa.wipe() > 0;
SELECT qa.ws('use', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_prio => 1), sayiir_send_event('use', 'go', '\x05');
SELECT qa.claims();
BEGIN;
SELECT sayiir_consume_event('use', 'go'), qa.adv('use');
ROLLBACK;
SELECT qa.place('use');
BEGIN;
SELECT sayiir_consume_event('use', 'go'), qa.adv('use', p_ttl => '20 minutes');
COMMIT;
SELECT qa.place('use');
-- of an unknown instance: NULL, or what was buffered for it
SELECT sayiir_consume_event('never', 'go') IS NULL, sayiir_consume_event('nobody', 'go'), qa.place('nobody');

-- Names: 1 to 256 bytes, told apart byte by byte; payloads as they are.
SELECT length(n), left(qa.try(format('SELECT sayiir_send_event(''n'', %L, ''\x01'')', n)), 45), left(qa.try(format('SELECT sayiir_consume_event(''n'', %L)', n)), 45) FROM unnest(ARRAY['', repeat('x', 257), repeat('é', 129)]) n;
SELECT sayiir_send_event('n', repeat('é', 128), '\x01'), sayiir_send_event('n', E' ''"\\%s\n', '\x02'), sayiir_send_event('n', 'e' || E'\u0301', '\x03'), sayiir_send_event('n', E'\u00e9', '\x04');
SELECT sayiir_consume_event('n', repeat('é', 128)), sayiir_consume_event('n', E' ''"\\%s\n'), sayiir_consume_event('n', E'\u00e9'), sayiir_consume_event('n', 'e' || E'\u0301');
SELECT left(qa.try(format('SELECT sayiir_send_event(%L, ''go'', ''\x01'')', repeat('i', 257))), 40), left(qa.try($$SELECT sayiir_send_event('', 'go', '\x01')$$), 40);
SELECT qa.try($$SELECT sayiir_send_event('n', 'go', NULL)$$);
SELECT sayiir_send_event('n', 'big', convert_to(repeat('x', 100000), 'UTF8')), sayiir_send_event('n', 'none', '');
SELECT length(sayiir_consume_event('n', 'big')), sayiir_consume_event('n', 'none');

-- Pruning: events of instances that do not exist, older than that, at most a batch; those of an instance stay, also of an
-- ended one, and go with it.
SELECT qa.ws('task'), sayiir_send_event('task', 'go', '\x01'), qa.ws('Failed', 'Failed', p_cur => NULL), sayiir_send_event('Failed', 'go', '\x01');
SELECT count(sayiir_send_event('gone ' || i, 'go', '\x01')) FROM generate_series(1, 5) i;
SELECT sayiir_prune_events('1 hour');
UPDATE sayiir_workflow_events SET created_at = created_at - interval '2 hours' WHERE instance_id LIKE 'gone%' OR instance_id IN ('task', 'Failed');
SELECT sayiir_prune_events('3 hours'), sayiir_prune_events('1 hour', 2), sayiir_prune_events(older_than => '1 hour', batch => 0);
SELECT count(*) FROM sayiir_workflow_events WHERE instance_id LIKE 'gone%';
SELECT sayiir_prune_events('1 hour', NULL), sayiir_prune_events('1 hour');
SELECT qa.place('task'), qa.place('Failed');
SELECT sayiir_send_event('fresh', 'go', '\x01');
SELECT sayiir_prune_events('0'), (SELECT count(*) FROM sayiir_workflow_events WHERE instance_id = 'fresh');
SELECT count(*) FROM sayiir_workflow_events WHERE instance_id = 'fresh';
SELECT sayiir_delete_snapshot('task'), qa.place('task'), sayiir_delete_snapshot('Failed'), qa.place('Failed');
SELECT qa.try($$SELECT sayiir_prune_events('1 hour', -1)$$);
-- a default batch is a thousand
SELECT count(sayiir_send_event('many', 'go', '\x01')) FROM generate_series(1, 1203) i;
UPDATE sayiir_workflow_events SET created_at = created_at - interval '2 hours' WHERE instance_id = 'many';
SELECT sayiir_prune_events('1 hour');
SELECT sayiir_prune_events('1 hour');
SELECT sayiir_prune_events('1 hour');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
