/* sayiir_pg--1.0.sql: tables and functions of the workflow store */

-- complain if the script is sourced in psql instead of CREATE EXTENSION
\echo Use "CREATE EXTENSION sayiir_pg" to load this file. \quit

/*
 * No object is made with IF NOT EXISTS or OR REPLACE: something of the same
 * name that is already there is not ours, and the installation has to fail.
 * The script does without the macro for the target schema, so that it
 * installs into a schema of any name; CREATE EXTENSION has put that schema in
 * front of search_path.
 */

---------------------------------------------------------------------------
-- Tables
---------------------------------------------------------------------------

CREATE TABLE sayiir_workflow_snapshots (
	instance_id text COLLATE "C" NOT NULL,
	status text NOT NULL,
	definition_hash bytea NOT NULL,
	current_task_id bytea,
	completed_task_count integer NOT NULL DEFAULT 0,
	error text,
	position_kind text,
	delay_wake_at timestamptz,
	trace_parent text,
	task_priority smallint NOT NULL DEFAULT 3,
	task_tags text[] NOT NULL DEFAULT '{}',
	history_version integer NOT NULL DEFAULT 1,
	data_hash bytea NOT NULL,
	started_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	completed_at timestamptz,
	updated_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	CONSTRAINT sayiir_workflow_snapshots_pkey PRIMARY KEY (instance_id),
	CONSTRAINT sayiir_workflow_snapshots_check CHECK (
		status IN ('InProgress', 'Paused', 'Completed', 'Failed', 'Cancelled')
		AND task_priority BETWEEN 1 AND 5)
)
-- Every checkpoint updates one row of this table: room for the next version
-- on the same page keeps the update heap-only.
WITH (fillfactor = 70);

COMMENT ON TABLE sayiir_workflow_snapshots IS 'one row per workflow instance: where it stands now';
COMMENT ON COLUMN sayiir_workflow_snapshots.instance_id IS 'name of the workflow instance, 1 to 256 bytes';
COMMENT ON COLUMN sayiir_workflow_snapshots.status IS 'InProgress, Paused, or terminal: Completed, Failed, Cancelled';
COMMENT ON COLUMN sayiir_workflow_snapshots.definition_hash IS 'SHA-256 of the workflow definition';
COMMENT ON COLUMN sayiir_workflow_snapshots.current_task_id IS 'task to run next, SHA-256 of its name; NULL at another place';
COMMENT ON COLUMN sayiir_workflow_snapshots.completed_task_count IS 'number of tasks completed so far';
COMMENT ON COLUMN sayiir_workflow_snapshots.error IS 'error text of a failed workflow';
COMMENT ON COLUMN sayiir_workflow_snapshots.position_kind IS 'kind of place the workflow is at: AtTask, AtFork, AtDelay and so on';
COMMENT ON COLUMN sayiir_workflow_snapshots.delay_wake_at IS 'not to be continued before this instant';
COMMENT ON COLUMN sayiir_workflow_snapshots.trace_parent IS 'W3C traceparent of the last save';
COMMENT ON COLUMN sayiir_workflow_snapshots.task_priority IS 'priority of the current task, 1 (most urgent) to 5';
COMMENT ON COLUMN sayiir_workflow_snapshots.task_tags IS 'tags a worker must have for the current task';
COMMENT ON COLUMN sayiir_workflow_snapshots.history_version IS 'newest version in the history';
COMMENT ON COLUMN sayiir_workflow_snapshots.data_hash IS 'SHA-256 of the newest snapshot';
COMMENT ON COLUMN sayiir_workflow_snapshots.started_at IS 'transaction time of the first save';
COMMENT ON COLUMN sayiir_workflow_snapshots.completed_at IS 'transaction time of the save that ended the workflow';
COMMENT ON COLUMN sayiir_workflow_snapshots.updated_at IS 'transaction time of the newest version';
COMMENT ON CONSTRAINT sayiir_workflow_snapshots_pkey ON sayiir_workflow_snapshots IS 'one row per workflow instance';
COMMENT ON INDEX sayiir_workflow_snapshots_pkey IS 'instances in the order of their names';
COMMENT ON CONSTRAINT sayiir_workflow_snapshots_check ON sayiir_workflow_snapshots IS 'known status, priority 1 to 5';

-- For sayiir_list_snapshots with a status. The status of a running workflow
-- stays the same from save to save, so the index does not stand in the way of
-- heap-only updates.
CREATE INDEX sayiir_workflow_snapshots_status_idx ON sayiir_workflow_snapshots (status, instance_id);
COMMENT ON INDEX sayiir_workflow_snapshots_status_idx IS 'instances of one status in the order of their names';

