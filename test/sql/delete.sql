-- sayiir_delete_snapshot: the instance and all rows that hang on it, nothing else.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

SELECT qa.sv(i), qa.sv(i, p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa') FROM unnest('{gone,gone2,g,stays}'::text[]) i;
SELECT qa.sv('gone', 'Completed', '\x03', NULL);
-- the answer is void
SELECT sayiir_delete_snapshot('gone')::text = '', pg_typeof(sayiir_delete_snapshot('gone2'));
SELECT qa.show('gone'), qa.show('gone2');
SELECT count(*) FROM sayiir_workflow_snapshot_history WHERE instance_id LIKE 'gone%';
SELECT count(*) FROM sayiir_workflow_tasks WHERE instance_id LIKE 'gone%';
SELECT qa.show('stays');
SELECT * FROM sayiir_list_snapshots();
-- by name
SELECT sayiir_delete_snapshot(instance_id => 'g');
-- unknown: never there, and not there any more
SELECT qa.try($$SELECT sayiir_delete_snapshot('gone')$$);
SELECT qa.try($$SELECT sayiir_delete_snapshot('nobody')$$);
SELECT qa.try($$SELECT sayiir_load_snapshot('gone')$$);
SELECT qa.try($$SELECT sayiir_save_task_result('gone', qa.t('a'), '\xaa')$$);
-- names are compared byte for byte, and whole
SELECT qa.try(format('SELECT sayiir_delete_snapshot(%L)', i)) FROM unnest('{stay,STAYS,"stays "}'::text[]) i;
-- It begins anew at version 1, without the old tasks and times.
SELECT qa.sv('gone', p_ev => 0);
SELECT qa.show('gone');
-- rolled back
BEGIN; SELECT sayiir_delete_snapshot('stays'); ROLLBACK;
SELECT qa.load('stays');
-- delete, save and delete in one transaction; in one statement
BEGIN;
SELECT sayiir_delete_snapshot('stays');
SELECT qa.sv('stays', p_data => '\x0a');
SELECT sayiir_delete_snapshot('stays');
SELECT qa.sv('stays', p_data => '\x0b', p_cur => qa.t('z'));
COMMIT;
SELECT qa.show('stays');
SELECT qa.sv('x' || i) FROM generate_series(1, 3) i;
SELECT count(*) FROM (SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i WHERE i LIKE 'x%' OFFSET 0) d;
SELECT * FROM sayiir_list_snapshots();

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
