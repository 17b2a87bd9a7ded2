-- Cancel, pause and unpause on Sayiir's own snapshots: the state is rewritten, every other byte stays.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- All of a payload but what a signal may change: state and updated_at.
CREATE FUNCTION qa.rest(p_id text, v integer) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT convert_from(substr(data, 7), 'UTF8')::jsonb - 'state' - 'updated_at' FROM sayiir_workflow_snapshot_history WHERE instance_id = $1 AND version = $2 $$;
CREATE FUNCTION qa.state(p_id text, v integer) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT convert_from(substr(data, 7), 'UTF8')::jsonb -> 'state' FROM sayiir_workflow_snapshot_history WHERE instance_id = $1 AND version = $2 $$;
-- The members of a state, sorted, with the version's time as NOW.
CREATE FUNCTION qa.members(p_id text, v integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT s.key AS state, m.key, m.value FROM jsonb_each(convert_from(substr((SELECT data FROM sayiir_workflow_snapshot_history WHERE instance_id = p_id AND version = v), 7), 'UTF8')::jsonb -> 'state') s,
		jsonb_each(s.value) m ORDER BY m.key COLLATE "C"
	LOOP
		IF r.key IN ('cancelled_at', 'paused_at') AND abs(extract(epoch FROM (r.value #>> '{}')::timestamptz - (SELECT created_at FROM sayiir_workflow_snapshot_history WHERE instance_id = p_id AND version = v))) < 1
			AND r.value #>> '{}' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$' THEN r.value := '"NOW"'; END IF;
		RETURN NEXT r.state || '.' || r.key || ' ' || (SELECT string_agg(coalesce('@' || (SELECT n FROM unnest('{wf,a,b,c,d,e,f,g,x,y,z}'::text[]) n WHERE encode(qa.t(n), 'hex') = part), part), '' ORDER BY i)
			FROM regexp_split_to_table(regexp_replace(r.value::text, '([0-9a-f]{64})', '|\1|', 'g'), '\|') WITH ORDINALITY x(part, i));
	END LOOP;
END $$;

-- Cancel at a task: its members, the others gone; the interrupted task is the present one; nothing else has changed.
SELECT sayiir_save_snapshot(qa.jp('c', '{"AtTask":{"task_id":"@a"}}', '{"@b":{"task_id":"@b","output":[1]},"@d":{"task_id":"@d","output":[]}}', '"@b"', ',"task_priority":2,"task_tags":["t"],"initial_input":[1,2],"task_deadline":{"x":1.50},"loop_iterations":{"@x":3},"zzz":[1e2,{"state":{"InProgress":{}}}]'), '00-c');
SELECT sayiir_cancel('c', E'say "no"\\\n\té', 'O''Brien'), qa.place('c');
SELECT qa.members('c', 2);
SELECT qa.rest('c', 1) = qa.rest('c', 2);
SELECT qa.state('c', 2) #>> '{Cancelled,reason}' = E'say "no"\\\n\té';
SELECT replace(qa.payload('c'), E'say \\"no\\"', 'SAID');
SELECT trace_parent, task_priority, task_tags, completed_at = updated_at FROM sayiir_workflow_snapshots WHERE instance_id = 'c';
-- without words they are null
SELECT sayiir_save_snapshot(qa.jp('c0', '{"AtTask":{"task_id":"@a"}}')), sayiir_cancel('c0');
SELECT qa.members('c0', 2);
-- at other places there is no interrupted task, unless it is said
SELECT sayiir_save_snapshot(qa.jp('cf', '{"AtFork":{"fork_id":"@f","completed_branches":{"@x":{"task_id":"@x","output":[1]}}}}')), sayiir_cancel('cf'), qa.place('cf');
SELECT qa.members('cf', 2);
SELECT sayiir_save_snapshot(qa.jp('cs', '{"AtFork":{"fork_id":"@f","completed_branches":{}}}')), sayiir_store_signal('cs', 'Cancel', 'r', 'q'), sayiir_check_signals('cs', qa.t('z'));
SELECT qa.members('cs', 2);
SELECT sayiir_save_snapshot(qa.jp('ct', '{"AtTask":{"task_id":"@a"}}')), sayiir_store_signal('ct', 'Cancel'), sayiir_check_signals('ct', interrupted_at_task => qa.t('z'));
SELECT qa.members('ct', 2);

-- Pause at each place: position, completed tasks and the last one stay; the columns follow what the bytes say: a Paused
-- state has no current task, its place is kept.
SELECT sayiir_save_snapshot(qa.jp(k, pos, '{"@b":{"task_id":"@b","output":[1]}}', '"@b"', ',"loop_iterations":{"@x":3}')), sayiir_pause(k, 'r', 'q'), qa.place(k) FROM (VALUES
	('1 start', '"NotStarted"'), ('2 task', '{"AtTask":{"task_id":"@a"}}'), ('3 fork', '{"AtFork":{"fork_id":"@f","completed_branches":{"@x":{"task_id":"@x","output":[1]}},"wake_at":"2099-01-01T00:00:00Z"}}'),
	('4 join', '{"AtJoin":{"join_id":"@g","completed_branches":{}}}'), ('5 delay', '{"AtDelay":{"delay_id":"@d","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":"@e"}}'),
	('6 signal', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":null,"next_task_id":"@e"}}'), ('7 loop', '{"InLoop":{"loop_id":"@x","iteration":3,"next_task_id":"@y"}}')) v(k, pos);
SELECT i, qa.members(i, 2) FROM sayiir_list_snapshots('Paused') i;
SELECT i, qa.rest(i, 1) = qa.rest(i, 2) AS rest, qa.state(i, 1) #> '{InProgress,position}' = qa.state(i, 2) #> '{Paused,position}' AS place, qa.state(i, 1) #> '{InProgress,completed_tasks}' = qa.state(i, 2) #> '{Paused,completed_tasks}' AS tasks FROM sayiir_list_snapshots('Paused') i;
-- not given out while paused, a due delay neither
SELECT qa.claims(p_max => 10);
-- and on again: the state is what it was, byte for byte but for the time
SELECT i, sayiir_unpause(i), qa.place(i) FROM sayiir_list_snapshots('Paused') i;
SELECT i, qa.state(i, 1) = qa.state(i, 3) AS state, qa.rest(i, 1) = qa.rest(i, 3) AS rest,
	replace(qa.payload(i, 1), '1700000100', 'NOW') = qa.payload(i, 3) AS bytes FROM sayiir_list_snapshots('InProgress') i;
SELECT qa.claims(p_max => 10);
SELECT qa.place('5 delay');

-- Odd spacing, the order of members, unknown members inside and outside: the bytes around stay.
SELECT sayiir_save_snapshot(qa.frame(E'{ "x" : 1.0 ,\n"state" :\t{ "InProgress" : { "completed_tasks" : { "@b" : { "output" : [ ] , "more" : 1e0 , "task_id" : "@b" } } , "extra" : [ 2.0 ] , "position" : { "AtTask" : { "task_id" : "@a" } } , "last_completed_task_id" : "@b" } } , "updated_at" : 7 , "created_at" : 5 , "definition_hash" : "@wf" , "instance_id" : "\\u006fdd" } '));
SELECT sayiir_pause('odd', 'r', 'q'), qa.payload('odd');
SELECT sayiir_unpause('odd');
SELECT qa.payload('odd');
SELECT replace(qa.payload('odd', 1), '"updated_at" : 7', '"updated_at" : NOW') = qa.payload('odd', 3);
SELECT sayiir_cancel('odd', 'r', 'q'), qa.payload('odd');
-- a paused one that is cancelled: the pause's members are gone
SELECT sayiir_save_snapshot(qa.jp('pc', '{"AtTask":{"task_id":"@a"}}', '{"@b":{"task_id":"@b","output":[]}}', '"@b"')), sayiir_pause('pc', 'pr', 'pq'), sayiir_cancel('pc', 'cr', 'cq'), qa.place('pc');
SELECT qa.members('pc', 3);
-- a worker's own Paused state, unpaused by the server
SELECT sayiir_save_snapshot(qa.js('own', '{"Paused":{"reason":null,"paused_by":"w","paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":{"AtTask":{"task_id":"@a"}},"last_completed_task_id":null}}')), sayiir_unpause('own'), qa.place('own');
SELECT qa.payload('own');

-- The retry's instant of a task comes back with it.
SELECT sayiir_save_snapshot(qa.jp('retry', '{"AtTask":{"task_id":"@a"}}', more => ',"task_retries":{"@a":{"attempts":1,"policy":{},"last_error":"e","next_retry_at":"2099-01-01T00:00:00Z"}}')), sayiir_pause('retry'), qa.place('retry'), sayiir_unpause('retry'), qa.place('retry');

-- and so does the instant of a release with retry_after: it goes on where it was
SELECT sayiir_save_snapshot(qa.jp('released', '{"AtTask":{"task_id":"@a"}}')), qa.claim('released'), sayiir_release_claim('released', qa.k('released'), '2 hours'), qa.place('released');
SELECT sayiir_pause('released'), sayiir_unpause('released'), qa.place('released');

-- Results while it is paused are in the state when it goes on.
SELECT sayiir_save_snapshot(qa.jp('res', '{"AtFork":{"fork_id":"@f","completed_branches":{}}}')), sayiir_pause('res'), sayiir_save_task_result('res', qa.t('x'), '\x01'), sayiir_unpause('res'), qa.place('res');
SELECT qa.members('res', 4);

-- data: takes the place of the stored snapshot first, outputs go to the rows; another instance, an ended state, what is no
-- snapshot: refused, nothing written.
SELECT sayiir_save_snapshot(qa.jp('d', '{"AtTask":{"task_id":"@a"}}')), sayiir_store_signal('d', 'Pause', 'r', 'q');
SELECT sayiir_check_signals('d', data => qa.jp('d', '{"AtTask":{"task_id":"@b"}}', '{"@a":{"task_id":"@a","output":[1,2]}}', '"@a"')), qa.place('d');
SELECT qa.payload('d');
SELECT sayiir_unpause('d', qa.js('d', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{"@a":{"task_id":"@a","output":[]}},"position":{"AtTask":{"task_id":"@c"}}}}')), qa.place('d');
SELECT qa.payload('d');
-- an InProgress one is taken as it is
SELECT sayiir_pause('d'), sayiir_unpause('d', qa.jp('d', '{"AtTask":{"task_id":"@e"}}', '{"@c":{"task_id":"@c","output":[9]}}', '"@c"')), qa.place('d');
SELECT sayiir_store_signal('d', 'Pause');
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT left(qa.try(format('SELECT sayiir_check_signals(''d'', data => %L)', b)), 6) FROM unnest(ARRAY[qa.jp('other', '"NotStarted"'), qa.js('d', '{"Failed":{"error":"e"}}'), qa.js('d', '{"Completed":{"final_output":[]}}'), '\x535952530101'::bytea, qa.frame('{}')]) b;
SELECT qa.whole() = f AS untouched FROM qa.before;
-- a Paused one for a pause: it is paused by then
SELECT qa.try(format('SELECT sayiir_check_signals(''d'', data => %L)', qa.js('d', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":{"AtTask":{"task_id":"@c"}}}}'))) !~ '^XX000' AS no_internal_error;

-- A worker pauses by itself while a pause is pending: the signal has nothing left to do, and nobody stumbles over it.
SELECT sayiir_save_snapshot(qa.jp('twice', '{"AtTask":{"task_id":"@a"}}')), qa.claim('twice'), sayiir_pause('twice');
SELECT sayiir_save_snapshot(qa.js('twice', '{"Paused":{"paused_at":"2030-01-01T00:00:00Z","completed_tasks":{},"position":{"AtTask":{"task_id":"@a"}}}}'), claim_token => qa.k('twice'));
SELECT sayiir_save_snapshot(qa.jp('work', '{"AtTask":{"task_id":"@a"}}'));
SELECT qa.try('SELECT qa.claims(p_max => 10)');
SELECT qa.try($$SELECT coalesce(sayiir_check_signals('twice'), 'Paused')$$);
SELECT status, EXISTS (SELECT FROM sayiir_workflow_signals g WHERE g.instance_id = 'twice') AS pending FROM sayiir_workflow_snapshots WHERE instance_id = 'twice';

-- One that cannot be edited does not stand in the way of the others: the dispatch takes it as opaque.
SELECT qa.wipe() > 0;
SELECT qa.ws('broken', p_data => '\x535952530101'::bytea || '{'), sayiir_store_signal('broken', 'Cancel'), qa.ws('fine');
SELECT qa.claims(p_max => 10);
SELECT qa.place('broken'), qa.payload('broken');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
