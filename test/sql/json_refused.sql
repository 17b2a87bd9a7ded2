-- What cannot be read as a JSON snapshot: 22P03, where it is, nothing written, the same backend.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set ECHO none

-- Ids in the payloads of this file: @a is the 64 digits of task a's.
CREATE FUNCTION qa.ids(payload text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	n text;
BEGIN
	FOREACH n IN ARRAY '{wf,a,b,c,d,e,f,g,x,y,z}'::text[] LOOP
		payload := replace(payload, '@' || n, encode(qa.t(n), 'hex'));
	END LOOP;
	RETURN payload;
END $$;

-- The envelope around a payload.
CREATE FUNCTION qa.frame(payload text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT '\x535952530101'::bytea || convert_to(qa.ids(payload), 'UTF8') $$;

-- A snapshot of this state, perhaps with further members.
CREATE FUNCTION qa.js(p_id text, state text, more text DEFAULT '') RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT qa.frame('{"instance_id":' || to_json(p_id) || ',"definition_hash":"@wf","state":' || state
		|| ',"created_at":1700000000,"updated_at":1700000100' || more || '}') $$;

\set ECHO all
CREATE EXTENSION sayiir_pg;
SELECT pg_backend_pid() AS pid \gset
SELECT sayiir_save_snapshot(qa.js('i', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{}}}'));
CREATE TABLE qa.before AS SELECT qa.whole() AS f;

-- A payload in which ^ stands in front of the byte that is wrong; or where that is up to the lexer of the server's
-- version, ~ behind the last one that may be named. The answer must name that byte: then it is shown as ^.
CREATE FUNCTION qa.bad(payload text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text := qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', qa.frame(translate(payload, '^~', ''))));
	named integer := substring(answer FROM '\mbyte (\d+)\.\n?');
	first integer := 6 + octet_length(split_part(qa.ids(payload), '^', 1));
	last integer := CASE WHEN payload LIKE '%~%' THEN 4 + octet_length(split_part(qa.ids(payload), '~', 1)) ELSE first END;
	n text;
BEGIN
	FOREACH n IN ARRAY '{wf,a,b,c,d,e,f,g,x,y,z}'::text[] LOOP
		answer := replace(answer, encode(qa.t(n), 'hex'), '@' || n);
	END LOOP;
	RETURN CASE WHEN named BETWEEN first AND last THEN replace(answer, 'byte ' || named || '.', 'byte ^.') ELSE answer END;
END $$;
-- The same with a state, or with further members, of a snapshot that is otherwise sound.
CREATE FUNCTION qa.bad_state(state text) RETURNS text LANGUAGE sql AS $$
	SELECT qa.bad('{"instance_id":"i","definition_hash":"@wf","created_at":1,"updated_at":1,"state":' || state || '}') $$;
CREATE FUNCTION qa.bad_place(place text) RETURNS text LANGUAGE sql AS $$
	SELECT qa.bad_state('{"InProgress":{"completed_tasks":{},"position":' || place || '}}') $$;
CREATE FUNCTION qa.bad_more(more text) RETURNS text LANGUAGE sql AS $$
	SELECT qa.bad('{"instance_id":"i","definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}},' || more || '}') $$;
-- sound without the marked part
SELECT sayiir_save_snapshot(qa.frame('{"instance_id":"sound","definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}}'));
UPDATE qa.before SET f = qa.whole();

-- The envelope. The hint names the explicit form.
SELECT qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', data)) FROM (VALUES
	('\x'::bytea), ('x'), ('syrs'), ('{"instance_id":"i"}'), ('S'), ('SYRS'), ('\x5359525301'), ('\x535952530101'), ('\x535952530001'),
	('\x535952530201'), ('\x53595253ff01'), ('\x535952530102'), ('\x535952530100'), ('\x535952530103'), ('\x5359525301ff')) v(data);
SELECT qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', set_byte(qa.js('i', '{"Failed":{"error":"e"}}'), at, value)))
FROM (VALUES (0, 115), (3, 0), (4, 0), (4, 2), (5, 0), (5, 2), (5, 3)) v(at, value);

-- Cut off after any byte: never taken, always said to be truncated, and where.
CREATE FUNCTION qa.rich() RETURNS bytea LANGUAGE sql AS $$
	SELECT qa.frame('{ "instance_id":"r\u00fc","definition_hash":"@wf","state":{"InProgress":{"position":{"AtFork":{"fork_id":"@f",
		"completed_branches":{"@b":{"task_id":"@b","output":[1,22,255]}},"wake_at":"2031-01-02T03:04:05.6Z"}},"completed_tasks":{"@a":{"task_id":"@a","output":[ 0 , 7]}},
		"last_completed_task_id":null}},"created_at":1700000000,"updated_at":1700000100,"more":[true,false,null,-1.5e+3,"é😀\"",{"x":{}}],
		"task_retries":{"@a":{"attempts":1,"policy":{"p":0.5},"last_error":"e","next_retry_at":"2031-01-02T03:04:05Z"}},"task_priority":4,"task_tags":["t"]}') $$;
