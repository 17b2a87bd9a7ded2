-- CASES B38: the documented limit of 256 MB is refused when saved, never found out when loaded.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- Large values, made once; they compress well.
CREATE TABLE qa.blobs (name text, b bytea);
INSERT INTO qa.blobs SELECT 'mega', decode(repeat('78', 1048576), 'hex');
INSERT INTO qa.blobs SELECT 'half', string_agg(b, '') FROM qa.blobs, generate_series(1, 128);
INSERT INTO qa.blobs SELECT 'most', b || b FROM qa.blobs WHERE name = 'half';
INSERT INTO qa.blobs SELECT 'more', b || '\x79' FROM qa.blobs WHERE name = 'most';
SELECT name, length(b) FROM qa.blobs;
CREATE FUNCTION qa.blob(n text) RETURNS bytea LANGUAGE sql AS $$ SELECT b FROM qa.blobs WHERE name = n $$;

-- one byte more: 54000, and nothing is written
SELECT qa.sv('l');
SELECT qa.whole() AS before \gset
SELECT qa.try($$SELECT qa.sv('new', p_data => qa.blob('more'))$$);
SELECT qa.try($$SELECT qa.sv('l', p_lc => qa.t('b'), p_out => qa.blob('more'))$$);
SELECT qa.try($$SELECT sayiir_save_task_result('l', qa.t('b'), qa.blob('more'))$$);
SELECT qa.try($$SELECT sayiir_save_task_result('l', qa.t('b'), '\xbb', qa.blob('more'))$$);
-- the size is checked before the instance is looked for
SELECT qa.try($$SELECT sayiir_save_task_result('nobody', qa.t('b'), qa.blob('more'))$$);
SELECT qa.whole() = :'before' AS untouched;

-- exactly so many: saved, recognized, loaded
SELECT qa.sv('l', p_data => qa.blob('most'), p_ev => 1);
SELECT qa.sv('l', p_data => qa.blob('most'), p_ev => 1);
SELECT l.data = b.b, l.data_hash = sha256(b.b) FROM sayiir_load_snapshot('l') l, qa.blobs b WHERE b.name = 'most';
-- outputs of 256 MB together are loaded at once, one more byte and they are not: both arrays are NULL
SELECT sayiir_save_task_result('l', qa.t('b'), qa.blob('half'));
SELECT sayiir_save_task_result('l', qa.t('c'), qa.blob('half'), '\x04');
SELECT count(*), min(length(o)), max(length(o)) FROM sayiir_load_snapshot('l') l, unnest(l.outputs) o;
SELECT sayiir_save_task_result('l', qa.t('d'), '\xdd');
SELECT history_version, data, task_ids, outputs FROM sayiir_load_snapshot('l');
SELECT length(sayiir_load_task_result('l', qa.t('b'))), sayiir_load_task_result('l', qa.t('d'));

SELECT count(*) FROM sayiir_check_integrity();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
