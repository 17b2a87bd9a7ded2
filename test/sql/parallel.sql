-- CASES B29: reading functions in queries that PostgreSQL runs with parallel workers, writing ones beside them.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;
SELECT qa.sv('p', p_lc => qa.t('b'), p_out => '\xbb');
CREATE TABLE qa.big AS SELECT i, 'i' || i % 10 AS id FROM generate_series(1, 20000) i;
SELECT count(qa.sv('i' || i)) FROM generate_series(0, 9) i;
ANALYZE qa.big;

-- Every query is to run in a worker; the setting has two names.
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;

-- safe in a worker
SELECT count(*), count(DISTINCT sayiir_task_id(id)) FROM qa.big;
SELECT count(*) FROM qa.big WHERE sayiir_task_id(id) = qa.t('i3');
SELECT count(*), min(h.instance_id), max(h.instance_id) FROM qa.big b, sayiir_decode_hint(qa.hint(b.id, qa.t('a'), qa.t('wf'), '{}')) h WHERE b.i <= 200;
-- restricted to the leader
SELECT count(*), sum(l.history_version) FROM qa.big b, sayiir_load_snapshot(b.id) l WHERE b.i <= 1000;
SELECT history_version, outputs FROM sayiir_load_snapshot('p');
SELECT count(sayiir_load_task_result('p', qa.t('b'))) FROM qa.big WHERE i <= 1000;
SELECT * FROM sayiir_list_snapshots() ORDER BY 1;
SELECT count(*) FROM qa.big b JOIN sayiir_list_snapshots() l ON l = b.id;
SELECT count(*) FROM sayiir_check_integrity();
SELECT count(*) FROM qa.big WHERE id IN (SELECT sayiir_list_snapshots());
-- writing: never with workers
SELECT count(qa.sv('w' || i % 3)) FROM qa.big WHERE i <= 30;
SELECT sayiir_save_snapshot('\x01', 'w', 'InProgress', qa.t('wf'));
SELECT count(sayiir_save_task_result('p', sha256(int4send(i)), '\x00')) FROM qa.big WHERE i <= 30;
SELECT count(*) FROM (SELECT sayiir_delete_snapshot(id) FROM (SELECT DISTINCT id FROM qa.big) d OFFSET 0) x;
SELECT history_version FROM sayiir_load_snapshot('p');
EXPLAIN (COSTS OFF) SELECT sayiir_save_snapshot('\x01', id, 'InProgress', '\x00') FROM qa.big;

SELECT qa.unsound();
RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
