-- What many workers share, exactly: functions with the names, types and defaults of their arguments and the columns of
-- their results, tables, views, rights. Whoever changes one of them changes the contract.
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
	volatility text);
INSERT INTO want VALUES
	('sayiir_claim_task', 'instance_id text, task_id bytea, worker_id text, ttl interval DEFAULT NULL::interval',
		'TABLE(claim_token uuid, claimed_at timestamp with time zone, expires_at timestamp with time zone)', 'v'),
	('sayiir_claim_tasks', 'worker_id text, max_tasks integer DEFAULT 1, ttl interval DEFAULT ''00:00:30''::interval, worker_tags text[] DEFAULT ''{}''::text[], '
		'aging interval DEFAULT ''00:01:00''::interval, definition_hashes bytea[] DEFAULT NULL::bytea[]',
		'TABLE(instance_id text, task_id bytea, claim_token uuid, expires_at timestamp with time zone, position_kind text, history_version integer, data bytea, '
		'definition_hash bytea, trace_parent text, task_ids bytea[], outputs bytea[])', 'v'),
	('sayiir_extend_claim', 'instance_id text, claim_token uuid, ttl interval', 'timestamp with time zone', 'v'),
	('sayiir_release_claim', 'instance_id text, claim_token uuid, retry_after interval DEFAULT NULL::interval', 'void', 'v'),
	('sayiir_advance', 'data bytea, claim_token uuid, next_claim_ttl interval DEFAULT NULL::interval, trace_parent text DEFAULT NULL::text, expected_version integer DEFAULT NULL::integer',
		'TABLE(history_version integer, status text, expires_at timestamp with time zone)', 'v'),
	('sayiir_advance', 'data bytea, claim_token uuid, instance_id text, status text, definition_hash bytea, current_task_id bytea DEFAULT NULL::bytea, completed_task_count integer DEFAULT NULL::integer, '
		'error text DEFAULT NULL::text, position_kind text DEFAULT NULL::text, delay_wake_at timestamp with time zone DEFAULT NULL::timestamp with time zone, trace_parent text DEFAULT NULL::text, '
		'task_priority integer DEFAULT 3, task_tags text[] DEFAULT ''{}''::text[], last_completed_task_id bytea DEFAULT NULL::bytea, last_completed_output bytea DEFAULT NULL::bytea, '
		'expected_version integer DEFAULT NULL::integer, awaited_signal text DEFAULT NULL::text, next_claim_ttl interval DEFAULT NULL::interval',
		'TABLE(history_version integer, status text, expires_at timestamp with time zone)', 'v'),
	('sayiir_save_snapshot', 'data bytea, instance_id text, status text, definition_hash bytea, current_task_id bytea DEFAULT NULL::bytea, completed_task_count integer DEFAULT NULL::integer, '
		'error text DEFAULT NULL::text, position_kind text DEFAULT NULL::text, delay_wake_at timestamp with time zone DEFAULT NULL::timestamp with time zone, trace_parent text DEFAULT NULL::text, '
		'task_priority integer DEFAULT 3, task_tags text[] DEFAULT ''{}''::text[], last_completed_task_id bytea DEFAULT NULL::bytea, last_completed_output bytea DEFAULT NULL::bytea, '
		'expected_version integer DEFAULT NULL::integer, claim_token uuid DEFAULT NULL::uuid, awaited_signal text DEFAULT NULL::text', 'integer', 'v'),
	('sayiir_save_snapshot', 'data bytea, trace_parent text DEFAULT NULL::text, expected_version integer DEFAULT NULL::integer, claim_token uuid DEFAULT NULL::uuid', 'integer', 'v'),
	('sayiir_save_task_result', 'instance_id text, task_id bytea, output bytea, data bytea DEFAULT NULL::bytea, expected_version integer DEFAULT NULL::integer, claim_token uuid DEFAULT NULL::uuid', 'integer', 'v'),
	('sayiir_cancel', 'instance_id text, reason text DEFAULT NULL::text, requested_by text DEFAULT NULL::text', 'text', 'v'),
	('sayiir_pause', 'instance_id text, reason text DEFAULT NULL::text, requested_by text DEFAULT NULL::text', 'text', 'v'),
	('sayiir_unpause', 'instance_id text, data bytea DEFAULT NULL::bytea', 'integer', 'v'),
	('sayiir_store_signal', 'instance_id text, kind text, reason text DEFAULT NULL::text, requested_by text DEFAULT NULL::text', 'void', 'v'),
	('sayiir_get_signal', 'instance_id text, kind text', 'TABLE(reason text, requested_by text, created_at timestamp with time zone)', 's'),
	('sayiir_clear_signal', 'instance_id text, kind text', 'boolean', 'v'),
	('sayiir_check_signals', 'instance_id text, interrupted_at_task bytea DEFAULT NULL::bytea, data bytea DEFAULT NULL::bytea', 'text', 'v'),
	('sayiir_send_event', 'instance_id text, signal_name text, payload bytea', 'boolean', 'v'),
	('sayiir_consume_event', 'instance_id text, signal_name text', 'bytea', 'v'),
	('sayiir_prune_events', 'older_than interval, batch integer DEFAULT 1000', 'bigint', 'v');

