-- sayiir_load_snapshot: the newest and each older version, and the outputs that belong to them.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

SELECT qa.sv('l', p_data => '\x01', p_trace => '00-first');
-- empty arrays, not NULL, when there is no output
SELECT task_ids, outputs FROM sayiir_load_snapshot('l');
SELECT qa.sv('l', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa', p_trace => '00-second');
SELECT sayiir_save_task_result('l', qa.t('b'), '\xbb');
SELECT qa.sv('l', 'Paused', '\x04', NULL, p_lc => qa.t('c'), p_def => qa.t('wf2'), p_err => 'waits');

-- The columns, in their order.
SELECT status, history_version, data, data_hash = sha256(data), trace_parent, qa.nm(definition_hash), current_task_id,
	completed_task_count, error, array_length(task_ids, 1), array_length(outputs, 1),
	updated_at = (SELECT s.updated_at FROM sayiir_workflow_snapshots s WHERE s.instance_id = 'l')
FROM sayiir_load_snapshot('l');
SELECT count(*) FROM sayiir_load_snapshot('l');
-- Every completed task that has an output, paired by position: c has none.
SELECT qa.nm(u.id), u.output, sayiir_load_task_result('l', u.id) = u.output
FROM sayiir_load_snapshot('l') l, unnest(l.task_ids, l.outputs) AS u(id, output) ORDER BY 1;
-- Snapshot, hash, status and current task of each version, and the outputs known by then.
SELECT qa.load('l');
SELECT qa.load('l', NULL);
SELECT qa.load('l', 1);
SELECT qa.load('l', 2);
SELECT qa.load('l', 3);
SELECT qa.load(p_id => 'l', p_version => 4);
SELECT history_version FROM sayiir_load_snapshot(version => 2, instance_id => 'l');
-- no such version, no such instance
SELECT qa.try($$SELECT history_version FROM sayiir_load_snapshot('l', 5)$$);
SELECT qa.try($$SELECT history_version FROM sayiir_load_snapshot('l', 0)$$);
SELECT qa.try($$SELECT history_version FROM sayiir_load_snapshot('l', 2147483647)$$);
SELECT qa.try($$SELECT history_version FROM sayiir_load_snapshot('nobody')$$);
SELECT qa.try($$SELECT history_version FROM sayiir_load_snapshot('nobody', 1)$$);

-- An empty output is an output; an empty snapshot is a snapshot.
SELECT qa.sv('empty', p_data => '', p_lc => qa.t('b'), p_out => '');
SELECT qa.load('empty');
-- Active, failed and cancelled tasks have no place in the arrays.
SELECT qa.sv('f', p_lc => qa.t('b'), p_out => '\xbb'); SELECT qa.sv('f', p_cur => qa.t('c')); SELECT qa.load('f');
SELECT qa.sv('f', 'Failed', '\x09', p_err => 'oops'); SELECT qa.load('f'); SELECT qa.load('f', 2);

-- As a set: joined to the instances, and no row for none. The function is called for each.
SELECT i, l.history_version, l.data FROM unnest('{l,empty,f}'::text[]) i, sayiir_load_snapshot(i) l ORDER BY i;
SELECT (sayiir_load_snapshot(i)).status FROM unnest('{l,empty,f}'::text[]) i ORDER BY i;
SELECT (sayiir_load_snapshot('l')).history_version, (sayiir_load_snapshot('f')).history_version;

-- Many outputs pair up, too.
SELECT qa.sv('many');
SELECT count(sayiir_save_task_result('many', qa.t(i::text), sha256(qa.t(i::text)))) FROM generate_series(1, 500) i;
SELECT count(*), bool_and(u.output = sha256(u.id)) FROM sayiir_load_snapshot('many') l, unnest(l.task_ids, l.outputs) AS u(id, output);
SELECT count(*), bool_and(u.output = sha256(u.id)) FROM sayiir_load_snapshot('many', 100) l, unnest(l.task_ids, l.outputs) AS u(id, output);

-- Snapshots from nothing to megabytes in turn, in one session, with memory used by others in
-- between (CASES B06): never a wrong byte.
SELECT string_agg(sha256(int4send(i)), '' ORDER BY i) AS kilobytes FROM generate_series(1, 3200) i \gset
CREATE TABLE qa.sizes AS SELECT 'size' || n AS id, n, substring(decode(repeat(substr(:'kilobytes', 3), 2 + n / 102400), 'hex') FROM 1 + n % 1000 FOR n) AS data
	FROM unnest('{0,1,2,31,32,100,1999,2000,8191,8192,50000,102399,1000000,2500000}'::integer[]) n;
SELECT count(qa.sv(id, p_data => data, p_lc => qa.t('b'), p_out => data)) FROM qa.sizes;
CREATE FUNCTION qa.reload(rounds integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	wrong bigint := 0;
	s record;
	junk bigint;
BEGIN
	FOR round IN 1 .. rounds LOOP
		FOR s IN SELECT z.*, l.data AS loaded, l.data_hash, l.outputs, length(l.data) AS n2
			FROM qa.sizes z, sayiir_load_snapshot(z.id) l
		LOOP
			IF s.loaded <> s.data OR s.n2 <> s.n OR s.data_hash <> sha256(s.data) OR s.outputs[1] <> s.data
				OR sayiir_load_task_result(s.id, qa.t('b')) <> s.data THEN
				wrong := wrong + 1;
			END IF;
		END LOOP;
		SELECT count(*) INTO junk FROM (SELECT md5(g::text) FROM generate_series(1, 5000) g ORDER BY 1) x;
	END LOOP;
	RETURN wrong;
END $$;
SELECT qa.reload(10) AS wrong;

-- A load sees what its statement's snapshot sees (CASES B29): not what the same statement saves,
-- but every save of an earlier statement, of the same transaction too.
BEGIN;
SELECT qa.sv('v');
SELECT history_version FROM sayiir_load_snapshot('v');
SELECT qa.sv('v', p_data => '\x02') AS saved, (SELECT history_version FROM sayiir_load_snapshot('v')) AS loaded;
SELECT history_version FROM sayiir_load_snapshot('v');
COMMIT;
PREPARE loading AS SELECT history_version, data FROM sayiir_load_snapshot('v');
SELECT qa.sv('v', p_data => '\x03'); EXECUTE loading; SELECT qa.sv('v', p_data => '\x04'); EXECUTE loading;
SELECT qa.sv('v', p_data => '\x05'); EXECUTE loading; SELECT qa.sv('v', p_data => '\x06'); EXECUTE loading;
SELECT qa.sv('v', p_data => '\x07'); EXECUTE loading; SELECT qa.sv('v', p_data => '\x08'); EXECUTE loading;
DEALLOCATE loading;
-- a cursor opened before a save keeps its view
BEGIN;
DECLARE c CURSOR FOR SELECT history_version FROM sayiir_load_snapshot('v');
SELECT qa.sv('v', p_data => '\x09');
FETCH c;
COMMIT;

-- Reading needs no writable transaction; writing is PostgreSQL's own error (CASES B28).
BEGIN READ ONLY;
SELECT history_version FROM sayiir_load_snapshot('v');
SELECT sayiir_load_task_result('l', qa.t('a'));
SELECT count(*) FROM sayiir_list_snapshots();
SELECT count(*) FROM sayiir_check_integrity();
SELECT qa.try($$SELECT qa.sv('v')$$);
SELECT qa.try($$SELECT sayiir_save_task_result('v', qa.t('a'), '\xaa')$$);
SELECT qa.try($$SELECT sayiir_delete_snapshot('v')$$);
COMMIT;
-- also when it is the first call of the session
\c -
SET default_transaction_read_only = on;
SELECT sayiir_save_snapshot('\x01', 'v', 'InProgress', sha256('wf'));
SELECT history_version FROM sayiir_load_snapshot('v');
RESET default_transaction_read_only;

SET client_min_messages = warning;
SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
