-- Nothing that a caller puts in search_path or pg_temp changes what a function does: tables, functions,
-- operators, casts and types of the same names, before the first call of a session and after it.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;
CREATE ROLE regress_sayiir_evil;
CREATE SCHEMA evil AUTHORIZATION regress_sayiir_evil;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO regress_sayiir_evil;
DO $$ BEGIN EXECUTE format('GRANT CREATE, TEMP ON DATABASE %I TO regress_sayiir_evil', current_database()); END $$;

SET ROLE regress_sayiir_evil;
-- Whatever of this runs says so, and with whose rights.
CREATE FUNCTION evil.caught(what text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'HIJACKED by % as %', what, current_user;
END $$;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT NULL::timestamptz FROM evil.caught('now') $$;
CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT NULL::timestamptz FROM evil.caught('clock_timestamp') $$;
CREATE FUNCTION evil.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT $1 FROM evil.caught('sha256') $$;
CREATE FUNCTION evil.digest(bytea, text) RETURNS bytea LANGUAGE sql AS $$ SELECT $1 FROM evil.caught('digest') $$;
CREATE FUNCTION evil.pg_notify(text, text) RETURNS void LANGUAGE sql AS $$ SELECT evil.caught('pg_notify') $$;
CREATE FUNCTION evil.array_agg(anynonarray) RETURNS anyarray LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.caught('array_agg'); END $$;
CREATE FUNCTION evil.octet_length(bytea) RETURNS integer LANGUAGE sql AS $$ SELECT 1 FROM evil.caught('octet_length') $$;
CREATE FUNCTION evil.length(bytea) RETURNS integer LANGUAGE sql AS $$ SELECT 1 FROM evil.caught('length') $$;
CREATE FUNCTION evil.coalesce(bytea, bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT $1 FROM evil.caught('coalesce') $$;
CREATE FUNCTION evil.sum(bigint) RETURNS numeric LANGUAGE sql AS $$ SELECT 1.0 FROM evil.caught('sum') $$;
CREATE FUNCTION evil.eq(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('text = text') $$;
CREATE FUNCTION evil.eq(bytea, bytea) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('bytea = bytea') $$;
CREATE FUNCTION evil.eq(integer, integer) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('integer = integer') $$;
CREATE FUNCTION evil.gt(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('text > text') $$;
CREATE FUNCTION evil.le(integer, integer) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('integer <= integer') $$;
CREATE FUNCTION evil.plus(integer, integer) RETURNS integer LANGUAGE sql AS $$ SELECT 1 FROM evil.caught('integer + integer') $$;
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.eq);
CREATE OPERATOR evil.= (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = evil.eq);
CREATE OPERATOR evil.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = evil.eq);
CREATE OPERATOR evil.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.eq);
CREATE OPERATOR evil.<> (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = evil.eq);
CREATE OPERATOR evil.<> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = evil.eq);
CREATE OPERATOR evil.> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.gt);
CREATE OPERATOR evil.> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = evil.le);
CREATE OPERATOR evil.<= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = evil.le);
CREATE OPERATOR evil.< (LEFTARG = integer, RIGHTARG = integer, FUNCTION = evil.le);
CREATE OPERATOR evil.+ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = evil.plus);
CREATE OPERATOR evil.- (LEFTARG = integer, RIGHTARG = integer, FUNCTION = evil.plus);
-- types with the names of core's, and casts from and to them
CREATE TYPE evil.bytea AS (x integer);
CREATE TYPE evil.text AS (x integer);
CREATE DOMAIN evil.int4 AS pg_catalog.int4 CHECK (evil.caught('domain int4'));
CREATE DOMAIN evil.timestamptz AS pg_catalog.timestamptz CHECK (evil.caught('domain timestamptz'));
CREATE FUNCTION evil.to_evil(pg_catalog.bytea) RETURNS evil.bytea LANGUAGE sql AS $$ SELECT ROW(1)::evil.bytea FROM evil.caught('cast from bytea') $$;
CREATE CAST (pg_catalog.bytea AS evil.bytea) WITH FUNCTION evil.to_evil(pg_catalog.bytea) AS IMPLICIT;
-- tables of the same names
CREATE TABLE evil.sayiir_workflow_snapshots (instance_id pg_catalog.text PRIMARY KEY, status pg_catalog.text DEFAULT 'Completed', history_version integer DEFAULT 42);
CREATE TABLE evil.sayiir_workflow_versions (LIKE evil.sayiir_workflow_snapshots);
CREATE TABLE evil.sayiir_workflow_tasks (LIKE evil.sayiir_workflow_snapshots);
INSERT INTO evil.sayiir_workflow_snapshots VALUES ('h', 'Completed', 42);
-- functions with the names and arguments of the extension's
CREATE FUNCTION evil.sayiir_task_id(name pg_catalog.text) RETURNS pg_catalog.bytea LANGUAGE sql AS $$ SELECT NULL::pg_catalog.bytea FROM evil.caught('sayiir_task_id') $$;

