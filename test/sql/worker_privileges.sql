-- Roles as the README may cut them: workers, operators, readers; each has EXECUTE on its functions, and nothing on the tables.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE SCHEMA wf;
CREATE EXTENSION sayiir_pg SCHEMA wf;
CREATE ROLE regress_sayiir_worker;
CREATE ROLE regress_sayiir_operator;
CREATE ROLE regress_sayiir_viewer;
GRANT USAGE ON SCHEMA qa, wf TO regress_sayiir_worker, regress_sayiir_operator, regress_sayiir_viewer;
CREATE TABLE qa.calls (n integer GENERATED ALWAYS AS IDENTITY, room text, call text);
GRANT SELECT ON qa.calls TO PUBLIC;
INSERT INTO qa.calls (room, call) VALUES
	('worker', $$(SELECT count(*) FROM wf.sayiir_claim_tasks('w'))$$), ('worker', $$(SELECT count(*) FROM wf.sayiir_claim_task('i', sha256('a'), 'w'))$$),
	('worker', $$wf.sayiir_extend_claim('i', gen_random_uuid(), '1 s')$$), ('worker', $$wf.sayiir_release_claim('i', gen_random_uuid())$$),
	('worker', $$(SELECT status FROM wf.sayiir_advance('\x02', gen_random_uuid(), 'i', 'InProgress', sha256('wf')))$$), ('worker', $$(SELECT status FROM wf.sayiir_advance('\x02', gen_random_uuid()))$$),
	('worker', $$wf.sayiir_check_signals('i')$$), ('worker', $$wf.sayiir_consume_event('i', 'go')$$),
	('operator', $$wf.sayiir_pause('i')$$), ('operator', $$wf.sayiir_unpause('i')$$), ('operator', $$wf.sayiir_store_signal('i', 'Pause')$$), ('operator', $$(SELECT count(*) FROM wf.sayiir_get_signal('i', 'Pause'))$$),
	('operator', $$wf.sayiir_clear_signal('i', 'Pause')$$), ('operator', $$wf.sayiir_send_event('i', 'go', '\x01')$$), ('operator', $$wf.sayiir_prune_events('1 hour')$$), ('operator', $$wf.sayiir_cancel('i')$$);
CREATE TABLE qa.touches (n integer GENERATED ALWAYS AS IDENTITY, statement text);
GRANT SELECT ON qa.touches TO PUBLIC;
INSERT INTO qa.touches (statement) SELECT format(s, t) FROM unnest('{sayiir_workflow_claims,sayiir_workflow_signals,sayiir_workflow_events,sayiir_workflow_ready,sayiir_workflow_snapshots,sayiir_workflow_tasks}'::text[]) t,
	unnest(ARRAY['SELECT count(*) FROM wf.%I', 'INSERT INTO wf.%I (instance_id) VALUES (''x'')', 'UPDATE wf.%I SET instance_id = ''x''', 'DELETE FROM wf.%I', 'TRUNCATE wf.%I', 'LOCK wf.%I', 'SELECT 1 FROM wf.%I FOR UPDATE', 'DROP TABLE wf.%I']) s;
INSERT INTO qa.touches (statement) VALUES ($$SELECT nextval('wf.sayiir_workflow_events_id_seq')$$), ($$SELECT setval('wf.sayiir_workflow_events_id_seq', 1)$$), ($$SELECT last_value FROM wf.sayiir_workflow_events_id_seq$$),
	('SELECT * FROM wf.sayiir_workflows'), ('SELECT * FROM wf.sayiir_queue');

-- To begin with nobody has anything.
SELECT c.relname FROM pg_class c, LATERAL aclexplode(coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))) a
	WHERE c.relnamespace = 'wf'::regnamespace AND c.relkind IN ('r', 'v', 'S') AND a.grantee <> c.relowner;