CREATE TEMP VIEW have AS
	SELECT p.oid, p.proname::text COLLATE "default" AS name, pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result, p.provolatile, p.prosecdef, p.proisstrict, p.proparallel, p.proconfig, p.proacl, p.proowner, p.prorettype, p.proretset
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'sayiir_pg';
CREATE TEMP VIEW layout AS
	SELECT c.oid, c.relname::text AS name, c.relkind, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
		|| CASE WHEN a.attcollation <> t.typcollation THEN ' collate ' || l.collname ELSE '' END || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
		|| CASE a.attidentity WHEN 'a' THEN ' identity' WHEN 'd' THEN ' identity by default' ELSE '' END, E'\n' ORDER BY a.attnum) AS columns
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation l ON l.oid = a.attcollation
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v') GROUP BY c.oid, c.relname;

SELECT plan((3 * count(*))::integer + 57) FROM want;

-- Functions. The signature names arguments and defaults; overloads are told apart by it.
SELECT is((SELECT count(*) FROM have h WHERE (h.name, h.arguments) = (w.name, w.arguments)), 1::bigint, format('%s(%s…): these arguments, names and defaults', w.name, left(w.arguments, 40))) FROM want w;
SELECT is((SELECT h.result FROM have h WHERE (h.name, h.arguments) = (w.name, w.arguments)), w.result, format('%s(%s…): result', w.name, left(w.arguments, 40))) FROM want w;
SELECT is((SELECT concat_ws(' ', h.provolatile, CASE WHEN h.prosecdef THEN 'definer' ELSE 'invoker' END, CASE WHEN h.proisstrict THEN 'strict' ELSE 'not strict' END, h.proparallel, h.proconfig)
	FROM have h WHERE (h.name, h.arguments) = (w.name, w.arguments)), w.volatility || ' definer not strict ' || CASE w.volatility WHEN 'v' THEN 'u' ELSE 'r' END || ' {"search_path=pg_catalog, pg_temp"}',
	format('%s(%s…): volatility, rights, path', w.name, left(w.arguments, 40))) FROM want w;
SELECT results_eq($$SELECT name, count(*)::integer FROM have WHERE name IN ('sayiir_save_snapshot', 'sayiir_advance') GROUP BY 1 ORDER BY 1$$, $$VALUES ('sayiir_advance', 2), ('sayiir_save_snapshot', 2)$$, 'two forms each, and no third');
SELECT is_empty($$SELECT name FROM have GROUP BY name HAVING count(*) > 1 AND name NOT IN ('sayiir_save_snapshot', 'sayiir_advance')$$, 'no other function has two forms');
SELECT is_empty($$SELECT h.oid::regprocedure FROM have h WHERE coalesce(obj_description(h.oid, 'pg_proc'), '') = ''$$, 'every function has a comment');
SELECT is_empty($$SELECT h.oid::regprocedure FROM have h, aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE a.grantee <> proowner$$, 'nobody but the owner may execute any, to begin with');
SELECT is_empty($$SELECT h.oid::regprocedure FROM have h WHERE name IN (SELECT name FROM want) AND prorettype = 'record'::regtype AND NOT proretset$$, 'tables are given as sets');

