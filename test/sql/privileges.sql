-- CASES B34: USAGE on the schema and EXECUTE on the functions is all that a role needs, and all it gets.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE SCHEMA wf;
CREATE EXTENSION sayiir_pg SCHEMA wf;
CREATE ROLE regress_sayiir_app;
CREATE ROLE regress_sayiir_none;
CREATE ROLE regress_sayiir_reader;
GRANT USAGE ON SCHEMA qa TO regress_sayiir_app, regress_sayiir_none, regress_sayiir_reader;

-- One call of each function, and one touch of each kind of each table.
CREATE TABLE qa.calls (n integer GENERATED ALWAYS AS IDENTITY, call text);
GRANT SELECT ON qa.calls TO PUBLIC;
INSERT INTO qa.calls (call) VALUES
	($$wf.sayiir_save_snapshot('\x01', 'p', 'InProgress', sha256('wf'), sha256('a'), last_completed_task_id => sha256('b'), last_completed_output => '\xbb')$$),
	($$wf.sayiir_save_snapshots('{"\\x01"}', '{batch}', '{Completed}', ARRAY[sha256('wf')])$$),
	($$wf.sayiir_save_task_result('p', sha256('a'), '\xaa')$$),
	($$(SELECT history_version FROM wf.sayiir_load_snapshot('p'))$$),
	($$(SELECT history_version FROM wf.sayiir_load_snapshot('p', 1))$$),
	($$wf.sayiir_load_task_result('p', sha256('a'))$$),
	($$(SELECT count(*) FROM wf.sayiir_list_snapshots())$$),
	($$(SELECT count(*) FROM wf.sayiir_check_integrity())$$),
	($$wf.sayiir_task_id('a') = sha256('a')$$),
	($$(SELECT count(*) FROM wf.sayiir_decode_hint(''))$$),
	($$(SELECT sum(queued + sent + coalesced + dropped) FROM wf.sayiir_wakeup_stats())$$),
	($$wf.sayiir_delete_snapshot('p') IS NULL$$);
CREATE TABLE qa.touches (n integer GENERATED ALWAYS AS IDENTITY, statement text);
GRANT SELECT ON qa.touches TO PUBLIC;
INSERT INTO qa.touches (statement)
SELECT format(s, t) FROM unnest('{sayiir_workflow_snapshots,sayiir_workflow_versions,sayiir_workflow_tasks}'::text[]) t,
	unnest(ARRAY['SELECT count(*) FROM wf.%I', 'INSERT INTO wf.%I (instance_id) VALUES (''x'')', 'UPDATE wf.%I SET status = ''Completed''',
		'DELETE FROM wf.%I', 'TRUNCATE wf.%I', 'LOCK wf.%I', 'SELECT 1 FROM wf.%I FOR UPDATE', 'ALTER TABLE wf.%I DISABLE TRIGGER ALL',
		'CREATE TRIGGER t BEFORE UPDATE ON wf.%I EXECUTE FUNCTION suppress_redundant_updates_trigger()', 'DROP TABLE wf.%I']) s;

-- Nobody has anything to begin with.
SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'sayiir_pg',
	LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0;
SELECT c.relname FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'sayiir_pg',
	LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a WHERE a.grantee = 0;
SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'wf'::regnamespace AND has_function_privilege('regress_sayiir_none', p.oid, 'EXECUTE');
SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace = 'wf'::regnamespace AND c.relkind IN ('r', 'v')
	AND (has_any_column_privilege('regress_sayiir_none', c.oid, 'SELECT, INSERT, UPDATE, REFERENCES') OR has_table_privilege('regress_sayiir_none', c.oid, 'DELETE, TRUNCATE, TRIGGER'));
SET ROLE regress_sayiir_none;
SELECT count(*), count(*) FILTER (WHERE qa.try('SELECT ' || call) ~ '^42501: permission denied for schema wf') FROM qa.calls;
RESET ROLE;
GRANT USAGE ON SCHEMA wf TO regress_sayiir_none, regress_sayiir_app;
SET ROLE regress_sayiir_none;
SELECT qa.try('SELECT ' || call) FROM qa.calls ORDER BY n;
SELECT count(*), count(*) FILTER (WHERE qa.try(statement) ~ '^42501') FROM qa.touches;
RESET ROLE;