-- The traps work on a statement that has not been careful.
SET search_path = evil, public, pg_catalog;
SELECT now();
SELECT sha256('\x00'::pg_catalog.bytea);
SELECT 1 = 1;
RESET search_path;

-- The calls, written so that they themselves need nothing from the path.
\set calls :suite /sql/include/calls.sql

-- Warm: this session has called before.
\i :calls
SET search_path = evil, public, pg_catalog;
\i :calls
-- pg_temp comes first by itself, for tables and types
CREATE TEMP TABLE sayiir_workflow_snapshots (LIKE evil.sayiir_workflow_snapshots);
CREATE TEMP TABLE sayiir_workflow_versions (LIKE evil.sayiir_workflow_snapshots);
CREATE TEMP TABLE sayiir_workflow_tasks (LIKE evil.sayiir_workflow_snapshots);
\i :calls
SET search_path = pg_temp, evil, pg_catalog, public;
\i :calls
-- calls that fail do not leave the path, or the rights, behind
SELECT public.sayiir_delete_snapshot('h');
SHOW search_path;
SELECT current_user;
RESET search_path;

-- Cold: a new session, whose first call comes after the traps are set.
\c -
\set VERBOSITY default
SET client_min_messages = warning;
SET ROLE regress_sayiir_evil;
SET search_path = evil, pg_temp, public, pg_catalog;
CREATE TEMP TABLE sayiir_workflow_snapshots (LIKE evil.sayiir_workflow_snapshots);
CREATE TEMP TABLE sayiir_workflow_versions (LIKE evil.sayiir_workflow_snapshots);
CREATE TEMP TABLE sayiir_workflow_tasks (LIKE evil.sayiir_workflow_snapshots);
CREATE TEMP TABLE pg_class (LIKE evil.sayiir_workflow_snapshots);
\i :calls
-- paths that name nothing, and odd names
SET search_path = '';
\i :calls
SET search_path = "$user", "no such schema", """; DROP";
\i :calls
RESET search_path;

-- Invalidated meanwhile: statements are planned again under the caller's path.
SET search_path = evil, public, pg_catalog;
RESET ROLE;
SET search_path = evil, public, pg_catalog;
ALTER TABLE public.sayiir_workflow_snapshots SET (fillfactor = 60);
ALTER TABLE public.sayiir_workflow_versions SET (fillfactor = 60);
ALTER TABLE public.sayiir_workflow_tasks SET (fillfactor = 60);
SET ROLE regress_sayiir_evil;
\i :calls
RESET ROLE;
RESET search_path;

-- The other tables were neither read nor written.
TABLE evil.sayiir_workflow_snapshots;
SELECT count(*) FROM evil.sayiir_workflow_versions;
SELECT count(*) FROM pg_temp.sayiir_workflow_snapshots;
SELECT count(*) FROM public.sayiir_workflow_snapshots;

DROP SCHEMA evil CASCADE;
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
DO $$ BEGIN EXECUTE format('REVOKE ALL ON DATABASE %I FROM regress_sayiir_evil', current_database()); END $$;
DROP OWNED BY regress_sayiir_evil;
DROP ROLE regress_sayiir_evil;
