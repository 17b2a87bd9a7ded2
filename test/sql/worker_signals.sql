-- Cancel and pause on opaque snapshots: every state and kind, pending while held, and what applying does.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- With no live claim: at once. One version more, the bytes as stored, tasks closed by a cancel, left by a pause.
SELECT qa.ws('c', p_lc => qa.t('b'), p_out => '\xbb', p_prio => 2, p_tags => '{t}', p_trace => '00-c'), sayiir_cancel('c', 'why', 'me');
SELECT qa.show('c');
SELECT qa.ws('p', p_lc => qa.t('b'), p_out => '\xbb', p_prio => 2, p_tags => '{t}', p_trace => '00-p'), sayiir_pause('p', 'why', 'me');
SELECT qa.show('p');
-- by their names, all but the first left out
SELECT qa.ws('c2'), sayiir_cancel(instance_id => 'c2', reason => NULL, requested_by => NULL), qa.ws('p2'), sayiir_pause(instance_id => 'p2');
-- parked: it keeps its place in the columns while it is paused, and goes on where it was
SELECT qa.ws('parked', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2099-01-01Z'), sayiir_pause('parked'), qa.place('parked');
SELECT sayiir_unpause('parked'), qa.place('parked');
SELECT qa.ws('parked c', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2099-01-01Z'), sayiir_cancel('parked c'), qa.place('parked c');
-- a task waiting for its retry
SELECT qa.ws('retry', p_wake => '2099-01-01Z'), sayiir_pause('retry'), qa.place('retry'), sayiir_unpause('retry'), qa.place('retry');

-- While a worker holds it: Pending, stored, nothing else changed; not given out, not to be claimed.
SELECT qa.ws('h'), qa.claim('h'), sayiir_pause('h', 'later', 'op'), qa.place('h');
SELECT sayiir_cancel('h', 'now', 'op2'), qa.place('h');
-- repeating replaces
SELECT sayiir_cancel('h', 'really'), qa.place('h'), sayiir_pause('h', NULL, 'op3'), qa.place('h');
SELECT reason, requested_by, created_at IS NOT NULL FROM sayiir_get_signal('h', 'Cancel');
SELECT reason, requested_by FROM sayiir_get_signal('h', 'Pause');
SELECT history_version FROM sayiir_workflow_snapshots WHERE instance_id = 'h';
-- the repeat has its own time
SELECT g.created_at > s.updated_at FROM sayiir_get_signal('h', 'Cancel') g, sayiir_workflow_snapshots s WHERE s.instance_id = 'h';
-- the worker may prolong, store results and save meanwhile
SELECT qa.extend('h', '20 minutes'), sayiir_save_task_result('h', qa.t('x'), '\x01', claim_token => qa.k('h')), qa.place('h');
-- the step applies the cancel, which outweighs the pause; no signal is left
SELECT qa.adv('h', p_ttl => '20 minutes'), qa.place('h');
-- an expired claim is none: at once
SELECT qa.ws('ex'), qa.claim('ex'), qa.expire('ex'), sayiir_cancel('ex'), qa.place('ex');
SELECT qa.ws('exp'), qa.claim('exp'), qa.expire('exp'), sayiir_pause('exp'), qa.place('exp');
-- a claim without ttl holds for ever
SELECT qa.ws('nt'), qa.claim('nt', p_ttl => NULL), sayiir_pause('nt');
-- a pause on what has a cancel pending: the cancel is what is applied
SELECT qa.ws('cp'), sayiir_store_signal('cp', 'Cancel', 'first'), sayiir_pause('cp', 'second'), qa.place('cp');
SELECT qa.ws('pc'), sayiir_store_signal('pc', 'Pause', 'first'), sayiir_cancel('pc', 'second'), qa.place('pc');
-- a pause that is stored already, and applied by a second call with other words
SELECT qa.ws('pp'), sayiir_store_signal('pp', 'Pause', 'first'), sayiir_pause('pp', 'second'), qa.place('pp');

-- Every status and kind, of sayiir_cancel, sayiir_pause and sayiir_store_signal: the answer and what is left.
CREATE FUNCTION qa.each(call text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	s text;
	before text;
BEGIN
	FOREACH s IN ARRAY '{InProgress,Paused,Completed,Failed,Cancelled}'::text[] LOOP
		IF EXISTS (SELECT FROM sayiir_workflow_snapshots WHERE instance_id = s) THEN PERFORM sayiir_delete_snapshot(s); END IF;
		PERFORM qa.ws(s);
		IF s <> 'InProgress' THEN PERFORM qa.ws(s, s, p_data => '\x02'); END IF;
		before := qa.whole();
		RETURN NEXT s || ': ' || qa.try(format(call, s));
		RETURN NEXT '  ' || CASE WHEN qa.whole() = before THEN 'untouched' ELSE qa.place(s) END;
	END LOOP;
END $$;
SELECT qa.each('SELECT sayiir_cancel(%L)');
SELECT qa.each('SELECT sayiir_pause(%L)');
SELECT qa.each('SELECT sayiir_store_signal(%L, ''Cancel'')');
SELECT qa.each('SELECT sayiir_store_signal(%L, ''Pause'')');
SELECT qa.each('SELECT sayiir_unpause(%L)');
SELECT qa.each('SELECT sayiir_check_signals(%L)');
SELECT qa.each('SELECT sayiir_clear_signal(%L, ''Pause'')');
SELECT qa.each('SELECT count(*) FROM sayiir_get_signal(%L, ''Cancel'')');
-- of one that is Paused and has a cancel stored: taken as it is
SELECT qa.ws('ps'), sayiir_pause('ps'), sayiir_store_signal('ps', 'Cancel', 'r'), qa.place('ps');
SELECT sayiir_check_signals('ps'), qa.place('ps');
-- unpaused with a cancel stored: it goes on in name only, the cancel is still pending
SELECT qa.ws('pu'), sayiir_pause('pu'), sayiir_store_signal('pu', 'Cancel', 'r'), sayiir_unpause('pu'), qa.place('pu');
SELECT qa.claims(p_max => 10);
SELECT qa.place('pu');

-- get, clear: by kind; true once; cleared, the instance is given out again.
SELECT qa.ws('g'), sayiir_store_signal('g', 'Pause', 'r', 'q'), sayiir_store_signal('g', 'Cancel');
SELECT * FROM (SELECT reason, requested_by FROM sayiir_get_signal('g', 'Pause')) x;
SELECT count(*) FROM sayiir_get_signal('g', 'Cancel');
SELECT sayiir_clear_signal('g', 'Pause'), sayiir_clear_signal('g', 'Pause'), qa.place('g');
SELECT count(*) FROM sayiir_get_signal('g', 'Pause');
SELECT qa.claim('g'), sayiir_clear_signal('g', 'Cancel'), qa.claim('g'), qa.place('g');
SELECT sayiir_store_signal('g', 'Pause'), sayiir_clear_signal('g', 'Pause'), sayiir_release_claim('g', qa.k('g'));
SELECT qa.claims(p_max => 10);
-- of nobody
SELECT count(*), sayiir_clear_signal('nobody', 'Cancel'), sayiir_check_signals('nobody') FROM sayiir_get_signal('nobody', 'Cancel');

-- check_signals: NULL is the usual answer; else it applies, also under a live claim: the worker itself asks.
SELECT qa.ws('k'), sayiir_check_signals('k'), qa.claim('k'), sayiir_check_signals('k', qa.t('a'), '\x99'), qa.place('k');
SELECT sayiir_pause('k', 'r'), sayiir_check_signals('k'), qa.place('k'), sayiir_check_signals('k');
SELECT left(qa.try($$SELECT qa.adv('k')$$), 5);
SELECT qa.ws('kc'), qa.claim('kc'), sayiir_cancel('kc', 'r'), sayiir_pause('kc'), sayiir_check_signals('kc', qa.t('a')), qa.place('kc'), sayiir_check_signals('kc');
-- data: new bytes for an opaque snapshot, with the signal's version; without, the stored ones
SELECT qa.ws('kd'), sayiir_store_signal('kd', 'Pause'), sayiir_check_signals('kd', data => '\xdd');
SELECT qa.show('kd');
SELECT qa.ws('ke'), sayiir_store_signal('ke', 'Cancel'), sayiir_check_signals('ke', data => '');
SELECT qa.load('ke');

-- unpause: the version; active and waiting again where it was; data brings new bytes.
SELECT qa.ws('u', p_kind => 'AtTask'), sayiir_pause('u'), sayiir_unpause('u');
SELECT qa.show('u');
SELECT qa.claims(p_max => 1);
SELECT sayiir_release_claim('u', qa.k('u')), sayiir_pause('u'), sayiir_unpause('u', '\xdd'), qa.place('u'), qa.load('u');
SELECT sayiir_unpause('u', NULL);
-- an event that came while it was paused is there afterwards
SELECT qa.ws('ue', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), sayiir_pause('ue'), sayiir_send_event('ue', 'go', '\x01'), qa.place('ue');
SELECT qa.claims(p_defs => ARRAY[qa.t('wf')], p_max => 10);
SELECT sayiir_unpause('ue'), qa.place('ue');
SELECT qa.claims(p_max => 10);
-- the priority and the tags are kept for it
SELECT qa.ws('ut', p_prio => 1, p_tags => '{gpu}'), sayiir_pause('ut'), sayiir_unpause('ut');
SELECT qa.claims(p_tags => '{cpu}');
SELECT qa.claims(p_tags => '{gpu}');
-- rolled back: as before
BEGIN;
SELECT sayiir_cancel('g'), sayiir_pause('u');
ROLLBACK;
SELECT qa.place('u');
-- a reason is text, whatever is in it
SELECT qa.ws('t'), qa.claim('t'), sayiir_pause('t', E'%s "quo\'te" \\ é\n', E'O\'Brien'), qa.place('t');
SELECT reason = E'%s "quo\'te" \\ é\n', requested_by FROM sayiir_get_signal('t', 'Pause');
-- empty ones are kept
SELECT sayiir_pause('t', '', '');
SELECT reason = '' AND requested_by = '' FROM sayiir_get_signal('t', 'Pause');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
