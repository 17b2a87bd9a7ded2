-- sayiir_save_snapshot with one argument: every state and every position of Sayiir's JSON snapshots.
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

-- One save; what the three tables say of it, and whether the bytes were stored as given.
CREATE FUNCTION qa.one(p_id text, state text, more text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN NEXT 'version ' || sayiir_save_snapshot(qa.js(p_id, state, more));
	RETURN QUERY SELECT qa.show(p_id);
	IF (SELECT h.data = qa.js(p_id, state, more) FROM sayiir_workflow_snapshot_history h WHERE h.instance_id = p_id) THEN
		RETURN NEXT 'bytes as given';
	ELSE
		RETURN QUERY SELECT qa.stored(p_id);
	END IF;
END $$;

-- InProgress at each position. Only AtTask has a current task.
SELECT qa.one('not started', '{"InProgress":{"position":"NotStarted","completed_tasks":{},"last_completed_task_id":null}}');
SELECT qa.one('at task', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{},"last_completed_task_id":null}}');
SELECT qa.one('at fork', '{"InProgress":{"position":{"AtFork":{"fork_id":"@f","completed_branches":{"@b":{"task_id":"@b","output":[1,2]},"@c":{"task_id":"@c","output":[]}},"wake_at":"2031-01-02T03:04:05Z"}},"completed_tasks":{"@a":{"task_id":"@a","output":[]}},"last_completed_task_id":"@a"}}');
SELECT qa.one('at fork without wake_at', '{"InProgress":{"position":{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":null}},"completed_tasks":{}}}');
SELECT qa.one('at fork, no wake_at', '{"InProgress":{"position":{"AtFork":{"fork_id":"@f","completed_branches":{}}},"completed_tasks":{}}}');
SELECT qa.one('at join', '{"InProgress":{"position":{"AtJoin":{"join_id":"@g","completed_branches":{"@b":{"task_id":"@b","output":[3]}}}},"completed_tasks":{"@a":{"task_id":"@a","output":[]},"@b":{"task_id":"@b","output":[]}},"last_completed_task_id":"@b"}}');
SELECT qa.one('at delay', '{"InProgress":{"position":{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-31T00:00:00Z","wake_at":"2031-01-02T03:04:05.678901Z","next_task_id":"@e"}},"completed_tasks":{},"last_completed_task_id":null}}');
SELECT qa.one('at last delay', '{"InProgress":{"position":{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-31T00:00:00Z","wake_at":"2031-01-02T03:04:05Z","next_task_id":null}},"completed_tasks":{}}}');
SELECT qa.one('at signal', '{"InProgress":{"position":{"AtSignal":{"signal_id":"@x","signal_name":"ok","wake_at":"2031-01-02T03:04:05Z","next_task_id":"@e"}},"completed_tasks":{},"last_completed_task_id":null}}');
SELECT qa.one('at signal without wake_at', '{"InProgress":{"position":{"AtSignal":{"signal_id":"@x","signal_name":"ok","wake_at":null,"next_task_id":null}},"completed_tasks":{}}}');
SELECT qa.one('at signal, no wake_at', '{"InProgress":{"position":{"AtSignal":{"signal_id":"@x","signal_name":"ok"}},"completed_tasks":{}}}');
SELECT qa.one('in loop', '{"InProgress":{"position":{"InLoop":{"loop_id":"@y","iteration":7,"next_task_id":"@z"}},"completed_tasks":{},"last_completed_task_id":null}}', ',"loop_iterations":{"@y":7}');

-- The other states. A Paused or Cancelled one has completed tasks and no current task.
SELECT qa.one('completed', '{"Completed":{"final_output":[0,10,255]}}');
SELECT qa.one('failed', '{"Failed":{"error":"no \"luck\"\n\u2603"}}');
SELECT qa.one('cancelled', '{"Cancelled":{"reason":"why","cancelled_by":"me","cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{"@a":{"task_id":"@a","output":[]}},"interrupted_at_task":"@b"}}');
SELECT qa.one('cancelled barely', '{"Cancelled":{"reason":null,"cancelled_by":null,"cancelled_at":"2030-01-01T00:00:00Z","completed_tasks":{},"interrupted_at_task":null}}');
SELECT qa.one('paused', '{"Paused":{"reason":"lunch","paused_by":"me","paused_at":"2030-01-01T00:00:00Z","completed_tasks":{"@a":{"task_id":"@a","output":[]}},"position":{"AtTask":{"task_id":"@b"}},"last_completed_task_id":"@a"}}');
SELECT qa.one('paused barely', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":"NotStarted"}}');
SELECT qa.one('paused at delay', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-31T00:00:00Z","wake_at":"2031-01-02T03:04:05Z","next_task_id":"@e"}}}}');
SELECT qa.one('paused at fork', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":"2031-01-02T03:04:05Z"}}}}');
SELECT qa.one('paused at signal', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":{"AtSignal":{"signal_id":"@x","signal_name":"ok","wake_at":"2031-01-02T03:04:05Z","next_task_id":"@e"}}}}');

-- A retry of the current task is its wakeup; that of another task, or in another place, is not.
SELECT qa.one('retry', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{}}}',
	',"task_retries":{"@b":{"attempts":1,"policy":{"max":3},"last_error":"e","last_failed_worker":"w","next_retry_at":"2032-01-01T00:00:00Z"},"@a":{"attempts":2,"policy":{"max":3},"last_error":"e","last_failed_worker":null,"next_retry_at":"2031-01-02T03:04:05Z"}}');
SELECT qa.one('retry of another', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{}}}',
	',"task_retries":{"@b":{"attempts":1,"policy":{},"last_error":"e","last_failed_worker":"w","next_retry_at":"2032-01-01T00:00:00Z"}}');
