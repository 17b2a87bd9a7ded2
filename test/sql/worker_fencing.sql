-- Writes under a claim: what a lost one refuses, in which order the checks come, and nothing written.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- Each write takes the live token, and not another: the explicit form, the short one, a result, both forms of a step.
CREATE FUNCTION qa.writes() RETURNS TABLE (n integer, call text) LANGUAGE sql AS $$
	VALUES (1, $q$qa.ws(%1$L, p_data => '\x02', p_cur => qa.t('b'), p_token => %2$L)$q$),
		(2, $q$sayiir_save_snapshot(qa.jp(%1$L, '{"AtTask":{"task_id":"@b"}}'), claim_token => %2$L)$q$),
		(3, $q$sayiir_save_task_result(%1$L, qa.t('a'), '\xaa', claim_token => %2$L)$q$),
		(4, $q$qa.adv(%1$L, p_token => %2$L)$q$),
		(5, $q$(SELECT history_version FROM sayiir_advance(qa.jp(%1$L, '{"AtTask":{"task_id":"@b"}}'), %2$L))$q$) $$;
CREATE FUNCTION qa.writes_of(p_id text, p_token uuid) RETURNS TABLE (n integer, answer text) LANGUAGE plpgsql AS $$
DECLARE
	w record;
BEGIN
	FOR w IN SELECT * FROM qa.writes() ORDER BY 1 LOOP
		n := w.n;
		answer := qa.try('SELECT ' || format(w.call, p_id, p_token));
		RETURN NEXT;
	END LOOP;
END $$;
SELECT qa.ws('held'), qa.claim('held', p_worker => 'first', p_label => 'old'), qa.expire('held'), qa.claim('held', p_worker => 'second', p_label => 'new');
SELECT qa.ws('free'), qa.ws('expired'), qa.claim('expired'), qa.expire('expired');
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
-- the detail names the owner
SELECT * FROM qa.writes_of('held', qa.k('old'));
SELECT n, left(answer, 46), answer LIKE '%detail: %"%"%' AS names_somebody FROM qa.writes_of('free', qa.k('new'));
SELECT n, left(answer, 49), answer LIKE '%detail: %"%"%' AS names_somebody FROM qa.writes_of('expired', qa.k('expired'));
SELECT qa.whole() = f AS untouched FROM qa.before;
-- the right one writes
SELECT w.n, qa.ws('i' || w.n), qa.claim('i' || w.n), qa.try('SELECT ' || format(w.call, 'i' || w.n, qa.k('i' || w.n))), qa.place('i' || w.n) FROM qa.writes() w;
-- and without a token a save works beside a claim, and so does a result
SELECT qa.ws('single'), qa.claim('single'), qa.ws('single', p_data => '\x02'), sayiir_save_task_result('single', qa.t('x'), '\x01'), qa.place('single');
-- an instance that does not exist: nobody has a claim on it; without a token it is made
SELECT n, left(answer, 5) FROM qa.writes_of('nobody', qa.k('new'));
SELECT * FROM sayiir_list_snapshots() i WHERE i = 'nobody';
-- a token of another instance is none
SELECT n, left(answer, 5) FROM qa.writes_of('single', qa.k('new'));
-- a result of a task other than the claimed one, under the claim
SELECT sayiir_save_task_result('held', qa.t('y'), '\x01', claim_token => qa.k('new')), qa.place('held');

-- The order of the checks. Arguments come first: a bad one under a lost claim.
SELECT qa.try($$SELECT qa.ws('held', p_prio => 9, p_token => qa.k('old'))$$);
SELECT left(qa.try($$SELECT sayiir_save_snapshot('\x00', claim_token => qa.k('old'))$$), 5), left(qa.try($$SELECT sayiir_save_task_result('held', '\x00', '\x00', claim_token => qa.k('old'))$$), 5),
	left(qa.try($$SELECT qa.adv('held', p_ttl => '0', p_token => qa.k('old'))$$), 5), left(qa.try($$SELECT * FROM sayiir_advance('\x00', qa.k('old'))$$), 5), left(qa.try($$SELECT * FROM sayiir_advance('\x00', NULL)$$), 5);
-- then an unknown instance, where one is needed
SELECT left(qa.try($$SELECT sayiir_save_task_result('nobody', qa.t('a'), '\x00', expected_version => 7, claim_token => qa.k('old'))$$), 5);
-- then a recognized repeat: the token is not looked at
SELECT qa.ws('rep'), qa.claim('rep', p_label => 'rep'), qa.ws('rep', p_data => '\x02', p_cur => qa.t('b'), p_ev => 1, p_token => qa.k('rep'));
SELECT qa.ws('rep', p_data => '\x02', p_cur => qa.t('b'), p_ev => 1, p_token => qa.k('rep')), sayiir_save_task_result('rep', qa.t('b'), '\xbb'),
	sayiir_save_task_result('rep', qa.t('b'), '\xbb', claim_token => qa.k('rep')), qa.place('rep');
