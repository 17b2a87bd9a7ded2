-- A fork begins with a version of another instance and the outputs known then, runs on, and leaves the other as it was.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- An opaque workflow: a, then b and c, with outputs.
SELECT qa.sv('o', p_tags => '{gpu}', p_prio => 2, p_trace => '00-t');
SELECT qa.sv('o', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa', p_tags => '{gpu}', p_prio => 2, p_trace => '00-t');
SELECT qa.sv('o', p_data => '\x03', p_cur => qa.t('c'), p_lc => qa.t('b'), p_out => '\xbb', p_tags => '{gpu}', p_prio => 2, p_trace => '00-t');
SELECT qa.sv('o', 'Failed', '\x04', NULL, p_lc => qa.t('c'), p_out => '\xcc', p_err => 'went wrong');
CREATE TABLE qa.shown AS SELECT * FROM qa.show('o') s;
SELECT sayiir_fork('o', 1, 'o1'), sayiir_fork('o', 2, 'o2'), sayiir_fork('o', 3, 'o3');
SELECT qa.load('o1');
SELECT qa.load('o2');
SELECT qa.load('o3');
SELECT i, qa.tasks(i) FROM unnest('{o1,o2,o3}'::text[]) i;
-- each is found by a worker, its tags and priority kept, and runs on
SELECT instance_id, qa.nm(task_id), history_version, data FROM sayiir_claim_tasks('w', 10, worker_tags => '{gpu}') ORDER BY 1;
SELECT sayiir_release_claim(instance_id, claim_token) FROM sayiir_workflow_claims;
SELECT qa.sv('o2', p_data => '\x13', p_cur => qa.t('d'), p_lc => qa.t('b'), p_out => '\x0b'), qa.sv('o2', 'Completed', '\x14', NULL, p_lc => qa.t('d'), p_out => '\x0d');
SELECT qa.load('o2'), qa.tasks('o2');
SELECT 'the original is as it was' WHERE NOT EXISTS (SELECT * FROM qa.show('o') s EXCEPT SELECT s FROM qa.shown) AND NOT EXISTS (SELECT s FROM qa.shown EXCEPT SELECT * FROM qa.show('o'));
-- a fork of a fork, and of a version after more outputs came
SELECT sayiir_fork('o2', 1, 'o21'), qa.load('o21');
SELECT sayiir_save_task_result('o1', qa.t('x'), '\x01'), sayiir_save_task_result('o1', qa.t('y'), '\x02');
SELECT sayiir_fork('o1', 2, 'o12'), qa.load('o12');
-- where an opaque one waits is known of the newest alone
SELECT qa.ws('p', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2050-01-01Z'), qa.ws('p', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go');
SELECT sayiir_fork('p', 2, 'p2'), qa.place('p2');
SELECT sayiir_fork('p', 1, 'p1'), qa.place('p1');
SELECT sayiir_send_event('p2', 'go', '\x01'), sayiir_send_event('p1', 'go', '\x01');

-- One of Sayiir's own: everything is read out of it, and it carries the new id.
SELECT sayiir_save_snapshot(qa.jp('j', '{"AtTask":{"task_id":"@a"}}'));
SELECT sayiir_save_snapshot(qa.jp('j', '{"AtFork":{"fork_id":"@f","completed_branches":{}}}', '{"@a":{"task_id":"@a","output":[170]}}', '"@a"'));
SELECT sayiir_save_task_result('j', qa.t('x'), '\x01'), sayiir_save_task_result('j', qa.t('y'), '\x02');
SELECT sayiir_save_snapshot(qa.jp('j', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":null,"next_task_id":"@e"}}', '{"@a":{"task_id":"@a","output":[]},"@x":{"task_id":"@x","output":[]},"@y":{"task_id":"@y","output":[]}}', '"@y"'));
SELECT sayiir_pause('j'), sayiir_unpause('j');
SELECT sayiir_save_snapshot(qa.js('j', '{"Completed":{"final_output":[1]}}'));
TRUNCATE qa.shown;
INSERT INTO qa.shown SELECT * FROM qa.show('j') s;
SELECT v, sayiir_fork('j', v, 'j' || v) FROM generate_series(1, 7) v;
SELECT v, qa.place('j' || v) FROM generate_series(1, 7) v;
SELECT v, qa.payload('j' || v) FROM generate_series(1, 7) v WHERE v IN (1, 3, 6);
SELECT 'the original is as it was' WHERE NOT EXISTS (SELECT * FROM qa.show('j') s EXCEPT SELECT s FROM qa.shown) AND NOT EXISTS (SELECT s FROM qa.shown EXCEPT SELECT * FROM qa.show('j'));
-- run on from each
SELECT sayiir_save_task_result('j2', qa.t('x'), '\x11'), sayiir_save_task_result('j3', qa.t('y'), '\x12'), sayiir_send_event('j5', 'go', '\x13'), sayiir_unpause('j6');
SELECT i, qa.place(i) FROM unnest('{j2,j3,j5,j6}'::text[]) i;
SELECT sayiir_load_task_result('j', qa.t('x')), sayiir_load_task_result('j', qa.t('y'));
-- an id that JSON has to escape
SELECT sayiir_fork('j', 1, E'a"b\\c\n é');
SELECT substr(convert_from(substr(data, 7), 'UTF8'), 1, 40) FROM sayiir_load_snapshot(E'a"b\\c\n é');

-- Refused, and nothing is written
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT qa.try($$SELECT sayiir_fork('nobody', 1, 'n')$$);
SELECT qa.try($$SELECT sayiir_fork('o', 5, 'n')$$);
SELECT qa.try($$SELECT sayiir_fork('o', 0, 'n')$$);
SELECT qa.try($$SELECT sayiir_fork('o', 4, 'n')$$);
SELECT qa.try($$SELECT sayiir_fork('j', 8, 'n')$$);
SELECT qa.try($$SELECT sayiir_fork('o', 1, 'o1')$$);
SELECT qa.try($$SELECT sayiir_fork('o', 1, 'o')$$);
SELECT qa.try($$SELECT sayiir_fork(NULL, 1, 'n')$$);
SELECT qa.try($$SELECT sayiir_fork('o', NULL, 'n')$$);
SELECT qa.try($$SELECT sayiir_fork('o', 1, NULL)$$);
SELECT qa.try($$SELECT sayiir_fork('o', -1, 'n')$$);
SELECT qa.try($$SELECT sayiir_fork('o', 1, '')$$);
SELECT qa.try(format('SELECT sayiir_fork(%L, 1, %L)', 'o', repeat('x', 257)));
SELECT qa.whole() = (SELECT f FROM qa.before) AS nothing_written;
SELECT count(*) FROM sayiir_check_integrity();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
