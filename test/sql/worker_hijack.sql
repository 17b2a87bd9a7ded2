-- Nothing that a caller puts in search_path or pg_temp changes what the functions for workers do, before their first call of a session and after.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

DROP SCHEMA qa CASCADE;
CREATE ROLE regress_sayiir_worker_evil;
CREATE SCHEMA evil AUTHORIZATION regress_sayiir_worker_evil;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO regress_sayiir_worker_evil;
DO $$ BEGIN EXECUTE format('GRANT CREATE, TEMP ON DATABASE %I TO regress_sayiir_worker_evil', current_database()); END $$;
SET ROLE regress_sayiir_worker_evil;
CREATE FUNCTION evil.caught(what text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'HIJACKED by % as %', what, current_user; END $$;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT NULL::pg_catalog.timestamptz FROM evil.caught('now') $$;
CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT NULL::pg_catalog.timestamptz FROM evil.caught('clock_timestamp') $$;
CREATE FUNCTION evil.gen_random_uuid() RETURNS pg_catalog.uuid LANGUAGE sql AS $$ SELECT NULL::pg_catalog.uuid FROM evil.caught('gen_random_uuid') $$;
CREATE FUNCTION evil.cardinality(anyarray) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.caught('cardinality'); END $$;
CREATE FUNCTION evil.nextval(regclass) RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint FROM evil.caught('nextval') $$;
CREATE FUNCTION evil.greatest(timestamptz, timestamptz) RETURNS timestamptz LANGUAGE sql AS $$ SELECT $1 FROM evil.caught('greatest') $$;
CREATE FUNCTION evil.eq(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('text = text') $$;
CREATE FUNCTION evil.eq(bytea, bytea) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('bytea = bytea') $$;
CREATE FUNCTION evil.eq(uuid, uuid) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('uuid = uuid') $$;
CREATE FUNCTION evil.eq(smallint, smallint) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('smallint = smallint') $$;
CREATE FUNCTION evil.eq(text[], text[]) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('text[] <@ text[]') $$;
CREATE FUNCTION evil.eq(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql AS $$ SELECT evil.caught('timestamptz compared') $$;
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.eq);
CREATE OPERATOR evil.= (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = evil.eq);
CREATE OPERATOR evil.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = evil.eq);
CREATE OPERATOR evil.= (LEFTARG = smallint, RIGHTARG = smallint, FUNCTION = evil.eq);
CREATE OPERATOR evil.= (LEFTARG = text[], RIGHTARG = text[], FUNCTION = evil.eq);
CREATE OPERATOR evil.<@ (LEFTARG = text[], RIGHTARG = text[], FUNCTION = evil.eq);
CREATE OPERATOR evil.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = evil.eq);
CREATE OPERATOR evil.> (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = evil.eq);
CREATE OPERATOR evil.= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = evil.eq);
CREATE TYPE evil.uuid AS (x integer);
CREATE TYPE evil.bytea AS (x integer);
CREATE TYPE evil.text AS (x integer);
CREATE DOMAIN evil.timestamptz AS pg_catalog.timestamptz CHECK (evil.caught('domain timestamptz'));
CREATE TABLE evil.sayiir_workflow_snapshots (instance_id pg_catalog.text PRIMARY KEY, status pg_catalog.text);
CREATE TABLE evil.sayiir_workflow_claims (LIKE evil.sayiir_workflow_snapshots);
CREATE TABLE evil.sayiir_workflow_signals (LIKE evil.sayiir_workflow_snapshots);
CREATE TABLE evil.sayiir_workflow_events (LIKE evil.sayiir_workflow_snapshots);
CREATE TABLE evil.sayiir_workflow_ready (LIKE evil.sayiir_workflow_snapshots);
CREATE SEQUENCE evil.sayiir_workflow_events_id_seq;
-- the traps work on a statement that has not been careful
SET search_path = evil, public, pg_catalog;
SELECT gen_random_uuid();
SELECT clock_timestamp() <= clock_timestamp();
RESET search_path;
\set calls :suite /sql/include/worker_calls.sql
-- Cold: a new session, whose first call comes after the traps are set.
\c -
\set VERBOSITY default
\pset format unaligned
\pset tuples_only on
SET ROLE regress_sayiir_worker_evil;
SET search_path = evil, pg_temp, public, pg_catalog;
CREATE TEMP TABLE sayiir_workflow_ready (LIKE evil.sayiir_workflow_snapshots);
CREATE TEMP TABLE sayiir_workflow_claims (LIKE evil.sayiir_workflow_snapshots);
CREATE TEMP TABLE sayiir_workflow_events (LIKE evil.sayiir_workflow_snapshots);
\i :calls
-- Warm, with every sort of path.
SET search_path = pg_temp, evil, pg_catalog, public;
\i :calls
SET search_path = '';
\i :calls
RESET search_path;
\i :calls
-- Planned again under the caller's path.
RESET ROLE;
SET client_min_messages = warning;
ALTER TABLE public.sayiir_workflow_snapshots SET (fillfactor = 60);
ALTER TABLE public.sayiir_workflow_claims SET (fillfactor = 60);
ALTER TABLE public.sayiir_workflow_ready SET (fillfactor = 60);
ALTER TABLE public.sayiir_workflow_events SET (fillfactor = 60);
ALTER TABLE public.sayiir_workflow_signals SET (fillfactor = 60);
SET ROLE regress_sayiir_worker_evil;
SET search_path = evil, pg_temp, public, pg_catalog;
\i :calls
-- a call that fails leaves neither path nor rights behind
SELECT public.sayiir_cancel('nobody');
SHOW search_path;
SELECT current_user;
RESET search_path;
RESET ROLE;
-- the other tables were neither read nor written, the views neither
SELECT (SELECT count(*) FROM evil.sayiir_workflow_claims), (SELECT count(*) FROM pg_temp.sayiir_workflow_ready), (SELECT count(*) FROM public.sayiir_workflow_ready);
GRANT SELECT ON public.sayiir_workflows, public.sayiir_queue TO regress_sayiir_worker_evil;
SET ROLE regress_sayiir_worker_evil;
SET search_path = evil, pg_temp, public, pg_catalog;
SELECT pg_catalog.count(*) FROM public.sayiir_workflows;
SELECT pg_catalog.count(*) FROM public.sayiir_queue;
RESET search_path;
RESET ROLE;
DROP SCHEMA evil CASCADE;
DROP EXTENSION sayiir_pg;
DO $$ BEGIN EXECUTE format('REVOKE ALL ON DATABASE %I FROM regress_sayiir_worker_evil', current_database()); END $$;
DROP OWNED BY regress_sayiir_worker_evil;
DROP ROLE regress_sayiir_worker_evil;
