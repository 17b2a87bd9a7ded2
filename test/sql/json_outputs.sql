-- sayiir_save_snapshot with one argument: outputs move to the task rows, counts, repeats, expected versions.
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

-- Every output moves: of the last task, of others, of tasks that were never current; an empty one does not.
-- What stands beside them stays, also white space inside an entry; outputs elsewhere are none of our business.
SELECT sayiir_save_snapshot(qa.js('out', '{"InProgress":{"position":{"AtTask":{"task_id":"@d"}},"completed_tasks":{
 "@a" : { "task_id" : "@a" , "output" : [ 1 , 22 ,255 ] } ,
 "@b":{"output":[0],"task_id":"@b","more":{"output":[7]}},
 "@c":{"task_id":"@c","output":[]},
 "@e":{"task_id":"@e","output":[
	9
 ]}},"last_completed_task_id":"@b"}}', ',"initial_input":[1,2,3]'));
SELECT qa.show('out');
SELECT qa.stored('out');
SELECT qa.load('out');
-- What was loaded is saved again: nothing is lost, and what was stored as it is stays so to the byte.
SELECT sayiir_save_snapshot(data) FROM sayiir_load_snapshot('out');
SELECT qa.show('out');
SELECT count(DISTINCT data) FROM sayiir_workflow_snapshot_history WHERE instance_id = 'out';
-- Another output replaces the one in the task row, an empty one does not.
SELECT sayiir_save_snapshot(qa.js('out', '{"InProgress":{"position":{"AtTask":{"task_id":"@d"}},"completed_tasks":{"@a":{"task_id":"@a","output":[]},"@e":{"task_id":"@e","output":[8]},"@b":{"task_id":"@b","output":[6]}},"last_completed_task_id":"@b"}}'));
SELECT qa.show('out');

-- The last completed task, without an output, is completed all the same; it need not be among the others.
SELECT sayiir_save_snapshot(qa.js('last', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{}}}'));
SELECT sayiir_save_snapshot(qa.js('last', '{"InProgress":{"position":{"AtTask":{"task_id":"@b"}},"completed_tasks":{"@a":{"task_id":"@a","output":[]}},"last_completed_task_id":"@a"}}'));
-- (CASES B12) current and just completed at once: completed, and stays so
SELECT sayiir_save_snapshot(qa.js('last', '{"InProgress":{"position":{"AtTask":{"task_id":"@b"}},"completed_tasks":{"@a":{"task_id":"@a","output":[]},"@b":{"task_id":"@b","output":[2]}},"last_completed_task_id":"@b"}}'));
SELECT qa.show('last');
SELECT sayiir_save_snapshot(qa.js('last', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{},"last_completed_task_id":"@c"}}'));
SELECT qa.show('last');
-- Every column is written as given: what the snapshot no longer says is gone.
SELECT sayiir_save_snapshot(qa.js('cols', '{"InProgress":{"position":{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-31T00:00:00Z","wake_at":"2031-01-02T03:04:05Z","next_task_id":"@e"}},"completed_tasks":{}}}', ',"task_priority":1,"task_tags":["x","y"]'), '00-t');
SELECT sayiir_save_snapshot(qa.frame('{"instance_id":"cols","definition_hash":"@a","state":{"InProgress":{"position":"NotStarted","completed_tasks":{}}},"created_at":1,"updated_at":1}'));
SELECT qa.show('cols');

-- States with tasks say how many; Completed and Failed do not, and the count stays.
SELECT sayiir_save_snapshot(qa.js('c' || i, '{"InProgress":{"position":{"AtTask":{"task_id":"@c"}},"completed_tasks":{"@a":{"task_id":"@a","output":[1]},"@b":{"task_id":"@b","output":[2]}},"last_completed_task_id":"@b"}}'))
FROM generate_series(1, 4) i;
SELECT sayiir_save_snapshot(qa.js('c1', '{"Completed":{"final_output":[3]}}'));
SELECT sayiir_save_snapshot(qa.js('c2', '{"Failed":{"error":"oops"}}'));
SELECT sayiir_save_snapshot(qa.js('c3', '{"Cancelled":{"reason":"r","cancelled_by":"me","cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{"@a":{"task_id":"@a","output":[]},"@b":{"task_id":"@b","output":[]},"@d":{"task_id":"@d","output":[4]}},"interrupted_at_task":"@c"}}'));
SELECT sayiir_save_snapshot(qa.js('c4', '{"Paused":{"reason":"r","paused_by":"me","paused_at":"2030-01-01T00:00:00Z","completed_tasks":{"@a":{"task_id":"@a","output":[9]}},"position":{"AtTask":{"task_id":"@c"}},"last_completed_task_id":"@a"}}'));
SELECT qa.show('c' || i) FROM generate_series(1, 4) i;
SELECT qa.stored('c3', 2); SELECT qa.stored('c4', 2);
-- an instance that begins with its end
SELECT sayiir_save_snapshot(qa.js('born dead', '{"Completed":{"final_output":[]}}'));
SELECT qa.show('born dead');

