-- CASES B16: objects of the same names that are already there are not adopted, not changed and not
-- removed; a database that runs the seed's client has tables of exactly these names.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE ROLE regress_sayiir_other;
CREATE SCHEMA target;
GRANT ALL ON SCHEMA target TO regress_sayiir_other;

CREATE VIEW qa.members AS
	SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid IN (SELECT oid FROM pg_extension WHERE extname = 'sayiir_pg');
CREATE VIEW qa.there AS
	SELECT relname::text FROM pg_class WHERE relnamespace = 'target'::regnamespace
	UNION ALL SELECT proname || '()' FROM pg_proc WHERE pronamespace = 'target'::regnamespace;

-- a table
SET ROLE regress_sayiir_other;
CREATE TABLE target.sayiir_workflow_snapshots (instance_id text);
INSERT INTO target.sayiir_workflow_snapshots VALUES ('mine');
RESET ROLE;
CREATE EXTENSION sayiir_pg SCHEMA target;
SELECT * FROM qa.members;
SELECT * FROM qa.there;
TABLE target.sayiir_workflow_snapshots;
DROP TABLE target.sayiir_workflow_snapshots;

-- a view and a sequence in the place of a table
SET ROLE regress_sayiir_other;
CREATE VIEW target.sayiir_workflow_tasks AS SELECT 1 AS x;
RESET ROLE;
CREATE EXTENSION sayiir_pg SCHEMA target;
SELECT * FROM qa.there;
DROP VIEW target.sayiir_workflow_tasks;
SET ROLE regress_sayiir_other;
CREATE SEQUENCE target.sayiir_workflow_versions;
RESET ROLE;
CREATE EXTENSION sayiir_pg SCHEMA target;
SELECT * FROM qa.there;
DROP SEQUENCE target.sayiir_workflow_versions;

-- an index with the name of every index of the extension, one at a time
CREATE EXTENSION sayiir_pg;
CREATE TABLE qa.names AS SELECT i.relname AS name FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = x.indrelid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'sayiir_pg';
DROP EXTENSION sayiir_pg;
CREATE TABLE target.t (x int);
CREATE PROCEDURE qa.occupied() LANGUAGE plpgsql AS $$
DECLARE
	n text;
	failed integer := 0;
	tried integer := 0;
BEGIN
	FOR n IN SELECT name FROM qa.names LOOP
		EXECUTE format('CREATE INDEX %I ON target.t (x)', n);
		BEGIN
			CREATE EXTENSION sayiir_pg SCHEMA target;
		EXCEPTION WHEN duplicate_table THEN
			failed := failed + 1;
		END;
		EXECUTE format('DROP INDEX target.%I', n);
		tried := tried + 1;
	END LOOP;
	RAISE INFO 'all refused: %, some: %', failed = tried, tried >= 3;
END $$;
CALL qa.occupied();
DROP TABLE target.t;
SELECT * FROM qa.there;

-- functions with the same arguments
SET ROLE regress_sayiir_other;
CREATE FUNCTION target.sayiir_task_id(name text) RETURNS bytea LANGUAGE sql AS $$ SELECT '\x00'::bytea $$;
RESET ROLE;
CREATE EXTENSION sayiir_pg SCHEMA target;
SELECT * FROM qa.members;
SELECT * FROM qa.there;
SELECT target.sayiir_task_id('a');
DROP FUNCTION target.sayiir_task_id;

-- After that it installs, and belongs to who created it.
CREATE EXTENSION sayiir_pg SCHEMA target;
SELECT DISTINCT pg_get_userbyid(relowner) = current_user FROM pg_class WHERE relnamespace = 'target'::regnamespace;
SELECT DISTINCT pg_get_userbyid(proowner) = current_user FROM pg_proc WHERE pronamespace = 'target'::regnamespace;
DROP EXTENSION sayiir_pg;

-- The seed's tables stay in public and the extension lives beside them: neither touches the other.
CREATE TABLE public.sayiir_workflow_snapshots (instance_id text PRIMARY KEY, status text);
CREATE TABLE public.sayiir_workflow_versions (instance_id text, version int);
CREATE TABLE public.sayiir_workflow_tasks (instance_id text, task_id bytea);
INSERT INTO public.sayiir_workflow_snapshots VALUES ('old', 'InProgress');
CREATE EXTENSION sayiir_pg SCHEMA target;
SELECT target.sayiir_save_snapshot('\x01', 'old', 'InProgress', qa.t('wf'), qa.t('a'));
SELECT target.sayiir_save_task_result('old', qa.t('a'), '\xaa');
SELECT history_version FROM target.sayiir_load_snapshot('old');
SELECT * FROM target.sayiir_list_snapshots();
SELECT target.sayiir_delete_snapshot('old');
TABLE public.sayiir_workflow_snapshots;
SELECT count(*) FROM public.sayiir_workflow_versions;
SELECT count(*) FROM public.sayiir_workflow_tasks;
DROP EXTENSION sayiir_pg;
TABLE public.sayiir_workflow_snapshots;
DROP TABLE public.sayiir_workflow_snapshots, public.sayiir_workflow_versions, public.sayiir_workflow_tasks;

DROP SCHEMA qa CASCADE;
DROP SCHEMA target;
DROP ROLE regress_sayiir_other;
