-- CASES B37: the tables change under the prepared statements of a session: columns added, dropped, moved,
-- rewritten; indexes and statistics; all functions go on, or say cleanly that they cannot.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- Each call in a statement of its own, so that the readers see what the writers have done.
CREATE FUNCTION qa.all_calls() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	call text;
	answer text;
	answers text := '';
BEGIN
	FOREACH call IN ARRAY ARRAY[
		$q$qa.sv('m', p_tags => '{t}', p_err => 'e')$q$,
		$q$qa.sv('m', p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa', p_trace => '00-t', p_wake => 'infinity')$q$,
		$q$qa.sv('m', p_data => '\x02', p_cur => qa.t('b'), p_ev => 1)$q$,
		$q$sayiir_save_task_result('m', qa.t('b'), '\xbb')$q$,
		$q$sayiir_save_task_result('m', qa.t('b'), '\xbb')$q$,
		$q$qa.load('m')$q$, $q$qa.load('m', 1)$q$, $q$sayiir_load_task_result('m', qa.t('b'))$q$,
		$q$(SELECT string_agg(i, ',') FROM sayiir_list_snapshots() i)$q$,
		$q$(SELECT string_agg(i, ',') FROM sayiir_list_snapshots('InProgress', 'a', 1) i)$q$,
		$q$qa.sv('m', 'Failed', '\x09', NULL, p_err => 'oops')$q$,
		$q$(SELECT count(*) FROM sayiir_check_integrity())$q$,
		$q$sayiir_delete_snapshot('m')$q$]
	LOOP
		EXECUTE 'SELECT ' || call INTO answer;
		answers := answers || coalesce(answer, 'NULL') || '; ';
	END LOOP;
	RETURN answers;
END $$;
-- Six rounds make the statements warm: the sixth may use a generic plan.
SELECT DISTINCT qa.all_calls() FROM generate_series(1, 6);

-- The views of the extension stand in the way of changes to the columns they show.
DO $$
DECLARE
	v text;
BEGIN
	FOR v IN SELECT d.objid::regclass::text FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND e.extname = 'sayiir_pg'
		JOIN pg_class c ON d.objid = c.oid AND c.relkind = 'v'
		WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	LOOP
		EXECUTE format('ALTER EXTENSION sayiir_pg DROP VIEW %s', v);
		EXECUTE format('DROP VIEW %s', v);
	END LOOP;
END $$;

-- columns with defaults, in front of nothing and behind all
ALTER TABLE sayiir_workflow_snapshots ADD COLUMN note text DEFAULT 'x', ADD COLUMN n integer NOT NULL DEFAULT 7;
ALTER TABLE sayiir_workflow_versions ADD COLUMN note text DEFAULT 'x';
ALTER TABLE sayiir_workflow_tasks ADD COLUMN note text DEFAULT 'x';
SELECT qa.all_calls();
-- dropped
ALTER TABLE sayiir_workflow_snapshots DROP COLUMN note;
ALTER TABLE sayiir_workflow_versions DROP COLUMN note;
ALTER TABLE sayiir_workflow_tasks DROP COLUMN note;
SELECT qa.all_calls();
-- columns of the extension's own in another order: dropped, and added again at the end
ALTER TABLE sayiir_workflow_snapshots DROP COLUMN trace_parent, DROP COLUMN error, DROP COLUMN task_tags;
ALTER TABLE sayiir_workflow_snapshots ADD COLUMN task_tags text[] NOT NULL DEFAULT '{}', ADD COLUMN error text, ADD COLUMN trace_parent text;
ALTER TABLE sayiir_workflow_versions DROP COLUMN current_task_id, DROP COLUMN data;
ALTER TABLE sayiir_workflow_versions ADD COLUMN data bytea NOT NULL DEFAULT '', ADD COLUMN current_task_id bytea;
ALTER TABLE sayiir_workflow_tasks DROP COLUMN worker_id, DROP COLUMN output;
ALTER TABLE sayiir_workflow_tasks ADD COLUMN output bytea, ADD COLUMN worker_id text;
SELECT qa.all_calls();
-- rewritten, of the same types
ALTER TABLE sayiir_workflow_snapshots ALTER COLUMN status TYPE text, ALTER COLUMN history_version TYPE integer USING history_version + 0;
ALTER TABLE sayiir_workflow_versions ALTER COLUMN data TYPE bytea USING data || '';
SELECT qa.all_calls();
-- storage, statistics, indexes, clustering
ALTER TABLE sayiir_workflow_versions ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX qa_extra ON sayiir_workflow_tasks (status);
ANALYZE sayiir_workflow_snapshots, sayiir_workflow_versions, sayiir_workflow_tasks;
CLUSTER sayiir_workflow_snapshots USING sayiir_workflow_snapshots_pkey;
REINDEX TABLE sayiir_workflow_tasks;
SELECT qa.all_calls();
DROP INDEX qa_extra;
DROP INDEX sayiir_workflow_snapshots_status_idx;
SELECT qa.all_calls();
-- wider types than ours: an answer of the same type all the same
ALTER TABLE sayiir_workflow_snapshots ALTER COLUMN history_version TYPE bigint, ALTER COLUMN completed_task_count TYPE bigint, ALTER COLUMN task_priority TYPE integer;
ALTER TABLE sayiir_workflow_versions ALTER COLUMN version TYPE bigint;
SELECT qa.try('SELECT qa.all_calls()');
ALTER TABLE sayiir_workflow_snapshots ALTER COLUMN history_version TYPE integer, ALTER COLUMN completed_task_count TYPE integer, ALTER COLUMN task_priority TYPE smallint;
ALTER TABLE sayiir_workflow_versions ALTER COLUMN version TYPE integer;
SELECT qa.all_calls();
-- a column that is gone is PostgreSQL's own error, and the session goes on when it is back
ALTER TABLE sayiir_workflow_tasks RENAME COLUMN output TO outcome;
SELECT qa.try($$SELECT sayiir_load_task_result('m', qa.t('a'))$$);
SELECT qa.sv('gone');
SELECT qa.try($$SELECT sayiir_load_task_result('gone', qa.t('a'))$$);
ALTER TABLE sayiir_workflow_tasks RENAME COLUMN outcome TO output;
SELECT sayiir_delete_snapshot('gone');
SELECT qa.all_calls();

-- The plans stay warm over plan invalidation of other kinds, and over DISCARD.
DISCARD PLANS;
SELECT qa.all_calls();
DISCARD ALL;
SET client_min_messages = warning;
SELECT qa.all_calls();
SET plan_cache_mode = force_generic_plan;
SELECT qa.all_calls();
SET plan_cache_mode = force_custom_plan;
SELECT qa.all_calls();

DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
