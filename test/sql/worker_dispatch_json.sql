-- sayiir_claim_tasks on Sayiir's own snapshots: what is due is moved on by the server, and the next task is given out.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- At a task: given out as it is, its place by name.
SELECT sayiir_save_snapshot(qa.jp('task', '{"AtTask":{"task_id":"@a"}}', '{"@b":{"task_id":"@b","output":[1,2]}}', '"@b"', ',"task_priority":1'), '00-task');
-- A due delay: one version more, at its next task, by then with a row that is active and knows the worker; count, priority,
-- tags and trace stay; the delay itself is no task. Odd spacing and unknown members keep every byte.
SELECT sayiir_save_snapshot(qa.frame(E'{ "state" : {"InProgress": { "more" : [1.0, "x\\u00e9"],\n"position": {"AtDelay" :{"delay_id":"@d", "entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}} ,"completed_tasks":{"@b":{"task_id":"@b","output":[7]}},"last_completed_task_id":"@b"}},'
	'"instance_id":"delay","definition_hash":"@wf","updated_at" : 1700000100 ,"created_at":1700000000,"task_priority":2,"task_tags":["t"],"else":{"completed_tasks":{}}}'), '00-delay');
SELECT qa.place('delay');
SELECT qa.claims(p_max => 10);
SELECT qa.place(i) FROM unnest('{task,delay}'::text[]) i;
SELECT qa.payload('task');
SELECT qa.payload('delay');
SELECT qa.load('delay');
SELECT task_priority, task_tags, started_at = (SELECT min(created_at) FROM sayiir_workflow_snapshot_history WHERE instance_id = 'delay') FROM sayiir_workflow_snapshots WHERE instance_id = 'delay';
-- the worker goes on from there under its claim
SELECT qa.jadv(qa.jp('delay', '{"AtTask":{"task_id":"@f"}}', '{"@b":{"task_id":"@b","output":[]},"@e":{"task_id":"@e","output":[14]}}', '"@e"'), 'delay', '20 minutes', 2);
SELECT qa.place('delay');

