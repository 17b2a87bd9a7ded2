-- Saves without a claim that move an instance on while it is in the queue: its row there stays as it is, and who claims
-- still gets what has waited longest for the task that it is at.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;
CREATE TABLE qa.queued (instance_id text PRIMARY KEY, at tid);
CREATE FUNCTION qa.same_row(p_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	old tid := (SELECT q.at FROM qa.queued q WHERE q.instance_id = p_id);
	new tid := (SELECT r.ctid FROM sayiir_workflow_ready r WHERE r.instance_id = p_id);
BEGIN
	INSERT INTO qa.queued VALUES (p_id, new) ON CONFLICT (instance_id) DO UPDATE SET at = new;
	RETURN CASE WHEN new IS NULL THEN 'none' WHEN new IS DISTINCT FROM old THEN 'written' ELSE 'as it was' END
		|| coalesce((SELECT CASE WHEN r.ready_at < s.due THEN ', earlier' WHEN r.ready_at = s.due THEN ', in its place' ELSE ', LATER' END
			FROM sayiir_workflow_ready r JOIN (SELECT instance_id, greatest(waiting_since, delay_wake_at) AS due FROM sayiir_workflow_snapshots) s USING (instance_id)
			WHERE r.instance_id = p_id), '');
END $$;

-- Which saves write it: the first; not one that moves the instance or says the same again; one that changes the kind of
-- work; one with an instant, due or not, and the one after an instant that is to come.
SELECT qa.ws('i'), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('b'), p_lc => qa.t('a')), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('b')), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('c'), p_prio => 2), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('c'), p_prio => 2, p_tags => '{x}'), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('c'), p_prio => 2, p_tags => '{x}', p_def => qa.t('other')), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('d')), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('d'), p_wake => '2099-01-01Z'), qa.same_row('i');
SELECT qa.claims();
SELECT qa.ws('i', p_cur => qa.t('e')), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('e'), p_wake => '2020-01-01Z'), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('f'), p_wake => '2020-01-01Z'), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('g')), qa.same_row('i');
-- what takes it out of the queue, and what brings it back
SELECT qa.ws('i', p_cur => NULL), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('h')), qa.same_row('i');
SELECT qa.claim('i', qa.t('h')), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('h')), qa.same_row('i');
SELECT qa.ws('i', p_cur => qa.t('j')), qa.same_row('i');
SELECT sayiir_pause('i'), qa.same_row('i');
SELECT sayiir_unpause('i'), qa.same_row('i');
SELECT qa.ws('i', 'Completed', p_cur => NULL), qa.same_row('i');
SELECT qa.wipe();

-- The order of claims is that of the saves that brought each to its task, not that of the first saves: 1 and 3 moved on.
SELECT qa.ws(i::text) FROM generate_series(1, 5) i ORDER BY i;
SELECT qa.ws('3', p_cur => qa.t('b'));
SELECT qa.ws('1', p_cur => qa.t('b'));
SELECT qa.ws('3', p_cur => qa.t('c'));
SELECT instance_id FROM sayiir_claim_tasks('w', max_tasks => 2);
SELECT instance_id FROM sayiir_claim_tasks('w', max_tasks => 5);
SELECT qa.wipe();
-- More of a kind than are read at a time, all of them moved on, in another order than they came
SELECT count(qa.ws(i::text)) FROM generate_series(1, 50) i;
SELECT count(qa.ws((i * 7 % 53)::text, p_cur => qa.t('b'))) FROM generate_series(1, 52) i WHERE i * 7 % 53 <= 50;
SELECT array_agg(instance_id ORDER BY n) = (SELECT array_agg((i * 7 % 53)::text ORDER BY i) FROM generate_series(1, 52) i WHERE i * 7 % 53 <= 50) AS in_order
FROM sayiir_claim_tasks('w', max_tasks => 100) WITH ORDINALITY AS c (instance_id, b, c, d, e, f, g, h, i, j, k, n);
SELECT qa.wipe();
-- Between kinds: one that has waited a minute is worth a level of priority, but not while it only seems to have waited.
SELECT qa.ws('moved'), qa.ws('urgent', p_prio => 2);
UPDATE sayiir_workflow_ready SET ready_at = ready_at - interval '10 minutes' WHERE instance_id = 'moved';
SELECT instance_id FROM sayiir_claim_tasks('w', max_tasks => 5);
SELECT qa.wipe();
-- What one call puts in order has a bound; beyond it, all are given out all the same.
SELECT count(qa.ws(i::text)) FROM generate_series(1, 1100) i;
SELECT count(qa.ws(i::text, p_cur => qa.t('b'))) FROM generate_series(1, 1100) i;
SELECT count(*), count(DISTINCT instance_id), count(*) FILTER (WHERE task_id = qa.t('b')) AS b FROM sayiir_claim_tasks('w', max_tasks => 2000);
SELECT qa.wipe();

-- The views tell how long it has really waited.
SELECT qa.ws('i');
UPDATE sayiir_workflow_ready SET ready_at = ready_at - interval '10 minutes';
SELECT ready, delayed, oldest_ready < interval '5 minutes' AS real FROM sayiir_queue;
SELECT count(*) FROM sayiir_check_integrity();

DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
