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
-- What the CHECK constraints say.  A constraint is read and planned anew by
-- every statement that writes, so each is one call: written out, they cost a
-- fifth of a save.
---------------------------------------------------------------------------

CREATE FUNCTION sayiir_is_status(status text)
RETURNS boolean
LANGUAGE C IMMUTABLE PARALLEL SAFE STRICT
AS 'MODULE_PATHNAME', 'sayiir_is_status';
REVOKE ALL ON FUNCTION sayiir_is_status(text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_is_status(text)
IS 'whether it is InProgress, Paused, Completed, Failed or Cancelled; NULL for NULL';

CREATE FUNCTION sayiir_is_snapshot(status text, task_priority integer)
RETURNS boolean
LANGUAGE C IMMUTABLE PARALLEL SAFE STRICT
AS 'MODULE_PATHNAME', 'sayiir_is_snapshot';
REVOKE ALL ON FUNCTION sayiir_is_snapshot(text, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_is_snapshot(text, integer)
IS 'whether the status is known and the priority 1 to 5; NULL for NULL';

CREATE FUNCTION sayiir_is_task_status(status text)
RETURNS boolean
LANGUAGE C IMMUTABLE PARALLEL SAFE STRICT
AS 'MODULE_PATHNAME', 'sayiir_is_task_status';
REVOKE ALL ON FUNCTION sayiir_is_task_status(text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_is_task_status(text)
IS 'whether it is pending, active, completed, failed or cancelled; NULL for NULL';

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
	awaited_signal text,
	waiting_since timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
	position_hash bigint,
	oldest_version integer NOT NULL DEFAULT 1,
	CONSTRAINT sayiir_workflow_snapshots_pkey PRIMARY KEY (instance_id),
	CONSTRAINT sayiir_workflow_snapshots_check CHECK (sayiir_is_snapshot(status, task_priority))
)
-- Every checkpoint updates one row of this table: room for the next versions
-- on the same page keeps all of these updates heap-only.
WITH (fillfactor = 50);

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
COMMENT ON COLUMN sayiir_workflow_snapshots.awaited_signal IS 'name of the event that the workflow is parked for';
COMMENT ON COLUMN sayiir_workflow_snapshots.waiting_since IS 'clock time of the save that brought the workflow to its present place';
COMMENT ON COLUMN sayiir_workflow_snapshots.position_hash IS 'of the position inside one of Sayiir''s own snapshots: tells whether a save moves the workflow; NULL for an opaque snapshot';
COMMENT ON COLUMN sayiir_workflow_snapshots.oldest_version IS 'oldest version in the history: more than 1 once it was pruned';
COMMENT ON CONSTRAINT sayiir_workflow_snapshots_pkey ON sayiir_workflow_snapshots IS 'one row per workflow instance';
COMMENT ON INDEX sayiir_workflow_snapshots_pkey IS 'instances in the order of their names';
COMMENT ON CONSTRAINT sayiir_workflow_snapshots_check ON sayiir_workflow_snapshots IS 'known status, priority 1 to 5';

-- For sayiir_list_snapshots with a status. The status of a running workflow
-- stays the same from save to save, so the index does not stand in the way of
-- heap-only updates.
CREATE INDEX sayiir_workflow_snapshots_status_idx ON sayiir_workflow_snapshots (status, instance_id);
COMMENT ON INDEX sayiir_workflow_snapshots_status_idx IS 'instances of one status in the order of their names';

-- For sayiir_delete_terminal. Only the save that ends a workflow has something to do with it.
CREATE INDEX sayiir_workflow_snapshots_completed_at_idx ON sayiir_workflow_snapshots (completed_at)
	WHERE completed_at IS NOT NULL;
COMMENT ON INDEX sayiir_workflow_snapshots_completed_at_idx IS 'ended instances in the order in which they ended';

/*
 * The history as it is stored. It is read through sayiir_workflow_snapshot_history,
 * which gives the snapshots themselves.
 */
CREATE TABLE sayiir_workflow_versions (
	instance_id text COLLATE "C" NOT NULL,
	version integer NOT NULL,
	status text NOT NULL,
	current_task_id bytea,
	data bytea NOT NULL,
	data_hash bytea NOT NULL,
	created_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	size integer,
	base integer,
	untried smallint NOT NULL DEFAULT 0,
	CONSTRAINT sayiir_workflow_versions_pkey PRIMARY KEY (instance_id, version),
	CONSTRAINT sayiir_workflow_versions_check CHECK (sayiir_is_status(status))
);

COMMENT ON TABLE sayiir_workflow_versions IS 'one row per checkpoint, as it is stored: whole, or as what differs from an earlier one';
COMMENT ON COLUMN sayiir_workflow_versions.instance_id IS 'name of the workflow instance';
COMMENT ON COLUMN sayiir_workflow_versions.version IS 'number of the checkpoint, from 1, without a hole';
COMMENT ON COLUMN sayiir_workflow_versions.status IS 'status that this checkpoint saved';
COMMENT ON COLUMN sayiir_workflow_versions.current_task_id IS 'current task that this checkpoint saved';
COMMENT ON COLUMN sayiir_workflow_versions.data IS 'what is stored of the snapshot: itself, or a zstd frame, or nothing where it is that of the base';
COMMENT ON COLUMN sayiir_workflow_versions.data_hash IS 'SHA-256 of the whole snapshot';
COMMENT ON COLUMN sayiir_workflow_versions.created_at IS 'transaction time of the checkpoint';
COMMENT ON COLUMN sayiir_workflow_versions.size IS 'bytes of the whole snapshot; NULL when data is the snapshot itself';
COMMENT ON COLUMN sayiir_workflow_versions.base IS 'version whose snapshot is needed to read this one; NULL when it is stored whole';
COMMENT ON COLUMN sayiir_workflow_versions.untried IS 'so many of the next checkpoints are stored whole without a try at less';
COMMENT ON CONSTRAINT sayiir_workflow_versions_pkey ON sayiir_workflow_versions IS 'one row per checkpoint';
COMMENT ON INDEX sayiir_workflow_versions_pkey IS 'checkpoints of an instance in their order';
COMMENT ON CONSTRAINT sayiir_workflow_versions_check ON sayiir_workflow_versions IS 'known status';

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
	CONSTRAINT sayiir_workflow_tasks_check CHECK (sayiir_is_task_status(status))
)
-- A task row is updated once, when the task ends: room for each on its page.
WITH (fillfactor = 50);

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

CREATE TABLE sayiir_workflow_claims (
	instance_id text COLLATE "C" NOT NULL,
	task_id bytea,
	worker_id text NOT NULL,
	claim_token uuid NOT NULL,
	claimed_at timestamptz NOT NULL,
	expires_at timestamptz,
	CONSTRAINT sayiir_workflow_claims_pkey PRIMARY KEY (instance_id)
)
WITH (fillfactor = 70);

COMMENT ON TABLE sayiir_workflow_claims IS 'one row per instance that a worker holds, for its present place';
COMMENT ON COLUMN sayiir_workflow_claims.instance_id IS 'name of the workflow instance';
COMMENT ON COLUMN sayiir_workflow_claims.task_id IS 'task that is held; NULL at another place than a task';
COMMENT ON COLUMN sayiir_workflow_claims.worker_id IS 'worker that holds it, as it called itself';
COMMENT ON COLUMN sayiir_workflow_claims.claim_token IS 'what the worker shows to write under this claim; new with every claim';
COMMENT ON COLUMN sayiir_workflow_claims.claimed_at IS 'clock time of the claim';
COMMENT ON COLUMN sayiir_workflow_claims.expires_at IS 'clock time from which others may take over; NULL: until released';
COMMENT ON CONSTRAINT sayiir_workflow_claims_pkey ON sayiir_workflow_claims IS 'one claim per instance';
COMMENT ON INDEX sayiir_workflow_claims_pkey IS 'the claim of an instance';

-- For the call that gives expired claims back
CREATE INDEX sayiir_workflow_claims_expires_at_idx ON sayiir_workflow_claims (expires_at);
COMMENT ON INDEX sayiir_workflow_claims_expires_at_idx IS 'claims in the order in which they expire';

CREATE TABLE sayiir_workflow_signals (
	instance_id text COLLATE "C" NOT NULL,
	kind text NOT NULL,
	reason text,
	requested_by text,
	created_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	held boolean NOT NULL DEFAULT false,
	CONSTRAINT sayiir_workflow_signals_pkey PRIMARY KEY (instance_id, kind),
	CONSTRAINT sayiir_workflow_signals_check CHECK (kind IN ('Cancel', 'Pause'))
);

COMMENT ON TABLE sayiir_workflow_signals IS 'what operators asked for and is not applied yet';
COMMENT ON COLUMN sayiir_workflow_signals.instance_id IS 'name of the workflow instance';
COMMENT ON COLUMN sayiir_workflow_signals.kind IS 'Cancel or Pause';
COMMENT ON COLUMN sayiir_workflow_signals.reason IS 'why, in the words of who asked';
COMMENT ON COLUMN sayiir_workflow_signals.requested_by IS 'who asked';
COMMENT ON COLUMN sayiir_workflow_signals.created_at IS 'transaction time of the request';
COMMENT ON COLUMN sayiir_workflow_signals.held IS 'left to the worker whose claim the instance had when it was asked for';
COMMENT ON CONSTRAINT sayiir_workflow_signals_pkey ON sayiir_workflow_signals IS 'one request of a kind per instance';
COMMENT ON INDEX sayiir_workflow_signals_pkey IS 'requests of an instance, the cancel first';
COMMENT ON CONSTRAINT sayiir_workflow_signals_check ON sayiir_workflow_signals IS 'known kind';

-- For the call that applies what no worker is left to apply
CREATE INDEX sayiir_workflow_signals_unheld_idx ON sayiir_workflow_signals (instance_id) WHERE NOT held;
COMMENT ON INDEX sayiir_workflow_signals_unheld_idx IS 'requests that no worker is left to apply';

CREATE TABLE sayiir_workflow_events (
	instance_id text COLLATE "C" NOT NULL,
	signal_name text COLLATE "C" NOT NULL,
	id bigint GENERATED ALWAYS AS IDENTITY,
	payload bytea NOT NULL,
	created_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
	CONSTRAINT sayiir_workflow_events_pkey PRIMARY KEY (instance_id, signal_name, id)
);

COMMENT ON TABLE sayiir_workflow_events IS 'events that were sent and not consumed yet, first in first out';
COMMENT ON COLUMN sayiir_workflow_events.instance_id IS 'workflow instance that the event is for, which need not exist yet';
COMMENT ON COLUMN sayiir_workflow_events.signal_name IS 'name that the instance waits for, 1 to 256 bytes';
COMMENT ON COLUMN sayiir_workflow_events.id IS 'order of the events of an instance and name';
COMMENT ON COLUMN sayiir_workflow_events.payload IS 'what the event brings';
COMMENT ON COLUMN sayiir_workflow_events.created_at IS 'transaction time of the sending';
COMMENT ON CONSTRAINT sayiir_workflow_events_pkey ON sayiir_workflow_events IS 'events in their order';
COMMENT ON INDEX sayiir_workflow_events_pkey IS 'events of an instance and name in their order';
COMMENT ON SEQUENCE sayiir_workflow_events_id_seq IS 'numbers of events';

/*
 * What can be claimed, now or from an instant on: one row for each instance
 * that is in progress, unclaimed, without a pending signal, and at a task, or
 * at a place that ends by itself or by an event that is there.  It follows
 * from the other tables, and is written in the transaction that changes them;
 * a table of its own keeps the updates of snapshots heap-only.
 */
CREATE TABLE sayiir_workflow_ready (
	instance_id text COLLATE "C" NOT NULL,
	kind bigint NOT NULL,
	definition_hash bytea NOT NULL,
	task_tags text[] COLLATE "C" NOT NULL,
	task_priority smallint NOT NULL,
	ready_at timestamptz NOT NULL,
	CONSTRAINT sayiir_workflow_ready_pkey PRIMARY KEY (instance_id)
)
-- A queue: rows come and go, and the dead ones are in the way of the next claim.
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

COMMENT ON TABLE sayiir_workflow_ready IS 'what can be claimed, now or from an instant on; follows from the other tables';
COMMENT ON COLUMN sayiir_workflow_ready.instance_id IS 'name of the workflow instance';
COMMENT ON COLUMN sayiir_workflow_ready.kind IS 'hash of definition, tags and priority: the kind of work';
COMMENT ON COLUMN sayiir_workflow_ready.definition_hash IS 'SHA-256 of the workflow definition';
COMMENT ON COLUMN sayiir_workflow_ready.task_tags IS 'tags a worker must have';
COMMENT ON COLUMN sayiir_workflow_ready.task_priority IS 'priority, 1 (most urgent) to 5';
COMMENT ON COLUMN sayiir_workflow_ready.ready_at IS 'since when it waits (an instance that saves moved on without a claim: since when it is here), or from when on it can be claimed';
COMMENT ON CONSTRAINT sayiir_workflow_ready_pkey ON sayiir_workflow_ready IS 'one row per instance';
COMMENT ON INDEX sayiir_workflow_ready_pkey IS 'the row of an instance';

-- The longest waiting of each kind of work, one step each
CREATE INDEX sayiir_workflow_ready_order_idx ON sayiir_workflow_ready (kind, ready_at, instance_id);
COMMENT ON INDEX sayiir_workflow_ready_order_idx IS 'what can be claimed, by kind of work, the longest waiting first';

-- Rows are the user's: pg_dump carries them. One statement a table; two calls
-- in one statement would update the same catalog row twice.
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_snapshots', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_versions', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_tasks', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_claims', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_signals', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_events', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_events_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_ready', '');

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
	expected_version integer = NULL,
	claim_token uuid = NULL,
	awaited_signal text = NULL)
