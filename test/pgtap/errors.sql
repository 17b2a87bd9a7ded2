-- Every SQLSTATE of the contract, from each function that can raise it; each with a message that names
-- the argument or the instance, and with a hint.
\set ECHO none
\set QUIET on
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION sayiir_pg;

CREATE TEMP TABLE faults (n integer GENERATED ALWAYS AS IDENTITY, code text, names text, call text);
INSERT INTO faults (code, names, call) VALUES
	('22004', 'data', $$sayiir_save_snapshot(NULL, 'i', 'InProgress', sayiir_task_id('wf'))$$),
	('22004', 'instance_id', $$sayiir_save_snapshot('', NULL, 'InProgress', sayiir_task_id('wf'))$$),
	('22004', 'status', $$sayiir_save_snapshot('', 'i', NULL, sayiir_task_id('wf'))$$),
	('22004', 'definition_hash', $$sayiir_save_snapshot('', 'i', 'InProgress', NULL)$$),
	('22004', 'data', $$sayiir_save_snapshots(NULL, '{i}', '{InProgress}', ARRAY[sayiir_task_id('wf')])$$),
	('22004', 'instance_id', $$sayiir_save_snapshots('{""}', '{NULL}', '{InProgress}', ARRAY[sayiir_task_id('wf')])$$),
	('22023', 'instance_id', $$sayiir_save_snapshots('{""}', '{i,j}', '{InProgress}', ARRAY[sayiir_task_id('wf')])$$),
	('22023', '"i"', $$sayiir_save_snapshots('{"",""}', '{i,i}', '{InProgress,InProgress}', ARRAY[sayiir_task_id('wf'), sayiir_task_id('wf')])$$),
	('SY001', '"i"', $$sayiir_save_snapshots('{""}', '{i}', '{InProgress}', ARRAY[sayiir_task_id('wf')], expected_version => '{7}')$$),
	('22004', 'instance_id', $$sayiir_save_task_result(NULL, sayiir_task_id('a'), '')$$),
	('22004', 'task_id', $$sayiir_save_task_result('i', NULL, '')$$),
	('22004', 'output', $$sayiir_save_task_result('i', sayiir_task_id('a'), NULL)$$),
	('22004', 'instance_id', $$sayiir_load_snapshot(NULL)$$),
	('22004', 'instance_id', $$sayiir_load_task_result(NULL, sayiir_task_id('a'))$$),
	('22004', 'task_id', $$sayiir_load_task_result('i', NULL)$$),
	('22004', 'instance_id', $$sayiir_delete_snapshot(NULL)$$),
	('22004', 'name', $$sayiir_task_id(NULL)$$),
	('22004', 'payload', $$sayiir_decode_hint(NULL)$$),
	('22023', 'instance_id', $$sayiir_save_snapshot('', '', 'InProgress', sayiir_task_id('wf'))$$),
	('22023', 'instance_id', $$sayiir_save_snapshot('', repeat('i', 257), 'InProgress', sayiir_task_id('wf'))$$),
	('22023', 'status', $$sayiir_save_snapshot('', 'i', 'Done', sayiir_task_id('wf'))$$),
	('22023', 'definition_hash', $$sayiir_save_snapshot('', 'i', 'InProgress', '\x00')$$),
	('22023', 'current_task_id', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), '\x00')$$),
	('22023', 'completed_task_count', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), completed_task_count => -1)$$),
	('22023', 'task_priority', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), task_priority => 0)$$),
	('22023', 'task_tags', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), task_tags => '{a,NULL}')$$),
	('22023', 'task_tags', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), task_tags => '{{a},{b}}')$$),
	('22023', 'last_completed_task_id', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), last_completed_task_id => '\x00')$$),
	('22023', 'last_completed_output', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), last_completed_output => '')$$),
	('22023', 'expected_version', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), expected_version => -1)$$),
	('22023', 'task_id', $$sayiir_save_task_result('i', '\x00', '')$$),
	('22023', 'expected_version', $$sayiir_save_task_result('i', sayiir_task_id('a'), '', NULL, -1)$$),
	('22023', 'version', $$sayiir_load_snapshot('i', -1)$$),
	('22023', 'task_id', $$sayiir_load_task_result('i', '\x00')$$),
	('22023', 'instance_id', $$sayiir_delete_snapshot('')$$),
	('22023', 'status', $$sayiir_list_snapshots('Done')$$),
	('22023', 'max_rows', $$sayiir_list_snapshots(max_rows => -1)$$),
	('22023', 'instance_id', $$sayiir_check_integrity('')$$),
	('P0002', '"nobody"', $$sayiir_save_task_result('nobody', sayiir_task_id('a'), '')$$),
	('P0002', '"nobody"', $$sayiir_load_snapshot('nobody')$$),
	('P0002', '"nobody"', $$sayiir_load_snapshot('nobody', 1)$$),
	('P0002', '"i"', $$sayiir_load_snapshot('i', 7)$$),
	('P0002', '"nobody"', $$sayiir_load_task_result('nobody', sayiir_task_id('a'))$$),
	('P0002', '"nobody"', $$sayiir_delete_snapshot('nobody')$$),
	('SY001', '"i"', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), expected_version => 7)$$),
	('SY001', '"i"', $$sayiir_save_snapshot('', 'i', 'InProgress', sayiir_task_id('wf'), expected_version => 0)$$),
	('SY001', '"nobody"', $$sayiir_save_snapshot('', 'nobody', 'InProgress', sayiir_task_id('wf'), expected_version => 1)$$),
	('SY001', '"i"', $$sayiir_save_task_result('i', sayiir_task_id('a'), '', NULL, 7)$$),
	('22P03', 'payload', $$sayiir_decode_hint('no hint')$$);

CREATE FUNCTION pg_temp.diagnose(call text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	m text;
	d text;
	h text;
BEGIN
	EXECUTE 'SELECT ' || call;
	RETURN '{none,,,}';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
	RETURN ARRAY[SQLSTATE, m, d, h];
END $$;

SELECT plan((2 * count(*))::integer + 3) FROM faults;
SELECT sayiir_save_snapshot('\x01', 'i', 'InProgress', sayiir_task_id('wf'), sayiir_task_id('b')) AS version \gset
CREATE TEMP TABLE answers AS SELECT n, code, names, call, pg_temp.diagnose(call) AS said FROM faults;

SELECT is(said[1], code, call) FROM answers ORDER BY n;
-- the name as a word of its own; the hint a sentence; the message none, and in lower case
SELECT ok(said[2] ~ ('(^|\W)' || names || '($|\W)') AND said[2] !~ '\.$' AND said[4] ~ '^[A-Z0-9].*\.$',
	format('message and hint of %s', call)) FROM answers ORDER BY n;
SELECT is((SELECT count(*) FROM answers WHERE code = 'SY001' AND said[3] !~ '\d.*\d'), 0::bigint, 'a version conflict says both versions');
SELECT is((SELECT array_agg(version) FROM sayiir_workflow_snapshot_history), '{1}', 'none of these calls has written anything');
SELECT is_empty('SELECT * FROM sayiir_check_integrity()', 'the store is sound');

SELECT * FROM finish();
ROLLBACK;
