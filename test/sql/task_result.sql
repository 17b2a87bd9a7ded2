-- sayiir_save_task_result and sayiir_load_task_result.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

SELECT qa.sv('s', p_err => 'e', p_kind => 'AtTask', p_wake => '2031-01-01 UTC', p_trace => '00-t', p_prio => 2, p_tags => '{x}');
-- The next version, the snapshot carried over, the count one more; all else as it was.
SELECT sayiir_save_task_result('s', qa.t('a'), '\xaa');
SELECT qa.show('s');
-- a task that was never current
SELECT sayiir_save_task_result('s', qa.t('b'), '\xbb');
-- with the re-encoded snapshot
SELECT sayiir_save_task_result('s', qa.t('c'), '\xcc', '\x0203');
-- carried over from there
SELECT sayiir_save_task_result('s', qa.t('d'), '\x', expected_version => 4);
SELECT qa.show('s');
-- Another output replaces the first; the count stays.
SELECT sayiir_save_task_result('s', qa.t('a'), '\xab');
SELECT sayiir_save_task_result('s', qa.t('a'), '\x');
SELECT qa.show('s');
-- By name, and NULL for the defaults.
SELECT sayiir_save_task_result(output => '\xee', task_id => qa.t('e'), instance_id => 's', expected_version => NULL, data => NULL);
-- an empty snapshot is a snapshot
SELECT sayiir_save_task_result('s', qa.t('f'), '\xff', '');
SELECT qa.load('s');

-- A Paused instance takes results; its status stays.
SELECT qa.sv('p'); SELECT qa.sv('p', 'Paused', '\x02');
SELECT sayiir_save_task_result('p', qa.t('a'), '\xaa');
SELECT qa.show('p');

-- Results of many tasks in one statement all survive.
SELECT qa.sv('many');
SELECT count(sayiir_save_task_result('many', qa.t(i::text), int4send(i))) FROM generate_series(1, 100) i;
SELECT count(*), bool_and(output = sayiir_load_task_result('many', task_id)), max(completed_version)
FROM sayiir_workflow_tasks WHERE instance_id = 'many' AND status = 'completed';
SELECT completed_task_count, history_version FROM sayiir_workflow_snapshots WHERE instance_id = 'many';

-- The whole way of a client: result, then the save that moves on.
SELECT qa.sv('way'); SELECT sayiir_save_task_result('way', qa.t('a'), '\xaa');
SELECT qa.sv('way', p_data => '\x02', p_cur => qa.t('b')); SELECT sayiir_save_task_result('way', qa.t('b'), '\xbb');
SELECT qa.sv('way', 'Completed', '\x03', NULL, p_lc => qa.t('b'), p_out => '\xbb');
SELECT qa.show('way');

-- Unknown instance, and a message that holds what was asked for (CASES B06).
SELECT qa.try($$SELECT sayiir_save_task_result('nobody', qa.t('a'), '\xaa')$$);
SELECT count(*) FROM sayiir_workflow_tasks WHERE instance_id = 'nobody';

-- Loading one: the output, NULL when the task is not completed or unknown, P0002 for the instance.
SELECT sayiir_load_task_result('s', qa.t('b')), sayiir_load_task_result('s', qa.t('d'));
SELECT sayiir_load_task_result('way', qa.t('a')), sayiir_load_task_result(task_id => qa.t('b'), instance_id => 'way');
SELECT qa.sv('act');
SELECT sayiir_load_task_result('act', qa.t('a')), sayiir_load_task_result('act', qa.t('unheard of'));
SELECT qa.sv('act', p_data => '\x02', p_lc => qa.t('a'));
SELECT sayiir_load_task_result('act', qa.t('a'));
SELECT qa.try($$SELECT sayiir_load_task_result('nobody', qa.t('a'))$$);
-- closed with the instance, without an output
SELECT qa.sv('act', p_cur => qa.t('c')); SELECT qa.sv('act', 'Failed', '\x09', p_err => 'oops');
SELECT sayiir_load_task_result('act', qa.t('c'));
-- An output that a row of another status still holds is not a result.
UPDATE sayiir_workflow_tasks SET status = 'failed' WHERE instance_id = 'way' AND task_id = qa.t('a');
SELECT sayiir_load_task_result('way', qa.t('a')), qa.load('way');
UPDATE sayiir_workflow_tasks SET status = 'completed' WHERE instance_id = 'way' AND task_id = qa.t('a');
-- five megabytes
SELECT string_agg(sha256(int4send(i)), '' ORDER BY i) AS big FROM generate_series(1, 32768) i \gset
SELECT sayiir_save_task_result('p', qa.t('big'), decode(repeat(substr(:'big', 3), 5), 'hex'));
SELECT sayiir_load_task_result('p', qa.t('big')) = decode(repeat(substr(:'big', 3), 5), 'hex');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
