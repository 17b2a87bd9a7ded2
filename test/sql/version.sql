-- expected_version, recognized repeats, and the order of the checks: arguments, repeat, terminal,
-- state, version; the first that applies decides. (Claims have a suite of their own.)
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- Says what a call answered, and whether it wrote anything.
CREATE FUNCTION qa.ask(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before text := qa.whole();
	answer text := qa.try('SELECT ' || call);
BEGIN
	RETURN CASE WHEN qa.whole() = before THEN 'nothing written, ' ELSE 'written, ' END || answer;
END $$;

-- 0 means that it must not exist yet; a missing instance counts as 0.
SELECT qa.ask($$qa.sv('e', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('e', p_ev => 2147483647)$$);
SELECT qa.ask($$qa.sv('e', p_ev => 0)$$);
SELECT qa.ask($$qa.sv('e', p_data => '\x02', p_ev => 0)$$);
-- the stored version must equal it
SELECT qa.ask($$qa.sv('e', p_data => '\x02', p_ev => 2)$$);
SELECT qa.ask($$qa.sv('e', p_data => '\x02', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('e', p_data => '\x03', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('e', p_data => '\x03', p_ev => 3)$$);
SELECT qa.ask($$qa.sv('e', p_data => '\x03', p_ev => 2147483647)$$);
SELECT qa.ask($$qa.sv('e', p_data => '\x03', p_ev => 2)$$);
-- NULL saves unconditionally: 4
SELECT qa.ask($$qa.sv('e', p_data => '\x04', p_ev => NULL)$$);
-- the same with a task result, which needs an instance
SELECT qa.ask($$sayiir_save_task_result('e', qa.t('b'), '\xbb', expected_version => 3)$$);
SELECT qa.ask($$sayiir_save_task_result('e', qa.t('b'), '\xbb', expected_version => 0)$$);
SELECT qa.ask($$sayiir_save_task_result('e', qa.t('b'), '\xbb', expected_version => 4)$$);
SELECT qa.ask($$sayiir_save_task_result('nobody', qa.t('b'), '\xbb', expected_version => 0)$$);
SELECT qa.ask($$sayiir_save_task_result('nobody', qa.t('b'), '\xbb', expected_version => 3)$$);
-- deleted: counts as 0 again
SELECT sayiir_delete_snapshot('e');
SELECT qa.ask($$qa.sv('e', p_ev => 5)$$);
SELECT qa.ask($$qa.sv('e', p_ev => 0)$$);

-- Repeats. Without expected_version an equal save is a new version, as in the seed.
SELECT qa.ask($$qa.sv('r')$$), qa.ask($$qa.sv('r')$$);
SELECT sayiir_delete_snapshot('r');
-- With it, the save that made the version after it is recognized: by status, bytes and current task.
SELECT qa.ask($$qa.sv('r', p_data => '\x01', p_cur => qa.t('a'), p_ev => 0)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x01', p_cur => qa.t('a'), p_ev => 0)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa', p_ev => 1)$$);
-- another output is the same save, for outputs are not compared
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xab', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('b'), p_ev => 1)$$);
-- nor are the columns that are neither status, nor bytes, nor current task
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('b'), p_ev => 1, p_err => 'x', p_tags => '{t}', p_prio => 1, p_def => qa.t('wf2'))$$);
-- other bytes, another current task, none, another status: a conflict
SELECT qa.ask($$qa.sv('r', p_data => '\x03', p_cur => qa.t('b'), p_ev => 1)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('a'), p_ev => 1)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => NULL, p_ev => 1)$$);
SELECT qa.ask($$qa.sv('r', 'Paused', p_data => '\x02', p_cur => qa.t('b'), p_ev => 1)$$);
SELECT qa.ask($$qa.sv('r', 'Completed', p_data => '\x02', p_cur => qa.t('b'), p_ev => 1)$$);
-- and the same save meant as the version after the newest is a new one: 3
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('b'), p_ev => 2)$$);
-- no current task equals no current task
SELECT qa.ask($$qa.sv('r', p_data => '\x04', p_cur => NULL, p_ev => 3)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x04', p_cur => NULL, p_ev => 3)$$);
-- Newer versions in between: the history still knows the save, and answers 1, 2, 3.
SELECT qa.ask($$qa.sv('r', p_data => '\x01', p_cur => qa.t('a'), p_ev => 0)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('b'), p_ev => 1)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x02', p_cur => qa.t('b'), p_ev => 2)$$);
-- a repeat neither moves the newest version nor wakes it: still at 4
SELECT qa.show('r');

-- The save that ended the instance is recognized with and without expected_version, whatever that is.
SELECT qa.ask($$qa.sv('r', 'Completed', '\x09', NULL, p_lc => qa.t('b'), p_out => '\xbb', p_ev => 4)$$);
SELECT qa.ask($$qa.sv('r', 'Completed', '\x09', NULL, p_lc => qa.t('b'), p_out => '\xbb', p_ev => 4)$$);
SELECT qa.ask($$qa.sv('r', 'Completed', '\x09', NULL, p_lc => qa.t('b'), p_out => '\xbc')$$);
SELECT qa.ask($$qa.sv('r', 'Completed', '\x09', qa.t('x'))$$);
SELECT qa.ask($$qa.sv('r', 'Completed', '\x09', p_ev => 0)$$);
SELECT qa.ask($$qa.sv('r', 'Completed', '\x09', p_ev => 7)$$);
-- Arguments beat the repeat.
SELECT qa.ask($$qa.sv('r', 'Completed', '\x09', p_prio => 9)$$);
SELECT qa.ask($$qa.sv('r', 'Completed', '\x09', p_ev => -1)$$);
-- A repeat beats the end: saves before it are still known.
SELECT qa.ask($$qa.sv('r', p_data => '\x01', p_cur => qa.t('a'), p_ev => 0)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x04', p_cur => NULL, p_ev => 3)$$);
-- The end beats the version: NULL, not SY001.
SELECT qa.ask($$qa.sv('r', p_data => '\x0a', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('r', p_data => '\x0a', p_ev => 5)$$);
SELECT qa.ask($$qa.sv('r', 'Completed', '\x08', p_ev => 0)$$);
-- Without expected_version an earlier save is no repeat.
SELECT qa.ask($$qa.sv('r', p_data => '\x01', p_cur => qa.t('a'))$$);

-- The state stands between the end and the version: a paused instance refuses to be InProgress.
SELECT qa.ask($$qa.sv('s', p_ev => 0)$$);
SELECT qa.ask($$qa.sv('s', 'Paused', '\x02', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('s', p_data => '\x03')$$);
SELECT qa.ask($$qa.sv('s', p_data => '\x03', p_ev => 2)$$);
SELECT qa.ask($$qa.sv('s', p_data => '\x03', p_ev => 7)$$);
SELECT qa.ask($$qa.sv('s', p_data => '\x03', p_prio => 9)$$);
-- a repeat is recognized all the same; other statuses meet the version
SELECT qa.ask($$qa.sv('s', p_ev => 0)$$);
SELECT qa.ask($$qa.sv('s', 'Paused', '\x02', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('s', 'Paused', '\x03', p_ev => 1)$$);
SELECT qa.ask($$qa.sv('s', 'Completed', '\x03', p_ev => 1)$$);
SELECT qa.ask($$sayiir_save_task_result('s', qa.t('b'), '\xbb', expected_version => 1)$$);
SELECT qa.ask($$sayiir_save_task_result('s', qa.t('b'), '\xbb', expected_version => 2)$$);
SELECT qa.ask($$qa.sv('s', 'Completed', '\x04', NULL, p_ev => 3)$$);
-- ended: no longer a matter of the state
SELECT qa.ask($$qa.sv('s', p_data => '\x03')$$);

-- Task results: the same output of a completed task, and no other snapshot, is a repeat, which
-- answers the version that stored the output.
SELECT qa.ask($$qa.sv('k')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa', expected_version => 1)$$);
-- the repeat beats the version
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa', expected_version => 7)$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa', expected_version => 0)$$);
-- with the bytes that are stored
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa', '\x01')$$);
-- with a snapshot of its own, sent again, and still known when newer versions lie in between
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbb', '\x03', 2)$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbb', '\x03', 2)$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbb')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('c'), '\xcc')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbb', '\x03', 2)$$);
-- another snapshot is no repeat: a conflict with the old version, a new version with the right one
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbb', '\x05', 2)$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbb', '\x05', 4)$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbb', '\x05', 4)$$);
-- another output is none, either: 6, and its repeat
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbc')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('b'), '\xbc')$$);
-- an empty output equals an empty output
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('d'), '\x')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('d'), '\x')$$);
-- An output that a save has stored counts as much: 8, and its repeat by a task result.
SELECT qa.ask($$qa.sv('k', p_data => '\x08', p_lc => qa.t('e'), p_out => '\xee')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('e'), '\xee')$$);
-- completed, but without an output: not the same
SELECT qa.ask($$qa.sv('k', p_data => '\x09', p_lc => qa.t('f'))$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('f'), '\xff')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('f'), '\xff')$$);
-- The end: repeats are known, the rest is NULL.
SELECT qa.ask($$qa.sv('k', 'Completed', '\x0a', NULL)$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa')$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xaa', expected_version => 3)$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('a'), '\xab', expected_version => 3)$$);
SELECT qa.ask($$sayiir_save_task_result('k', qa.t('g'), '\xab')$$);
SELECT qa.show('k');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
