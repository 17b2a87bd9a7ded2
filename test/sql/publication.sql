-- CASES B30: tables that are published can still be updated and deleted from.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;
-- on a server whose wal_level is too low, that is warned of and published all the same
SET client_min_messages = error;
CREATE PUBLICATION regress_sayiir_all FOR ALL TABLES;
SET client_min_messages = warning;
SELECT tablename FROM pg_publication_tables WHERE pubname = 'regress_sayiir_all' AND tablename LIKE 'sayiir_workflow_%'
	AND tablename IN ('sayiir_workflow_snapshots', 'sayiir_workflow_versions', 'sayiir_workflow_tasks') ORDER BY 1;
SELECT qa.sv('p');
SELECT qa.sv('p', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa');
SELECT sayiir_save_task_result('p', qa.t('b'), '\xbb');
SELECT sayiir_save_task_result('p', qa.t('b'), '\xbc');
SELECT qa.sv('p', 'Completed', '\x09', NULL);
SELECT sayiir_delete_snapshot('p');
DROP PUBLICATION regress_sayiir_all;

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
