-- CASES B40: the keys are compared byte by byte, also in a database that sorts by a language.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
SELECT current_database() AS home \gset
SET client_min_messages = error;
DROP DATABASE IF EXISTS regress_sayiir_icu;
CREATE DATABASE regress_sayiir_icu TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US';
DROP SCHEMA qa CASCADE;
\c regress_sayiir_icu
\i :qa
CREATE EXTENSION sayiir_pg;

SELECT c.relname, a.attname, l.collname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation l ON l.oid = a.attcollation
WHERE c.relname IN ('sayiir_workflow_snapshots', 'sayiir_workflow_snapshot_history', 'sayiir_workflow_tasks') AND a.attname = 'instance_id' ORDER BY c.relname COLLATE "C";
-- the language puts them otherwise
SELECT count(qa.sv(i)) FROM unnest('{a,B,_x,-y,é,10,9,"a b",A,z,ab,e}'::text[]) i;
SELECT string_agg(i, ' ' ORDER BY i) FROM unnest('{a,B,_x,-y,é,10,9,"a b",A,z,ab,e}'::text[]) i;
SELECT string_agg(i, ' ') FROM sayiir_list_snapshots() i;
SELECT string_agg(i, ' ') FROM sayiir_list_snapshots('InProgress', 'B') i;
SELECT string_agg(i, ' ') FROM sayiir_list_snapshots(after => 'Z', max_rows => 3) i;
-- keyset paging visits each once
DO $$
DECLARE
	last text;
	seen text := '';
BEGIN
	LOOP
		last := (SELECT i FROM sayiir_list_snapshots(NULL, last, 1) i);
		EXIT WHEN last IS NULL OR length(seen) > 1000;
		seen := seen || last || ';';
	END LOOP;
	RAISE INFO '%', seen;
END $$;
-- equal to the language, yet two instances: composed and decomposed
SELECT qa.sv(U&'\00e9x'), qa.sv(U&'e\0301x'), qa.sv(U&'e\0301x', p_data => '\x02');
SELECT history_version FROM sayiir_load_snapshot(U&'\00e9x');
SELECT sayiir_delete_snapshot(U&'\00e9x');
SELECT history_version FROM sayiir_load_snapshot(U&'e\0301x');
-- clients join with the default collation
SELECT count(*) FROM (VALUES ('a'), ('B')) v(id) JOIN sayiir_workflow_snapshots s ON s.instance_id = v.id COLLATE "default";
SELECT qa.unsound();

\c :home
DROP DATABASE regress_sayiir_icu;