-- With EXECUTE each call works, and no table can be touched.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA wf TO regress_sayiir_app;
SET ROLE regress_sayiir_app;
SELECT qa.try('SELECT ' || call) FROM qa.calls ORDER BY n;
SELECT count(*), count(*) FILTER (WHERE qa.try(statement) ~ '^42501') FROM qa.touches;
SELECT qa.try(statement) FROM qa.touches WHERE n <= 10 ORDER BY n;
-- the same right after a call, in its transaction: the owner's rights end with the call
BEGIN;
SELECT wf.sayiir_save_snapshot('\x01', 'p', 'InProgress', sha256('wf'));
SELECT current_user;
SELECT qa.try('DELETE FROM wf.sayiir_workflow_versions');
SELECT qa.try($$SELECT wf.sayiir_delete_snapshot('nobody')$$);
SELECT current_user;
SELECT qa.try('DELETE FROM wf.sayiir_workflow_versions');
COMMIT;
-- what the caller evaluates for an argument runs with the caller's rights
CREATE FUNCTION pg_temp.spy() RETURNS text LANGUAGE sql AS 'SELECT current_user::text';
SELECT wf.sayiir_save_snapshot('\x02', 'p', 'InProgress', sha256('wf'), error => pg_temp.spy());
SELECT error FROM wf.sayiir_load_snapshot('p');
DROP FUNCTION pg_temp.spy();
-- a right alone is not handed on
GRANT EXECUTE ON FUNCTION wf.sayiir_task_id(text) TO regress_sayiir_none;
SELECT has_function_privilege('regress_sayiir_none', 'wf.sayiir_task_id(text)', 'EXECUTE');
RESET ROLE;

-- Some of the functions: the others stay shut, and nothing was written.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA wf FROM regress_sayiir_app;
GRANT EXECUTE ON FUNCTION wf.sayiir_load_snapshot(text, integer), wf.sayiir_list_snapshots(text, text, integer) TO regress_sayiir_reader;
GRANT USAGE ON SCHEMA wf TO regress_sayiir_reader;
SET ROLE regress_sayiir_reader;
SELECT qa.try('SELECT ' || call) FROM qa.calls ORDER BY n;
RESET ROLE;
SELECT instance_id, history_version FROM wf.sayiir_workflow_snapshots;

-- A reader of the tables, as the administrator grants it.
GRANT SELECT ON ALL TABLES IN SCHEMA wf TO regress_sayiir_reader;
SET ROLE regress_sayiir_reader;
SELECT count(*) FROM wf.sayiir_workflow_snapshots;
SELECT count(*), count(*) FILTER (WHERE qa.try(statement) ~ '^42501') FROM qa.touches;
RESET ROLE;

-- Row security, on and forced: the functions answer the same, whatever row_security says.
ALTER TABLE wf.sayiir_workflow_snapshots ENABLE ROW LEVEL SECURITY;
ALTER TABLE wf.sayiir_workflow_snapshots FORCE ROW LEVEL SECURITY;
ALTER TABLE wf.sayiir_workflow_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE wf.sayiir_workflow_versions FORCE ROW LEVEL SECURITY;
ALTER TABLE wf.sayiir_workflow_tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE wf.sayiir_workflow_tasks FORCE ROW LEVEL SECURITY;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA wf TO regress_sayiir_app;
SELECT wf.sayiir_delete_snapshot('p');
SET ROLE regress_sayiir_app;
SELECT qa.try('SELECT ' || call) FROM qa.calls ORDER BY n;
SET row_security = off;
SELECT qa.try('SELECT ' || call) FROM qa.calls ORDER BY n;
RESET row_security;
RESET ROLE;
-- and the reader sees no row
SELECT wf.sayiir_save_snapshot('\x01', 'p', 'InProgress', sha256('wf'));
SET ROLE regress_sayiir_reader;
SELECT count(*) FROM wf.sayiir_workflow_snapshots;
RESET ROLE;

DROP EXTENSION sayiir_pg;
DROP SCHEMA qa CASCADE;
DROP SCHEMA wf;
DROP ROLE regress_sayiir_app, regress_sayiir_none, regress_sayiir_reader;
