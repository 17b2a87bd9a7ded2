-- The tables of the extension: columns in their order, keys, checks, what pg_dump carries.
\set ECHO none
\set QUIET on
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION sayiir_pg;

CREATE TEMP VIEW member AS
	SELECT c.oid, c.relname::text AS name, c.relkind, c.relacl, c.relowner, c.relpersistence, c.relreplident
	FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'sayiir_pg';
-- One line a column: name type, collation where it is not the default one, NOT NULL, default.
CREATE TEMP VIEW layout AS
	SELECT c.relname::text AS name, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
		|| CASE WHEN a.attcollation <> t.typcollation THEN ' collate ' || l.collname ELSE '' END, E'\n' ORDER BY a.attnum) AS columns
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation l ON l.oid = a.attcollation
	WHERE c.relnamespace = 'public'::regnamespace GROUP BY c.oid, c.relname;

SELECT plan(64);

SELECT has_table(t) FROM unnest('{sayiir_workflow_snapshots,sayiir_workflow_versions,sayiir_workflow_tasks,sayiir_workflow_claims,sayiir_workflow_signals,sayiir_workflow_events}'::name[]) t;
SELECT is_empty($$SELECT name FROM member WHERE relkind NOT IN ('r', 'v', 'S') OR relpersistence <> 'p'$$, 'nothing unlogged, nothing partitioned');

