-- The functions of the extension, exactly: names and order of the arguments, types, defaults, results,
-- volatility, parallel label, rights. Whoever changes one of them changes the contract.
\set ECHO none
\set QUIET on
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION sayiir_pg;

CREATE TEMP TABLE want (
	name text,
	arguments text,
	result text,
	volatility text,
	parallel text);
INSERT INTO want VALUES
	-- The store
	('sayiir_save_snapshot',
		'data bytea, instance_id text, status text, definition_hash bytea, current_task_id bytea DEFAULT NULL::bytea, '
		'completed_task_count integer DEFAULT NULL::integer, error text DEFAULT NULL::text, '
		'position_kind text DEFAULT NULL::text, '
		'delay_wake_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'trace_parent text DEFAULT NULL::text, task_priority integer DEFAULT 3, task_tags text[] DEFAULT ''{}''::text[], '
		'last_completed_task_id bytea DEFAULT NULL::bytea, last_completed_output bytea DEFAULT NULL::bytea, '
		'expected_version integer DEFAULT NULL::integer, claim_token uuid DEFAULT NULL::uuid, '
		'awaited_signal text DEFAULT NULL::text',
		'integer', 'volatile', 'unsafe'),
	('sayiir_save_snapshot',
		'data bytea, trace_parent text DEFAULT NULL::text, expected_version integer DEFAULT NULL::integer, '
		'claim_token uuid DEFAULT NULL::uuid',
		'integer', 'volatile', 'unsafe'),
	('sayiir_save_snapshots',
		'data bytea[], instance_id text[], status text[], definition_hash bytea[], current_task_id bytea[] DEFAULT NULL::bytea[], '
		'completed_task_count integer[] DEFAULT NULL::integer[], error text[] DEFAULT NULL::text[], '
		'position_kind text[] DEFAULT NULL::text[], '
		'delay_wake_at timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], '
		'trace_parent text[] DEFAULT NULL::text[], task_priority integer[] DEFAULT NULL::integer[], task_tags text[] DEFAULT NULL::text[], '
		'last_completed_task_id bytea[] DEFAULT NULL::bytea[], last_completed_output bytea[] DEFAULT NULL::bytea[], '
		'expected_version integer[] DEFAULT NULL::integer[], claim_token uuid[] DEFAULT NULL::uuid[], '
		'awaited_signal text[] DEFAULT NULL::text[]',
		'integer[]', 'volatile', 'unsafe'),
	('sayiir_save_task_result',
		'instance_id text, task_id bytea, output bytea, data bytea DEFAULT NULL::bytea, '
		'expected_version integer DEFAULT NULL::integer, claim_token uuid DEFAULT NULL::uuid',
		'integer', 'volatile', 'unsafe'),
	('sayiir_load_snapshot',
		'instance_id text, version integer DEFAULT NULL::integer',
		'TABLE(status text, history_version integer, data bytea, data_hash bytea, trace_parent text, '
		'definition_hash bytea, current_task_id bytea, completed_task_count integer, error text, task_ids bytea[], '
		'outputs bytea[], updated_at timestamp with time zone)', 'stable', 'restricted'),
	('sayiir_load_task_result',
		'instance_id text, task_id bytea',
		'bytea', 'stable', 'restricted'),
	('sayiir_delete_snapshot',
		'instance_id text',
		'void', 'volatile', 'unsafe'),
	('sayiir_list_snapshots',
		'status text DEFAULT NULL::text, after text DEFAULT NULL::text, max_rows integer DEFAULT NULL::integer',
		'SETOF text', 'stable', 'restricted'),
	('sayiir_check_integrity',
		'instance_id text DEFAULT NULL::text',
		'TABLE(violated_by text, invariant text, detail text)', 'stable', 'restricted'),
	('sayiir_task_id',
		'name text',
		'bytea', 'immutable', 'safe'),
	('sayiir_decode_hint',
		'payload text',
		'TABLE(instance_id text, task_id bytea, definition_hash bytea, tags text[])', 'stable', 'safe'),
	('sayiir_wakeup_stats',
		'',
		'TABLE(queued bigint, sent bigint, coalesced bigint, dropped bigint)', 'volatile', 'safe'),
	-- The history
	('sayiir_history_data',
		'instance_id text, version integer',
		'bytea', 'stable', 'restricted'),
	('sayiir_history',
		'instance_id text, after integer DEFAULT NULL::integer, max_rows integer DEFAULT NULL::integer',
		'TABLE(history_version integer, status text, current_task_id bytea, data_hash bytea, size integer, '
		'stored_size integer, created_at timestamp with time zone)', 'stable', 'restricted'),
	('sayiir_history_stats',
		'',
		'TABLE(status text, instances bigint, versions bigint, whole bigint, deltas bigint, stored_bytes bigint, '
		'snapshot_bytes bigint)', 'stable', 'restricted'),
	('sayiir_fork',
		'instance_id text, version integer, new_instance_id text',
		'integer', 'volatile', 'unsafe'),
	('sayiir_prune_history',
		'keep_versions integer DEFAULT NULL::integer, older_than interval DEFAULT NULL::interval, '
		'status text DEFAULT NULL::text, batch integer DEFAULT 1000',
		'bigint', 'volatile', 'unsafe'),
	('sayiir_delete_terminal',
		'older_than interval, batch integer DEFAULT 1000',
		'bigint', 'volatile', 'unsafe'),
	-- Claims
	('sayiir_claim_task',
		'instance_id text, task_id bytea, worker_id text, ttl interval DEFAULT NULL::interval',
		'TABLE(claim_token uuid, claimed_at timestamp with time zone, expires_at timestamp with time zone)', 'volatile', 'unsafe'),
	('sayiir_claim_tasks',
		'worker_id text, max_tasks integer DEFAULT 1, ttl interval DEFAULT ''00:00:30''::interval, '
		'worker_tags text[] DEFAULT ''{}''::text[], aging interval DEFAULT ''00:01:00''::interval, '
		'definition_hashes bytea[] DEFAULT NULL::bytea[]',
		'TABLE(instance_id text, task_id bytea, claim_token uuid, expires_at timestamp with time zone, '
		'position_kind text, history_version integer, data bytea, definition_hash bytea, trace_parent text, '
		'task_ids bytea[], outputs bytea[])', 'volatile', 'unsafe'),
	('sayiir_extend_claim',
		'instance_id text, claim_token uuid, ttl interval',
		'timestamp with time zone', 'volatile', 'unsafe'),
	('sayiir_release_claim',
		'instance_id text, claim_token uuid, retry_after interval DEFAULT NULL::interval',
		'void', 'volatile', 'unsafe'),
	('sayiir_advance',
		'data bytea, claim_token uuid, next_claim_ttl interval DEFAULT NULL::interval, '
		'trace_parent text DEFAULT NULL::text, expected_version integer DEFAULT NULL::integer',
		'TABLE(history_version integer, status text, expires_at timestamp with time zone)', 'volatile', 'unsafe'),
	('sayiir_advance',
		'data bytea, claim_token uuid, instance_id text, status text, definition_hash bytea, '
		'current_task_id bytea DEFAULT NULL::bytea, completed_task_count integer DEFAULT NULL::integer, '
		'error text DEFAULT NULL::text, position_kind text DEFAULT NULL::text, '
		'delay_wake_at timestamp with time zone DEFAULT NULL::timestamp with time zone, '
		'trace_parent text DEFAULT NULL::text, task_priority integer DEFAULT 3, task_tags text[] DEFAULT ''{}''::text[], '
		'last_completed_task_id bytea DEFAULT NULL::bytea, last_completed_output bytea DEFAULT NULL::bytea, '
		'expected_version integer DEFAULT NULL::integer, awaited_signal text DEFAULT NULL::text, '
		'next_claim_ttl interval DEFAULT NULL::interval',
		'TABLE(history_version integer, status text, expires_at timestamp with time zone)', 'volatile', 'unsafe'),
	-- Control signals
	('sayiir_cancel',
		'instance_id text, reason text DEFAULT NULL::text, requested_by text DEFAULT NULL::text',
		'text', 'volatile', 'unsafe'),
	('sayiir_pause',
		'instance_id text, reason text DEFAULT NULL::text, requested_by text DEFAULT NULL::text',
		'text', 'volatile', 'unsafe'),
	('sayiir_unpause',
		'instance_id text, data bytea DEFAULT NULL::bytea',
		'integer', 'volatile', 'unsafe'),
	('sayiir_store_signal',
		'instance_id text, kind text, reason text DEFAULT NULL::text, requested_by text DEFAULT NULL::text',
		'void', 'volatile', 'unsafe'),
	('sayiir_get_signal',
		'instance_id text, kind text',
		'TABLE(reason text, requested_by text, created_at timestamp with time zone)', 'stable', 'restricted'),
	('sayiir_clear_signal',
		'instance_id text, kind text',
		'boolean', 'volatile', 'unsafe'),
	('sayiir_check_signals',
		'instance_id text, interrupted_at_task bytea DEFAULT NULL::bytea, data bytea DEFAULT NULL::bytea',
		'text', 'volatile', 'unsafe'),
	-- Events
	('sayiir_send_event',
		'instance_id text, signal_name text, payload bytea',
		'boolean', 'volatile', 'unsafe'),
	('sayiir_consume_event',
		'instance_id text, signal_name text',
		'bytea', 'volatile', 'unsafe'),
	('sayiir_prune_events',
		'older_than interval, batch integer DEFAULT 1000',
		'bigint', 'volatile', 'unsafe');

