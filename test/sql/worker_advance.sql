-- sayiir_advance: one step of a worker in one commit, what it answers, and how a repeat is recognized.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- Without next_claim_ttl the claim ends; the next task waits for anyone.
SELECT qa.ws('a'), qa.claim('a');
SELECT qa.adv('a', p_lc => qa.t('a'), p_out => '\xaa', p_ev => 1), qa.place('a');
-- With it the same worker goes on, under the same token, for the next task.
SELECT qa.claim('a', qa.t('b'));
SELECT qa.adv('a', p_data => '\x03', p_cur => qa.t('c'), p_lc => qa.t('b'), p_out => '\xbb', p_ev => 2, p_ttl => '20 minutes'), qa.place('a');
SELECT qa.extend('a', '10 minutes');
SELECT qa.adv('a', p_data => '\x04', p_cur => qa.t('d'), p_lc => qa.t('c'), p_out => '\xcc', p_ttl => '2 hours'), qa.place('a');
SELECT qa.claims(p_max => 10);
SELECT qa.adv('a', p_data => '\x05', p_cur => qa.t('e'), p_ttl => '20 minutes');
-- at the same task again (a retry, say) it goes on as well
SELECT qa.adv('a', p_data => '\x06', p_cur => qa.t('e'), p_wake => '2020-01-01Z', p_ttl => '20 minutes'), qa.place('a');
-- without a ttl the claim ends also when the step has not moved
SELECT qa.adv('a', p_data => '\x07', p_cur => qa.t('e'), p_wake => '2020-01-01Z'), qa.place('a');
-- a claim until released goes on with an expiry, and the other way round never
SELECT qa.claim('a', qa.t('e'), p_ttl => NULL), qa.adv('a', p_data => '\x08', p_cur => qa.t('f'), p_ttl => '20 minutes'), qa.place('a');
-- at another place: the claim ends whatever the ttl is
SELECT qa.adv('a', p_data => '\x09', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_lc => qa.t('f'), p_out => '\xff', p_ttl => '20 minutes'), qa.place('a');
SELECT sayiir_send_event('a', 'go', '\x01');
SELECT qa.claims();
SELECT sayiir_consume_event('a', 'go'), qa.adv('a', p_data => '\x0a', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2020-01-01Z', p_ttl => '20 minutes'), qa.place('a');
-- from another place on to a task, going on with it
SELECT qa.claims();
SELECT qa.adv('a', p_data => '\x0b', p_cur => qa.t('g'), p_ttl => '20 minutes'), qa.place('a');
-- the end: claim gone, nothing to go on with
SELECT qa.adv('a', 'Completed', '\x0c', NULL, p_lc => qa.t('g'), p_out => '\x11', p_ttl => '20 minutes'), qa.place('a');
SELECT s.completed_at = s.updated_at FROM sayiir_workflow_snapshots s WHERE instance_id = 'a';
-- Failed, Cancelled, and Paused by the worker itself
SELECT qa.ws('f'), qa.claim('f'), qa.adv('f', 'Failed', '\x02', NULL, p_err => 'boom'), qa.place('f');
SELECT qa.ws('c'), qa.claim('c'), qa.adv('c', 'Cancelled', '\x02', NULL), qa.place('c');
SELECT qa.ws('p'), qa.claim('p'), qa.adv('p', 'Paused', '\x02', qa.t('a'), p_ttl => '20 minutes'), qa.place('p');
-- all the arguments arrive
SELECT qa.ws('all'), qa.claim('all');
SELECT history_version, status, expires_at FROM sayiir_advance('\x02', qa.k('all'), 'all', 'InProgress', qa.t('wf2'), qa.t('b'), 7, 'err', 'AtTask', '2020-01-01Z', '00-tr', 2, '{x,y}', qa.t('a'), '\xaa', 1, 'sig', NULL);
SELECT qa.show('all');
SELECT awaited_signal FROM sayiir_workflow_snapshots WHERE instance_id = 'all';

-- The short form: everything out of the snapshot; outputs to the task rows; trace_parent given.
SELECT sayiir_save_snapshot(qa.jp('j', '{"AtTask":{"task_id":"@a"}}')), qa.claim('j');
SELECT qa.jadv(qa.jp('j', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[1,2]}}', '"@a"', ',"task_priority":2,"task_tags":["t"]'), 'j', '20 minutes', 1, '00-j');
SELECT qa.place('j'), qa.payload('j');
SELECT trace_parent, task_priority, task_tags FROM sayiir_workflow_snapshots WHERE instance_id = 'j';
-- a retry of the same task that is not due goes back to the queue without ttl, and stays with the worker with one
SELECT qa.jadv(qa.jp('j', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[]}}', '"@a"', ',"task_retries":{"@b":{"attempts":1,"policy":{},"last_error":"e","next_retry_at":"2099-01-01T00:00:00Z"}}'), 'j', NULL, 2), qa.place('j');
SELECT qa.claims(p_max => 10);
SELECT qa.claim('j', qa.t('b'));
SELECT qa.jadv(qa.jp('j', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2099-01-01T00:00:00Z","next_task_id":"@e"}}', '{"@a":{"task_id":"@a","output":[]},"@b":{"task_id":"@b","output":[2]}}', '"@b"'), 'j', '20 minutes'), qa.place('j');
-- the end
SELECT sayiir_save_snapshot(qa.jp('je', '{"AtTask":{"task_id":"@a"}}')), qa.claim('je'), qa.jadv(qa.js('je', '{"Completed":{"final_output":[1]}}'), 'je', '1 hour'), qa.place('je');

-- A pending signal is applied after the worker's own state was saved: two versions, one commit, and the answer says so.
SELECT qa.ws('s'), qa.claim('s'), sayiir_cancel('s', 'why', 'me');
SELECT qa.adv('s', p_lc => qa.t('a'), p_out => '\xaa', p_ev => 1, p_ttl => '20 minutes'), qa.place('s');
SELECT version, status, qa.nm(current_task_id), data, created_at = (SELECT max(created_at) FROM sayiir_workflow_snapshot_history WHERE instance_id = 's') FROM sayiir_workflow_snapshot_history WHERE instance_id = 's' AND version > 1 ORDER BY 1;
SELECT qa.ws('sp'), qa.claim('sp'), sayiir_pause('sp'), qa.adv('sp', p_ttl => '20 minutes'), qa.place('sp');
SELECT qa.ws('scp'), qa.claim('scp'), sayiir_pause('scp'), sayiir_cancel('scp'), qa.adv('scp'), qa.place('scp');
SELECT qa.ws('sw'), qa.claim('sw'), sayiir_cancel('sw'), qa.adv('sw', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), qa.place('sw');
-- an end goes before the signal, a Paused step before a pause
SELECT qa.ws('se'), qa.claim('se'), sayiir_cancel('se'), qa.adv('se', 'Completed', '\x02', NULL), qa.place('se');
SELECT sayiir_save_snapshot(qa.jp('sj', '{"AtTask":{"task_id":"@a"}}')), qa.claim('sj'), sayiir_cancel('sj', 'why', 'me'), qa.jadv(qa.jp('sj', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[9]}}', '"@a"'), 'sj', '1 hour'), qa.place('sj');
SELECT qa.payload('sj', 2), qa.payload('sj', 3);
SELECT sayiir_save_snapshot(qa.jp('sjp', '{"AtTask":{"task_id":"@a"}}')), qa.claim('sjp'), sayiir_pause('sjp', 'why'), qa.jadv(qa.jp('sjp', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[9]}}', '"@a"'), 'sjp', '1 hour'), qa.place('sjp');
SELECT qa.payload('sjp', 3);
-- a worker that pauses by itself while a pause is pending: Paused, and nothing is left to apply
SELECT qa.ws('spp'), qa.claim('spp'), sayiir_pause('spp'), split_part(qa.adv('spp', 'Paused'), ' ', 2);
SELECT sayiir_save_snapshot(qa.jp('sjpp', '{"AtTask":{"task_id":"@a"}}')), qa.claim('sjpp'), sayiir_pause('sjpp');
SELECT split_part(qa.try($$SELECT qa.jadv(qa.js('sjpp', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":{"AtTask":{"task_id":"@a"}}}}'), 'sjpp')$$), ' ', 2);
SELECT instance_id, status, EXISTS (SELECT FROM sayiir_workflow_signals g WHERE g.instance_id = s.instance_id) AS pending FROM sayiir_workflow_snapshots s WHERE instance_id IN ('spp', 'sjpp') ORDER BY 1;
-- a refused step leaves the signal
SELECT qa.ws('sr'), qa.claim('sr'), sayiir_cancel('sr'), left(qa.try($$SELECT qa.adv('sr', p_ev => 5)$$), 5), qa.place('sr');

-- A repeat: by status, bytes and current task of the newest version; the token is not checked; nothing is written.
SELECT qa.ws('r'), qa.claim('r'), qa.adv('r', p_lc => qa.t('a'), p_out => '\xaa', p_ev => 1, p_ttl => '20 minutes');
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT qa.adv('r', p_lc => qa.t('a'), p_out => '\xaa', p_ev => 1, p_ttl => '20 minutes');
-- the expiry is the claim's own, whatever ttl the repeat asks for; other outputs, other versions, no ttl: still the repeat
SELECT qa.adv('r', p_lc => qa.t('a'), p_out => '\xac', p_ttl => '5 hours'), qa.adv('r', p_ev => 77), qa.adv('r');
-- under an old token: the answer, without an expiry
SELECT qa.adv('r', p_token => '00000000-0000-0000-0000-000000000001', p_ev => 1, p_ttl => '20 minutes');
SELECT qa.whole() = f AS untouched FROM qa.before;
-- other bytes, another task, another status are no repeat
SELECT left(qa.try(format($$SELECT qa.adv('r', %L, %L, %s, p_token => '00000000-0000-0000-0000-000000000001')$$, s, d, c)), 5)
FROM (VALUES ('InProgress', '\x03', $$qa.t('b')$$), ('InProgress', '\x02', $$qa.t('c')$$), ('InProgress', '\x02', 'NULL'), ('Paused', '\x02', $$qa.t('b')$$), ('Failed', '\x02', $$qa.t('b')$$)) v(s, d, c);
SELECT qa.whole() = f AS untouched FROM qa.before;
-- after the claim was lost: taken over meanwhile, the repeat has no expiry to tell
SELECT qa.expire('r'), qa.claim('r', qa.t('b'), 'w2', p_label => 'r2'), qa.adv('r', p_ev => 1, p_ttl => '20 minutes'), qa.place('r');
-- the version before is not remembered once somebody else has saved
SELECT qa.adv('r', p_data => '\x03', p_cur => qa.t('c'), p_token => qa.k('r2'), p_ttl => '20 minutes');
SELECT qa.try($$SELECT qa.adv('r', p_ev => 1)$$);
-- a repeat of the end
SELECT qa.adv('r', 'Completed', '\x04', NULL, p_token => qa.k('r2')), qa.adv('r', 'Completed', '\x04', NULL, p_token => qa.k('r2')), qa.adv('r', 'Completed', '\x04', NULL, p_ev => 1, p_ttl => '1 hour');
SELECT qa.adv('r', 'Completed', '\x05', NULL), qa.adv('r', 'Failed', '\x04', NULL);
-- a repeat of a step that met a signal: the version before the newest, the newest being the signal of the same call
SELECT qa.ws('rs'), qa.claim('rs'), sayiir_cancel('rs'), qa.adv('rs', p_ev => 1, p_ttl => '20 minutes');
SELECT qa.ws('rp'), qa.claim('rp'), sayiir_pause('rp'), qa.adv('rp', p_ev => 1);
SELECT sayiir_save_snapshot(qa.jp('rj', '{"AtTask":{"task_id":"@a"}}')), qa.claim('rj'), sayiir_pause('rj'), qa.jadv(qa.jp('rj', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[1]}}', '"@a"'), 'rj');
UPDATE qa.before SET f = qa.whole();
SELECT qa.adv('rs', p_ev => 1, p_ttl => '20 minutes'), qa.adv('rp', p_ev => 1), qa.adv('rp'), qa.jadv(qa.jp('rj', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[1]}}', '"@a"'), 'rj', '1 hour', 1);
SELECT qa.whole() = f AS untouched FROM qa.before;
-- a signal that came by another call, later: the step before it is no repeat of the newest
SELECT qa.ws('rl'), qa.claim('rl'), qa.adv('rl', p_ev => 1);
SELECT sayiir_pause('rl');
SELECT qa.try($$SELECT qa.adv('rl', p_ev => 1)$$);
SELECT qa.ws('rc'), qa.claim('rc'), qa.adv('rc', p_ev => 1);
SELECT sayiir_cancel('rc');
SELECT qa.adv('rc', p_ev => 1), qa.place('rc');
-- unpaused since: an opaque newest version says again what the step said
SELECT sayiir_unpause('rp'), qa.adv('rp', p_ev => 1), qa.place('rp');
-- the short form, with outputs again and as stored
SELECT sayiir_save_snapshot(qa.jp('rjj', '{"AtTask":{"task_id":"@a"}}')), qa.claim('rjj'), qa.jadv(qa.jp('rjj', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[1]}}', '"@a"'), 'rjj', '20 minutes', 1);
SELECT qa.jadv(qa.jp('rjj', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[1]}}', '"@a"'), 'rjj', '20 minutes', 1), qa.jadv((SELECT data FROM sayiir_load_snapshot('rjj')), 'nobody', '20 minutes', 1);

-- Without expected_version it overwrites what was stored beside it; with it, not.
SELECT qa.ws('v'), qa.claim('v'), sayiir_save_task_result('v', qa.t('x'), '\x01');
SELECT qa.try($$SELECT qa.adv('v', p_ev => 1)$$);
SELECT qa.adv('v', p_ev => 2), qa.place('v');
-- A result beside the claim does not take it away from the worker.
SELECT qa.claim('v', qa.t('b')), sayiir_save_task_result('v', qa.t('y'), '\x02'), qa.adv('v', p_data => '\x04', p_cur => qa.t('c'), p_ttl => '20 minutes'), qa.place('v');
-- Rolled back, the old claim is there as it was.
BEGIN;
SELECT qa.adv('v', p_data => '\x05', p_cur => qa.t('d'));
ROLLBACK;
SELECT qa.place('v'), qa.extend('v', '1 minute');
-- Two steps in one transaction.
BEGIN;
SELECT qa.adv('v', p_data => '\x05', p_cur => qa.t('d'), p_ttl => '20 minutes'), qa.adv('v', p_data => '\x06', p_cur => qa.t('e'), p_ttl => '20 minutes');
COMMIT;
SELECT qa.place('v');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
