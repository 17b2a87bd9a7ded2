-- sayiir_claim_tasks: what is dispatchable, to whom, and in which order.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- Empty hands from an empty store.
SELECT qa.claims();
-- The row of a task: id, task, token, expiry, place, version, bytes, definition, trace, outputs (qa.claims compares them
-- with the tables).
SELECT qa.ws('full', p_lc => qa.t('b'), p_out => '\xbb', p_trace => '00-aa', p_kind => 'AtTask', p_data => '\xdada');
SELECT sayiir_save_task_result('full', qa.t('c'), '\xcc');
SELECT qa.claims(p_max => 5);
SELECT data, trace_parent, qa.nm(definition_hash) FROM sayiir_load_snapshot('full');
-- held now, so there is none, neither for others nor for the same worker
SELECT qa.claims(p_max => 5);
SELECT sayiir_release_claim('full', qa.k('full'));
SELECT instance_id, qa.nm(task_id), claim_token IS NOT NULL, expires_at > clock_timestamp() + '29 minutes', position_kind, history_version, data, qa.nm(definition_hash),
	trace_parent, (SELECT array_agg(qa.nm(i) ORDER BY i) FROM unnest(task_ids) i), (SELECT array_agg(o ORDER BY o) FROM unnest(outputs) o)
FROM sayiir_claim_tasks('w', ttl => '30 minutes');
-- without outputs: empty arrays; without an argument but the worker: 30 seconds, one task
SELECT qa.ws('bare'), qa.ws('bare2');
SELECT instance_id, task_ids, outputs, trace_parent, position_kind FROM sayiir_claim_tasks('w');
SELECT instance_id, expires_at - claimed_at FROM sayiir_workflow_claims WHERE instance_id LIKE 'bare%' ORDER BY 1;
-- NULL ttl means the default, as NULL does everywhere: a claim until released is to be had from sayiir_claim_task alone
SELECT instance_id, expires_at IS NULL FROM sayiir_claim_tasks('w', NULL, NULL, NULL, NULL, NULL);
SELECT instance_id, expires_at - claimed_at FROM sayiir_workflow_claims WHERE instance_id LIKE 'bare%' ORDER BY 1;
SELECT qa.wipe();

