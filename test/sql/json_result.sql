-- sayiir_save_task_result on an instance whose stored snapshot is one of Sayiir's own.
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

-- The stored payloads, with ids by name again, and the transaction time of a version as NOW.
CREATE FUNCTION qa.stored(p_id text, from_version integer DEFAULT 1) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	h record;
	n text;
	payload text;
BEGIN
	FOR h IN SELECT * FROM sayiir_workflow_snapshot_history WHERE instance_id = p_id AND version >= from_version
			ORDER BY version LOOP
		payload := convert_from(substr(h.data, 7), 'UTF8');
		FOREACH n IN ARRAY '{wf,a,b,c,d,e,f,g,x,y,z}'::text[] LOOP
			payload := replace(payload, encode(qa.t(n), 'hex'), '@' || n);
		END LOOP;
		RETURN NEXT format('v%s %s%s', h.version,
			CASE WHEN substr(h.data, 1, 6) = '\x535952530101' THEN '' ELSE 'WRONG ENVELOPE ' END,
			replace(payload, floor(extract(epoch FROM h.created_at))::text, 'NOW'));
	END LOOP;
END $$;

\set ECHO all
CREATE EXTENSION sayiir_pg;

-- Without data the stored snapshot is edited: the task joins completed_tasks, last_completed_task_id and updated_at
-- follow, the position and all columns but the count stay, and so does every other byte.
SELECT sayiir_save_snapshot(qa.js('r', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{},"last_completed_task_id":null}}',
	',"task_priority":2,"task_tags":["t"],"task_retries":{"@a":{"attempts":1,"policy":{},"last_error":"e","next_retry_at":"2031-01-02T03:04:05Z"}}'), '00-t');
SELECT sayiir_save_task_result('r', qa.t('a'), '\x01');
SELECT sayiir_save_task_result('r', qa.t('b'), '\x02');
SELECT qa.show('r');
SELECT qa.stored('r');
-- another output for a task that is there: one entry still, again the last one; not counted again
SELECT sayiir_save_task_result('r', qa.t('a'), '\x03', expected_version => 3);
SELECT qa.show('r');
SELECT qa.stored('r', 4);
SELECT qa.load('r');
-- an empty output is an output
SELECT sayiir_save_task_result('r', qa.t('c'), '');
SELECT qa.load('r');
-- What was loaded is understood by the one-argument save.
SELECT sayiir_save_snapshot(data) FROM sayiir_load_snapshot('r');
SELECT qa.load('r');

