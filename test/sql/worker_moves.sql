-- What moves an instance ends its claim, what does not leaves it: fenced or not, in each form.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- A held instance is saved as given; then: what has become of the claim.
CREATE FUNCTION qa.after(p_id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN coalesce((SELECT 'kept, for ' || coalesce(qa.nm(task_id), '-') || CASE WHEN claim_token = qa.k(p_id) THEN '' ELSE ' UNDER ANOTHER TOKEN' END
		FROM sayiir_workflow_claims WHERE instance_id = p_id), 'ended');
END $$;
-- A place, held: a claim on a task by name, on another place by the dispatch.
CREATE FUNCTION qa.held(p_id text, p_cur bytea, p_kind text, p_wake timestamptz DEFAULT NULL, p_awaits text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM sayiir_workflow_snapshots WHERE instance_id = p_id) THEN PERFORM sayiir_delete_snapshot(p_id); END IF;
	PERFORM qa.ws(p_id, p_cur => p_cur, p_kind => p_kind, p_wake => p_wake, p_awaits => p_awaits, p_def => sha256(p_id::bytea));
	IF p_cur IS NULL THEN
		PERFORM qa.claims(p_defs => ARRAY[sha256(p_id::bytea)]);
	ELSE
		PERFORM qa.claim(p_id, p_cur);
	END IF;
	IF NOT EXISTS (SELECT FROM sayiir_workflow_claims WHERE instance_id = p_id) THEN RAISE EXCEPTION 'could not claim %', p_id; END IF;
END $$;
-- Each with and without the token.
CREATE FUNCTION qa.moves(p_id text, p_kind text, p_wake timestamptz, p_awaits text, p_cur bytea DEFAULT qa.t('a'), p_data bytea DEFAULT '\x02', p_err text DEFAULT NULL, p_prio integer DEFAULT 3, p_tags text[] DEFAULT '{}', p_lc bytea DEFAULT NULL,
	p_def bytea DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
	was record;
BEGIN
	SELECT * INTO was FROM sayiir_workflow_snapshots WHERE instance_id = p_id;
	PERFORM qa.ws(p_id, p_data => p_data, p_cur => p_cur, p_kind => p_kind, p_wake => p_wake, p_awaits => p_awaits, p_err => p_err, p_prio => p_prio, p_tags => p_tags, p_lc => p_lc, p_def => coalesce(p_def, sha256(p_id::bytea)), p_token => qa.k(p_id));
	r := 'fenced ' || qa.after(p_id);
	PERFORM qa.held(p_id, was.current_task_id, was.position_kind, was.delay_wake_at, was.awaited_signal);
	PERFORM qa.ws(p_id, p_data => p_data, p_cur => p_cur, p_kind => p_kind, p_wake => p_wake, p_awaits => p_awaits, p_err => p_err, p_prio => p_prio, p_tags => p_tags, p_lc => p_lc, p_def => coalesce(p_def, sha256(p_id::bytea)));
	RETURN r || ' | plain ' || qa.after(p_id);
END $$;

-- Opaque, at a task with a retry's instant. The same place with everything else new: bytes, count, error, trace, priority,
-- tags, definition, a completed task.
SELECT qa.held('same', qa.t('a'), 'AtTask', '2020-01-01Z'), qa.moves('same', 'AtTask', '2020-01-01Z', NULL);
SELECT qa.held('rest', qa.t('a'), 'AtTask', '2020-01-01Z'), qa.moves('rest', 'AtTask', '2020-01-01Z', NULL, p_data => '\x03', p_err => 'e', p_prio => 1, p_tags => '{t}', p_lc => qa.t('b'), p_def => qa.t('wf2'));
-- 1 current_task_id
SELECT qa.held('task', qa.t('a'), 'AtTask', '2020-01-01Z'), qa.moves('task', 'AtTask', '2020-01-01Z', NULL, p_cur => qa.t('b'));
SELECT qa.held('task to none', qa.t('a'), 'AtTask', '2020-01-01Z'), qa.moves('task to none', 'AtTask', '2020-01-01Z', NULL, p_cur => NULL);
SELECT qa.held('none to task', NULL, 'AtFork', '2020-01-01Z'), qa.moves('none to task', 'AtFork', '2020-01-01Z', NULL);
-- 2 position_kind
SELECT qa.held('kind', NULL, 'AtFork', '2020-01-01Z'), qa.moves('kind', 'AtDelay', '2020-01-01Z', NULL, p_cur => NULL);
SELECT qa.held('kind to none', qa.t('a'), 'AtTask'), qa.moves('kind to none', NULL, NULL, NULL);
SELECT qa.held('none to kind', qa.t('a'), NULL), qa.moves('none to kind', 'AtTask', NULL, NULL);
-- 3 delay_wake_at
SELECT qa.held('wake', NULL, 'AtFork', '2020-01-01Z'), qa.moves('wake', 'AtFork', '2020-01-02Z', NULL, p_cur => NULL);
SELECT qa.held('wake of a retry', qa.t('a'), 'AtTask', '2020-01-01Z'), qa.moves('wake of a retry', 'AtTask', '2099-01-01Z', NULL);
SELECT qa.held('wake to none', qa.t('a'), 'AtTask', '2020-01-01Z'), qa.moves('wake to none', 'AtTask', NULL, NULL);
SELECT qa.held('none to wake', qa.t('a'), 'AtTask'), qa.moves('none to wake', 'AtTask', '2020-01-01Z', NULL);
SELECT qa.held('wake, one microsecond', NULL, 'AtFork', '2020-01-01Z'), qa.moves('wake, one microsecond', 'AtFork', '2020-01-01 00:00:00.000001Z', NULL, p_cur => NULL);
SELECT qa.held('wake, another zone', NULL, 'AtFork', '2020-01-01Z'), qa.moves('wake, another zone', 'AtFork', '2020-01-01 02:00:00+02', NULL, p_cur => NULL);
-- 4 awaited_signal
SELECT qa.held('awaits', NULL, 'AtSignal', '2020-01-01Z', 'go'), qa.moves('awaits', 'AtSignal', '2020-01-01Z', 'Go', p_cur => NULL);
SELECT qa.held('awaits to none', NULL, 'AtSignal', '2020-01-01Z', 'go'), qa.moves('awaits to none', 'AtSignal', '2020-01-01Z', NULL, p_cur => NULL);
SELECT qa.held('none to awaits', NULL, 'AtSignal', '2020-01-01Z'), qa.moves('none to awaits', 'AtSignal', '2020-01-01Z', 'go', p_cur => NULL);
SELECT qa.held('awaits the same', NULL, 'AtSignal', '2020-01-01Z', 'go'), qa.moves('awaits the same', 'AtSignal', '2020-01-01Z', 'go', p_cur => NULL);
-- opaque bytes are no position, whatever they are
SELECT qa.held('bytes', qa.t('a'), NULL), qa.moves('bytes', NULL, NULL, NULL, p_data => '\x53595253010200');

-- 5 The bytes of a JSON position. A fork with a branch more; white space; the order of members; equal bytes with
-- everything else new.
CREATE FUNCTION qa.jmoves(p_id text, first text, then_ text, p_more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	PERFORM sayiir_save_snapshot(qa.jp(p_id, first));
	PERFORM qa.claims();
	IF NOT EXISTS (SELECT FROM sayiir_workflow_claims WHERE instance_id = p_id) THEN RAISE EXCEPTION 'could not claim %', p_id; END IF;
	PERFORM sayiir_save_snapshot(qa.jp(p_id, then_, more => p_more), claim_token => qa.k(p_id));
	r := 'fenced ' || qa.after(p_id);
	PERFORM sayiir_delete_snapshot(p_id);
	PERFORM sayiir_save_snapshot(qa.jp(p_id, first));
	PERFORM qa.claims();
	PERFORM sayiir_save_snapshot(qa.jp(p_id, then_, more => p_more));
	r := r || ' | plain ' || qa.after(p_id);
	PERFORM sayiir_delete_snapshot(p_id);
	RETURN r;
END $$;
SELECT qa.wipe() > 0;
SELECT qa.jmoves('j same', '{"AtTask":{"task_id":"@a"}}', '{"AtTask":{"task_id":"@a"}}');
SELECT qa.jmoves('j rest', '{"AtTask":{"task_id":"@a"}}', '{"AtTask":{"task_id":"@a"}}', ',"task_priority":1,"task_tags":["x"],"loop_iterations":{"@x":2},"zzz":0');
SELECT qa.jmoves('j task', '{"AtTask":{"task_id":"@a"}}', '{"AtTask":{"task_id":"@b"}}');
SELECT qa.jmoves('j branch', '{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":"2020-01-01T00:00:00Z"}}', '{"AtFork":{"fork_id":"@f","completed_branches":{"@x":{"task_id":"@x","output":[]}},"wake_at":"2020-01-01T00:00:00Z"}}');
SELECT qa.jmoves('j fork, the same', '{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":"2020-01-01T00:00:00Z"}}', '{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":"2020-01-01T00:00:00Z"}}');
SELECT qa.jmoves('j signal id', '{"AtSignal":{"signal_id":"@f","signal_name":"go","wake_at":"2020-01-01T00:00:00Z"}}', '{"AtSignal":{"signal_id":"@g","signal_name":"go","wake_at":"2020-01-01T00:00:00Z"}}');
SELECT qa.jmoves('j space', '{"AtTask":{"task_id":"@a"}}', '{"AtTask": {"task_id":"@a"}}');
SELECT qa.jmoves('j other spelling', '{"AtTask":{"task_id":"@a"}}', '{"AtTask":{"task_i\u0064":"@a"}}');
SELECT qa.jmoves('j retry', '{"AtTask":{"task_id":"@a"}}', '{"AtTask":{"task_id":"@a"}}', ',"task_retries":{"@a":{"attempts":1,"policy":{},"next_retry_at":"2020-01-01T00:00:00Z"}}');
SELECT qa.jmoves('j retry of another', '{"AtTask":{"task_id":"@a"}}', '{"AtTask":{"task_id":"@a"}}', ',"task_retries":{"@b":{"attempts":1,"policy":{},"next_retry_at":"2020-01-01T00:00:00Z"}}');
SELECT qa.jmoves('j kind', '{"AtTask":{"task_id":"@a"}}', '"NotStarted"');

-- A result alone moves nothing; with a snapshot at another place it moves.
SELECT sayiir_save_snapshot(qa.jp('res', '{"AtTask":{"task_id":"@a"}}')), qa.claim('res'), sayiir_save_task_result('res', qa.t('a'), '\xaa', claim_token => qa.k('res')), qa.after('res');
SELECT sayiir_save_task_result('res', qa.t('b'), '\xaa'), qa.after('res');
SELECT sayiir_save_task_result('res', qa.t('c'), '\xcc', qa.jp('res', '{"AtTask":{"task_id":"@a"}}', '{"@c":{"task_id":"@c","output":[]}}'), claim_token => qa.k('res')), qa.after('res');
SELECT sayiir_save_task_result('res', qa.t('d'), '\xdd', qa.jp('res', '{"AtTask":{"task_id":"@b"}}', '{"@d":{"task_id":"@d","output":[]}}'), claim_token => qa.k('res')), qa.after('res');

-- An end drops claim and signals, by each form, with and without the token, from each status; a save as Paused drops the
-- claim and leaves a cancel.
SELECT qa.ws('t ' || s || f), qa.claim('t ' || s || f), sayiir_pause('t ' || s || f), sayiir_cancel('t ' || s || f),
	qa.ws('t ' || s || f, s, p_data => '\x02', p_cur => NULL, p_token => CASE f WHEN ' fenced' THEN qa.k('t ' || s || f) END), qa.place('t ' || s || f)
FROM unnest('{Completed,Failed,Cancelled}'::text[]) s, unnest('{" fenced",""}'::text[]) f;
SELECT sayiir_save_snapshot(qa.jp('t json', '{"AtTask":{"task_id":"@a"}}')), qa.claim('t json'), sayiir_pause('t json'), sayiir_save_snapshot(qa.js('t json', '{"Failed":{"error":"e"}}')), qa.place('t json');
SELECT qa.ws('t paused'), qa.claim('t paused'), sayiir_cancel('t paused'), qa.ws('t paused', 'Paused', p_token => qa.k('t paused')), qa.place('t paused');
SELECT qa.ws('t pause by save'), qa.claim('t pause by save'), qa.ws('t pause by save', 'Paused'), qa.place('t pause by save');
-- and a delete drops all: claim, signals, events, place in the queue; a new one of the name begins anew
SELECT qa.ws('del'), qa.claim('del', p_label => 'del'), sayiir_cancel('del'), sayiir_pause('del'), sayiir_send_event('del', 'go', '\x01'), sayiir_send_event('del', 'gone', '\x02'), qa.place('del');
SELECT sayiir_delete_snapshot('del'), qa.place('del');
CREATE FUNCTION qa.left_of(p_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	t text;
	n bigint;
	r text := 'nothing';
BEGIN
	FOR t IN SELECT c.relname FROM pg_class c WHERE c.relname LIKE 'sayiir%' AND c.relkind = 'r' ORDER BY 1 LOOP
		EXECUTE format('SELECT count(*) FROM %I WHERE instance_id = %L', t, p_id) INTO n;
		IF n > 0 THEN r := r || ' but ' || t; END IF;
	END LOOP;
	RETURN r;
END $$;
SELECT qa.left_of('del');
SELECT qa.ws('del'), qa.place('del');
SELECT left(qa.try($$SELECT sayiir_release_claim('del', qa.k('del'))$$), 5), qa.claim('del');

-- worker_id of a task: whose live claim covered it when it became active. A first save has none; a save under a claim that
-- moves on ends the claim; a step that goes on keeps it; the first start stays.
SELECT qa.ws('who'), qa.claim('who', p_worker => 'w1'), qa.ws('who', p_data => '\x02', p_cur => qa.t('b'), p_token => qa.k('who')), qa.place('who');
SELECT qa.claim('who', qa.t('b'), 'w2'), qa.adv('who', p_data => '\x03', p_cur => qa.t('c'), p_lc => qa.t('b'), p_out => '\xbb', p_ttl => '20 minutes'), qa.place('who');
SELECT qa.adv('who', p_data => '\x04', p_cur => qa.t('d'), p_lc => qa.t('c'), p_out => '\xcc'), qa.place('who');
SELECT qa.claim('who', qa.t('d'), 'w3'), qa.adv('who', p_data => '\x05', p_cur => qa.t('c'), p_ttl => '20 minutes'), qa.place('who');
-- a task that becomes active by a save at the same place, while it is held: a task completed before is not demoted
SELECT qa.ws('who 2', p_lc => qa.t('a')), qa.place('who 2'), qa.claim('who 2', p_worker => 'w4'), qa.ws('who 2', p_data => '\x02'), qa.place('who 2');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