CREATE TABLE sayiir_workflow_snapshot_history (
	instance_id text COLLATE "C" NOT NULL,
	version integer NOT NULL,
	status text NOT NULL,
	current_task_id bytea,
	data bytea NOT NULL,
	data_hash bytea NOT NULL,
	created_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	CONSTRAINT sayiir_workflow_snapshot_history_pkey PRIMARY KEY (instance_id, version),
	CONSTRAINT sayiir_workflow_snapshot_history_check CHECK (
		status IN ('InProgress', 'Paused', 'Completed', 'Failed', 'Cancelled'))
);

COMMENT ON TABLE sayiir_workflow_snapshot_history IS 'one row per checkpoint: the snapshot as it was saved';
COMMENT ON COLUMN sayiir_workflow_snapshot_history.instance_id IS 'name of the workflow instance';
COMMENT ON COLUMN sayiir_workflow_snapshot_history.version IS 'number of the checkpoint, from 1, without a hole';
COMMENT ON COLUMN sayiir_workflow_snapshot_history.status IS 'status that this checkpoint saved';
COMMENT ON COLUMN sayiir_workflow_snapshot_history.current_task_id IS 'current task that this checkpoint saved';
COMMENT ON COLUMN sayiir_workflow_snapshot_history.data IS 'the snapshot, byte for byte';
COMMENT ON COLUMN sayiir_workflow_snapshot_history.data_hash IS 'SHA-256 of data';
COMMENT ON COLUMN sayiir_workflow_snapshot_history.created_at IS 'transaction time of the checkpoint';
COMMENT ON CONSTRAINT sayiir_workflow_snapshot_history_pkey ON sayiir_workflow_snapshot_history IS 'one row per checkpoint';
COMMENT ON INDEX sayiir_workflow_snapshot_history_pkey IS 'checkpoints of an instance in their order';
COMMENT ON CONSTRAINT sayiir_workflow_snapshot_history_check ON sayiir_workflow_snapshot_history IS 'known status';

CREATE TABLE sayiir_workflow_tasks (
	instance_id text COLLATE "C" NOT NULL,
	task_id bytea NOT NULL,
	status text NOT NULL,
	worker_id text,
	started_at timestamptz,
	completed_at timestamptz,
	error text,
	output bytea,
	completed_version integer,
	CONSTRAINT sayiir_workflow_tasks_pkey PRIMARY KEY (instance_id, task_id),
	CONSTRAINT sayiir_workflow_tasks_check CHECK (
		status IN ('pending', 'active', 'completed', 'failed', 'cancelled'))
)
-- A task row is updated once, when the task ends.
WITH (fillfactor = 85);

COMMENT ON TABLE sayiir_workflow_tasks IS 'one row per task of a workflow instance: its life and its output';
COMMENT ON COLUMN sayiir_workflow_tasks.instance_id IS 'name of the workflow instance';
COMMENT ON COLUMN sayiir_workflow_tasks.task_id IS 'SHA-256 of the name of the task';
COMMENT ON COLUMN sayiir_workflow_tasks.status IS 'pending, active, completed, failed or cancelled';
COMMENT ON COLUMN sayiir_workflow_tasks.worker_id IS 'worker whose live claim covered the task when it became active';
COMMENT ON COLUMN sayiir_workflow_tasks.started_at IS 'transaction time when the task first became active';
COMMENT ON COLUMN sayiir_workflow_tasks.completed_at IS 'transaction time when the task ended';
COMMENT ON COLUMN sayiir_workflow_tasks.error IS 'error text of the save that ended the workflow with this task active';
COMMENT ON COLUMN sayiir_workflow_tasks.output IS 'output of a completed task';
COMMENT ON COLUMN sayiir_workflow_tasks.completed_version IS 'history version that completed the task with this output';
COMMENT ON CONSTRAINT sayiir_workflow_tasks_pkey ON sayiir_workflow_tasks IS 'one row per task';
COMMENT ON INDEX sayiir_workflow_tasks_pkey IS 'tasks of an instance';
COMMENT ON CONSTRAINT sayiir_workflow_tasks_check ON sayiir_workflow_tasks IS 'known status';

-- Rows are the user's: pg_dump carries them. One statement a table; two calls
-- in one statement would update the same catalog row twice.
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_snapshots', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_snapshot_history', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_tasks', '');

---------------------------------------------------------------------------
-- Functions
--
-- Each runs with the rights of the extension's owner and a pinned
-- search_path, so that a caller needs USAGE on the schema and EXECUTE here,
-- and nothing that a caller sets changes what runs. None is STRICT: a NULL
-- means the default, or is refused.
---------------------------------------------------------------------------