SELECT sayiir_save_snapshot(qa.rich(), expected_version => 0);
UPDATE qa.before SET f = qa.whole();
SELECT regexp_replace(answer, 'byte ' || at || '\.', 'byte ^.') ~ '^22P03: snapshot is truncated\n  detail: At ([^\n]*, )?byte \^\.$' AS well_said, count(*)
FROM generate_series(6, length(qa.rich()) - 1) at, LATERAL qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', substr(qa.rich(), 1, at))) answer
GROUP BY 1 ORDER BY 1;
-- but for a cut within a character, which is bad UTF-8
SELECT at, answer FROM (SELECT at, qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', substr(qa.rich(), 1, at))) answer
	FROM generate_series(6, length(qa.rich()) - 1) at) x WHERE answer !~ '^22P03: snapshot is truncated\n' ORDER BY at;
-- Any byte replaced: taken as another sound snapshot, or refused as unreadable; never anything else.
CREATE FUNCTION qa.replaced(data bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM sayiir_save_snapshot(data);
	RAISE SQLSTATE 'QA000';
EXCEPTION WHEN SQLSTATE 'QA000' THEN
	RETURN 'taken';
WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT qa.replaced(set_byte(qa.rich(), at, value)), count(*) > 100 AS many
FROM generate_series(6, length(qa.rich()) - 1) at, unnest('{0,32,34,44,48,92,93,125,255}'::int[]) value GROUP BY 1 ORDER BY 1;
-- and any byte left out, or doubled
SELECT qa.replaced(substr(qa.rich(), 1, at) || substr(qa.rich(), at + more)), count(*) > 0 AS many
FROM generate_series(6, length(qa.rich()) - 1) at, unnest('{0,2}'::int[]) more GROUP BY 1 ORDER BY 1;

-- Not UTF-8: a stray byte, overlong, a surrogate, past U+10FFFF, a cut character, zero.
SELECT sequence, qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', qa.frame('{"instance_id":"i","x":"') || sequence || '"}'))
FROM unnest('{"\\x80","\\xff","\\xc3","\\xc0af","\\xe080af","\\xeda080","\\xf4908080","\\xf8888080","\\xe282","\\x00"}'::bytea[]) sequence;
-- Not JSON.
SELECT payload, qa.bad(payload) FROM unnest(ARRAY['^', ' ^', '^x', 'nul^', 'tru^', '"^', '{"a":"b^', '^[]', '^1', '^null', '^"x"', '{^x:1}', '{^''a'':1}', '{"a" ^1}', '{"a"^,1}', '{"a":^}', '{"a":1 ^"b":2}',
	'{"a":1,^}', '{^,"a":1}', '{"a":1,^,"b":1}', '{"a":[1 ^2]}', '{"a":[1,^]}', '{"a":[^,1]}', '{"a":[1^}', '{"a":{"b":1^]}', '{"a":^01~}', '{"a":^-}~', '{"a":^+1~}', '{"a":^.5~}', '{"a":^1.}~',
	'{"a":^1e}~', '{"a":^1e+}~', '{"a":^0x1~}', '{"a":^NaN}', '{"a":^-Infinity~}', '{"a":^True}', '{"a":^nulL}', '{"a":^"\x~41"}', '{"a":^"\u12"~}', '{"a":^"\u12g~4"}', '{"a":^"b\U~0041"}', E'{"a":^"\t~"}', E'{"a":^"\n~"}', E'{"a":^"\x01~"}',
	'{"a":1^/*c*/}', '{"a":1 ^// c', E'{"a":^\u00a01}', E'^\ufeff{"a":1}']) payload;
-- Bytes behind the end; white space is none.
SELECT qa.bad('{"instance_id":"i","definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}}' || tail)
FROM unnest(ARRAY['^x', E' \n^}', '^{}', '^,', '^null', ' ^"', E'\t^\u00a0', E'^\ufeff']) tail;
SELECT sayiir_save_snapshot(qa.frame('{"instance_id":"tail","definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}}' || E' \t\r\n '));
SELECT sayiir_delete_snapshot('tail');

-- Members twice: known or not, by another spelling, in any object; the same name in another object is none.
SELECT m, qa.bad_more(m) FROM unnest(ARRAY['^"created_at":1', '^"cre\u0061ted_at":1', '^"instance_id":"i"', '^"state":{}', '"x":1,^"x":1', '"x":1,^"\u0078":null', '"\u0078":1,"y":2,^"\u0078":3',
	'"task_priority":1,^"task_priority":1', '"task_tags":null,^"task_tags":[]', '"x":{"a":1,"b":2,^"a":3}', '"x":[1,{"":1,^"":2}]', '"task_retries":{"@a":{"attempts":1,^"attempts":1}}', '"task_retries":{"@a":{},^"@a":{}}',
	'"loop_iterations":{"@a":1,^"@a":1}', '"x":{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,"10":10,"é":1,^"\u00e9":2}', '"x":{"\ud83d\ude00":1,"b":1,^"😀":2}', '"x":{"a/b":1,^"a\/b":2}']) m;
SELECT s, qa.bad_state(s) FROM unnest(ARRAY['{"Failed":{"error":"e",^"error":"f"}}', '{"Failed":{"error":"e","x":1,^"x":1}}', '{"Failed":{"error":"e"},^"Failed":{"error":"e"}}',
	'{"InProgress":{"position":"NotStarted","completed_tasks":{},^"completed_tasks":{}}}',
	'{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":"@a","output":[]},"@b":{"task_id":"@b","output":[]},^"@a":{"task_id":"@a","output":[]}}}}',
	'{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":"@a","output":[],^"output":[]}}}}',
	'{"InProgress":{"completed_tasks":{},"position":{"AtTask":{"task_id":"@a",^"task_id":"@a"}}}}',
	'{"InProgress":{"completed_tasks":{},"position":{"AtTask":{"task_id":"@a"},^"AtTask":{"task_id":"@a"}}}}']) s;
-- an id in another case is the same task
SELECT qa.bad_state('{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":"@a","output":[]},^"' || upper(qa.ids('@a')) || '":{"task_id":"@a","output":[]}}}}');

-- States and positions: none, two, unknown.
SELECT s, qa.bad_state(s) FROM unnest(ARRAY['{^}', '{"Failed":{"error":"e"},^"Completed":{"final_output":[]}}', '{^"Running":{}}', '{^"failed":{"error":"e"}}', '{^"":{}}', '^"Failed"', '^null', '^[]',
	'{"Failed":^"e"}', '{"Failed":^null}', '{"Completed":^[]}', '{^"é☃":{}}']) s;
SELECT p, qa.bad_place(p) FROM unnest(ARRAY['{^}', '{"AtTask":{"task_id":"@a"},^"AtJoin":{"join_id":"@a","completed_branches":{}}}', '{^"AtLunch":{}}', '{^"NotStarted":{}}', '^"AtTask"', '^"notStarted"', '^""', '^null', '^[]', '^7',
	'{"AtTask":^"@a"}', '{"AtTask":^null}', '{"AtTask":^[]}']) p;

-- Members missing: the end of the object that lacks them.
SELECT p, qa.bad(p) FROM unnest(ARRAY['{^}', '{"definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}^}', '{"instance_id":"i","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}^}',
	'{"instance_id":"i","definition_hash":"@wf","updated_at":1,"state":{"Failed":{"error":"e"}}^}', '{"instance_id":"i","definition_hash":"@wf","created_at":1,"state":{"Failed":{"error":"e"}}^}',
	'{"instance_id":"i","definition_hash":"@wf","created_at":1,"updated_at":1^}']) p;
SELECT s, qa.bad_state(s) FROM unnest(ARRAY['{"Failed":{^}}', '{"Completed":{^}}', '{"InProgress":{"completed_tasks":{}^}}', '{"InProgress":{"position":"NotStarted"^}}', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{}^}}',
	'{"Paused":{"paused_at":"2030-01-01T00:00:00Z","position":"NotStarted"^}}', '{"Cancelled":{"cancelled_at":"2030-01-01T00:00:00Z"^}}', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":"@a"^}}}}',
	'{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"output":[]^}}}}']) s;