-- Tables.
SELECT is((SELECT columns FROM layout WHERE name = 'sayiir_workflow_claims'), 'instance_id text collate C not null
task_id bytea
worker_id text not null
claim_token uuid not null
claimed_at timestamp with time zone not null
expires_at timestamp with time zone', 'columns of sayiir_workflow_claims');
SELECT is((SELECT columns FROM layout WHERE name = 'sayiir_workflow_signals'), 'instance_id text collate C not null
kind text not null
reason text
requested_by text
created_at timestamp with time zone not null
held boolean not null', 'columns of sayiir_workflow_signals');
SELECT is((SELECT columns FROM layout WHERE name = 'sayiir_workflow_events'), 'instance_id text collate C not null
signal_name text collate C not null
id bigint not null identity
payload bytea not null
created_at timestamp with time zone not null', 'columns of sayiir_workflow_events');
SELECT col_is_pk('sayiir_workflow_claims', 'instance_id', 'one claim per instance');
SELECT col_is_pk('sayiir_workflow_signals', ARRAY['instance_id', 'kind'], 'one signal of a kind per instance');
SELECT ok((SELECT array_agg(a.attname::text ORDER BY a.attname) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
	WHERE i.indrelid = 'sayiir_workflow_events'::regclass AND i.indisprimary) @> '{id}', 'id is in the key of the events');
SELECT has_column('sayiir_workflow_snapshots', 'awaited_signal', 'the snapshot has the name that it waits for');
SELECT col_type_is('sayiir_workflow_snapshots', 'awaited_signal', 'text', 'which is text');
SELECT ok((SELECT attnum > 16 FROM pg_attribute WHERE attrelid = 'sayiir_workflow_snapshots'::regclass AND attname = 'awaited_signal'), 'behind the columns of the store');
SELECT throws_ok($$INSERT INTO sayiir_workflow_signals (instance_id, kind) VALUES ('i', $$ || quote_literal(k) || ')', '23514', NULL, format('a signal may not be «%s»', k)) FROM unnest('{cancel,Resume,""}'::text[]) k;
SELECT lives_ok(format($$INSERT INTO sayiir_workflow_signals (instance_id, kind) VALUES ('i', %L)$$, k), 'a signal may be ' || k) FROM unnest('{Cancel,Pause}'::text[]) k;
SELECT throws_ok($$INSERT INTO sayiir_workflow_events (instance_id, signal_name, payload, id) VALUES ('i', 'go', '', 1)$$, '428C9', NULL, 'the number of an event is the server''s');
SELECT is((SELECT seqtypid::regtype::text FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence('sayiir_workflow_events', 'id')::regclass), 'bigint', 'which does not run out');
SELECT is_empty($$SELECT a.attrelid::regclass FROM pg_attribute a JOIN layout l ON l.oid = a.attrelid WHERE a.attidentity <> '' AND l.name <> 'sayiir_workflow_events'$$, 'no other table has numbers');

-- pg_dump carries the rows of each, and the state of the sequence.
SELECT ok((SELECT c.oid = ANY (e.extconfig) FROM pg_extension e WHERE e.extname = 'sayiir_pg'), c.relname || ' is marked for pg_dump')
FROM pg_class c WHERE c.relname IN ('sayiir_workflow_claims', 'sayiir_workflow_signals', 'sayiir_workflow_events', 'sayiir_workflow_events_id_seq') ORDER BY c.relname;
SELECT is_empty($$SELECT l.name FROM layout l, pg_extension e WHERE e.extname = 'sayiir_pg' AND l.relkind = 'r' AND l.name LIKE 'sayiir%' AND NOT l.oid = ANY (e.extconfig)$$, 'no table of the extension is left out');
SELECT is((SELECT string_agg(c, '') FROM pg_extension, unnest(extcondition) c WHERE extname = 'sayiir_pg'), '', 'all rows, without a condition');
SELECT is_empty($$SELECT c.relname FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))) a
	WHERE c.relnamespace = 'public'::regnamespace AND c.relname LIKE 'sayiir%' AND c.relkind IN ('r', 'v', 'S') AND a.grantee <> c.relowner$$, 'nobody but the owner has a right on a table, view or sequence');
SELECT is_empty($$SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relname LIKE 'sayiir%' AND coalesce(obj_description(c.oid, 'pg_class'), '') = ''$$, 'tables, views, indexes and the sequence have a comment');
SELECT is_empty($$SELECT l.name, a.attname FROM layout l JOIN pg_attribute a ON a.attrelid = l.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE l.relkind = 'r' AND l.name LIKE 'sayiir%'
	AND coalesce(col_description(a.attrelid, a.attnum), '') = ''$$, 'every column of a table has a comment');
SELECT is_empty($$SELECT c.conname FROM layout l JOIN pg_constraint c ON c.conrelid = l.oid AND c.contype <> 'n' WHERE l.name LIKE 'sayiir%' AND coalesce(obj_description(c.oid, 'pg_constraint'), '') = ''$$, 'every constraint has a comment');
-- Checkpoints must stay heap-only: no index over what they change.
SELECT is_empty($$SELECT i.indexrelid::regclass, a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
	WHERE i.indrelid = 'sayiir_workflow_snapshots'::regclass AND a.attname IN ('updated_at', 'history_version', 'data_hash', 'current_task_id', 'completed_task_count', 'position_kind', 'delay_wake_at', 'awaited_signal', 'task_priority', 'task_tags')$$,
	'no index of the snapshots over what a save changes');
SELECT is_empty($$SELECT i.indexrelid::regclass FROM pg_index i JOIN layout l ON l.oid = i.indrelid WHERE NOT i.indisvalid$$, 'every index is valid');
SELECT is_empty($$SELECT l.name FROM layout l WHERE l.relkind = 'r' AND l.name LIKE 'sayiir%' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = l.oid AND i.indisprimary)$$, 'every table has a primary key, so that it can be published');