CREATE TEMP VIEW have AS
	SELECT p.oid, p.proname::text COLLATE "default" AS name, pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result,
		CASE p.provolatile WHEN 'v' THEN 'volatile' WHEN 's' THEN 'stable' ELSE 'immutable' END AS volatility,
		CASE p.proparallel WHEN 'u' THEN 'unsafe' WHEN 'r' THEN 'restricted' ELSE 'safe' END AS parallel,
		p.prosecdef, p.proisstrict, p.proleakproof, p.prokind, p.proacl, p.proowner, p.proconfig, l.lanname::text AS language
	FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'sayiir_pg';

SELECT plan((5 * count(*))::integer + 11) FROM want;

-- Overloads are told apart by their arguments, names and defaults included.
-- What a CHECK constraint of a table calls is no part of the contract.
SELECT bag_eq($$SELECT name, arguments FROM have h WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_constraint'::regclass
		AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = h.oid)$$,
	'SELECT name, arguments FROM want', 'these functions with these arguments, and no other');
SELECT is((SELECT h.result FROM have h WHERE (h.name, h.arguments) = (w.name, w.arguments)), w.result,
	format('%s(%s…): result', w.name, left(w.arguments, 30))) FROM want w;
SELECT is((SELECT h.volatility FROM have h WHERE (h.name, h.arguments) = (w.name, w.arguments)), w.volatility,
	format('%s(%s…): volatility', w.name, left(w.arguments, 30))) FROM want w;