RETURNS integer
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_save_snapshot';
REVOKE ALL ON FUNCTION sayiir_save_snapshot(bytea, text, text, bytea, bytea, integer, text, text, timestamptz, text,
	integer, text[], bytea, bytea, integer, uuid, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_save_snapshot(bytea, text, text, bytea, bytea, integer, text, text, timestamptz, text,
	integer, text[], bytea, bytea, integer, uuid, text)
IS 'checkpoint a workflow instance: returns the version written, NULL when it had ended';

CREATE FUNCTION sayiir_save_snapshot(
	data bytea,
	trace_parent text = NULL,
	expected_version integer = NULL,
	claim_token uuid = NULL)
RETURNS integer
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_save_json_snapshot';
REVOKE ALL ON FUNCTION sayiir_save_snapshot(bytea, text, integer, uuid) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_save_snapshot(bytea, text, integer, uuid)
IS 'checkpoint a workflow instance from one of Sayiir''s own JSON snapshots, which says all else';

CREATE FUNCTION sayiir_save_snapshots(
	data bytea[],
	instance_id text[],
	status text[],
	definition_hash bytea[],
	current_task_id bytea[] = NULL,
	completed_task_count integer[] = NULL,
	error text[] = NULL,
	position_kind text[] = NULL,
	delay_wake_at timestamptz[] = NULL,
	trace_parent text[] = NULL,
	task_priority integer[] = NULL,
	task_tags text[] = NULL,
	last_completed_task_id bytea[] = NULL,
	last_completed_output bytea[] = NULL,
	expected_version integer[] = NULL,
	claim_token uuid[] = NULL,
	awaited_signal text[] = NULL)
RETURNS integer[]
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_save_snapshots';
REVOKE ALL ON FUNCTION sayiir_save_snapshots(bytea[], text[], text[], bytea[], bytea[], integer[], text[], text[],
	timestamptz[], text[], integer[], text[], bytea[], bytea[], integer[], uuid[], text[]) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_save_snapshots(bytea[], text[], text[], bytea[], bytea[], integer[], text[], text[],
	timestamptz[], text[], integer[], text[], bytea[], bytea[], integer[], uuid[], text[])
IS 'checkpoint many workflow instances at once, all or none: returns their versions, NULL for those that had ended';

CREATE FUNCTION sayiir_save_task_result(
	instance_id text,
	task_id bytea,
	output bytea,
	data bytea = NULL,
	expected_version integer = NULL,
	claim_token uuid = NULL)
RETURNS integer
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_save_task_result';
REVOKE ALL ON FUNCTION sayiir_save_task_result(text, bytea, bytea, bytea, integer, uuid) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_save_task_result(text, bytea, bytea, bytea, integer, uuid)
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

CREATE FUNCTION sayiir_wakeup_stats()
RETURNS TABLE (
	queued bigint,
	sent bigint,
	coalesced bigint,
	dropped bigint)
LANGUAGE C VOLATILE PARALLEL SAFE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_wakeup_stats';
REVOKE ALL ON FUNCTION sayiir_wakeup_stats() FROM PUBLIC;
COMMENT ON FUNCTION sayiir_wakeup_stats()
IS 'what became of the deferred wakeups of this database since the server started';

---------------------------------------------------------------------------
-- Functions for many workers
---------------------------------------------------------------------------

CREATE FUNCTION sayiir_claim_task(
	instance_id text,
	task_id bytea,
	worker_id text,
	ttl interval = NULL)
RETURNS TABLE (
	claim_token uuid,
	claimed_at timestamptz,
	expires_at timestamptz)
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_claim_task';
REVOKE ALL ON FUNCTION sayiir_claim_task(text, bytea, text, interval) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_claim_task(text, bytea, text, interval)
IS 'claim one task: one row, or none when it cannot be had now';

CREATE FUNCTION sayiir_claim_tasks(
	worker_id text,
	max_tasks integer = 1,
	ttl interval = '30 seconds',
	worker_tags text[] = '{}',
	aging interval = '1 minute',
	definition_hashes bytea[] = NULL)
RETURNS TABLE (
	instance_id text,
	task_id bytea,
	claim_token uuid,
	expires_at timestamptz,
	position_kind text,
	history_version integer,
	data bytea,
	definition_hash bytea,
	trace_parent text,
	task_ids bytea[],
	outputs bytea[])
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_claim_tasks';
REVOKE ALL ON FUNCTION sayiir_claim_tasks(text, integer, interval, text[], interval, bytea[]) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_claim_tasks(text, integer, interval, text[], interval, bytea[])
IS 'find, claim and load what is most urgent for this worker';

CREATE FUNCTION sayiir_extend_claim(
	instance_id text,
	claim_token uuid,
	ttl interval)
RETURNS timestamptz
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_extend_claim';
REVOKE ALL ON FUNCTION sayiir_extend_claim(text, uuid, interval) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_extend_claim(text, uuid, interval)
IS 'heartbeat: the claim expires ttl from now; returns when';

CREATE FUNCTION sayiir_release_claim(
	instance_id text,
	claim_token uuid,
	retry_after interval = NULL)
RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_release_claim';
REVOKE ALL ON FUNCTION sayiir_release_claim(text, uuid, interval) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_release_claim(text, uuid, interval)
IS 'give a claim back, for others at once or after a while';

CREATE FUNCTION sayiir_advance(
	data bytea,
	claim_token uuid,
	next_claim_ttl interval = NULL,
	trace_parent text = NULL,
	expected_version integer = NULL)
RETURNS TABLE (
	history_version integer,
	status text,
	expires_at timestamptz)
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_advance_json';
REVOKE ALL ON FUNCTION sayiir_advance(bytea, uuid, interval, text, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_advance(bytea, uuid, interval, text, integer)
IS 'one step of a worker from one of Sayiir''s own JSON snapshots: save, signals, go on or give back, in one commit';

CREATE FUNCTION sayiir_advance(
	data bytea,
	claim_token uuid,
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
	expected_version integer = NULL,
	awaited_signal text = NULL,
	next_claim_ttl interval = NULL)
RETURNS TABLE (
	history_version integer,
	status text,
	expires_at timestamptz)
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_advance';
REVOKE ALL ON FUNCTION sayiir_advance(bytea, uuid, text, text, bytea, bytea, integer, text, text, timestamptz, text, integer,
	text[], bytea, bytea, integer, text, interval) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_advance(bytea, uuid, text, text, bytea, bytea, integer, text, text, timestamptz, text, integer,
	text[], bytea, bytea, integer, text, interval)
IS 'one step of a worker: save, signals, go on or give back, in one commit';

CREATE FUNCTION sayiir_cancel(
	instance_id text,
	reason text = NULL,
	requested_by text = NULL)
RETURNS text
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_cancel';
REVOKE ALL ON FUNCTION sayiir_cancel(text, text, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_cancel(text, text, text)
IS 'cancel a workflow: Cancelled, or Pending while a worker holds it';

CREATE FUNCTION sayiir_pause(
	instance_id text,
	reason text = NULL,
	requested_by text = NULL)
RETURNS text
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_pause';
REVOKE ALL ON FUNCTION sayiir_pause(text, text, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_pause(text, text, text)
IS 'pause a workflow: Paused, or Pending while a worker holds it';

CREATE FUNCTION sayiir_unpause(
	instance_id text,
	data bytea = NULL)
RETURNS integer
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_unpause';
REVOKE ALL ON FUNCTION sayiir_unpause(text, bytea) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_unpause(text, bytea)
IS 'let a paused workflow go on where it was: returns the version';

CREATE FUNCTION sayiir_store_signal(
	instance_id text,
	kind text,
	reason text = NULL,
	requested_by text = NULL)
RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_store_signal';
REVOKE ALL ON FUNCTION sayiir_store_signal(text, text, text, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_store_signal(text, text, text, text)
IS 'store a cancel or a pause, to be applied later';

CREATE FUNCTION sayiir_get_signal(
	instance_id text,
	kind text)
RETURNS TABLE (
	reason text,
	requested_by text,
	created_at timestamptz)
LANGUAGE C STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_get_signal';
REVOKE ALL ON FUNCTION sayiir_get_signal(text, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_get_signal(text, text)
IS 'the pending cancel or pause of a workflow, if there is one';

CREATE FUNCTION sayiir_clear_signal(
	instance_id text,
	kind text)
RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_clear_signal';
REVOKE ALL ON FUNCTION sayiir_clear_signal(text, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_clear_signal(text, text)
IS 'take back a pending cancel or pause: whether there was one';

CREATE FUNCTION sayiir_check_signals(
	instance_id text,
	interrupted_at_task bytea = NULL,
	data bytea = NULL)
RETURNS text
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_check_signals';
REVOKE ALL ON FUNCTION sayiir_check_signals(text, bytea, bytea) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_check_signals(text, bytea, bytea)
IS 'apply what is pending: Cancelled, Paused, or NULL when nothing is';

CREATE FUNCTION sayiir_send_event(
	instance_id text,
	signal_name text,
	payload bytea)
RETURNS boolean
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_send_event';
REVOKE ALL ON FUNCTION sayiir_send_event(text, text, bytea) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_send_event(text, text, bytea)
IS 'send an event to a workflow: whether it was parked for it; else it is buffered';

CREATE FUNCTION sayiir_consume_event(
	instance_id text,
	signal_name text)
RETURNS bytea
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_consume_event';
REVOKE ALL ON FUNCTION sayiir_consume_event(text, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_consume_event(text, text)
IS 'take the oldest unread event of this name: its payload, NULL when there is none';

CREATE FUNCTION sayiir_prune_events(
	older_than interval,
	batch integer = 1000)
RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_prune_events';
REVOKE ALL ON FUNCTION sayiir_prune_events(interval, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_prune_events(interval, integer)
IS 'delete old events of instances that do not exist: how many';

---------------------------------------------------------------------------
-- Functions for the history
---------------------------------------------------------------------------

CREATE FUNCTION sayiir_history_data(
	instance_id text,
	version integer)
RETURNS bytea
LANGUAGE C STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_history_data';
REVOKE ALL ON FUNCTION sayiir_history_data(text, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_history_data(text, integer)
IS 'the snapshot of a version, byte for byte; readers of sayiir_workflow_snapshot_history need it';

CREATE FUNCTION sayiir_history(
	instance_id text,
	after integer = NULL,
	max_rows integer = NULL)
RETURNS TABLE (
	history_version integer,
	status text,
	current_task_id bytea,
	data_hash bytea,
	size integer,
	stored_size integer,
	created_at timestamptz)
LANGUAGE C STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_history';
REVOKE ALL ON FUNCTION sayiir_history(text, integer, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_history(text, integer, integer)
IS 'the versions of an instance in their order, without their bytes';

CREATE FUNCTION sayiir_history_stats()
RETURNS TABLE (
	status text,
	instances bigint,
	versions bigint,
	whole bigint,
	deltas bigint,
	stored_bytes bigint,
	snapshot_bytes bigint)
LANGUAGE C STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 5
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_history_stats';
REVOKE ALL ON FUNCTION sayiir_history_stats() FROM PUBLIC;
COMMENT ON FUNCTION sayiir_history_stats()
IS 'how many versions are kept, in how many bytes, and how many bytes they stand for, by the status of their instance';

CREATE FUNCTION sayiir_fork(
	instance_id text,
	version integer,
	new_instance_id text)
RETURNS integer
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_fork';
REVOKE ALL ON FUNCTION sayiir_fork(text, integer, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_fork(text, integer, text)
IS 'a new instance that begins with a version of another and the outputs known then: returns its version';

CREATE FUNCTION sayiir_prune_history(
	keep_versions integer = NULL,
	older_than interval = NULL,
	status text = NULL,
	batch integer = 1000)
RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_prune_history';
REVOKE ALL ON FUNCTION sayiir_prune_history(integer, interval, text, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_prune_history(integer, interval, text, integer)
IS 'delete the oldest versions of each instance that are beyond all given limits: how many, 0 when there are no more';

CREATE FUNCTION sayiir_delete_terminal(
	older_than interval,
	batch integer = 1000)
RETURNS bigint
LANGUAGE C VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'sayiir_delete_terminal';
REVOKE ALL ON FUNCTION sayiir_delete_terminal(interval, integer) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_delete_terminal(interval, integer)
IS 'delete instances that ended longer ago, with all that hangs on them: how many, 0 when there are no more';

-- The name and the columns by which clients read the history
CREATE VIEW sayiir_workflow_snapshot_history AS
SELECT
	v.instance_id,
	v.version,
	v.status,
	v.current_task_id,
	sayiir_history_data(v.instance_id, v.version) AS data,
	v.data_hash,
	v.created_at
FROM sayiir_workflow_versions AS v;
COMMENT ON VIEW sayiir_workflow_snapshot_history IS 'one row per checkpoint: the snapshot as it was saved';

---------------------------------------------------------------------------
-- Views for operators: never the bytes, so that a reader may be granted them
---------------------------------------------------------------------------

CREATE VIEW sayiir_workflows AS
SELECT
	s.instance_id,
	s.status,
	CASE
		WHEN s.status = 'Paused' THEN 'sayiir_unpause'
		WHEN s.status <> 'InProgress' THEN NULL
		WHEN c.expires_at IS NULL AND c.instance_id IS NOT NULL
			OR c.expires_at > pg_catalog.clock_timestamp() THEN 'its worker'
		WHEN g.kinds IS NOT NULL THEN 'a worker to apply the signal'
		WHEN r.ready_at <= pg_catalog.clock_timestamp() OR c.instance_id IS NOT NULL THEN 'a worker'
		WHEN s.awaited_signal IS NOT NULL THEN 'the event ' || s.awaited_signal
		WHEN r.ready_at IS NOT NULL THEN 'the time'
		ELSE 'a save'
	END AS waiting_for,
	pg_catalog.clock_timestamp() - s.waiting_since AS at_place_for,
	s.delay_wake_at,
	c.worker_id AS held_by,
	c.expires_at AS held_until,
	g.kinds AS pending_signals,
	s.position_kind,
	pg_catalog.encode(s.current_task_id, 'hex') AS current_task_id,
	s.completed_task_count,
	s.history_version,
	s.task_priority,
	s.task_tags,
	pg_catalog.encode(s.definition_hash, 'hex') AS definition_hash,
	s.error,
	COALESCE(s.completed_at, pg_catalog.clock_timestamp()) - s.started_at AS age,
	s.started_at,
	s.completed_at,
	s.updated_at
FROM sayiir_workflow_snapshots AS s
LEFT JOIN sayiir_workflow_claims AS c ON c.instance_id = s.instance_id
LEFT JOIN sayiir_workflow_ready AS r ON r.instance_id = s.instance_id
LEFT JOIN (
	SELECT g.instance_id, pg_catalog.array_agg(g.kind ORDER BY g.kind) AS kinds
	FROM sayiir_workflow_signals AS g
	GROUP BY g.instance_id) AS g ON g.instance_id = s.instance_id;
COMMENT ON VIEW sayiir_workflows IS 'one row per workflow instance, for operators: what it waits for, who holds it until when';

CREATE VIEW sayiir_queue AS
SELECT
	q.task_priority,
	q.task_tags,
	pg_catalog.count(*) FILTER (WHERE q.state = 'ready') AS ready,
	pg_catalog.count(*) FILTER (WHERE q.state = 'delayed') AS delayed,
	pg_catalog.count(*) FILTER (WHERE q.state = 'claimed') AS claimed,
	pg_catalog.count(*) FILTER (WHERE q.state = 'expired') AS expired,
	pg_catalog.max(pg_catalog.clock_timestamp() - q.since)
		FILTER (WHERE q.state = 'ready') AS oldest_ready
FROM (
	SELECT r.task_priority, r.task_tags::text[] AS task_tags,
		CASE WHEN r.ready_at <= pg_catalog.clock_timestamp() THEN 'ready' ELSE 'delayed' END AS state,
		GREATEST(r.ready_at, s.waiting_since) AS since
	FROM sayiir_workflow_ready AS r
	JOIN sayiir_workflow_snapshots AS s ON s.instance_id = r.instance_id
	UNION ALL
	SELECT s.task_priority, s.task_tags,
		CASE WHEN c.expires_at <= pg_catalog.clock_timestamp() THEN 'expired' ELSE 'claimed' END,
		s.waiting_since
	FROM sayiir_workflow_claims AS c
	JOIN sayiir_workflow_snapshots AS s ON s.instance_id = c.instance_id) AS q
GROUP BY q.task_priority, q.task_tags;
COMMENT ON VIEW sayiir_queue IS 'how much there is to do, by priority and tags: ready, delayed, claimed, expired, and how long the oldest has waited';