-- Views: one row per instance, the queue by priority and tags; never the bytes.
SELECT has_view(v, v || ' is a view') FROM unnest('{sayiir_workflows,sayiir_queue}'::name[]) v;
SELECT is_empty($$SELECT l.name, a.attname FROM layout l JOIN pg_attribute a ON a.attrelid = l.oid AND a.attnum > 0 WHERE l.relkind = 'v' AND l.name LIKE 'sayiir%' AND l.name <> 'sayiir_workflow_snapshot_history' AND a.atttypid IN ('bytea'::regtype, 'bytea[]'::regtype, 'uuid'::regtype)$$,
	'no view but that of the history shows bytes, or a token');
SELECT has_column('sayiir_workflows'::name, c, 'sayiir_workflows has ' || c) FROM unnest('{instance_id,status,current_task_id,age}'::name[]) c;
SELECT has_column('sayiir_queue'::name, c, 'sayiir_queue has ' || c) FROM unnest('{task_priority,task_tags,ready,delayed,claimed,expired}'::name[]) c;
SELECT is_empty($$SELECT c.relname FROM pg_class c WHERE c.relname IN ('sayiir_workflows', 'sayiir_queue') AND 'security_invoker=true' = ANY (coalesce(c.reloptions, '{}'))$$, 'they are read with their owner''s rights');
SELECT is_empty($$SELECT v.relname, f.proname FROM pg_class v JOIN pg_rewrite r ON r.ev_class = v.oid JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_proc'::regclass
	JOIN pg_proc f ON f.oid = d.refobjid WHERE v.relname IN ('sayiir_workflows', 'sayiir_queue')$$, 'no function in them that a reader would need a right on');
CREATE ROLE regress_sayiir_tap_reader;
GRANT SELECT ON sayiir_workflows, sayiir_queue TO regress_sayiir_tap_reader;
GRANT USAGE ON SCHEMA public TO regress_sayiir_tap_reader;
SELECT lives_ok($$SELECT sayiir_save_snapshot('\x01', 'i', 'InProgress', sha256('wf'), sha256('a'))$$, 'an instance');
SELECT ok(has_table_privilege('regress_sayiir_tap_reader', v, 'SELECT') AND NOT has_table_privilege('regress_sayiir_tap_reader', v, 'INSERT, UPDATE, DELETE'), v || ' can be granted for reading') FROM unnest('{sayiir_workflows,sayiir_queue}'::text[]) v;

-- Bare literals resolve, and NULL in what has a default.
SELECT lives_ok($$SELECT * FROM sayiir_claim_tasks('w', 2, '1 minute', '{a,b}', '2 minutes', NULL)$$, 'sayiir_claim_tasks by position, as literals');
SELECT lives_ok($$SELECT * FROM sayiir_claim_task('i', sha256('a'), 'w', '1 minute')$$, 'sayiir_claim_task');
SELECT lives_ok($$SELECT sayiir_cancel('i', 'r', 'q'), sayiir_clear_signal('i', 'Cancel'), sayiir_check_signals('i', NULL, NULL), sayiir_send_event('i', 'n', '\x01'), sayiir_consume_event('i', 'n'), sayiir_prune_events('1 day', 10)$$, 'signals and events');
SELECT throws_ok($$SELECT * FROM sayiir_advance('\x01', '00000000-0000-0000-0000-000000000000', 'nobody', 'InProgress', sha256('wf'), NULL, 3, 'e', 'k', 'now', 't', 2, '{a}', NULL, NULL, 1, 's', '1 s')$$, 'SY002', NULL, 'sayiir_advance, the explicit form by position');

SELECT * FROM finish();
ROLLBACK;