-- A terminal instance: the same save again is recognized although its outputs were moved; any other writes nothing.
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT sayiir_save_snapshot(qa.js('c1', '{"Completed":{"final_output":[3]}}'));
SELECT sayiir_save_snapshot(qa.js('c3', '{"Cancelled":{"reason":"r","cancelled_by":"me","cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{"@a":{"task_id":"@a","output":[]},"@b":{"task_id":"@b","output":[]},"@d":{"task_id":"@d","output":[4]}},"interrupted_at_task":"@c"}}'));
-- outputs are not compared
SELECT sayiir_save_snapshot(qa.js('c3', '{"Cancelled":{"reason":"r","cancelled_by":"me","cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{"@a":{"task_id":"@a","output":[5,6]},"@b":{"task_id":"@b","output":[]},"@d":{"task_id":"@d","output":[7]}},"interrupted_at_task":"@c"}}'));
SELECT sayiir_save_snapshot(qa.js('c1', '{"Completed":{"final_output":[4]}}'));
SELECT sayiir_save_snapshot(qa.js('c1', '{"Failed":{"error":"late"}}'));
SELECT sayiir_save_snapshot(qa.js('c2', '{"InProgress":{"position":{"AtTask":{"task_id":"@e"}},"completed_tasks":{"@e":{"task_id":"@e","output":[5]}}}}'));
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.js('c2', '{"Failed":{"error":5}}'))$$);
SELECT qa.whole() = f AS untouched FROM qa.before;

-- Expected versions, and with one the repeat of the save that made the version after it.
SELECT sayiir_save_snapshot(qa.js('ev', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{"@b":{"task_id":"@b","output":[1]}}}}'), expected_version => 0);
SELECT sayiir_save_snapshot(qa.js('ev', '{"InProgress":{"position":{"AtTask":{"task_id":"@c"}},"completed_tasks":{"@b":{"task_id":"@b","output":[]},"@a":{"task_id":"@a","output":[2]}},"last_completed_task_id":"@a"}}'), expected_version => 1);
UPDATE qa.before SET f = qa.whole();
SELECT sayiir_save_snapshot(qa.js('ev', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{"@b":{"task_id":"@b","output":[1]}}}}'), expected_version => 0);
SELECT sayiir_save_snapshot(qa.js('ev', '{"InProgress":{"position":{"AtTask":{"task_id":"@c"}},"completed_tasks":{"@b":{"task_id":"@b","output":[]},"@a":{"task_id":"@a","output":[2]}},"last_completed_task_id":"@a"}}'), expected_version => 1);
-- as stored, without its output, it is the same save
SELECT sayiir_save_snapshot(qa.js('ev', '{"InProgress":{"position":{"AtTask":{"task_id":"@c"}},"completed_tasks":{"@b":{"task_id":"@b","output":[]},"@a":{"task_id":"@a","output":[]}},"last_completed_task_id":"@a"}}'), expected_version => 1);
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.js('ev', '{"Failed":{"error":"x"}}'), expected_version => 0)$$);
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.js('ev', '{"Failed":{"error":"x"}}'), expected_version => 1)$$);
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.js('ev', '{"Failed":{"error":"x"}}'), expected_version => 3)$$);
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.js('missing', '{"Failed":{"error":"x"}}'), expected_version => 1)$$);
SELECT qa.whole() = f AS untouched FROM qa.before;
SELECT sayiir_save_snapshot(qa.js('ev', '{"Failed":{"error":"x"}}'), expected_version => 2);
SELECT qa.show('ev');

-- Both forms write the same rows, hash and history for the same stored bytes.
SELECT sayiir_save_snapshot(qa.js('short', '{"InProgress":{"position":{"AtTask":{"task_id":"@b"}},"completed_tasks":{"@a":{"task_id":"@a","output":[1,2]}},"last_completed_task_id":"@a"}}', ',"task_priority":4,"task_tags":["t"]'), '00-t');
SELECT sayiir_save_snapshot(h.data, 'long', 'InProgress', qa.t('wf'), qa.t('b'), 1, NULL, 'AtTask', NULL, '00-t', 4, '{t}', qa.t('a'), '\x0102')
FROM sayiir_workflow_snapshot_history h WHERE h.instance_id = 'short';
SELECT count(DISTINCT replace(line, id, '')), count(*) FROM unnest('{short,long}'::text[]) id, qa.show(id) line;
-- and may be mixed
SELECT sayiir_save_snapshot(qa.js('long', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}'), expected_version => 1);
SELECT qa.sv('short', p_data => '\x00', p_ev => 1); SELECT sayiir_save_snapshot(qa.js('short', '{"Failed":{"error":"e"}}'));
SELECT qa.show('short');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