SELECT p, qa.bad_place(p) FROM unnest(ARRAY['{"AtTask":{^}}', '{"AtFork":{"completed_branches":{}^}}', '{"AtFork":{"fork_id":"@f"^}}', '{"AtJoin":{"completed_branches":{}^}}', '{"AtJoin":{"join_id":"@f"^}}',
	'{"AtDelay":{"entered_at":"2030-01-01T00:00:00Z","wake_at":"2030-01-01T00:00:00Z"^}}', '{"AtDelay":{"delay_id":"@d","entered_at":"2030-01-01T00:00:00Z"^}}', '{"AtSignal":{"signal_name":"s"^}}', '{"AtSignal":{"signal_id":"@x"^}}',
	'{"InLoop":{"iteration":1^}}', '{"InLoop":{"loop_id":"@y"^}}']) p;

-- Values of the wrong type, everywhere.
SELECT v, qa.bad(replace('{"instance_id":I,"definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}}', 'I', '^' || v)) FROM unnest(ARRAY['null', '1', '["i"]', '{}', 'true']) v;
SELECT v, qa.bad(replace('{"instance_id":"i","definition_hash":D,"created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}}', 'D', '^' || v)) FROM unnest(ARRAY['null', '1', '[1]']) v;
SELECT v, qa.bad(replace('{"instance_id":"i","definition_hash":"@wf","created_at":C,"updated_at":1,"state":{"Failed":{"error":"e"}}}', 'C', '^' || v))
FROM unnest(ARRAY['null', '"1"', '{}', 'true', '-1', '-0', '1.0', '1e3', '18446744073709551616', '99999999999999999999999999', '0.5']) v;
SELECT v, qa.bad(replace('{"instance_id":"i","definition_hash":"@wf","created_at":1,"updated_at":U,"state":{"Failed":{"error":"e"}}}', 'U', '^' || v))
FROM unnest(ARRAY['null', '"1"', '[]', 'false', '-1', '1.0', '1E0', '18446744073709551616']) v;
SELECT m, qa.bad_more(m) FROM unnest(ARRAY['"task_priority":^0', '"task_priority":^6', '"task_priority":^-1', '"task_priority":^3.0', '"task_priority":^"3"', '"task_priority":^"High"', '"task_priority":^true', '"task_priority":^4294967299', '"task_priority":^18446744073709551619',
	'"task_tags":^"t"', '"task_tags":^{}', '"task_tags":[^1]', '"task_tags":["a",^null]', '"task_tags":["a",^["b"]]', '"initial_input":^"x"', '"initial_input":^{}', '"initial_input":[^256]', '"initial_input":[1,^-1]', '"initial_input":[1,2,^1.0]', '"initial_input":[^"a"]',
	'"initial_input":[^null]', '"initial_input":[^1e1]', '"initial_input":[0,^00]', '"initial_input":[^99999999999999999999]', '"initial_input":[1^;2]', '"initial_input":[1,^]', '"initial_input":[^,1]', '"initial_input":[^[[1]]]',
	'"task_retries":^[]', '"task_retries":{^"a":{}}', '"task_retries":{"@a":^[]}', '"task_retries":{"@a":^null}', '"task_retries":{"@a":{"attempts":^"1"}}', '"task_retries":{"@a":{"attempts":^-1}}', '"task_retries":{"@a":{"policy":^1}}', '"task_retries":{"@a":{"last_error":^1}}',
	'"task_retries":{"@a":{"last_failed_worker":^[]}}', '"task_retries":{"@a":{"next_retry_at":^1}}', '"loop_iterations":^[]', '"loop_iterations":{"@a":^"1"}', '"loop_iterations":{^"@ag":1}', '"loop_iterations":{"@a":^4294967296}',
	'"task_deadline":^"x"', '"task_deadline":{"task_id":^"x"}', '"task_deadline":{"deadline":^1}']) m;
