-- CASES B32: the extension moves to another schema, and its schema gets another name, while the
-- statements of this session are warm. Each call has to find the tables beside its function.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE SCHEMA first;
CREATE EXTENSION sayiir_pg SCHEMA first;

CREATE PROCEDURE qa.use(s text) LANGUAGE plpgsql AS $$
DECLARE
	v integer;
	r integer;
	l record;
	o bytea;
	ids text;
	n bigint;
BEGIN
	EXECUTE format('SELECT %I.sayiir_save_snapshot($1, ''i'', ''InProgress'', qa.t(''wf''), qa.t(''a''))', s) INTO v USING convert_to(s, 'UTF8');
	EXECUTE format('SELECT %I.sayiir_save_task_result(''i'', qa.t(''b''), $1)', s) INTO r USING convert_to(s, 'UTF8');
	EXECUTE format('SELECT * FROM %I.sayiir_load_snapshot(''i'')', s) INTO l;
	EXECUTE format('SELECT %I.sayiir_load_task_result(''i'', qa.t(''b''))', s) INTO o;
	EXECUTE format('SELECT string_agg(x, '','') FROM %I.sayiir_list_snapshots() x', s) INTO ids;
	EXECUTE format('SELECT count(*) FROM %I.sayiir_check_integrity()', s) INTO n;
	RAISE INFO '%: saved v% v%, loaded v% %, task %, list %, unsound %', s, v, r,
		l.history_version, convert_from(l.data, 'UTF8'), convert_from(o, 'UTF8'), ids, n;
END $$;

-- twice each: the first call prepares, the second uses what was prepared
CALL qa.use('first');
CALL qa.use('first');
CREATE SCHEMA "se""cond";
ALTER EXTENSION sayiir_pg SET SCHEMA "se""cond";
CALL qa.use('se"cond');
CALL qa.use('se"cond');
-- the name changes, the schema stays the same
ALTER SCHEMA "se""cond" RENAME TO third;
CALL qa.use('third');
CALL qa.use('third');

-- The old names come back with other tables in them: they are nobody's business.
CREATE SCHEMA "se""cond";
CREATE TABLE "se""cond".sayiir_workflow_snapshots (instance_id text);
CREATE TABLE first.sayiir_workflow_snapshots (instance_id text);
CALL qa.use('third');
TABLE "se""cond".sayiir_workflow_snapshots;
TABLE first.sayiir_workflow_snapshots;

-- The names of two schemas change places under warm statements.
ALTER SCHEMA first RENAME TO swap;
ALTER SCHEMA third RENAME TO first;
ALTER SCHEMA swap RENAME TO third;
CALL qa.use('first');
TABLE third.sayiir_workflow_snapshots;

-- A move that is rolled back.
BEGIN;
ALTER EXTENSION sayiir_pg SET SCHEMA public;
CALL qa.use('public');
ROLLBACK;
CALL qa.use('first');

-- Within one transaction, back and forth.
BEGIN;
ALTER EXTENSION sayiir_pg SET SCHEMA public;
CALL qa.use('public');
ALTER EXTENSION sayiir_pg SET SCHEMA first;
CALL qa.use('first');
COMMIT;

-- All that was saved is in one store.
SELECT count(*), max(history_version) FROM first.sayiir_workflow_snapshots;
SELECT count(*), max(version) FROM first.sayiir_workflow_versions;

DROP EXTENSION sayiir_pg;
DROP SCHEMA first, third, "se""cond" CASCADE;
DROP SCHEMA qa CASCADE;