-- What else the worker protocol keeps with a snapshot stands behind the columns of the store.
SELECT is((SELECT left(columns, strpos(columns, E'\nupdated_at') + 35) FROM layout WHERE name = 'sayiir_workflow_snapshots'),
'instance_id text collate C
status text
definition_hash bytea
current_task_id bytea
completed_task_count integer
error text
position_kind text
delay_wake_at timestamp with time zone
trace_parent text
task_priority smallint
task_tags text[]
history_version integer
data_hash bytea
started_at timestamp with time zone
completed_at timestamp with time zone
updated_at timestamp with time zone', 'columns of sayiir_workflow_snapshots');
SELECT is((SELECT columns FROM layout WHERE name = 'sayiir_workflow_snapshot_history'),
'instance_id text collate C
version integer
status text
current_task_id bytea
data bytea
data_hash bytea
created_at timestamp with time zone', 'columns of sayiir_workflow_snapshot_history');
SELECT has_view('sayiir_workflow_snapshot_history', 'the history is read through a view');
SELECT is((SELECT columns FROM layout WHERE name = 'sayiir_workflow_versions'),
'instance_id text collate C
version integer
status text
current_task_id bytea
data bytea
data_hash bytea
created_at timestamp with time zone
size integer
base integer
untried smallint', 'columns of sayiir_workflow_versions');
SELECT is((SELECT columns FROM layout WHERE name = 'sayiir_workflow_tasks'),
'instance_id text collate C
task_id bytea
status text
worker_id text
started_at timestamp with time zone
completed_at timestamp with time zone
error text
output bytea
completed_version integer', 'columns of sayiir_workflow_tasks');

SELECT col_type_is('sayiir_workflow_snapshots', 'awaited_signal', 'text', 'sayiir_workflow_snapshots.awaited_signal');
SELECT is((SELECT columns FROM layout WHERE name = 'sayiir_workflow_claims'),
'instance_id text collate C
task_id bytea
worker_id text
claim_token uuid
claimed_at timestamp with time zone
expires_at timestamp with time zone', 'columns of sayiir_workflow_claims');
SELECT is((SELECT columns FROM layout WHERE name = 'sayiir_workflow_signals'),
'instance_id text collate C
kind text
reason text
requested_by text
created_at timestamp with time zone
held boolean', 'columns of sayiir_workflow_signals');
SELECT is((SELECT replace(columns, 'signal_name text collate C', 'signal_name text') FROM layout WHERE name = 'sayiir_workflow_events'),
'instance_id text collate C
signal_name text
id bigint
payload bytea
created_at timestamp with time zone', 'columns of sayiir_workflow_events');

SELECT col_is_pk('sayiir_workflow_snapshots', 'instance_id');
SELECT col_is_pk('sayiir_workflow_claims', 'instance_id');
SELECT col_is_pk('sayiir_workflow_signals', ARRAY['instance_id', 'kind']);
SELECT col_is_pk('sayiir_workflow_versions', ARRAY['instance_id', 'version']);
SELECT col_is_pk('sayiir_workflow_tasks', ARRAY['instance_id', 'task_id']);
SELECT is_empty($$SELECT name FROM member m WHERE relkind = 'r' AND (relreplident <> 'd'
	OR NOT EXISTS (SELECT FROM pg_index WHERE indrelid = m.oid AND indisprimary))$$, 'every table has a primary key, and it is the replica identity');

SELECT col_not_null('sayiir_workflow_snapshots', c, 'snapshots.' || c || ' is never NULL')
FROM unnest('{status,definition_hash,completed_task_count,task_priority,task_tags,history_version,data_hash,started_at,updated_at}'::name[]) c;
SELECT col_not_null('sayiir_workflow_versions', c, 'history.' || c || ' is never NULL')
FROM unnest('{status,data,data_hash,created_at}'::name[]) c;
SELECT col_not_null('sayiir_workflow_tasks', 'status', 'tasks.status is never NULL');
SELECT col_default_is('sayiir_workflow_snapshots', 'task_priority', '3', 'the default priority is 3');
SELECT col_default_is('sayiir_workflow_snapshots', 'history_version', '1', 'versions begin with 1');
SELECT col_default_is('sayiir_workflow_snapshots', 'task_tags', '{}', 'no tags by default');

-- Statuses are text with a CHECK.
SELECT sayiir_save_snapshot('\x01', 'i', 'InProgress', sayiir_task_id('wf'), sayiir_task_id('a')) AS version \gset
SELECT lives_ok(format('UPDATE sayiir_workflow_snapshots SET status = %L', s), 'a snapshot may be ' || s)
FROM unnest('{InProgress,Paused,Completed,Failed,Cancelled}'::text[]) s;
SELECT throws_ok(format('UPDATE sayiir_workflow_snapshots SET status = %L', s), '23514', NULL, format('a snapshot may not be «%s»', s))
FROM unnest('{pending,inprogress,""}'::text[]) s;
SELECT throws_ok($$UPDATE sayiir_workflow_versions SET status = 'active'$$, '23514', NULL, 'a version may not be active');
SELECT results_eq($$SELECT s FROM unnest('{pending,active,completed,failed,cancelled,Completed,"",InProgress}'::text[]) s WHERE sayiir_is_task_status(s)$$,
	$$SELECT unnest('{pending,active,completed,failed,cancelled}'::text[])$$, 'the statuses of a task');
SELECT is((SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'sayiir_workflow_tasks'::regclass AND contype = 'c'),
	'CHECK (sayiir_is_task_status(status))', 'what the CHECK of the tasks asks');
SELECT throws_ok($$UPDATE sayiir_workflow_tasks SET status = 'Completed'$$, '23514', NULL, 'a task may not be Completed');
SELECT throws_ok(format('UPDATE sayiir_workflow_snapshots SET task_priority = %s', p), '23514', NULL, format('priority may not be %s', p))
FROM unnest('{0,6}'::integer[]) p;

SELECT is_empty($$SELECT s.seqrelid::regclass FROM pg_sequence s JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid
	JOIN member m ON d.refobjid = m.oid AND m.name IN ('sayiir_workflow_snapshots', 'sayiir_workflow_versions', 'sayiir_workflow_tasks')$$,
	'no sequence in the three tables of the store');
SELECT is_empty($$SELECT a.attname FROM pg_attribute a JOIN member m ON m.oid = a.attrelid AND (a.attidentity <> '' OR a.attgenerated <> '')
	AND m.name IN ('sayiir_workflow_snapshots', 'sayiir_workflow_versions', 'sayiir_workflow_tasks')$$, 'no identity, no generated column in them');
-- An index over a column that every save changes would make every save rewrite every index.
SELECT is_empty($$SELECT i.indexrelid::regclass, a.attname FROM pg_index i JOIN member m ON m.oid = i.indrelid
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = m.oid
	JOIN pg_attribute a ON a.attrelid = m.oid AND a.attnum = d.refobjsubid
	WHERE NOT i.indisprimary AND m.name = 'sayiir_workflow_snapshots'
		AND a.attname IN ('updated_at', 'history_version', 'data_hash', 'current_task_id', 'completed_task_count', 'delay_wake_at', 'task_tags')$$,
	'no secondary index over what every save changes');
SELECT is_empty($$SELECT i.indexrelid::regclass FROM pg_index i JOIN member m ON m.oid = i.indrelid WHERE NOT i.indisvalid$$, 'every index is valid');

-- Rows are the user's: dumped from every table, all of them.
SELECT set_eq($$SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'sayiir_pg'$$,
	$$SELECT oid::regclass::text FROM member WHERE relkind IN ('r', 'S')$$, 'every table and every sequence is marked for pg_dump');
SELECT is((SELECT string_agg(c, '') FROM pg_extension, unnest(extcondition) c WHERE extname = 'sayiir_pg'), '', 'without a condition');
SELECT is_empty($$SELECT name FROM member, aclexplode(coalesce(relacl, acldefault('r', relowner))) a WHERE a.grantee <> relowner$$,
	'nobody but the owner has a right on any of them');

-- A comment on every table, column, index and constraint.
SELECT is_empty($$SELECT name FROM member WHERE coalesce(obj_description(oid, 'pg_class'), '') = ''$$, 'every relation has a comment');
SELECT is_empty($$SELECT name, attname FROM member JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped
	WHERE relkind = 'r' AND coalesce(col_description(attrelid, attnum), '') = ''$$, 'every column of a table has a comment');
SELECT is_empty($$SELECT indexrelid::regclass FROM member JOIN pg_index ON indrelid = oid
	WHERE coalesce(obj_description(indexrelid, 'pg_class'), '') = ''$$, 'every index has a comment');
-- NOT NULL is a constraint of its own from PostgreSQL 18 on
SELECT is_empty($$SELECT c.conname FROM member m JOIN pg_constraint c ON c.conrelid = m.oid AND c.contype <> 'n'
	WHERE coalesce(obj_description(c.oid, 'pg_constraint'), '') = ''$$, 'every constraint has a comment');

SELECT * FROM finish();
ROLLBACK;