SELECT s, qa.bad_state(s) FROM unnest(ARRAY['{"Failed":{"error":^null}}', '{"Failed":{"error":^["e"]}}', '{"Completed":{"final_output":^null}}', '{"Completed":{"final_output":^"x"}}', '{"Completed":{"final_output":[1,^256]}}', '{"Completed":{"final_output":[^[]]}}',
	'{"InProgress":{"position":"NotStarted","completed_tasks":^[]}}', '{"InProgress":{"position":"NotStarted","completed_tasks":^null}}', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":^[]}}}', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":^null}}}',
	'{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":^1,"output":[]}}}}', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":"@a","output":^null}}}}', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":"@a","output":^"AQI="}}}}',
	'{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":"@a","output":[1,2,^300]}}}}', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{"task_id":"@a","output":[1 ^2]}}}}',
	'{"InProgress":{"position":"NotStarted","completed_tasks":{},"last_completed_task_id":^1}}', '{"InProgress":{"position":"NotStarted","completed_tasks":{},"last_completed_task_id":^"@ab"}}',
	'{"Cancelled":{"reason":^1,"cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{}}}', '{"Cancelled":{"cancelled_by":^[],"cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{}}}', '{"Cancelled":{"cancelled_at":^null,"completed_tasks":{}}}', '{"Cancelled":{"cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{},"interrupted_at_task":^"x"}}',
	'{"Paused":{"reason":^1,"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":"NotStarted"}}', '{"Paused":{"paused_by":^1,"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":"NotStarted"}}', '{"Paused":{"paused_at":^1,"completed_tasks":{},"position":"NotStarted"}}']) s;