SELECT sayiir_save_snapshot(qa.jp('jrep', '{"AtTask":{"task_id":"@a"}}')), qa.claim('jrep'), sayiir_save_snapshot(qa.jp('jrep', '{"AtTask":{"task_id":"@b"}}'), expected_version => 1, claim_token => qa.k('jrep')),
	sayiir_save_snapshot(qa.jp('jrep', '{"AtTask":{"task_id":"@b"}}'), expected_version => 1, claim_token => qa.k('jrep')), qa.place('jrep');
-- then the end: NULL, whatever the token, the state and the version
SELECT qa.ws('end'), qa.claim('end'), qa.ws('end', 'Failed', p_cur => NULL, p_token => qa.k('end'), p_err => 'e');
SELECT qa.ws('end', p_data => '\x07', p_ev => 9, p_token => qa.k('end')), sayiir_save_task_result('end', qa.t('x'), '\x01', expected_version => 9, claim_token => qa.k('old')),
	sayiir_save_snapshot(qa.jp('end', '"NotStarted"'), expected_version => 9, claim_token => qa.k('old')), qa.adv('end', p_ev => 9), qa.jadv(qa.jp('end', '"NotStarted"'), 'old', '1 hour', 9);
SELECT qa.place('end');
-- then the claim, before the state and the version
SELECT qa.ws('paused', 'Paused'), left(qa.try($$SELECT qa.ws('paused', p_data => '\x02', p_ev => 7, p_token => qa.k('old'))$$), 5), left(qa.try($$SELECT qa.adv('paused', p_ev => 7, p_token => qa.k('old'))$$), 5);
SELECT left(qa.try($$SELECT qa.ws('held', p_data => '\x02', p_ev => 7, p_token => qa.k('old'))$$), 5), left(qa.try($$SELECT qa.adv('held', p_ev => 7, p_token => qa.k('old'))$$), 5),
	left(qa.try($$SELECT sayiir_save_task_result('held', qa.t('z'), '\x00', expected_version => 7, claim_token => qa.k('old'))$$), 5);
-- then the state, before the version
SELECT left(qa.try($$SELECT qa.ws('paused', p_data => '\x02', p_ev => 7)$$), 5), left(qa.try($$SELECT sayiir_save_snapshot(qa.jp('paused', '"NotStarted"'), expected_version => 7)$$), 5);
-- then the version, under the right claim too
SELECT qa.try($$SELECT qa.ws('held', p_data => '\x02', p_ev => 7, p_token => qa.k('new'))$$);
SELECT left(qa.try($$SELECT qa.adv('held', p_ev => 7, p_token => qa.k('new'))$$), 5), left(qa.try($$SELECT sayiir_save_task_result('held', qa.t('z'), '\x00', expected_version => 7, claim_token => qa.k('new'))$$), 5),
	left(qa.try($$SELECT qa.jadv(qa.jp('held', '"NotStarted"'), 'new', NULL, 7)$$), 5);
SELECT qa.place('held');
-- a refused one has not hurt the claim
SELECT qa.extend('new', '1 minute');

-- Paused: a save as InProgress is SY003, with a hint; a result is stored; an end and another Paused one are saved.
SELECT qa.ws('p'), sayiir_pause('p');
SELECT qa.try($$SELECT qa.ws('p', p_data => '\x02')$$);
SELECT qa.try($$SELECT sayiir_save_snapshot(qa.jp('p', '{"AtTask":{"task_id":"@b"}}'))$$);
SELECT qa.place('p');
SELECT sayiir_save_task_result('p', qa.t('a'), '\xaa'), qa.place('p');
SELECT qa.ws('p', 'Paused', '\x03', NULL), qa.place('p');
SELECT qa.ws('p', s, '\x04', NULL, p_err => 'e'), qa.place('p') FROM unnest('{Failed}'::text[]) s;
SELECT qa.ws('p ' || s), sayiir_pause('p ' || s), qa.ws('p ' || s, s, '\x04', NULL), qa.place('p ' || s) FROM unnest('{Completed,Cancelled}'::text[]) s;
SELECT sayiir_save_snapshot(qa.jp('jp', '{"AtTask":{"task_id":"@a"}}')), sayiir_pause('jp'), sayiir_save_task_result('jp', qa.t('a'), '\xaa'), qa.place('jp');
SELECT qa.payload('jp');
SELECT sayiir_save_snapshot(qa.js('jp', '{"Completed":{"final_output":[1]}}')), qa.place('jp');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
