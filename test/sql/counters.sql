-- CASES B36: at the end of their range the counters raise 22003 and change nothing; no sequence is used up.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- versions
SELECT qa.sv('v');
UPDATE sayiir_workflow_snapshots SET history_version = 2147483646 WHERE instance_id = 'v';
UPDATE sayiir_workflow_versions SET version = 2147483646 WHERE instance_id = 'v';
SELECT qa.sv('v', p_data => '\x02');
SELECT qa.whole() AS before \gset
SELECT qa.try($$SELECT qa.sv('v', p_data => '\x03')$$);
SELECT qa.try($$SELECT qa.sv('v', p_data => '\x03', p_ev => 2147483647)$$);
SELECT qa.try($$SELECT qa.sv('v', 'Completed', '\x03', NULL)$$);
SELECT qa.try($$SELECT sayiir_save_task_result('v', qa.t('b'), '\xbb')$$);
SELECT qa.try($$SELECT sayiir_save_task_result('v', qa.t('b'), '\xbb', '\x03', 2147483647)$$);
SELECT qa.whole() = :'before' AS untouched;
-- it is still read, recognized, listed, and deleted
SELECT qa.load('v'), qa.load('v', 2147483647);
SELECT qa.try($$SELECT qa.sv('v', p_data => '\x02', p_ev => 2147483646)$$);
SELECT qa.try($$SELECT qa.sv('v', p_data => '\x04', p_ev => 2147483646)$$);
SELECT sayiir_delete_snapshot('v');

-- the count of completed tasks
SELECT qa.sv('c', p_count => 2147483646);
SELECT qa.sv('c', p_lc => qa.t('b'), p_out => '\xbb');
SELECT completed_task_count FROM sayiir_load_snapshot('c');
SELECT qa.whole() AS before \gset
SELECT qa.try($$SELECT qa.sv('c', p_lc => qa.t('c'))$$);
SELECT qa.try($$SELECT sayiir_save_task_result('c', qa.t('c'), '\xcc')$$);
SELECT qa.whole() = :'before' AS untouched;
-- what does not count is not stopped by it: no task, one that is completed already, a count that is given
SELECT qa.try($$SELECT qa.sv('c', p_data => '\x02')$$);
SELECT qa.try($$SELECT qa.sv('c', p_data => '\x03', p_lc => qa.t('b'))$$);
SELECT qa.try($$SELECT qa.sv('c', p_data => '\x04', p_lc => qa.t('b'), p_out => '\xbc')$$);
SELECT qa.try($$SELECT sayiir_save_task_result('c', qa.t('b'), '\xbd')$$);
SELECT qa.try($$SELECT qa.sv('c', p_data => '\x05', p_lc => qa.t('c'), p_count => 1)$$);
SELECT completed_task_count, history_version FROM sayiir_load_snapshot('c');

-- no sequence among the members of the three tables, so none that is burned
SELECT count(*) FROM pg_sequence s JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid
WHERE d.refobjid IN ('sayiir_workflow_snapshots'::regclass, 'sayiir_workflow_versions'::regclass, 'sayiir_workflow_tasks'::regclass);

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