SELECT p, qa.bad_place(p) FROM unnest(ARRAY['{"AtTask":{"task_id":^null}}', '{"AtFork":{"fork_id":^1,"completed_branches":{}}}', '{"AtFork":{"fork_id":"@f","completed_branches":^[]}}', '{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":^1}}', '{"AtJoin":{"join_id":"@f","completed_branches":^null}}',
	'{"AtDelay":{"delay_id":"@d","entered_at":^1,"wake_at":"2030-01-01T00:00:00Z"}}', '{"AtDelay":{"delay_id":"@d","entered_at":"2030-01-01T00:00:00Z","wake_at":^null}}', '{"AtDelay":{"delay_id":"@d","entered_at":"2030-01-01T00:00:00Z","wake_at":"2030-01-01T00:00:00Z","next_task_id":^1}}',
	'{"AtSignal":{"signal_id":"@x","signal_name":^null}}', '{"AtSignal":{"signal_id":"@x","signal_name":"s","next_task_id":^"x"}}', '{"InLoop":{"loop_id":"@y","iteration":^-1}}', '{"InLoop":{"loop_id":"@y","iteration":^4294967296}}', '{"InLoop":{"loop_id":"@y","iteration":^1.5}}', '{"InLoop":{"loop_id":"@y","iteration":^"1"}}',
	'{"InLoop":{"loop_id":"@y","iteration":1,"next_task_id":^[]}}']) p;

-- Ids that are not 64 hexadecimal digits; an entry under another name.
SELECT qa.bad_place('{"AtTask":{"task_id":^' || to_json(id) || '}}') FROM unnest(ARRAY['', 'a', repeat('a', 63), repeat('a', 65), repeat('a', 128), repeat('g', 64), repeat(' ', 64), repeat('é', 32), repeat('a', 62) || '0x', '\x' || repeat('a', 62)]) id;
SELECT qa.bad(replace('{"instance_id":"i","definition_hash":^"D","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}}', 'D', repeat('0', 63)));
SELECT qa.bad_state('{"InProgress":{"position":"NotStarted","completed_tasks":{^"x":{"task_id":"@a","output":[]}}}}');
SELECT qa.bad_state('{"InProgress":{"position":"NotStarted","completed_tasks":{"@b":{"task_id":"@b","output":[]},^"@a":{"task_id":"@b","output":[]}}}}');

