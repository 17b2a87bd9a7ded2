-- What the two views for operators say of each state, and who may read them.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- One instance in each state; the queue by priority and tags.
SELECT qa.ws('01 task', p_kind => 'AtTask', p_prio => 1, p_tags => '{gpu}'), qa.ws('02 held', p_prio => 2), qa.claim('02 held', p_worker => 'w2'), qa.ws('03 expired', p_prio => 2), qa.claim('03 expired', p_worker => 'w3'), qa.expire('03 expired'),
	qa.ws('04 until released', p_prio => 2), qa.claim('04 until released', p_worker => 'w4', p_ttl => NULL);
SELECT qa.ws('05 retry', p_wake => '2099-01-01Z'), qa.ws('06 delay', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2099-01-01Z'), qa.ws('07 due delay', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2020-01-01Z');
SELECT qa.ws('08 signal', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), qa.ws('09 event there', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), sayiir_send_event('09 event there', 'go', '\x01'), qa.ws('10 nowhere', p_cur => NULL);
SELECT qa.ws('11 paused'), sayiir_pause('11 paused'), qa.ws('12 pending'), sayiir_store_signal('12 pending', 'Cancel'), qa.ws('13 held, both pending'), qa.claim('13 held, both pending'), sayiir_cancel('13 held, both pending'), sayiir_pause('13 held, both pending');
SELECT qa.ws('14 completed', 'Completed', p_cur => NULL), qa.ws('15 failed', 'Failed', p_cur => NULL, p_err => 'boom'), qa.ws('16 cancelled'), sayiir_cancel('16 cancelled');
SELECT sayiir_save_snapshot(qa.jp('17 json', '{"AtTask":{"task_id":"@a"}}', '{"@b":{"task_id":"@b","output":[7]}}', '"@b"', ',"task_priority":5')), qa.ws('18 signal with time', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2099-01-01Z');

SELECT instance_id, status, waiting_for, held_by, CASE WHEN held_by IS NOT NULL THEN qa.lasts(NULL, held_until) END, pending_signals FROM sayiir_workflows ORDER BY 1;
SELECT instance_id, qa.nm(decode(current_task_id, 'hex')), position_kind, completed_task_count, history_version, task_priority, task_tags, qa.nm(decode(definition_hash, 'hex')), error, qa.instant(delay_wake_at) FROM sayiir_workflows ORDER BY 1;
-- ids are in hex
SELECT current_task_id = encode(sha256('a'), 'hex'), definition_hash = encode(sha256('wf'), 'hex') FROM sayiir_workflows WHERE instance_id = '01 task';
-- one row per instance; ages are not negative, those of the ended stand still
SELECT (SELECT count(*) FROM sayiir_workflows) = (SELECT count(*) FROM sayiir_workflow_snapshots), bool_and(age >= '0'), bool_and(at_place_for >= '0') FROM sayiir_workflows;
SELECT instance_id, age = completed_at - started_at FROM sayiir_workflows WHERE completed_at IS NOT NULL ORDER BY 1;
-- never the bytes
SELECT attrelid::regclass, attname FROM pg_attribute WHERE attrelid IN ('sayiir_workflows'::regclass, 'sayiir_queue'::regclass) AND attnum > 0 AND (atttypid = 'bytea'::regtype OR attname ~ 'data|output|payload|token');

-- The queue: 1 {gpu}: one ready; 2: two claimed, one expired; 3: ready are 07, 09; delayed 05, 06, 18; claimed 13; 5: one.
SELECT task_priority, task_tags, ready, delayed, claimed, expired, oldest_ready >= '0' AS oldest FROM sayiir_queue ORDER BY 1, 2;
-- taken, it is claimed; an expired claim that was given back is ready
SELECT qa.claims(p_max => 1);
SELECT task_priority, task_tags, ready, delayed, claimed, expired, oldest_ready >= '0' AS oldest FROM sayiir_queue ORDER BY 1, 2;
SELECT qa.wipe();
SELECT count(*) FROM sayiir_queue;
SELECT count(*) FROM sayiir_workflows;

-- A reader who was granted the views and nothing else reads them, and nothing else.
SELECT qa.ws('x', p_lc => qa.t('b'), p_out => '\xbb'), qa.claim('x');
CREATE ROLE regress_sayiir_watcher;
SET ROLE regress_sayiir_watcher;
SELECT count(*) FROM sayiir_workflows;
SELECT count(*) FROM sayiir_queue;
RESET ROLE;
GRANT SELECT ON sayiir_workflows, sayiir_queue TO regress_sayiir_watcher;
SET ROLE regress_sayiir_watcher;
SELECT instance_id, waiting_for, held_by FROM sayiir_workflows;
SELECT claimed FROM sayiir_queue;
SELECT count(*) FROM sayiir_workflow_snapshots;
SELECT claim_token FROM sayiir_workflow_claims;
\set VERBOSITY sqlstate
UPDATE sayiir_workflows SET error = 'x';
DELETE FROM sayiir_queue;
\set VERBOSITY default
RESET ROLE;
DROP OWNED BY regress_sayiir_watcher;
DROP ROLE regress_sayiir_watcher;

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