SELECT qa.one('retry, delayed', '{"InProgress":{"position":{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-31T00:00:00Z","wake_at":"2031-01-02T03:04:05Z","next_task_id":"@a"}},"completed_tasks":{}}}',
	',"task_retries":{"@d":{"attempts":1,"policy":{},"last_error":"e","last_failed_worker":"w","next_retry_at":"2032-01-01T00:00:00Z"}}');
SELECT qa.one('retry, paused', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":{"AtTask":{"task_id":"@a"}}}}',
	',"task_retries":{"@a":{"attempts":1,"policy":{},"last_error":"e","last_failed_worker":"w","next_retry_at":"2032-01-01T00:00:00Z"}}');

-- Priority and tags; all optional members, there and null; ids of either case.
SELECT qa.one('priority', '{"Failed":{"error":""}}', ',"task_priority":5,"task_tags":["gpu","a \"b\", {c}","\u00fc\ud83d\ude00","","NULL"]');
SELECT qa.one('most urgent', '{"Failed":{"error":""}}', ',"task_priority":1,"task_tags":[]');
SELECT qa.one('all', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}',
	',"initial_input":[1,2],"task_deadline":{"task_id":"@a","deadline":"2031-01-01T00:00:00Z","timeout_ms":18446744073709551615},"task_retries":{},"loop_iterations":{"@y":1},"task_priority":2,"task_tags":["t"]');
SELECT qa.one('nulls', '{"InProgress":{"position":"NotStarted","completed_tasks":{},"last_completed_task_id":null}}',
	',"initial_input":null,"task_deadline":null,"task_retries":null,"loop_iterations":null,"task_priority":null,"task_tags":null');
SELECT sayiir_save_snapshot(qa.frame('{"instance_id":"case","definition_hash":"' || upper(qa.ids('@wf')) || '","created_at":1,"updated_at":1,
	"state":{"InProgress":{"position":{"AtTask":{"task_id":"' || upper(qa.ids('@a')) || '"}},"completed_tasks":{"' || upper(qa.ids('@b')) || '":{"task_id":"@b","output":[1]}},"last_completed_task_id":"@b"}}}'));
SELECT qa.show('case');

-- Members in any order, white space, escapes in names, members that nobody knows: read, and kept to the byte.
SELECT qa.frame(E' \n\t\r{ "upd\\u0061ted_at" : 1700000100 , "x" : [ 2.0 , 12345678901234567890123 , 1E400 , "\\u00e9\\/\\ud83d" , {} , [ ] , true , false , null ] ,
	"state":{"In\\u0050rogress":{ "more" : {"completed_tasks":{"@z":{"task_id":"@z","output":[1,2,3]}}},
	"last_completed_task_id" : null, "position" : { "At\\u0054ask" : { "extra" : -0.0e+10 , "task_id" : "@b" } } ,
	"completed_tasks" : { "@a" : { "output" : [ ] , "extra":{"output":[9]}, "task_id" : "@a" } } } } , "definition_hash" : "@wf" ,
	"created_at" : 0 , "inst\\u0061nce_id" : "o\\u0064d" , "output" : [ 1 ] } \n') AS odd \gset
SELECT sayiir_save_snapshot(:'odd'::bytea);
SELECT qa.show('odd');
SELECT data = :'odd'::bytea AS same_bytes FROM sayiir_workflow_snapshot_history WHERE instance_id = 'odd';

-- Ids at their limits.
SELECT sayiir_save_snapshot(qa.js(repeat('é', 128), '{"Failed":{"error":""}}'));
SELECT length(instance_id), octet_length(instance_id) FROM sayiir_workflow_snapshots WHERE instance_id = repeat('é', 128);
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.js(repeat('é', 128) || 'x', '{"Failed":{"error":""}}'))$$);
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.js('', '{"Failed":{"error":""}}'))$$);

-- By name, and NULL for the defaults; a missing data, and versions that cannot be.
SELECT sayiir_save_snapshot(trace_parent => '00-t', data => qa.js('named', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}'));
SELECT sayiir_save_snapshot(qa.js('named', '{"InProgress":{"position":"NotStarted","completed_tasks":{}}}'), trace_parent => NULL, expected_version => NULL);
SELECT sayiir_save_snapshot(qa.js('named', '{"Failed":{"error":"x"}}'), expected_version => 2, trace_parent => '00-u');
SELECT qa.show('named');
SELECT qa.try($$SELECT sayiir_save_snapshot(NULL::bytea)$$);
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.js('neg', '{"Failed":{"error":"x"}}'), expected_version => -1)$$);
SELECT count(*) FROM sayiir_workflow_snapshots WHERE instance_id = 'neg';

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
