-- Installation: into schemas of any name, out of them without a trace, and again in one session.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa

-- Calls every function of the extension in that schema and says what came back.
CREATE FUNCTION qa.smoke(s text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text := '';
	part text;
	call text;
BEGIN
	FOREACH call IN ARRAY ARRAY[
		'%1$I.sayiir_save_snapshot(''\x01'', ''smoke'', ''InProgress'', qa.t(''wf''), qa.t(''a''))',
		'%1$I.sayiir_save_snapshots(''{"\\x01"}'', ''{batch}'', ''{Completed}'', ARRAY[qa.t(''wf'')])',
		'%1$I.sayiir_save_task_result(''smoke'', qa.t(''a''), ''\xaa'')',
		'(SELECT l.history_version || '' '' || l.data || '' '' || l.outputs::text FROM %1$I.sayiir_load_snapshot(''smoke'') l)',
		'%1$I.sayiir_load_task_result(''smoke'', qa.t(''a''))',
		'(SELECT string_agg(l, '','') FROM %1$I.sayiir_list_snapshots() l)',
		'%1$I.sayiir_task_id(''a'') = qa.t(''a'')',
		'(SELECT h.instance_id FROM %1$I.sayiir_decode_hint(qa.hint(''smoke'', qa.t(''a''), qa.t(''wf''), ''{}'')) h)',
		'(SELECT w::text FROM %1$I.sayiir_wakeup_stats() w)',
		'(SELECT count(*) FROM %1$I.sayiir_check_integrity())',
		'(SELECT count(*) FROM %1$I.sayiir_workflow_snapshots, %1$I.sayiir_workflow_versions, %1$I.sayiir_workflow_tasks)',
		'%1$I.sayiir_delete_snapshot(''smoke'')',
		'(SELECT count(*) FROM %1$I.sayiir_list_snapshots())']
	LOOP
		EXECUTE 'SELECT ' || format(call, s) INTO part;
		r := r || coalesce(part, 'NULL') || ';';
	END LOOP;
	RETURN r;
END $$;
CREATE VIEW qa.traces AS
	SELECT 'relation ' || relname AS t FROM pg_class WHERE relname LIKE 'sayiir%'
	UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE proname LIKE 'sayiir%'
	UNION ALL SELECT 'type ' || typname FROM pg_type WHERE typname LIKE '%sayiir%';

-- In public, as most will have it; dropping it leaves nothing behind.
CREATE EXTENSION sayiir_pg;
SELECT qa.smoke('public');
SELECT count(*) > 10 FROM qa.traces;
DROP EXTENSION sayiir_pg;
SELECT * FROM qa.traces;

-- Created again in the same session, whose statements were prepared against the tables before.
CREATE EXTENSION sayiir_pg;
SELECT qa.smoke('public');
SELECT count(*) FROM sayiir_workflow_snapshots;
-- in one transaction, too
BEGIN;
DROP EXTENSION sayiir_pg;
CREATE EXTENSION sayiir_pg;
SELECT qa.smoke('public');
ROLLBACK;
SELECT qa.smoke('public');
BEGIN;
DROP EXTENSION sayiir_pg;
CREATE EXTENSION sayiir_pg;
SELECT qa.smoke('public');
COMMIT;
SELECT qa.smoke('public');

-- Every member has a comment, and so has every column, index and constraint of its tables.
SELECT pg_describe_object(o.classid, o.objid, o.objsubid) AS uncommented
FROM (
	WITH member AS (SELECT classid, objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND classid <> 'pg_type'::regclass -- row types of the tables, members from PostgreSQL 17 on
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sayiir_pg'))
	SELECT classid, objid, 0 AS objsubid FROM member
	UNION ALL SELECT 'pg_class'::regclass, attrelid, attnum FROM pg_attribute JOIN member ON attrelid = objid
		JOIN pg_class c ON c.oid = attrelid AND c.relkind = 'r' WHERE attnum > 0 AND NOT attisdropped
	UNION ALL SELECT 'pg_class'::regclass, indexrelid, 0 FROM pg_index JOIN member ON indrelid = objid
	UNION ALL SELECT 'pg_constraint'::regclass, c.oid, 0 FROM pg_constraint c JOIN member ON conrelid = objid WHERE c.contype <> 'n'
	UNION ALL SELECT 'pg_extension'::regclass, oid, 0 FROM pg_extension WHERE extname = 'sayiir_pg') o
WHERE NOT EXISTS (SELECT FROM pg_description d WHERE d.classoid = o.classid AND d.objoid = o.objid AND d.objsubid = o.objsubid
	AND d.description <> '')
ORDER BY 1;

-- pg_dump carries the rows of every table, all of them.
SELECT c.relname, coalesce(x.condition, 'NOT MARKED') AS condition FROM pg_class c
JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
JOIN pg_extension e ON e.extname = 'sayiir_pg' AND d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
LEFT JOIN LATERAL unnest(e.extconfig, e.extcondition) AS x(rel, condition) ON x.rel = c.oid
WHERE c.relkind IN ('r', 'S') AND x.condition IS DISTINCT FROM '';

-- Nothing else is needed (CASES B33), and it can be moved.
SELECT extrelocatable, (SELECT count(*) FROM pg_depend d WHERE d.classid = 'pg_extension'::regclass AND d.objid = e.oid
	AND d.refclassid = 'pg_extension'::regclass) AS other_extensions FROM pg_extension e WHERE extname = 'sayiir_pg';

-- A role that may create objects, but is no superuser, gets PostgreSQL's own refusal.
DROP EXTENSION sayiir_pg;
CREATE ROLE regress_sayiir_owner;
CREATE SCHEMA owned AUTHORIZATION regress_sayiir_owner;
SET ROLE regress_sayiir_owner;
CREATE EXTENSION sayiir_pg SCHEMA owned;
RESET ROLE;
SELECT * FROM qa.traces;
DROP SCHEMA owned;
DROP ROLE regress_sayiir_owner;

-- Temporary tables of the same names do not mislead the script.
CREATE TEMP TABLE sayiir_workflow_snapshots (x int);
CREATE TEMP TABLE sayiir_workflow_tasks (x int);
CREATE EXTENSION sayiir_pg;
SELECT count(*) >= 3, bool_and(c.relnamespace = 'public'::regnamespace) FROM pg_class c JOIN pg_extension e ON c.oid = ANY (e.extconfig) WHERE e.extname = 'sayiir_pg';
SELECT obj_description('public.sayiir_workflow_snapshots'::regclass, 'pg_class') IS NOT NULL,
	obj_description('pg_temp.sayiir_workflow_snapshots'::regclass, 'pg_class') IS NULL;
SELECT qa.smoke('public');
DROP TABLE pg_temp.sayiir_workflow_snapshots, pg_temp.sayiir_workflow_tasks;
DROP EXTENSION sayiir_pg;

-- Schemas with names that are hard to quote (CASES B32). Each is made, used, and removed.
CREATE PROCEDURE qa.odd(s text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE SCHEMA %I', s);
	EXECUTE format('CREATE EXTENSION sayiir_pg SCHEMA %I', s);
	RAISE INFO '% -> %', s, qa.smoke(s);
	EXECUTE 'DROP EXTENSION sayiir_pg';
	EXECUTE format('DROP SCHEMA %I', s);
END $$;
CALL qa.odd('My Schema');
CALL qa.odd('double"quote');
CALL qa.odd('it''s');
CALL qa.odd('$body$');
CALL qa.odd('back\slash');
CALL qa.odd('@extschema@');
CALL qa.odd('per%cent %s %I');
CALL qa.odd('schlüssel ключ');
CALL qa.odd('select');
CALL qa.odd('a.b, c');
CALL qa.odd(E'new\nline');
CALL qa.odd(repeat('n', 63));
CALL qa.odd(';drop schema public cascade;--');
SELECT * FROM qa.traces;

-- Without the schema in anybody's search_path.
SET search_path = pg_catalog;
CREATE SCHEMA "Not In The Path";
CREATE EXTENSION sayiir_pg SCHEMA "Not In The Path";
SELECT "Not In The Path".sayiir_save_snapshot('\x01', 'i', 'InProgress', sha256('wf'));
SELECT history_version FROM "Not In The Path".sayiir_load_snapshot('i');
RESET search_path;
DROP SCHEMA "Not In The Path" CASCADE;
SELECT * FROM qa.traces;

DROP SCHEMA qa CASCADE;
