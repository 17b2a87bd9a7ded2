-- What each argument may be (CASES B14, B24, B39): NULL, nothing, too short, too long, out of range.
-- Each call that is refused names its argument, gives a hint, and writes nothing.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;
SELECT pg_backend_pid() AS pid \gset

-- An instance that must come out of all this as it is; and a good call of each function.
SELECT qa.sv('i', p_lc => qa.t('b'), p_out => '\xbb');
CREATE TABLE qa.good (fn text, arg text, value text);
INSERT INTO qa.good VALUES
	('sayiir_save_snapshot', 'data', '''\x01'''), ('sayiir_save_snapshot', 'instance_id', '''new'''),
	('sayiir_save_snapshot', 'status', '''InProgress'''), ('sayiir_save_snapshot', 'definition_hash', 'qa.t(''wf'')'),
	('sayiir_save_task_result', 'instance_id', '''i'''), ('sayiir_save_task_result', 'task_id', 'qa.t(''c'')'),
	('sayiir_save_task_result', 'output', '''\xcc'''),
	('sayiir_load_snapshot', 'instance_id', '''i'''),
	('sayiir_load_task_result', 'instance_id', '''i'''), ('sayiir_load_task_result', 'task_id', 'qa.t(''b'')'),
	('sayiir_delete_snapshot', 'instance_id', '''i'''),
	('sayiir_list_snapshots', 'status', '''InProgress'''),
	('sayiir_check_integrity', 'instance_id', '''i'''),
	('sayiir_task_id', 'name', '''a'''),
	('sayiir_decode_hint', 'payload', '''''');

