-- sayiir_save_snapshot: versions, columns as given, hash, count, and the life of the tasks.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- The first save is version 1: a snapshot, a history row, an active task.
SELECT qa.sv('s');
SELECT qa.show('s');
-- The next is version 2; the first start stays, the update follows.
SELECT qa.sv('s', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa');
SELECT qa.show('s');
-- The smallest call: four arguments, by position and by name.
SELECT sayiir_save_snapshot('\x01', 'small', 'InProgress', qa.t('wf'));
SELECT sayiir_save_snapshot(definition_hash => qa.t('wf'), status => 'InProgress', instance_id => 'small', data => '\x02');
SELECT qa.show('small');

-- Every column is written as given, NULL too: nothing of the save before shines through.
SELECT qa.sv('cols', p_err => 'oops', p_kind => 'AtDelay', p_wake => '2031-02-03 04:05:06.789012+00', p_trace => '00-ab-cd-01',
	p_prio => 1, p_tags => '{gpu,eu}', p_count => 5);
SELECT qa.show('cols');
SELECT qa.sv('cols', p_data => '\x02', p_cur => NULL, p_def => qa.t('wf2'));
SELECT qa.show('cols');
SELECT qa.sv('cols', p_data => '\x03', p_err => '', p_kind => '', p_trace => '', p_wake => 'infinity', p_prio => 5, p_tags => ARRAY['']);
SELECT qa.sv('cols', p_data => '\x04', p_err => '', p_kind => '', p_trace => '', p_wake => '-infinity', p_prio => 5, p_tags => ARRAY['']);
SELECT qa.show('cols');

-- NULL in an argument with a default means the default (CASES B05), in each alone and in all.
SELECT sayiir_save_snapshot('\x01', 'null', 'InProgress', qa.t('wf'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT sayiir_save_snapshot('\x02', 'null', 'InProgress', qa.t('wf'), current_task_id => NULL);
SELECT sayiir_save_snapshot('\x03', 'null', 'InProgress', qa.t('wf'), completed_task_count => NULL);
SELECT sayiir_save_snapshot('\x04', 'null', 'InProgress', qa.t('wf'), error => NULL);
SELECT sayiir_save_snapshot('\x05', 'null', 'InProgress', qa.t('wf'), position_kind => NULL);
SELECT sayiir_save_snapshot('\x06', 'null', 'InProgress', qa.t('wf'), delay_wake_at => NULL);
SELECT sayiir_save_snapshot('\x07', 'null', 'InProgress', qa.t('wf'), trace_parent => NULL);
SELECT sayiir_save_snapshot('\x08', 'null', 'InProgress', qa.t('wf'), task_priority => NULL);
SELECT sayiir_save_snapshot('\x09', 'null', 'InProgress', qa.t('wf'), task_tags => NULL);
SELECT sayiir_save_snapshot('\x0a', 'null', 'InProgress', qa.t('wf'), last_completed_task_id => NULL);
SELECT sayiir_save_snapshot('\x0b', 'null', 'InProgress', qa.t('wf'), last_completed_output => NULL);
SELECT sayiir_save_snapshot('\x0c', 'null', 'InProgress', qa.t('wf'), expected_version => NULL);
SELECT qa.show('null');
-- the last checkpoint has neither a current task nor an output
SELECT qa.sv('B05', 'Completed', '\x09', NULL, NULL, NULL, NULL);
SELECT qa.show('B05');

-- The bytes are stored as given, whatever they are; the hash is the server's.
SELECT qa.sv('bytes', p_data => '\x'), qa.sv('bytes', p_data => '\x00'), qa.sv('bytes', p_data => '\x0001020300'),
	qa.sv('bytes', p_data => 'SYRS'), qa.sv('bytes', p_data => '\x5359525301027b7d'), qa.sv('bytes', p_data => '\xfffefd'),
	qa.sv('bytes', p_data => convert_to(repeat('{"a":', 1000), 'UTF8'));
SELECT qa.show('bytes');
-- a megabyte that does not compress
SELECT string_agg(sha256(int4send(i)), '' ORDER BY i) AS megabyte FROM generate_series(1, 32768) i \gset
SELECT qa.sv('bytes', p_data => :'megabyte');
SELECT l.data = :'megabyte'::bytea, l.data_hash = sha256(:'megabyte'::bytea) FROM sayiir_load_snapshot('bytes') l;

-- completed_task_count: NULL keeps it, and adds one for a task that is newly completed; else as given.
CREATE FUNCTION qa.cnt(id text) RETURNS integer LANGUAGE sql AS $$
	SELECT completed_task_count FROM public.sayiir_workflow_snapshots WHERE instance_id = id $$;
SELECT qa.sv('cnt'); SELECT qa.cnt('cnt');
-- 1, 1 (the same task again), 1 (another output for it), 2 (a task that was never active, without output)
SELECT qa.sv('cnt', p_lc => qa.t('b'), p_out => '\x01'); SELECT qa.cnt('cnt');
SELECT qa.sv('cnt', p_lc => qa.t('b'), p_out => '\x01'); SELECT qa.cnt('cnt');
SELECT qa.sv('cnt', p_lc => qa.t('b'), p_out => '\x02'); SELECT qa.cnt('cnt');
SELECT qa.sv('cnt', p_lc => qa.t('c')); SELECT qa.cnt('cnt');
-- 40, 41, 41, 0, 0
SELECT qa.sv('cnt', p_lc => qa.t('d'), p_count => 40); SELECT qa.cnt('cnt');
SELECT qa.sv('cnt', p_lc => qa.t('e')); SELECT qa.cnt('cnt');
SELECT qa.sv('cnt'); SELECT qa.cnt('cnt');
SELECT qa.sv('cnt', p_count => 0); SELECT qa.cnt('cnt');
SELECT qa.sv('cnt', p_lc => qa.t('e')); SELECT qa.cnt('cnt');
-- 1: the first save of an instance completes a task
SELECT qa.sv('cnt1', p_lc => qa.t('b'), p_out => '\x01'); SELECT qa.cnt('cnt1');
-- 1: the save that ends it counts, too, and closing active tasks does not
SELECT qa.sv('cnt2'); SELECT qa.sv('cnt2', 'Completed', p_cur => NULL, p_lc => qa.t('b')); SELECT qa.cnt('cnt2');

-- Tasks. The current task becomes active, and stays so with its first start.
SELECT qa.sv('t'); SELECT qa.sv('t'); SELECT qa.show('t');
-- Another becomes current: the first is still active.
SELECT qa.sv('t', p_cur => qa.t('b')); SELECT qa.tasks('t');
-- completed with output; the time of its start stays
SELECT qa.sv('t', p_cur => qa.t('c'), p_lc => qa.t('a'), p_out => '\xaa'); SELECT qa.show('t');
-- completed once more without output: it keeps the one it has
SELECT qa.sv('t', p_cur => qa.t('c'), p_lc => qa.t('a')); SELECT qa.tasks('t');
-- another output replaces it
SELECT qa.sv('t', p_cur => qa.t('c'), p_lc => qa.t('a'), p_out => '\xbb'); SELECT qa.tasks('t');
-- an empty output is an output
SELECT qa.sv('t', p_cur => qa.t('c'), p_lc => qa.t('a'), p_out => '\x'); SELECT qa.tasks('t');
-- completed tasks are never made active again
SELECT qa.sv('t', p_cur => qa.t('a')); SELECT qa.show('t');

-- CASES B12: the last task of a chain is both current and just completed.
SELECT qa.sv('c', 'InProgress', '\x01', qa.t('z'), '{}', qa.t('z'), '\xaa'); SELECT qa.tasks('c');
SELECT qa.sv('c', 'InProgress', '\x01', qa.t('z'), '{}', qa.t('z'), '\xaa'); SELECT qa.tasks('c');
SELECT qa.sv('c', 'InProgress', '\x02', qa.t('z')); SELECT qa.tasks('c');
SELECT qa.sv('c', 'Completed', '\x03', qa.t('z')); SELECT qa.tasks('c');
SELECT qa.sv('c2', 'InProgress', '\x01', qa.t('z'), '{}', qa.t('z'), '\xaa');
SELECT qa.sv('c2', 'InProgress', '\x02', qa.t('z'));
SELECT qa.sv('c2', 'Failed', '\x03', qa.t('z')); SELECT qa.tasks('c2');
-- and it was active before
SELECT qa.sv('c3', p_cur => qa.t('z'));
SELECT qa.sv('c3', p_cur => qa.t('z'), p_lc => qa.t('z'), p_out => '\xaa'); SELECT qa.show('c3');

-- Ends: every active task is closed with the status and the error of the save; completed ones stay.
CREATE PROCEDURE qa.three(id text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM qa.sv(id, p_cur => qa.t('a')); COMMIT;
	PERFORM qa.sv(id, p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa'); COMMIT;
	PERFORM qa.sv(id, p_cur => qa.t('c')); COMMIT;
	PERFORM qa.sv(id, p_cur => qa.t('d')); COMMIT;
END $$;
CALL qa.three('completed');
SELECT qa.sv('completed', 'Completed', '\x09', NULL, p_lc => qa.t('d'), p_out => '\xdd');
SELECT qa.show('completed');
CALL qa.three('failed');
SELECT qa.sv('failed', 'Failed', '\x09', qa.t('e'), p_err => 'out of memory');
SELECT qa.show('failed');
CALL qa.three('cancelled');
SELECT qa.sv('cancelled', 'Cancelled', '\x09', qa.t('c'), p_err => 'by hand');
SELECT qa.show('cancelled');
-- the task that this save completes is not closed with its error
CALL qa.three('last');
SELECT qa.sv('last', 'Failed', '\x09', qa.t('d'), p_lc => qa.t('d'), p_out => '\xdd', p_err => 'afterwards');
SELECT qa.show('last');
-- An instance may end with its first save; a task that never was active is not made so.
SELECT qa.sv('at once', 'Failed', '\x09', p_err => 'no way'); SELECT qa.show('at once');
-- Only the tasks of the instance.
SELECT qa.sv('one'); SELECT qa.sv('two'); SELECT qa.sv('one', 'Failed', '\x09'); SELECT qa.tasks('two');

-- Paused makes active as well, moves on while it is paused, and can be ended; back to InProgress it comes by
-- sayiir_unpause alone, and a save that says so is refused.
SELECT qa.sv('p'); SELECT qa.sv('p', 'Paused', '\x02', qa.t('b'));
SELECT qa.sv('p', 'Paused', '\x03', qa.t('c'), p_lc => qa.t('b'), p_out => '\xbb'); SELECT qa.tasks('p');
SELECT qa.try($$SELECT qa.sv('p', 'InProgress', '\x04')$$);
SELECT sayiir_unpause('p'); SELECT qa.sv('p', 'InProgress', '\x05', qa.t('c')); SELECT qa.show('p');
SELECT qa.sv('p2', 'Paused'); SELECT qa.sv('p2', 'Cancelled', '\x09', NULL, p_err => 'asked for'); SELECT qa.show('p2');

-- Several saves in one transaction share its time, and each is a version.
BEGIN;
SELECT qa.sv('tx', p_data => '\x01');
SELECT qa.sv('tx', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa');
SELECT qa.sv('tx', 'Completed', '\x03', NULL, p_lc => qa.t('b'));
COMMIT;
SELECT qa.show('tx');
-- in one statement
SELECT max(qa.sv('many', p_data => int4send(i))) FROM generate_series(1, 50) i;
SELECT count(*), min(version), max(version), bool_and(data = int4send(version)) FROM sayiir_workflow_snapshot_history WHERE instance_id = 'many';
-- rolled back, and a savepoint rolled back: no hole
BEGIN; SELECT qa.sv('many'); ROLLBACK;
BEGIN; SAVEPOINT s; SELECT qa.sv('many'); ROLLBACK TO s; SELECT qa.sv('many', p_data => '\x0f'); COMMIT;

-- One transaction id for all of a hundred saves: no savepoint is hidden in the call (CASES B43).
BEGIN; SELECT count(qa.sv('sx')) FROM generate_series(1, 100); COMMIT;
SELECT count(DISTINCT xmin::text) FROM sayiir_workflow_versions WHERE instance_id = 'sx';
BEGIN; SELECT count(sayiir_save_task_result('sx', qa.t(i::text), '\x01')) FROM generate_series(1, 100) i; COMMIT;
SELECT count(DISTINCT xmin::text) FROM sayiir_workflow_tasks WHERE instance_id = 'sx' AND status = 'completed';

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