-- U+0000 and half a surrogate pair in what the server keeps as text, or compares.
SELECT e, qa.bad_state('{"Failed":{"error":"a' || e || '"}}') FROM unnest(ARRAY['^\u0000', '^\ud800', '^\udc00', '^\ud800\ud800', 'x^\udc00\ud800', '^\ud83d\u0041', '\ud83d\ude00^\ud83d']) e;
SELECT qa.bad(replace('{"instance_id":"aI","definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}}}', 'I', '^\u0000b'));
SELECT qa.bad_more('"task_tags":["a","^\u0000"]');
-- in a name: not at the member before it
SELECT qa.bad_more('"x^\u0000":1');
-- in a member that nobody knows it is kept
SELECT sayiir_save_snapshot(qa.frame('{"instance_id":"kept","definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}},"x":["\u0000","\ud800"]}'));
SELECT strpos(convert_from(substr(data, 7), 'UTF8'), '["\u0000","\ud800"]') > 0 FROM sayiir_load_snapshot('kept');
SELECT sayiir_delete_snapshot('kept');

-- 200 levels, of objects or of arrays, are taken; 201 are not, nor any number.
CREATE FUNCTION qa.deep(levels integer, opening text, closing text, inside text DEFAULT '1') RETURNS bytea LANGUAGE sql AS $$
	SELECT qa.frame('{"instance_id":"deep","definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}},"x":'
		|| repeat(opening, levels - 1) || inside || repeat(closing, levels - 1) || '}') $$;
SELECT sayiir_save_snapshot(qa.deep(200, '[', ']')), sayiir_delete_snapshot('deep');
SELECT sayiir_save_snapshot(qa.deep(200, '{"y":', '}')), sayiir_delete_snapshot('deep');
SELECT qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', qa.deep(201, '[', ']'))) ~ ('^22P03: snapshot is nested too deeply\n  detail: At .*byte ' || 6 + strpos(qa.ids('{"instance_id":"deep","definition_hash":"@wf","created_at":1,"updated_at":1,"state":{"Failed":{"error":"e"}},"x":['), '[') - 1 + 199 || '\.\n  hint: .*200');
SELECT left(answer, 44), answer ~ '\n  detail: At [^\n]+, byte \d+\.\n  hint: [^\n]*200', length(answer) < 2000
FROM (VALUES (201, '{"y":', '}'), (100000, '[', ']'), (100000, '{"y":', '}'), (100000, '[{"y":', '}]'), (100000, '[', ''), (10000000, '[', '')) v(levels, opening, closing),
	LATERAL qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', qa.deep(levels, opening, closing))) answer;
SELECT left(qa.try(format('SELECT sayiir_save_snapshot(%L::bytea)', qa.frame(repeat('[', 100000)))), 80);
-- and under the explicit form nobody looks inside
SELECT qa.sv('opaque', p_data => qa.deep(100000, '[', '')), sayiir_delete_snapshot('opaque');

-- The arguments: the instance id has 1 to 256 bytes.
SELECT qa.try(format('SELECT sayiir_save_snapshot(qa.js(%L, ''{"Failed":{"error":"e"}}''))', id)) FROM unnest(ARRAY['', repeat('x', 257), repeat('é', 128) || 'x', repeat('x', 100000)]) id;

-- No message shows what is in a snapshot beyond names and ids.
SELECT count(*) FROM unnest(ARRAY['{"Failed":{"error":"secret"}},"x":tru', '{"Failed":{"error":"secret\x"}}', '{"Failed":{"error":7,"x":"secret"}}', '{"Completed":{"final_output":["secret"]}}', '{"Cancelled":{"cancelled_at":"secret","completed_tasks":{}}}']) s
WHERE qa.bad_state(s) ~ 'secret' OR qa.bad_state(s) !~ '^22P03';

-- Nothing of all this was written, and it is still the same backend, in which a save works.
SELECT qa.whole() = f AS untouched FROM qa.before;
SELECT pg_backend_pid() = :pid AS same_backend;
SELECT sayiir_save_snapshot(qa.js('i', '{"Failed":{"error":"e"}}'));
SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