-- What is not given out: ended, paused, held, a signal pending, a delay or a retry that is not due, parked without the
-- event, a join, nothing of a place at all, an awaited event of another name, a place without task or time.
SELECT qa.ws(s, s, p_cur => NULL) FROM unnest('{Completed,Failed,Cancelled}'::text[]) s;
SELECT qa.ws('paused'), sayiir_pause('paused'), qa.ws('paused by a save', 'Paused');
SELECT qa.ws('held'), qa.claim('held', p_ttl => NULL), qa.ws('held for a while'), qa.claim('held for a while');
SELECT qa.ws('pending'), qa.claim('pending'), sayiir_pause('pending', 'p');
SELECT qa.ws('retry', p_wake => '2099-01-01Z'), qa.ws('never', p_wake => 'infinity'), qa.ws('delay', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2099-01-01Z'),
	qa.ws('fork', p_cur => NULL, p_kind => 'AtFork', p_wake => '2099-01-01Z');
SELECT qa.ws('signal', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), qa.ws('signal with time', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2099-01-01Z'),
	qa.ws('other event', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), sayiir_send_event('other event', 'gone', '\x01'),
	qa.ws('join', p_cur => NULL, p_kind => 'AtJoin'), qa.ws('fork without time', p_cur => NULL, p_kind => 'AtFork'), qa.ws('loop', p_cur => NULL, p_kind => 'InLoop'), qa.ws('nowhere', p_cur => NULL);
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT qa.claims(p_max => 100);
SELECT qa.whole() = f AS untouched FROM qa.before;

-- What is: a task; a retry that is due; a task with its output stored; a delay, a fork, a signal's time past; an event
-- for what is parked, before its time and after. The place is said; the task is NULL at another place than a task.
SELECT qa.ws('1 task', p_kind => 'AtTask');
SELECT qa.ws('2 due retry', p_kind => 'AtTask', p_wake => '2020-01-01Z');
SELECT qa.ws('3 stored', p_kind => 'AtTask'), sayiir_save_task_result('3 stored', qa.t('a'), '\xaa');
SELECT qa.ws('4 due delay', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2020-01-01Z');
SELECT qa.ws('5 due fork', p_cur => NULL, p_kind => 'AtFork', p_wake => '2020-01-01Z');
SELECT qa.ws('6 timeout', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2020-01-01Z');
SELECT qa.ws('7 event', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_wake => '2099-01-01Z'), sayiir_send_event('7 event', 'go', '\x07');
SELECT sayiir_send_event('8 event first', 'go', '\x08'), qa.ws('8 event first', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go');
SELECT qa.ws('9 always', p_kind => 'AtTask', p_wake => '-infinity');
SELECT qa.claims(p_max => 100);
-- an opaque one stays where it is, its events unread
SELECT qa.place(i) FROM unnest('{3 stored,4 due delay,6 timeout,7 event,8 event first}'::text[]) i;
SELECT sayiir_consume_event('7 event', 'go');
-- given back without the event, it is parked as before, and not due
SELECT sayiir_release_claim('7 event', qa.k('7 event')), sayiir_release_claim('8 event first', qa.k('8 event first'));
SELECT qa.claims(p_max => 100);
SELECT qa.wipe();

-- max_tasks: 0 is none; negative 22023; NULL one; more than there are is no error.
SELECT qa.ws(i::text) FROM generate_series(1, 5) i;
SELECT count(*) FROM sayiir_claim_tasks('w', 0);
SELECT qa.try($$SELECT count(*) FROM sayiir_claim_tasks('w', -1)$$);
SELECT qa.claims(p_max => NULL);
SELECT qa.claims(p_max => 3);
SELECT qa.claims(p_max => 2147483647);
-- each with a token of its own
SELECT count(DISTINCT claim_token) FROM sayiir_workflow_claims;
SELECT qa.wipe();

-- Tags: those of the instance are among the worker's; without tags a worker takes anything.
SELECT qa.ws('-', p_tags => '{}'), qa.ws('A', p_tags => '{A}'), qa.ws('AB', p_tags => '{A,B}'), qa.ws('BA', p_tags => '{B,A}'), qa.ws('AA', p_tags => '{A,A}'), qa.ws('C', p_tags => '{C}'), qa.ws('empty word', p_tags => '{""}');
CREATE FUNCTION qa.had(p_tags text[], p_defs bytea[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	SELECT string_agg(instance_id, ', ' ORDER BY instance_id COLLATE "C") INTO r FROM sayiir_claim_tasks('w', 100, worker_tags => p_tags, definition_hashes => p_defs);
	PERFORM sayiir_release_claim(instance_id, claim_token) FROM sayiir_workflow_claims;
	RETURN coalesce(r, 'none');
END $$;
SELECT tags, qa.had(tags::text[]) FROM unnest('{NULL,"{}","{A}","{a}","{B}","{B,A}","{A,A}","{C,B}","{\"\"}","{X}"}'::text[]) tags;
SELECT qa.try($$SELECT count(*) FROM sayiir_claim_tasks('w', worker_tags => '{A,NULL}')$$);
SELECT qa.try($$SELECT count(*) FROM sayiir_claim_tasks('w', worker_tags => '{{A},{B}}')$$);
SELECT qa.wipe();

-- Definitions: NULL any; else one of them; an empty list none.
SELECT qa.ws('wf'), qa.ws('wf2', p_def => qa.t('wf2')), qa.ws('x', p_def => qa.t('x'));
SELECT qa.had('{}'), qa.had('{}', ARRAY[qa.t('wf')]), qa.had('{}', ARRAY[qa.t('wf2'), qa.t('x'), qa.t('y'), qa.t('x')]), qa.had('{}', '{}'), qa.had('{}', ARRAY[qa.t('a')]);
SELECT qa.try($$SELECT count(*) FROM sayiir_claim_tasks('w', definition_hashes => '{"\\x00"}')$$);
SELECT qa.try($$SELECT count(*) FROM sayiir_claim_tasks('w', definition_hashes => ARRAY[sha256(''), NULL])$$);
SELECT qa.wipe();

-- Order: the more urgent first, the longest waiting among equals, whatever the tags and the definition. In one call:
SELECT qa.ws('3 first'), qa.ws('1 first', p_prio => 1), qa.ws('5', p_prio => 5), qa.ws('3 second', p_tags => '{t}'), qa.ws('1 second', p_prio => 1, p_def => qa.t('x')),
	qa.ws('2', p_prio => 2, p_tags => '{u}'), qa.ws('4', p_prio => 4), qa.ws('3 third', p_def => qa.t('x')), qa.ws('1 third', p_prio => 1);
SELECT qa.claims(p_max => 100);
SELECT qa.release_all();
-- the same one by one; a release has not restarted the waiting
SELECT qa.claims() FROM generate_series(1, 10);
SELECT sayiir_release_claim(instance_id, claim_token) FROM sayiir_workflow_claims WHERE instance_id < '3 t' OR instance_id > '4';
-- nor an expiry, nor a heartbeat, nor a task result
SELECT qa.expire(i) FROM unnest('{3 third,4}'::text[]) i;
SELECT sayiir_save_task_result('1 first', qa.t('x'), '\x01'), sayiir_save_task_result('3 first', qa.t('a'), '\x01');
SELECT qa.claims(p_max => 100);
SELECT qa.release_all();
-- a save that does not move: neither; one that moves begins again, and has another priority from then on
SELECT qa.ws('1 first', p_prio => 1, p_data => '\x05', p_lc => qa.t('y')), qa.ws('3 first', p_cur => qa.t('b')), qa.ws('5', p_prio => 1, p_cur => qa.t('b'));
SELECT qa.claims(p_max => 100);
SELECT qa.release_all();
-- a save that changes the priority alone takes effect at once, and the waiting goes on
SELECT qa.ws('5', p_prio => 5, p_cur => qa.t('b'), p_data => '\x06'), qa.ws('3 second', p_prio => 1, p_tags => '{t}', p_data => '\x06');
SELECT qa.claims(p_max => 100);
SELECT qa.wipe();

-- Aging: one aging of waiting is worth a level. With a long one priorities are strict, with a tiny one whoever waits longest.
-- Waiting, without waiting for it: the instants of the present place are set back.
CREATE TABLE qa.base AS SELECT clock_timestamp() - interval '1 hour' AS t;
CREATE FUNCTION qa.waits(p_id text, longer interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t timestamptz := (SELECT b.t - longer FROM qa.base b);
BEGIN
	UPDATE sayiir_workflow_snapshots SET waiting_since = t WHERE instance_id = p_id;
	UPDATE sayiir_workflow_ready SET ready_at = greatest(t, (SELECT delay_wake_at FROM sayiir_workflow_snapshots WHERE instance_id = p_id)) WHERE instance_id = p_id;
END $$;
SELECT qa.ws('p5', p_prio => 5), qa.ws('p4', p_prio => 4), qa.ws('p3'), qa.ws('p2', p_prio => 2), qa.ws('p1', p_prio => 1);
CREATE FUNCTION qa.order(p_aging interval) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	SELECT string_agg(instance_id, ' ' ORDER BY n) INTO r FROM sayiir_claim_tasks('w', 100, aging => p_aging) WITH ORDINALITY AS c(instance_id, b, c, d, e, f, g, h, i, j, k, n);
	PERFORM sayiir_release_claim(instance_id, claim_token) FROM sayiir_workflow_claims;
	RETURN r;
END $$;
SELECT qa.order('1 microsecond'), qa.order('1 hour'), qa.order('1 minute'), qa.order(NULL), qa.order('1000000 years');
-- p5 has waited 150 seconds longer than the others: 75 seconds for each of the levels between it and p3
SELECT qa.waits('p' || i, '0') FROM generate_series(1, 4) i;
SELECT qa.waits('p5', '150 seconds');
SELECT qa.order('1 minute'), qa.order('74.999999 seconds'), qa.order('75.000001 seconds'), qa.order('2 minutes');
SELECT qa.waits('p5', '5 minutes'), qa.waits('p4', '2 minutes');
SELECT qa.order('1 minute'), qa.order('2 minutes'), qa.order('5 minutes');
-- nobody starves: a fresh most urgent one does not go before one that has waited for four levels
SELECT qa.waits('p5', '4 minutes 10 seconds'), qa.waits('p4', '0'), qa.waits('p1', '0');
SELECT qa.order('1 minute');
-- waiting counts from delay_wake_at when that is later
SELECT qa.ws('late', p_wake => t - interval '90 seconds'), qa.ws('old'), qa.waits('late', '2 hours'), qa.waits('old', '100 seconds') FROM qa.base;
SELECT qa.order('1 hour');
SELECT qa.order('1 microsecond');
SELECT aging, qa.try(format('SELECT count(*) FROM sayiir_claim_tasks(''w'', aging => %L)', aging)) FROM unnest('{0,-1 second,1 month -31 days}'::interval[]) aging;
SELECT qa.claims('w', 2);
SELECT qa.try($$SELECT count(*) FROM sayiir_claim_tasks('w', 0, aging => '0')$$);
SELECT qa.wipe();

-- Expired claims are given out again, with a new token; live ones and those without expiry are not.
SELECT qa.ws('e1'), qa.ws('e2'), qa.ws('live'), qa.ws('unlimited'), qa.ws('parked', p_cur => NULL, p_kind => 'AtFork', p_wake => '2020-01-01Z');
SELECT qa.claims('w1', 5, p_prefix => 'old ');
SELECT qa.expire('e1'), qa.expire('e2'), qa.expire('parked');
SELECT sayiir_release_claim('unlimited', qa.k('old unlimited')), qa.claim('unlimited', p_ttl => NULL);
SELECT qa.claims('w1', 5);
SELECT qa.try(format('SELECT sayiir_release_claim(%L, qa.k(%L))', i, 'old ' || i)) FROM unnest('{e1,parked}'::text[]) i;
SELECT qa.place('parked');
SELECT qa.wipe();

-- Signals that nobody is left to apply are applied by the call: of expired claims and stored ones, up to max_tasks.
SELECT qa.ws('s expired, cancel'), qa.claim('s expired, cancel'), sayiir_cancel('s expired, cancel', 'r', 'q'), qa.expire('s expired, cancel');
SELECT qa.ws('s stored, pause'), sayiir_store_signal('s stored, pause', 'Pause', 'r', 'q');
SELECT qa.ws('s both'), sayiir_store_signal('s both', 'Pause'), sayiir_store_signal('s both', 'Cancel');
SELECT qa.ws('s held'), qa.claim('s held', p_ttl => NULL), sayiir_cancel('s held');
SELECT qa.ws('s parked', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'), sayiir_store_signal('s parked', 'Cancel');
SELECT qa.ws('s paused', 'Paused'), sayiir_store_signal('s paused', 'Cancel');
SELECT qa.ws('work');
SELECT qa.claims(p_max => 0);
SELECT count(DISTINCT instance_id) FROM sayiir_workflow_signals;
SELECT qa.claims(p_max => 1);
-- one was applied by that call, of the five that are nobody's
SELECT count(DISTINCT instance_id) FROM sayiir_workflow_signals;
SELECT qa.claims(p_max => 100);
SELECT qa.place(i) FROM sayiir_list_snapshots() i;
-- whatever the worker's tags and definitions are: it is work for anyone
SELECT qa.ws('tagged', p_tags => '{gpu}'), sayiir_store_signal('tagged', 'Cancel');
SELECT qa.claims(p_tags => '{cpu}', p_defs => ARRAY[qa.t('x')]);
SELECT qa.place('tagged');

-- Rolled back, nothing was given out.
SELECT qa.ws('rb');
BEGIN;
SELECT qa.claims();
ROLLBACK;
SELECT qa.claims();
-- the same instance twice in a transaction: given back, it is there again
BEGIN;
SELECT sayiir_release_claim('rb', qa.k('rb'));
SELECT qa.claims();
SELECT sayiir_release_claim('rb', qa.k('rb'));
COMMIT;
SELECT qa.claims();

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