CREATE FUNCTION sayiir_save_snapshot(
	data bytea,
	instance_id text,
	status text,
	definition_hash bytea,
	current_task_id bytea = NULL,
	completed_task_count integer = NULL,
	error text = NULL,
	position_kind text = NULL,
	delay_wake_at timestamptz = NULL,
	trace_parent text = NULL,
	task_priority integer = 3,
	task_tags text[] = '{}',
	last_completed_task_id bytea = NULL,
	last_completed_output bytea = NULL,
	expected_version integer = NULL)
RETURNS integer
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_save_snapshot';
REVOKE ALL ON FUNCTION sayiir_save_snapshot(bytea, text, text, bytea, bytea, integer, text, text, timestamptz, text,
	integer, text[], bytea, bytea, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_save_snapshot(bytea, text, text, bytea, bytea, integer, text, text, timestamptz, text,
	integer, text[], bytea, bytea, integer)
IS 'checkpoint a workflow instance: returns the version written, NULL when it had ended';

CREATE FUNCTION sayiir_save_snapshot(
	data bytea,
	trace_parent text = NULL,
	expected_version integer = NULL)
RETURNS integer
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_save_json_snapshot';
REVOKE ALL ON FUNCTION sayiir_save_snapshot(bytea, text, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_save_snapshot(bytea, text, integer)
IS 'checkpoint a workflow instance from one of Sayiir''s own JSON snapshots, which says all else';

CREATE FUNCTION sayiir_save_task_result(
	instance_id text,
	task_id bytea,
	output bytea,
	data bytea = NULL,
	expected_version integer = NULL)
RETURNS integer
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_save_task_result';
REVOKE ALL ON FUNCTION sayiir_save_task_result(text, bytea, bytea, bytea, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_save_task_result(text, bytea, bytea, bytea, integer)
IS 'store the output of one task as the next version: returns that version, NULL when the instance had ended';

CREATE FUNCTION sayiir_load_snapshot(
	instance_id text,
	version integer = NULL)
RETURNS TABLE (
	status text,
	history_version integer,
	data bytea,
	data_hash bytea,
	trace_parent text,
	definition_hash bytea,
	current_task_id bytea,
	completed_task_count integer,
	error text,
	task_ids bytea[],
	outputs bytea[],
	updated_at timestamptz)
LANGUAGE C STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_load_snapshot';
REVOKE ALL ON FUNCTION sayiir_load_snapshot(text, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_load_snapshot(text, integer)
IS 'one row: the newest snapshot of an instance, or that of a version, with the outputs of its completed tasks';

CREATE FUNCTION sayiir_load_task_result(
	instance_id text,
	task_id bytea)
RETURNS bytea
LANGUAGE C STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_load_task_result';
REVOKE ALL ON FUNCTION sayiir_load_task_result(text, bytea) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_load_task_result(text, bytea)
IS 'output of a completed task, NULL when it is not completed';

CREATE FUNCTION sayiir_delete_snapshot(
	instance_id text)
RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_delete_snapshot';
REVOKE ALL ON FUNCTION sayiir_delete_snapshot(text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_delete_snapshot(text)
IS 'delete an instance with its history and its tasks';

CREATE FUNCTION sayiir_list_snapshots(
	status text = NULL,
	after text = NULL,
	max_rows integer = NULL)
RETURNS SETOF text
LANGUAGE C STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_list_snapshots';
REVOKE ALL ON FUNCTION sayiir_list_snapshots(text, text, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_list_snapshots(text, text, integer)
IS 'instance ids in the order of collation C, for keyset pagination';

CREATE FUNCTION sayiir_check_integrity(
	instance_id text = NULL)
RETURNS TABLE (
	violated_by text,
	invariant text,
	detail text)
LANGUAGE C STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_check_integrity';
REVOKE ALL ON FUNCTION sayiir_check_integrity(text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_check_integrity(text)
IS 'one row per violated invariant of the store, of one instance or of all: none on a sound store';

CREATE FUNCTION sayiir_task_id(
	name text)
RETURNS bytea
LANGUAGE C IMMUTABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_task_id';
REVOKE ALL ON FUNCTION sayiir_task_id(text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_task_id(text)
IS 'id of the task of this name: SHA-256 of the name in UTF-8';

CREATE FUNCTION sayiir_decode_hint(
	payload text)
RETURNS TABLE (
	instance_id text,
	task_id bytea,
	definition_hash bytea,
	tags text[])
LANGUAGE C STABLE PARALLEL SAFE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_decode_hint';
REVOKE ALL ON FUNCTION sayiir_decode_hint(text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_decode_hint(text)
IS 'what a notification on channel sayiir_task_ready says; no row for an empty payload';