SELECT p.oid::regprocedure FROM pg_proc p, LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE p.pronamespace = 'wf'::regnamespace AND a.grantee <> p.proowner;
SELECT wf.sayiir_save_snapshot('\x01', 'i', 'InProgress', sha256('wf'), sha256('a'));
SET ROLE regress_sayiir_worker;
SELECT count(*), count(*) FILTER (WHERE qa.try('SELECT ' || call) ~ '^42501: permission denied for function') FROM qa.calls;
SELECT count(*), count(*) FILTER (WHERE qa.try(statement) ~ '^42501') FROM qa.touches;
RESET ROLE;
SELECT history_version, status FROM wf.sayiir_load_snapshot('i');

-- Each role may do its part.
DO $$
DECLARE
	f regprocedure;
BEGIN
	FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'wf'::regnamespace LOOP
		IF f::text ~ '_(claim_task|claim_tasks|extend_claim|release_claim|advance|check_signals|consume_event|save_snapshot|save_task_result|load_snapshot)\(' THEN EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO regress_sayiir_worker', f); END IF;
		IF f::text ~ '_(cancel|pause|unpause|store_signal|get_signal|clear_signal|send_event|prune_events)\(' THEN EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO regress_sayiir_operator', f); END IF;
	END LOOP;
END $$;
GRANT SELECT ON wf.sayiir_workflows, wf.sayiir_queue TO regress_sayiir_viewer;
SET ROLE regress_sayiir_worker;
SELECT room, call, left(qa.try('SELECT ' || call), 45) FROM qa.calls ORDER BY n;
SELECT count(*), count(*) FILTER (WHERE qa.try(statement) ~ '^42501') FROM qa.touches;
SET ROLE regress_sayiir_operator;
SELECT room, call, left(qa.try('SELECT ' || call), 45) FROM qa.calls ORDER BY n;
SELECT count(*), count(*) FILTER (WHERE qa.try(statement) ~ '^42501') FROM qa.touches;
SET ROLE regress_sayiir_viewer;
SELECT count(*), count(*) FILTER (WHERE qa.try('SELECT ' || call) ~ '^42501: permission denied for function') FROM qa.calls;
SELECT statement FROM qa.touches WHERE qa.try(statement) !~ '^42501' ORDER BY n;
SELECT instance_id, status, waiting_for FROM wf.sayiir_workflows;
RESET ROLE;
-- the rights of the owner end with the call, and with a call that fails
SET ROLE regress_sayiir_worker;
BEGIN;
SELECT count(*) FROM wf.sayiir_claim_tasks('w');
SELECT current_user, qa.try('DELETE FROM wf.sayiir_workflow_claims');
SELECT left(qa.try($$SELECT wf.sayiir_release_claim('i', gen_random_uuid())$$), 5), current_user, qa.try('DELETE FROM wf.sayiir_workflow_claims');
ROLLBACK;
RESET ROLE;
-- A member of the schema's whole: ALL FUNCTIONS is enough for everything.
CREATE ROLE regress_sayiir_all;
GRANT USAGE ON SCHEMA qa, wf TO regress_sayiir_all;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA wf TO regress_sayiir_all;
SET ROLE regress_sayiir_all;
SELECT count(*), count(*) FILTER (WHERE qa.try('SELECT ' || call) ~ '^42501') FROM qa.calls;
SELECT wf.sayiir_save_snapshot('\x01', 'full', 'InProgress', sha256('wf'), sha256('a'));
SELECT claim_token AS token, instance_id FROM wf.sayiir_claim_tasks('w') \gset
SELECT :'instance_id', status, history_version FROM wf.sayiir_advance('\x02', :'token', 'full', 'Completed', sha256('wf'));
RESET ROLE;
SELECT count(*) FROM wf.sayiir_check_integrity();
DROP OWNED BY regress_sayiir_worker, regress_sayiir_operator, regress_sayiir_viewer, regress_sayiir_all;
DROP ROLE regress_sayiir_worker, regress_sayiir_operator, regress_sayiir_viewer, regress_sayiir_all;
DROP EXTENSION sayiir_pg;
DROP SCHEMA wf;
DROP SCHEMA qa CASCADE;