-- The good call with one argument put in another's place, in a savepoint that is rolled back. Says
-- so when an error does not name the argument, or has no hint, or when something was written.
CREATE FUNCTION qa.bad(p_fn text, p_arg text, p_value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before text := qa.whole();
	call text;
	answer text;
BEGIN
	SELECT format('SELECT %s(%s)', p_fn, string_agg(arg || ' => ' || value, ', ')) INTO call
	FROM (SELECT g.arg, g.value FROM qa.good g WHERE g.fn = p_fn AND g.arg <> p_arg UNION ALL SELECT p_arg, p_value) a;
	BEGIN
		answer := qa.try(call);
		IF answer ~ '^[0-9A-Z]{5}: ' AND qa.whole() <> before THEN
			answer := answer || E'\n  BUT WROTE';
		END IF;
		RAISE EXCEPTION USING errcode = 'QA000';
	EXCEPTION WHEN SQLSTATE 'QA000' THEN
		NULL;
	END;
	IF answer ~ '^[0-9A-Z]{5}: ' THEN
		IF split_part(answer, E'\n', 1) !~ ('\m' || p_arg || '\M') THEN answer := answer || E'\n  ARGUMENT NOT NAMED'; END IF;
		IF answer !~ '\n  hint: ' THEN answer := answer || E'\n  NO HINT'; END IF;
	END IF;
	RETURN format('%s = %s -> %s', p_arg, CASE WHEN length(p_value) > 60 THEN left(p_value, 57) || '...' ELSE p_value END, answer);
END $$;

-- sayiir_save_snapshot
SELECT qa.bad('sayiir_save_snapshot', 'data', v) FROM unnest(ARRAY['NULL', '''''']) v;
SELECT qa.bad('sayiir_save_snapshot', 'instance_id', v) FROM unnest(ARRAY['NULL', '''''', ''' ''', 'repeat(''i'', 256)', 'repeat(''i'', 257)',
	'repeat(''ü'', 128)', 'repeat(''ü'', 129)', 'repeat(''i'', 1000000)']) v;
SELECT qa.bad('sayiir_save_snapshot', 'status', v) FROM unnest(ARRAY['NULL', '''''', '''nonsense''', '''inprogress''', '''InProgress ''', '''pending''',
	'''%s%n''']) v;
SELECT qa.bad('sayiir_save_snapshot', 'definition_hash', v) FROM unnest(ARRAY['NULL', '''''', '''\x00''', 'substr(qa.t(''a''), 2)', 'qa.t(''a'') || ''\x00''::bytea',
	'decode(repeat(''00'', 1000000), ''hex'')']) v;
SELECT qa.bad('sayiir_save_snapshot', 'current_task_id', v) FROM unnest(ARRAY['NULL', '''''', '''\x00''', 'substr(qa.t(''a''), 2)', 'qa.t(''a'') || ''\x00''::bytea']) v;
SELECT qa.bad('sayiir_save_snapshot', 'completed_task_count', v) FROM unnest(ARRAY['NULL', '0', '2147483647', '-1', '-2147483648']) v;
SELECT qa.bad('sayiir_save_snapshot', 'error', v) FROM unnest(ARRAY['NULL', '''''', 'repeat(''e'', 1000000)']) v;
SELECT qa.bad('sayiir_save_snapshot', 'position_kind', v) FROM unnest(ARRAY['NULL', '''''', '''anything''']) v;
SELECT qa.bad('sayiir_save_snapshot', 'delay_wake_at', v) FROM unnest(ARRAY['NULL', '''infinity''', '''-infinity''', '''4713-01-01 BC''']) v;
SELECT qa.bad('sayiir_save_snapshot', 'trace_parent', v) FROM unnest(ARRAY['NULL', '''''']) v;
-- 65539 is 3 in sixteen bits
SELECT qa.bad('sayiir_save_snapshot', 'task_priority', v) FROM unnest(ARRAY['NULL', '1', '5', '0', '6', '-1', '65539', '2147483647']) v;
SELECT qa.bad('sayiir_save_snapshot', 'last_completed_task_id', v) FROM unnest(ARRAY['NULL', '''''', '''\x00''', 'qa.t(''a'') || ''\x00''::bytea']) v;
SELECT qa.bad('sayiir_save_snapshot', 'last_completed_output', v) FROM unnest(ARRAY['NULL', '''''', '''\xaa''']) v;
SELECT qa.bad('sayiir_save_snapshot', 'expected_version', v) FROM unnest(ARRAY['NULL', '0', '-1', '-2147483648']) v;
-- tags: a NULL list is an empty one; NULL in it, and several dimensions, are refused (CASES B24)
SELECT qa.bad('sayiir_save_snapshot', 'task_tags', v) FROM unnest(ARRAY['NULL', '''{}''', 'array[null, ''a'']', 'array[''a'', null]', 'array[null]::text[]',
	'''{{a,b},{c,d}}''', '''{{a}}''', '''[5:6]={x,y}''', 'array['''']', 'array_fill(''t''::text, array[10000])', 'array_fill(null::text, array[10000])',
	'array_fill(''t''::text, array[9999]) || null::text', 'array[repeat(''t'', 1000000)]', 'array[E''new\nline'', ''quo"te'', ''{}'', ''NULL'']']) v;
SELECT qa.try('SELECT sayiir_save_snapshot(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)');
-- stored as given
SELECT qa.sv('tags', p_tags => '[5:6]={x,y}'), qa.sv('tags2', p_tags => ARRAY[E'new\nline', 'quo"te', '{}', 'NULL', '']);
SELECT task_tags FROM sayiir_workflow_snapshots WHERE instance_id LIKE 'tags%' ORDER BY instance_id;
SELECT count(sayiir_delete_snapshot(i)) FROM unnest('{tags,tags2}'::text[]) i;

-- sayiir_save_task_result
SELECT qa.bad('sayiir_save_task_result', 'instance_id', v) FROM unnest(ARRAY['NULL', '''''', 'repeat(''i'', 257)']) v;
SELECT qa.bad('sayiir_save_task_result', 'task_id', v) FROM unnest(ARRAY['NULL', '''''', '''\x00''', 'qa.t(''a'') || ''\x00''::bytea']) v;
SELECT qa.bad('sayiir_save_task_result', 'output', v) FROM unnest(ARRAY['NULL', '''''']) v;
SELECT qa.bad('sayiir_save_task_result', 'data', v) FROM unnest(ARRAY['NULL', '''''']) v;
SELECT qa.bad('sayiir_save_task_result', 'expected_version', v) FROM unnest(ARRAY['NULL', '1', '-1']) v;
SELECT qa.try('SELECT sayiir_save_task_result(NULL, NULL, NULL, NULL, NULL)');
-- an empty output is not NULL
BEGIN;
SELECT sayiir_save_task_result('i', qa.t('c'), '');
SELECT output, output IS NULL FROM sayiir_workflow_tasks WHERE instance_id = 'i' AND task_id = qa.t('c');
ROLLBACK;
-- arguments come before the instance
SELECT qa.try($$SELECT sayiir_save_task_result('nobody', '\x00', '\xaa')$$);
SELECT qa.try($$SELECT sayiir_save_task_result('nobody', qa.t('a'), NULL)$$);
SELECT qa.try($$SELECT sayiir_save_task_result('nobody', qa.t('a'), '\xaa', expected_version => -1)$$);

-- the rest
SELECT qa.bad('sayiir_load_snapshot', 'instance_id', v) FROM unnest(ARRAY['NULL', '''''', 'repeat(''i'', 257)']) v;
SELECT qa.bad('sayiir_load_snapshot', 'version', v) FROM unnest(ARRAY['-1', '-2147483648']) v;
SELECT qa.try('SELECT sayiir_load_snapshot(NULL, NULL)');
SELECT qa.bad('sayiir_load_task_result', 'instance_id', v) FROM unnest(ARRAY['NULL', '''''', 'repeat(''i'', 257)']) v;
SELECT qa.bad('sayiir_load_task_result', 'task_id', v) FROM unnest(ARRAY['NULL', '''''', '''\x00''', 'qa.t(''a'') || ''\x00''::bytea']) v;
SELECT qa.try('SELECT sayiir_load_task_result(NULL, NULL)');
SELECT qa.bad('sayiir_delete_snapshot', 'instance_id', v) FROM unnest(ARRAY['NULL', '''''', 'repeat(''i'', 257)']) v;
SELECT qa.bad('sayiir_list_snapshots', 'status', v) FROM unnest(ARRAY['NULL', '''''', '''nonsense''']) v;
SELECT qa.bad('sayiir_list_snapshots', 'after', v) FROM unnest(ARRAY['NULL', '''h''']) v;
SELECT qa.bad('sayiir_list_snapshots', 'max_rows', v) FROM unnest(ARRAY['NULL', '1', '-1', '-2147483648']) v;
SELECT qa.try('SELECT sayiir_list_snapshots(NULL, NULL, NULL)');
SELECT qa.bad('sayiir_check_integrity', 'instance_id', v) FROM unnest(ARRAY['NULL', '''''', 'repeat(''i'', 257)']) v;
SELECT qa.bad('sayiir_task_id', 'name', v) FROM unnest(ARRAY['NULL', '''''']) v;
SELECT qa.bad('sayiir_decode_hint', 'payload', v) FROM unnest(ARRAY['NULL', '''''', '''%s%n''']) v;

-- Text that looks like a format, a path or SQL is text (CASES B39): in ids, in messages.
CREATE TABLE qa.odd (n integer GENERATED ALWAYS AS IDENTITY, id text);
INSERT INTO qa.odd (id) VALUES ('%s%s%s%n'), ('100%'), ('%1$s'), ('%m'), ('it''s'), ('quo"te'), ('back\slash'), ('''; DROP SCHEMA qa CASCADE; --'),
	('$1'), ('$$'), (E'new\nline'), (E'tab\t'), ('schlüssel'), ('NULL'), ('{a,b}'), (repeat('x', 256));
SELECT qa.try(format('SELECT sayiir_load_snapshot(%L)', id)) FROM qa.odd ORDER BY n;
SELECT count(DISTINCT answer), bool_and(position(quote_ident(id) IN answer) > 0 OR position('"' || id || '"' IN answer) > 0) FROM qa.odd,
	LATERAL unnest(ARRAY[qa.try(format('SELECT sayiir_load_snapshot(%L)', id)), qa.try(format('SELECT sayiir_delete_snapshot(%L)', id)),
		qa.try(format('SELECT sayiir_load_task_result(%L, qa.t(''a''))', id)), qa.try(format('SELECT sayiir_save_task_result(%L, qa.t(''a''), '''')', id)),
		qa.try(format('SELECT qa.sv(%L, p_ev => 7)', id))]) answer;
SELECT qa.try(format('SELECT qa.sv(''i'', %L)', left(id, 30))) FROM qa.odd ORDER BY n;
SELECT count(qa.sv(id, p_tags => ARRAY[id], p_err => id, p_kind => id, p_trace => id)) FROM qa.odd;
SELECT count(*) FROM qa.odd o JOIN sayiir_workflow_snapshots s ON s.instance_id = o.id AND s.error = o.id AND s.task_tags[1] = o.id;
SELECT count(sayiir_delete_snapshot(id)) FROM qa.odd;
-- snapshots and outputs never appear in messages
SELECT qa.try($$SELECT qa.sv('i', 'nonsense', 'secret')$$);
SELECT qa.try($$SELECT qa.sv('i', 'InProgress', 'secret', p_ev => 7, p_lc => qa.t('a'), p_out => 'secret')$$);
SELECT qa.try($$SELECT sayiir_save_task_result('nobody', qa.t('a'), 'secret', 'secret')$$);

-- The instance is as it was, there is no other, and this is the same backend.
SELECT qa.show('i');
SELECT * FROM sayiir_list_snapshots();
SELECT pg_backend_pid() = :pid AS same_backend;

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
