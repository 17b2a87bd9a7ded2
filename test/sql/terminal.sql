-- An instance that has ended: late calls write nothing at all, and say NULL (invariant I4).
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- One instance for each way to end, with a completed, and a closed task; and one that goes on.
SELECT qa.sv('goes on');
CREATE PROCEDURE qa.finish(id text, stat text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM qa.sv(id, p_cur => qa.t('a'), p_lc => qa.t('b'), p_out => '\xbb'); COMMIT;
	PERFORM qa.sv(id, p_data => '\x02', p_cur => qa.t('c')); COMMIT;
	PERFORM qa.sv(id, stat, '\x09', NULL, p_err => 'the end', p_tags => '{t}', p_prio => 2); COMMIT;
END $$;
CALL qa.finish('T', 'Completed');
CALL qa.finish('F', 'Failed');
CALL qa.finish('C', 'Cancelled');
SELECT qa.show('F');
SELECT qa.whole() AS before \gset

-- Nobody is to hear of what follows: had one of these calls notified, psql would say so.
LISTEN sayiir_task_ready;
-- late checkpoints: every status, with new tasks, with outputs, with and without expected_version
SELECT id, qa.sv(id, stat, '\xee', qa.t('x'), p_lc => qa.t('y'), p_out => '\xcc', p_ev => ev) AS late
FROM unnest('{T,F,C}'::text[]) id, unnest('{InProgress,Paused,Completed,Failed,Cancelled}'::text[]) stat, unnest('{NULL,0,2,3,7}'::integer[]) ev
WHERE qa.sv(id, stat, '\xee', qa.t('x'), p_lc => qa.t('y'), p_out => '\xcc', p_ev => ev) IS NOT NULL;
SELECT qa.sv('T', 'InProgress', '\xee', qa.t('x')), qa.sv('F', 'InProgress', '\xee', qa.t('x')), qa.sv('C', 'InProgress', '\xee', qa.t('x'));
-- the same bytes, another status
SELECT qa.sv('T', 'Failed', '\x09', NULL), qa.sv('F', 'Cancelled', '\x09', NULL), qa.sv('C', 'Completed', '\x09', NULL);
-- the same status, other bytes
SELECT qa.sv('T', 'Completed', '\x08', NULL), qa.sv('F', 'Failed', '\x08', NULL), qa.sv('C', 'Cancelled', '\x08', NULL);
-- the tasks it has, completed and closed
SELECT qa.sv('F', 'InProgress', '\xee', qa.t('b'), p_lc => qa.t('a'), p_out => '\xcc');
SELECT qa.sv('F', 'InProgress', '\xee', qa.t('c'), p_lc => qa.t('b'), p_out => '\xcc');
-- late results: for a closed task, a new one, another output for a completed one, with a snapshot, with a version
SELECT sayiir_save_task_result(id, task, '\xcc', data, ev)
FROM unnest('{T,F,C}'::text[]) id, unnest(ARRAY[qa.t('a'), qa.t('b'), qa.t('x')]) task, unnest('{NULL,"\\x09","\\xee"}'::bytea[]) data,
	unnest('{NULL,0,2,3,7}'::integer[]) ev
WHERE sayiir_save_task_result(id, task, '\xcc', data, ev) IS NOT NULL;
SELECT sayiir_save_task_result('T', qa.t('x'), '\xcc'), sayiir_save_task_result('F', qa.t('a'), '\xcc'), sayiir_save_task_result('C', qa.t('b'), '\xcc');
-- recognized repeats write nothing, either: 3, 3, 3 and 1
SELECT qa.sv('T', 'Completed', '\x09', NULL), qa.sv('F', 'Failed', '\x09', qa.t('x')), qa.sv('C', 'Cancelled', '\x09', NULL, p_ev => 2);
SELECT sayiir_save_task_result('T', qa.t('b'), '\xbb');
-- in a transaction of the caller's
BEGIN;
SELECT qa.sv('T', 'InProgress', '\xee', qa.t('x'));
SELECT sayiir_save_task_result('T', qa.t('x'), '\xcc');
COMMIT;
UNLISTEN *;
-- not one row version is new
SELECT qa.whole() = :'before' AS untouched;

-- Arguments are still checked first.
SELECT qa.try($$SELECT qa.sv('T', 'Ended', '\xee')$$);
SELECT qa.try($$SELECT sayiir_save_task_result('T', '\x00', '\xcc')$$);
-- It can be read, and listed.
SELECT qa.load('T'), qa.load('T', 1);
SELECT * FROM sayiir_list_snapshots('Failed');
SELECT qa.whole() = :'before' AS untouched;

-- Its end in the same transaction binds the transaction itself.
BEGIN;
SELECT qa.sv('same', p_data => '\x01');
SELECT qa.sv('same', 'Completed', '\x02', NULL);
SELECT qa.sv('same', p_data => '\x03');
SELECT sayiir_save_task_result('same', qa.t('a'), '\xcc');
COMMIT;
SELECT qa.show('same');

-- It can be deleted, and its name used again.
SELECT sayiir_delete_snapshot('T');
SELECT qa.sv('T');
SELECT qa.show('T');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
