-- CASES B21: the display settings of a session change nothing of what is stored or loaded.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- 100,000 bytes of noise; zero bytes at the beginning, in the middle and at the end.
CREATE TABLE qa.blobs AS SELECT n AS id, data FROM (VALUES
	('short', '\x00ff5c27'::bytea), ('zeros', '\x000061005c005c5c2700'), ('quotes', '\x27275c5c2222'),
	('noise', (SELECT substr(string_agg(sha256(int4send(i)), '' ORDER BY i), 1, 100000) FROM generate_series(1, 3200) i))) v(n, data);
CREATE PROCEDURE qa.store(prefix text) LANGUAGE sql AS $$
	SELECT sayiir_save_snapshot(data, prefix || id, 'InProgress', qa.t('wf'), qa.t('a'), 1, E'it''s a \\ "q"', 'AtDelay',
		timestamptz '2031-02-03 04:05:06.789012+05:45', E'00-\\-''-"', 2, ARRAY['a''b', E'c\\d', 'NULL', 'null', '', ' x,y{}"', 'ü'], qa.t('b'), data)
	FROM qa.blobs;
	SELECT sayiir_save_task_result(prefix || id, qa.t('c'), data || data) FROM qa.blobs;
	SELECT sayiir_save_snapshot(data, prefix || 'ago', 'Failed', qa.t('wf'), delay_wake_at => '4000-01-01 00:00:00+00 BC') FROM qa.blobs WHERE id = 'short';
$$;
CALL qa.store('plain-');

SET bytea_output = escape;
SET array_nulls = off;
SET DateStyle = 'German, YMD';
SET IntervalStyle = iso_8601;
SET TimeZone = 'Asia/Kathmandu';
SET quote_all_identifiers = on;
SET transform_null_equals = on;
SET extra_float_digits = -15;
SET xmloption = document;
SET lc_monetary = 'C';
SET escape_string_warning = off;
SET standard_conforming_strings = off;
CALL qa.store('other-');
-- loaded under the odd settings
SELECT b.id, l.data = b.data, l.data_hash = sha256(b.data), l.outputs <@ ARRAY[b.data, b.data || b.data], cardinality(l.outputs),
	sayiir_load_task_result('plain-' || b.id, qa.t('c')) = b.data || b.data
FROM qa.blobs b, sayiir_load_snapshot('plain-' || b.id) l ORDER BY 1;
SELECT string_agg(i, ',') FROM sayiir_list_snapshots(NULL, 'other-') i;
SELECT instance_id, tags FROM sayiir_decode_hint(qa.hint('h', qa.t('a'), qa.t('wf'), ARRAY['a''b', 'NULL', '']));
SELECT count(*) FROM sayiir_check_integrity();
RESET ALL;
SET client_min_messages = warning;

-- Both stores are the same, but for names and times.
SELECT b.id, l.data = b.data, l.data_hash = sha256(b.data), l.outputs <@ ARRAY[b.data, b.data || b.data], cardinality(l.outputs)
FROM qa.blobs b, sayiir_load_snapshot('other-' || b.id) l ORDER BY 1;
CREATE FUNCTION qa.rows(prefix text) RETURNS TABLE (r text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT (substr(s.instance_id, 7), s.status, s.definition_hash, s.current_task_id, s.completed_task_count, s.error, s.position_kind,
		s.delay_wake_at, s.trace_parent, s.task_priority, s.task_tags, s.history_version, s.data_hash)::text
		FROM sayiir_workflow_snapshots s WHERE s.instance_id LIKE prefix || '%'
	UNION ALL SELECT (substr(h.instance_id, 7), h.version, h.status, h.current_task_id, h.data, h.data_hash)::text
		FROM sayiir_workflow_snapshot_history h WHERE h.instance_id LIKE prefix || '%'
	UNION ALL SELECT (substr(k.instance_id, 7), k.task_id, k.status, k.error, k.output)::text
		FROM sayiir_workflow_tasks k WHERE k.instance_id LIKE prefix || '%';
END $$;
SELECT count(*) FROM qa.rows('plain-');
SELECT * FROM (SELECT * FROM qa.rows('plain-') EXCEPT ALL SELECT * FROM qa.rows('other-')) d
UNION ALL SELECT * FROM (SELECT * FROM qa.rows('other-') EXCEPT ALL SELECT * FROM qa.rows('plain-')) d;
SELECT task_tags, cardinality(task_tags), error, trace_parent, delay_wake_at = '2031-02-02 22:20:06.789012 UTC' FROM sayiir_workflow_snapshots WHERE instance_id = 'other-short';

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
