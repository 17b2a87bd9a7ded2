-- Many claims whose workers died: without a live claim an instance is dispatchable like any other.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

CREATE PROCEDURE qa.die(n integer) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM qa.ws('many ' || to_char(i, 'FM000')) FROM generate_series(1, n) i;
	PERFORM count(*) FROM sayiir_claim_tasks('dead', n);
	UPDATE sayiir_workflow_claims SET expires_at = clock_timestamp() - interval '1 minute' WHERE worker_id = 'dead';
END $$;
-- Calls go on until all are out, each once.
CALL qa.die(130);
CREATE TABLE qa.got AS SELECT n.n, c.instance_id FROM generate_series(1, 15) n, LATERAL (SELECT instance_id FROM sayiir_claim_tasks('w' || n, 10)) c;
SELECT count(*), count(DISTINCT instance_id) FROM qa.got;
SELECT count(*) FROM sayiir_claim_tasks('w', 10);
SELECT qa.wipe();
-- A call that asks for all of them gets all of them.
CALL qa.die(45);
SELECT count(*) FROM sayiir_claim_tasks('w', 45);
SELECT qa.wipe();
-- The most urgent is the first, whichever claim expired last.
CALL qa.die(45);
SELECT qa.ws('urgent', p_prio => 1), qa.claim('urgent'), qa.expire('urgent');
SELECT qa.claims();
SELECT qa.wipe();

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