-- Odd white space, spellings of numbers, 64-bit integers, escapes, unknown members, any order of members: all bytes stay.
SELECT sayiir_save_snapshot(qa.frame(E' {\t"updated_at" :\n 1 , "x":[2.0,1e2,-0,9223372036854775807,18446744073709551615,1.10,"\\u00e9\\/\\ud83d\\ude00é",{"completed_tasks":{"@a":{"task_id":"@a","output":[1]}},"updated_at":5}],
	"task_priority" : 1,"state" : { "InProgress" : { "last_completed_task_id"\t:\tnull , "y":2.0, "completed_tasks" : {  \n } , "position" : "NotStarted" , "updated_at":7 } } ,
	"definition_hash":"@wf" , "inst\\u0061nce_id" : "\\u006fdd" , "created_at":0}\n\n'));
SELECT sayiir_save_task_result('odd', qa.t('a'), '\x01');
SELECT sayiir_save_task_result('odd', qa.t('b'), '\x02');
SELECT sayiir_save_task_result('odd', qa.t('a'), '\x03');
SELECT qa.stored('odd');
-- last_completed_task_id missing; entries with members of their own, names escaped or in capitals
SELECT sayiir_save_snapshot(qa.js('entries', '{"InProgress":{"completed_tasks":{ "@a" : { "more" : [ ] , "output" : [ ] , "task_id" : "@a" } , "' || upper(qa.ids('@b')) || '" : {"task_id":"@b","output":[ ]} },"position":"NotStarted"}}'));
SELECT sayiir_save_task_result('entries', qa.t('a'), '\x01');
SELECT sayiir_save_task_result('entries', qa.t('b'), '\x02');
SELECT sayiir_save_task_result('entries', qa.t('c'), '\x03');
SELECT replace(line, upper(qa.ids('@b')), '@B') FROM qa.stored('entries') line;
SELECT completed_task_count FROM sayiir_workflow_snapshots WHERE instance_id = 'entries';

-- At a fork, at a join, in a loop, at a delay; and in Paused, whose position stays too.
SELECT sayiir_save_snapshot(qa.js(kind, '{"InProgress":{"position":' || place || ',"completed_tasks":{"@a":{"task_id":"@a","output":[]}},"last_completed_task_id":"@a"}}')) FROM (VALUES
	('fork', '{"AtFork":{"fork_id":"@f","completed_branches":{"@x":{"task_id":"@x","output":[1]}},"wake_at":"2031-01-02T03:04:05Z"}}'),
	('join', '{"AtJoin":{"join_id":"@g","completed_branches":{}}}'),
	('loop', '{"InLoop":{"loop_id":"@y","iteration":4294967295,"next_task_id":"@z"}}'),
	('delay', '{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-31T00:00:00Z","wake_at":"2031-01-02T03:04:05Z","next_task_id":"@e"}}'),
	('signal', '{"AtSignal":{"signal_id":"@x","signal_name":"s","wake_at":null,"next_task_id":null}}')) v(kind, place);
SELECT sayiir_save_snapshot(qa.js('paused', '{"Paused":{"reason":null,"paused_by":"me","paused_at":"2030-01-01T00:00:00Z","completed_tasks":{"@a":{"task_id":"@a","output":[]}},"position":{"AtTask":{"task_id":"@b"}},"last_completed_task_id":"@a"}}'));
SELECT sayiir_save_task_result(id, qa.t('b'), '\x0b') FROM unnest('{fork,join,loop,delay,signal,paused}'::text[]) id;
SELECT qa.show(id), NULL FROM unnest('{fork,join,loop,delay,signal,paused}'::text[]) id;
SELECT qa.stored(id, 2) FROM unnest('{fork,join,loop,delay,signal,paused}'::text[]) id;

-- Results in one transaction all survive; a repeat is recognized and writes nothing.
SELECT sayiir_save_snapshot(qa.js('many', '{"InProgress":{"position":{"AtFork":{"fork_id":"@f","completed_branches":{}}},"completed_tasks":{}}}'));
SELECT count(sayiir_save_task_result('many', qa.t(i::text), int4send(i))) FROM generate_series(1, 60) i;
SELECT s.history_version, s.completed_task_count, count(*), bool_and(qa.t(key) IS NOT NULL AND value->>'task_id' = key AND value->'output' = '[]')
FROM sayiir_workflow_snapshots s, sayiir_load_snapshot('many') l,
	jsonb_each(convert_from(substr(l.data, 7), 'UTF8')::jsonb #> '{state,InProgress,completed_tasks}')
WHERE s.instance_id = 'many' GROUP BY 1, 2;
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT sayiir_save_task_result('many', qa.t('60'), int4send(60)), sayiir_save_task_result('many', qa.t('7'), int4send(7));
SELECT sayiir_save_task_result('many', qa.t('7'), int4send(7), data => data) FROM sayiir_load_snapshot('many');
SELECT sayiir_save_task_result('many', qa.t('7'), int4send(7), expected_version => 1);
SELECT qa.try($$SELECT sayiir_save_task_result('many', qa.t('7'), '\x00', expected_version => 60)$$);
SELECT qa.try($$SELECT sayiir_save_task_result('nobody', qa.t('7'), '\x00')$$);
SELECT qa.try($$SELECT sayiir_save_task_result('nobody', qa.t('7'), '\x00', qa.js('nobody', '{"Failed":{"error":"e"}}'))$$);
SELECT qa.whole() = f AS untouched FROM qa.before;

-- With data: read and stripped like a one-argument save, all columns follow; the result's own output wins.
SELECT sayiir_save_snapshot(qa.js('d', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{}}}', ',"task_priority":1,"task_tags":["x"]'), '00-t');
SELECT sayiir_save_task_result('d', qa.t('a'), '\xaa', qa.js('d', '{"InProgress":{"position":{"AtTask":{"task_id":"@b"}},"completed_tasks":{"@a":{"task_id":"@a","output":[1]},"@c":{"task_id":"@c","output":[3]}},"last_completed_task_id":"@a"}}', ',"task_priority":4,"task_tags":["y","z"],"task_retries":{"@b":{"attempts":1,"next_retry_at":"2031-01-02T03:04:05Z"}}'));
SELECT qa.show('d');
SELECT qa.stored('d', 2);
-- the same bytes once more, with their outputs or as stored; with expected_version too
UPDATE qa.before SET f = qa.whole();
SELECT sayiir_save_task_result('d', qa.t('a'), '\xaa', qa.js('d', '{"InProgress":{"position":{"AtTask":{"task_id":"@b"}},"completed_tasks":{"@a":{"task_id":"@a","output":[1]},"@c":{"task_id":"@c","output":[3]}},"last_completed_task_id":"@a"}}', ',"task_priority":4,"task_tags":["y","z"],"task_retries":{"@b":{"attempts":1,"next_retry_at":"2031-01-02T03:04:05Z"}}'), 1);
SELECT sayiir_save_task_result('d', qa.t('a'), '\xaa', data) FROM sayiir_load_snapshot('d');
SELECT sayiir_save_task_result('d', qa.t('a'), '\xaa');
SELECT qa.whole() = f AS untouched FROM qa.before;
-- at another place, with another last task: that one is completed as well, as by a save
SELECT sayiir_save_task_result('d', qa.t('e'), '\xee', qa.js('d', '{"InProgress":{"position":{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-31T00:00:00Z","wake_at":"2032-01-02T03:04:05Z","next_task_id":"@x"}},"completed_tasks":{"@a":{"task_id":"@a","output":[]},"@b":{"task_id":"@b","output":[]},"@e":{"task_id":"@e","output":[]}},"last_completed_task_id":"@b"}}'));
SELECT qa.show('d');
SELECT sayiir_save_task_result('d', qa.t('f'), '\xff', qa.js('d', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@f":{"task_id":"@f","output":[9,9]},"@g":{"task_id":"@g","output":[7]}},"last_completed_task_id":"@g"}}'), expected_version => 3);
SELECT qa.show('d');
SELECT qa.stored('d', 3);
-- Paused with a Paused one
SELECT sayiir_save_task_result('paused', qa.t('c'), '\xcc', qa.js('paused', '{"Paused":{"paused_at":"2030-01-02T00:00:00Z","completed_tasks":{"@c":{"task_id":"@c","output":[1]}},"position":"NotStarted"}}'));
SELECT qa.show('paused');

-- Refused: another instance, another state, what is no JSON snapshot; nothing written.
UPDATE qa.before SET f = qa.whole();
SELECT qa.try($$SELECT sayiir_save_task_result('d', qa.t('x'), '\x00', qa.js('other', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}'))$$);
SELECT qa.try($$SELECT sayiir_save_task_result('d', qa.t('x'), '\x00', qa.js('d ', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}'))$$);
SELECT state, qa.try(format('SELECT sayiir_save_task_result(''d'', qa.t(''x''), ''\x00'', qa.js(''d'', %L))', state)) FROM unnest(ARRAY['{"Completed":{"final_output":[]}}', '{"Failed":{"error":"e"}}',
	'{"Cancelled":{"cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{}}}', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":"NotStarted"}}']) state;
SELECT qa.try($$SELECT sayiir_save_task_result('paused', qa.t('x'), '\x00', qa.js('paused', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}'))$$);
SELECT data, qa.try(format('SELECT sayiir_save_task_result(''d'', qa.t(''x''), ''\x00'', %L::bytea)', data)) FROM unnest('{"\\x","\\x00","opaque","\\x535952530102","\\x535952530201","\\x535952530101"}'::bytea[]) data;
SELECT qa.try($$SELECT sayiir_save_task_result('d', qa.t('x'), '\x00', qa.js('d', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@a":{}}}}'))$$);
SELECT qa.try($$SELECT sayiir_save_task_result('d', qa.t('x'), '\x00', qa.js('', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}'))$$);
SELECT qa.try($$SELECT sayiir_save_task_result('d', qa.t('x'), '\x00', qa.js('d', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}'), 3)$$);
SELECT qa.whole() = f AS untouched FROM qa.before;

-- A terminal instance: NULL, nothing written; its own results are recognized.
SELECT sayiir_save_snapshot(qa.js('end', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{}}}'));
SELECT sayiir_save_task_result('end', qa.t('a'), '\xaa');
SELECT sayiir_save_snapshot(qa.js('end', '{"Completed":{"final_output":[]}}'));
UPDATE qa.before SET f = qa.whole();
SELECT sayiir_save_task_result('end', qa.t('b'), '\xbb');
SELECT sayiir_save_task_result('end', qa.t('a'), '\xab');
SELECT sayiir_save_task_result('end', qa.t('b'), '\xbb', expected_version => 1);
SELECT sayiir_save_task_result('end', qa.t('b'), '\xbb', qa.js('end', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@b":{"task_id":"@b","output":[]}}}}'));
SELECT sayiir_save_task_result('end', qa.t('a'), '\xaa');
SELECT qa.whole() = f AS untouched FROM qa.before;

-- The explicit form stores what it is given. Opaque bytes are carried over, also those of codec 2.
SELECT qa.sv('opaque', p_data => '\x5359525301'), qa.sv('rkyv', p_data => '\x53595253010200'), qa.sv('version 2', p_data => '\x5359525302017b7d'), qa.sv('no codec', p_data => '\x5359525301097b7d');
SELECT sayiir_save_task_result(id, qa.t('b'), '\x01') FROM unnest('{opaque,rkyv,version 2,no codec}'::text[]) id;
SELECT instance_id, count(DISTINCT data), max(version) FROM sayiir_workflow_snapshot_history WHERE instance_id IN ('opaque', 'rkyv', 'version 2', 'no codec') GROUP BY 1 ORDER BY 1;
-- and take data as it is, even a JSON snapshot of something else; from then on it is one that is edited
SELECT sayiir_save_task_result('opaque', qa.t('c'), '\x02', qa.js('opaque', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@x":{"task_id":"@x","output":[1,2]}}}}'));
SELECT sayiir_save_task_result('opaque', qa.t('d'), '\x03');
SELECT qa.stored('opaque', 3); SELECT qa.tasks('opaque');
-- An output that the explicit form left inside is replaced with its task, and left alone with another.
SELECT sayiir_save_task_result('opaque', qa.t('x'), '\x04');
SELECT qa.stored('opaque', 5); SELECT qa.tasks('opaque');
SELECT completed_task_count FROM sayiir_workflow_snapshots WHERE instance_id = 'opaque';

-- What begins like a JSON snapshot has to be edited, and cannot be: 22P03, nothing written. So it is with one that says
-- of itself that it has ended: it has no place for a result.
SELECT qa.sv('b1', p_data => '\x535952530101'), qa.sv('b2', p_data => '\x5359525301017b7d'), qa.sv('b3', p_data => '\x535952530101ff'),
	qa.sv('b4', p_data => qa.js('b4', '{"Completed":{"final_output":[]}}')), qa.sv('b5', p_data => qa.js('b5', '{"Failed":{"error":"e"}}')),
	qa.sv('b6', p_data => qa.js('b6', '{"Cancelled":{"cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{}}}')),
	qa.sv('b7', 'Paused', qa.js('b7', '{"Completed":{"final_output":[]}}'), p_cur => NULL);
UPDATE qa.before SET f = qa.whole();
SELECT qa.try(format('SELECT sayiir_save_task_result(%L, qa.t(''b''), ''\x01'')', 'b' || i)) FROM generate_series(1, 3) i;
SELECT left(qa.try(format('SELECT sayiir_save_task_result(%L, qa.t(''b''), ''\x01'')', 'b' || i)), 6) FROM generate_series(4, 7) i;
SELECT qa.whole() = f AS untouched FROM qa.before;
-- a good snapshot mends it
SELECT sayiir_save_task_result('b1', qa.t('b'), '\x01', qa.js('b1', '{"InProgress":{"position":"NotStarted","completed_tasks":{"@b":{"task_id":"@b","output":[]}}}}'));
SELECT sayiir_save_task_result('b1', qa.t('c'), '\x02');
SELECT qa.stored('b1', 2);

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