SELECT is((SELECT h.parallel FROM have h WHERE (h.name, h.arguments) = (w.name, w.arguments)), w.parallel,
	format('%s(%s…): parallel label', w.name, left(w.arguments, 30))) FROM want w;
-- STRICT would turn «nothing to report» into «do nothing»
SELECT is((SELECT concat_ws(' ', h.language, CASE WHEN h.prosecdef THEN 'definer' ELSE 'invoker' END,
		CASE WHEN h.proisstrict THEN 'strict' ELSE 'not strict' END, CASE WHEN h.proleakproof THEN 'leakproof' END, h.prokind)
	FROM have h WHERE (h.name, h.arguments) = (w.name, w.arguments)), 'c definer not strict f',
	format('%s(%s…): in C, security definer, not strict', w.name, left(w.arguments, 30))) FROM want w;
SELECT ok((SELECT obj_description(h.oid, 'pg_proc') <> '' FROM have h WHERE (h.name, h.arguments) = (w.name, w.arguments)),
	format('%s(%s…): has a comment', w.name, left(w.arguments, 30))) FROM want w;

-- those of the CHECK constraints run no SQL
SELECT is_empty($$SELECT name FROM have WHERE name NOT LIKE 'sayiir\_is\_%'
		AND (proconfig IS NULL OR NOT 'search_path=pg_catalog, pg_temp' = ANY (proconfig))$$,
	'every function has its search_path pinned, pg_temp last');
SELECT is_empty($$SELECT name FROM have, aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE a.grantee = 0$$,
	'PUBLIC may execute none');
SELECT is_empty($$SELECT name FROM have, aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE a.grantee <> proowner$$,
	'nor may anybody else but the owner, to begin with');
SELECT is_empty($$SELECT e.extname FROM pg_extension e WHERE e.extname = 'sayiir_pg' AND coalesce(obj_description(e.oid, 'pg_extension'), '') = ''$$,
	'the extension has a comment');
SELECT ok((SELECT extrelocatable FROM pg_extension WHERE extname = 'sayiir_pg'), 'it can be moved to another schema');
SELECT is((SELECT string_agg(DISTINCT d.classid::regclass::text, ' ' ORDER BY d.classid::regclass::text) FROM pg_depend d JOIN pg_extension e
	ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'sayiir_pg' AND d.deptype = 'e'
	LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid WHERE t.typrelid = 0 AND t.typelem = 0 OR t.oid IS NULL),
	'pg_class pg_proc', 'its members are relations and functions, nothing else');

-- Bare literals resolve, in the shortest calls and by name.
SELECT lives_ok($$SELECT sayiir_save_snapshot('\x01', 'i', 'InProgress', sayiir_task_id('wf'), NULL, 1, 'e', 'k', 'now', 't', 2, '{a}', NULL, NULL, 0)$$,
	'all arguments by position, as literals');
SELECT lives_ok($$SELECT sayiir_save_snapshot(data => '\x02', instance_id => 'i', status => 'InProgress', definition_hash => sayiir_task_id('wf'),
	task_priority => 4, expected_version => 1)$$, 'by name');
SELECT lives_ok($$SELECT sayiir_save_task_result('i', sayiir_task_id('a'), '\x01', NULL, 2)$$, 'a task result, as literals');
SELECT lives_ok($$SELECT sayiir_load_snapshot('i'), sayiir_load_snapshot('i', 1), sayiir_list_snapshots(), sayiir_list_snapshots('InProgress', 'a', 1),
	sayiir_check_integrity(), sayiir_check_integrity('i')$$, 'readers, as literals');

SELECT * FROM finish();
ROLLBACK;