-- A delay that is not due, and a retry that is not, wait; a retry that is due is a task.
SELECT sayiir_save_snapshot(qa.jp('later', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2099-01-01T00:00:00Z","next_task_id":"@e"}}'));
SELECT sayiir_save_snapshot(qa.jp('retry later', '{"AtTask":{"task_id":"@a"}}', more => ',"task_retries":{"@a":{"attempts":1,"policy":{},"last_error":"e","next_retry_at":"2099-01-01T00:00:00Z"}}'));
SELECT sayiir_save_snapshot(qa.jp('retry due', '{"AtTask":{"task_id":"@a"}}', more => ',"task_retries":{"@a":{"attempts":1,"policy":{},"last_error":"e","next_retry_at":"2020-01-01T00:00:00Z"}}'));
SELECT qa.claims(p_max => 10);
SELECT qa.place('retry due');
SELECT qa.wipe();

-- A delay without a next task: the workflow completes, and is not given out; another one is. The final output is the
-- stored output of delay_id, else empty. Active tasks are closed, the end has its time.
SELECT sayiir_save_snapshot(qa.jp('ends', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":null}}', '{"@b":{"task_id":"@b","output":[7]}}', '"@b"', ',"task_priority":1'), '00-ends');
SELECT sayiir_save_snapshot(qa.jp('ends with output', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z"}}', '{"@d":{"task_id":"@d","output":[0,9,10,99,100,255]}}', '"@d"', ',"task_priority":1'));
SELECT sayiir_save_snapshot(qa.jp('ends with a branch', '{"AtTask":{"task_id":"@x"}}'));
SELECT sayiir_save_snapshot(qa.jp('ends with a branch', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":null}}', more => ',"task_priority":1'));
SELECT qa.ws('other', p_prio => 5);
SELECT qa.claims();
SELECT qa.place(i), qa.payload(i) FROM unnest('{ends,ends with a branch,ends with output}'::text[]) i;
SELECT qa.load('ends');
SELECT instance_id, completed_at = updated_at, completed_at > started_at FROM sayiir_workflow_snapshots WHERE instance_id LIKE 'ends%' ORDER BY 1;
SELECT qa.claims(p_max => 10);
SELECT qa.wipe();

-- At a signal with an unread event: the signal completes with the payload as its output, and the oldest event is gone.
SELECT sayiir_send_event('signal', 'go', '\x01'), sayiir_send_event('signal', 'go', '\x02'), sayiir_send_event('signal', 'stay', '\x03');
SELECT sayiir_save_snapshot(qa.jp('signal', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":"2099-01-01T00:00:00Z","next_task_id":"@e"}}', '{"@b":{"task_id":"@b","output":[7]}}', '"@b"', ',"task_tags":["t"],"task_priority":4'), '00-signal');
SELECT qa.place('signal');
SELECT qa.claims();
SELECT qa.place('signal'), qa.payload('signal');
SELECT qa.load('signal');
-- a second signal of the name right behind the first: the next event, in a second call, for the place is another
SELECT qa.jadv(qa.jp('signal', '{"AtSignal":{"signal_id":"@x","signal_name":"go","wake_at":null,"next_task_id":null}}', '{"@b":{"task_id":"@b","output":[]},"@e":{"task_id":"@e","output":[5]},"@g":{"task_id":"@g","output":[]}}', '"@e"'), 'signal');
SELECT qa.place('signal');
-- and it ends with the payload
SELECT qa.claims();
SELECT qa.place('signal'), qa.payload('signal');
-- an empty payload is one
SELECT sayiir_send_event('empty', 'go', ''), sayiir_save_snapshot(qa.jp('empty', '{"AtSignal":{"signal_id":"@g","signal_name":"go","next_task_id":"@e"}}'));
SELECT sayiir_send_event('empty end', 'go', ''), sayiir_save_snapshot(qa.jp('empty end', '{"AtSignal":{"signal_id":"@g","signal_name":"go"}}'));
SELECT qa.claims(p_max => 10);
SELECT qa.place(i), qa.payload(i) FROM unnest('{empty,empty end}'::text[]) i;
SELECT sayiir_load_task_result('empty', qa.t('g'));
-- a name in escapes, and in another script
SELECT sayiir_send_event('names', E'a"\\\u00e9', '\x01'), sayiir_save_snapshot(qa.jp('names', E'{"AtSignal":{"signal_id":"@g","signal_name":"\\u0061\\"\\\\é","next_task_id":"@e"}}'));
SELECT qa.claims();
SELECT qa.wipe();

-- A signal's time, a fork's time: given out for the worker to act on, unchanged. A signal whose event came in time and
-- whose time is past has its event.
SELECT sayiir_save_snapshot(qa.jp('1 timeout', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}}'));
SELECT sayiir_save_snapshot(qa.jp('2 fork', '{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":"2020-01-01T00:00:00Z"}}'));
SELECT sayiir_save_snapshot(qa.jp('3 event', '{"AtSignal":{"signal_id":"@g","signal_name":"come","wake_at":null,"next_task_id":"@e"}}'));
SELECT sayiir_send_event('4 both', 'go', '\x04'), sayiir_save_snapshot(qa.jp('4 both', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}}'));
SELECT sayiir_save_snapshot(qa.jp('5 join', '{"AtJoin":{"join_id":"@x","completed_branches":{}}}')), sayiir_save_snapshot(qa.jp('6 loop', '{"InLoop":{"loop_id":"@x","iteration":1,"next_task_id":"@y"}}')), sayiir_save_snapshot(qa.jp('7 start', '"NotStarted"'));
SELECT qa.claims(p_max => 10);
SELECT qa.place(i) FROM sayiir_list_snapshots() i;
-- the worker moves it past its time
SELECT qa.jadv(qa.jp('1 timeout', '{"AtTask":{"task_id":"@e"}}'), '1 timeout', '20 minutes'), qa.place('1 timeout');
SELECT qa.wipe();

-- Many due ones in one call: the answer is full, those that ended do not count.
SELECT count(sayiir_save_snapshot(qa.jp('end ' || i, '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":null}}'))) FROM generate_series(1, 40) i;
SELECT count(sayiir_save_snapshot(qa.jp('on ' || to_char(i, 'FM00'), '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}}'))) FROM generate_series(1, 40) i;
SELECT count(*), count(*) FILTER (WHERE task_id = qa.t('e') AND history_version = 2), min(instance_id), max(instance_id) FROM sayiir_claim_tasks('w', 30);
SELECT status, count(*) FROM sayiir_workflow_snapshots GROUP BY 1 ORDER BY 1;
SELECT qa.wipe();

-- Tags and definition decide before anything is moved.
SELECT sayiir_save_snapshot(qa.jp('gpu', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}}', more => ',"task_tags":["gpu"]'));
SELECT qa.claims(p_tags => '{cpu}'), qa.claims(p_defs => ARRAY[qa.t('x')]);
SELECT qa.place('gpu');
SELECT qa.claims(p_tags => '{cpu,gpu}', p_defs => ARRAY[qa.t('wf')]);

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
