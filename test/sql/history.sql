-- The history as deltas: what is stored how, that every version comes back as it was saved, what is listed and
-- counted, and what is said of stored bytes that are not right any more.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- A snapshot that grows in its middle: step n has n more lines.
CREATE FUNCTION qa.grown(n integer, lines integer DEFAULT 100, seed text DEFAULT '') RETURNS bytea LANGUAGE sql STABLE AS $$
	SELECT convert_to(format('at %s%s%supdated %s', $1, chr(10),
		(SELECT string_agg(md5($3 || i), chr(10) ORDER BY i) FROM generate_series(1, $2 + $1) i), $1), 'UTF8') $$;
-- Bytes of which nothing can be said.
CREATE FUNCTION qa.noise(n integer, size integer DEFAULT 4096) RETURNS bytea LANGUAGE sql STABLE AS $$
	SELECT substr(string_agg(sha256(int4send($1) || int4send(i)), '' ORDER BY i), 1, $2) FROM generate_series(1, $2 / 32 + 1) i $$;
-- What was saved, kept aside.
CREATE TABLE qa.kept (instance_id text, version integer, data bytea);
CREATE FUNCTION qa.keep(p_id text, p_data bytea, p_status text DEFAULT 'InProgress') RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	v integer := qa.sv(p_id, p_status, p_data);
BEGIN
	INSERT INTO qa.kept VALUES (p_id, v, p_data);
	RETURN v;
END $$;
-- How many versions of an instance are there, and how many of them come back as they were saved, in each way of reading.
CREATE FUNCTION qa.same(p_id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT format('%s versions: %s by load, %s by the view, %s by their hash', count(*),
			count(*) FILTER (WHERE k.data = (SELECT l.data FROM sayiir_load_snapshot(p_id, h.version) l)),
			count(*) FILTER (WHERE k.data = h.data), count(*) FILTER (WHERE h.data_hash = sha256(k.data)))
		FROM sayiir_workflow_snapshot_history h LEFT JOIN qa.kept k ON k.instance_id = h.instance_id AND k.version = h.version
		WHERE h.instance_id = p_id);
END $$;
-- The rows that a load of each version reads: the most of them, and whether they are ever more than twice its bytes.
CREATE FUNCTION qa.path(p_id text) RETURNS text LANGUAGE sql AS $$
	WITH RECURSIVE path AS (
		SELECT version AS leaf, base, pg_column_size(data) AS stored, coalesce(size, octet_length(data)) AS size, 1 AS n
		FROM sayiir_workflow_versions WHERE instance_id = $1
		UNION ALL
		SELECT p.leaf, v.base, p.stored + pg_column_size(v.data), p.size, p.n + 1
		FROM path p JOIN sayiir_workflow_versions v ON v.instance_id = $1 AND v.version = p.base)
	SELECT format('at most %s rows, more than twice the bytes: %s', max(n), bool_or(stored > 2 * size + 4)) FROM path $$;
-- How versions are stored: runs of one kind.
CREATE FUNCTION qa.stored(p_id text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s %s', n, kind), ', ' ORDER BY first) FROM (
		SELECT kind, count(*) AS n, min(version) AS first FROM (
			SELECT version, kind, version - row_number() OVER (PARTITION BY kind ORDER BY version) AS run FROM (
				SELECT version, CASE WHEN base IS NULL AND size IS NULL THEN 'plain' WHEN base IS NULL THEN 'packed'
					WHEN data = '' THEN 'same' ELSE 'delta' END AS kind
				FROM sayiir_workflow_versions WHERE instance_id = $1) a) b
		GROUP BY kind, run) c $$;

SHOW sayiir.history;
-- Growing by a line a step; what is small stays as it is.
SELECT count(qa.keep('grows', qa.grown(n))) FROM generate_series(1, 150) n;
SELECT qa.same('grows'), qa.path('grows');
SELECT qa.stored('grows');
SELECT count(qa.keep('small', qa.grown(n, 5))) FROM generate_series(1, 20) n;
SELECT qa.same('small'), qa.stored('small');
-- As bytes are what they were: unchanged ones, emptied ones, grown and shrunk, random ones.
SELECT count(qa.keep('mixed', CASE n % 8 WHEN 0 THEN '' WHEN 1 THEN qa.grown(1, 200) WHEN 2 THEN qa.grown(1, 200) WHEN 3 THEN qa.noise(n)
	WHEN 4 THEN qa.grown(n, 2000) WHEN 5 THEN qa.grown(n, 2000) || qa.noise(7) WHEN 6 THEN decode(reverse(encode(qa.grown(n, 100), 'hex')), 'hex')
	ELSE qa.grown(n, 90) END)) FROM generate_series(1, 120) n;
SELECT qa.same('mixed'), qa.path('mixed');
-- Random bytes are not tried at each save; when they settle, deltas begin again.
SELECT count(qa.keep('noise', qa.noise(n))) FROM generate_series(1, 140) n;
SELECT qa.same('noise'), qa.stored('noise');
SELECT max(octet_length(data)) FROM sayiir_workflow_versions WHERE instance_id = 'noise';
SELECT count(qa.keep('noise', qa.noise(1, 4096 + n))) FROM generate_series(1, 140) n;
SELECT qa.same('noise'), (SELECT count(*) > 0 FROM sayiir_workflow_versions WHERE instance_id = 'noise' AND base IS NOT NULL) AS deltas_again;
-- The setting, to and fro: one table, read both ways.
SET sayiir.history = 'full';
SELECT count(qa.keep('switched', qa.grown(n))) FROM generate_series(1, 10) n;
SELECT qa.stored('switched');
SET sayiir.history = 'delta';
SELECT count(qa.keep('switched', qa.grown(n))) FROM generate_series(11, 20) n;
SET sayiir.history = 'full';
SELECT count(qa.keep('switched', qa.grown(n))) FROM generate_series(21, 25) n;
SET sayiir.history = 'delta';
SELECT count(qa.keep('switched', qa.grown(n))) FROM generate_series(26, 40) n;
SELECT qa.same('switched'), qa.stored('switched');
-- Results that carry an opaque snapshot over take no bytes again, whatever the snapshot is stored as.
SELECT qa.keep('carried', qa.grown(1)), sayiir_save_task_result('carried', qa.t('x'), '\x01'), sayiir_save_task_result('carried', qa.t('y'), '\x02');
INSERT INTO qa.kept SELECT 'carried', v, qa.grown(1) FROM unnest('{2,3}'::integer[]) v;
SELECT qa.keep('carried', qa.grown(2)), sayiir_save_task_result('carried', qa.t('z'), '\x03');
INSERT INTO qa.kept VALUES ('carried', 5, qa.grown(2));
SELECT qa.keep('carried', qa.grown(2)), qa.keep('carried', qa.grown(3));
SELECT qa.same('carried'), qa.stored('carried');
SET sayiir.history = 'full';
INSERT INTO qa.kept VALUES ('carried whole', 2, qa.grown(1));
SELECT qa.keep('carried whole', qa.grown(1)), sayiir_save_task_result('carried whole', qa.t('x'), '\x01'), qa.stored('carried whole');
RESET sayiir.history;

-- The list: never the bytes.
SELECT history_version, status, qa.nm(current_task_id), data_hash = sha256(qa.grown(history_version)) AS hash, size = octet_length(qa.grown(history_version)) AS size,
	stored_size < 1000 AS delta, created_at IS NOT NULL AS created
FROM sayiir_history('grows', max_rows => 3);
SELECT array_agg(history_version ORDER BY n) FROM sayiir_history('grows', 147) WITH ORDINALITY AS h(history_version, a, b, c, d, e, f, n);
SELECT array_agg(history_version) FROM sayiir_history('grows', after => 10, max_rows => 2);
SELECT count(*) FROM sayiir_history('grows', 150);
SELECT count(*) FROM sayiir_history('grows', max_rows => 0);
SELECT qa.try($$SELECT sayiir_history('nobody')$$);
SELECT qa.try($$SELECT sayiir_history(NULL)$$);
SELECT qa.try($$SELECT sayiir_history('grows', -1)$$);
SELECT qa.try($$SELECT sayiir_history('grows', max_rows => -1)$$);
SELECT qa.try($$SELECT sayiir_history('')$$);
-- The statistics, against the rows.
SELECT qa.keep('done', qa.grown(1), 'Completed');
SELECT s.status, s.instances, s.versions, s.whole + s.deltas = s.versions AS all_counted, s.deltas > 0 AS deltas, s.stored_bytes < s.snapshot_bytes AS saves,
	(s.versions, s.snapshot_bytes) = (SELECT count(*), sum(octet_length(k.data)) FROM qa.kept k JOIN sayiir_workflow_snapshots w USING (instance_id)
		WHERE w.status = s.status) AS as_saved
FROM sayiir_history_stats() s ORDER BY 1;
-- The function behind the view
SELECT sayiir_history_data('grows', 77) = qa.grown(77) AS same;
SELECT qa.try($$SELECT sayiir_history_data('grows', 151)$$);
SELECT qa.try($$SELECT sayiir_history_data('grows', NULL)$$);
SELECT qa.try($$SELECT sayiir_history_data(NULL, 1)$$);

-- Stored bytes that are not right any more, in each form: an error that names instance and version, never wrong bytes.
SELECT count(*) FROM sayiir_check_integrity();
-- One byte of one version turned over; every version loads as it was, or says that it cannot; the row is then put right.
CREATE FUNCTION qa.turn(p_id text, p_version integer, p_at integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	was bytea := (SELECT data FROM sayiir_workflow_versions WHERE instance_id = p_id AND version = p_version);
	at integer := CASE WHEN p_at < 0 THEN octet_length(was) + p_at ELSE p_at END;
	v integer;
	d bytea;
	named boolean := true;
	wrong integer := 0;
	told integer := 0;
	found integer;
BEGIN
	UPDATE sayiir_workflow_versions SET data = set_byte(was, at, get_byte(was, at) # 255) WHERE instance_id = p_id AND version = p_version;
	FOR v IN SELECT version FROM sayiir_workflow_versions WHERE instance_id = p_id LOOP
		BEGIN
			SELECT l.data INTO d FROM sayiir_load_snapshot(p_id, v) l;
			IF d IS DISTINCT FROM (SELECT k.data FROM qa.kept k WHERE k.instance_id = p_id AND k.version = v) THEN
				wrong := wrong + 1;
			END IF;
		EXCEPTION WHEN data_corrupted THEN
			told := told + 1;
			named := named AND SQLERRM LIKE format('%%version %s of workflow instance "%s"%%', v, p_id);
			IF v = p_version THEN
				RAISE INFO '%', qa.try(format('SELECT sayiir_load_snapshot(%L, %s)', p_id, v));
			END IF;
		END;
	END LOOP;
	found := (SELECT count(*) FROM sayiir_check_integrity(p_id) WHERE invariant = 'I2');
	UPDATE sayiir_workflow_versions SET data = was WHERE instance_id = p_id AND version = p_version;
	RETURN format('%s wrong, %s; integrity finds %s', wrong,
		CASE WHEN told = 0 THEN 'none told' WHEN NOT named THEN 'NOT NAMED' WHEN told = 1 THEN 'that one told' ELSE 'it and others told' END,
		CASE WHEN found = told THEN 'the same' ELSE 'OTHERS' END);
END $$;
SELECT qa.turn('small', 7, 3);
SELECT qa.turn('grows', 1, 100);
SELECT qa.turn('grows', 64, -3);
SELECT qa.turn('grows', 150, -1);
SELECT qa.turn('switched', 5, 0);
-- and in the other columns, and rows that are gone
CREATE FUNCTION qa.spoil(p_id text, change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE change;
	answer := (SELECT string_agg(split_part(qa.try(format('SELECT history_version FROM sayiir_load_snapshot(%L, %s)', p_id, v)), ':', 1), ' ' ORDER BY v)
		FROM unnest('{39,40}'::integer[]) v);
	RAISE EXCEPTION 'undo';
EXCEPTION WHEN raise_exception THEN
	RETURN answer;
END $$;
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET size = size + 1 WHERE instance_id = 'switched' AND version = 40$$);
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET size = -1 WHERE instance_id = 'switched' AND version = 40$$);
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET size = 2000000000 WHERE instance_id = 'switched' AND version = 40$$);
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET base = NULL WHERE instance_id = 'switched' AND version = 40$$);
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET base = 40 WHERE instance_id = 'switched' AND version = 40$$);
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET base = 41 WHERE instance_id = 'switched' AND version = 40$$);
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET base = 3 WHERE instance_id = 'switched' AND version = 40$$);
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET base = version - 1, size = 9, data = '' WHERE instance_id = 'switched' AND version > 1$$);
SELECT qa.spoil('switched', $$DELETE FROM sayiir_workflow_versions WHERE instance_id = 'switched' AND version = 25$$);
SELECT qa.spoil('switched', $$UPDATE sayiir_workflow_versions SET data = '' WHERE instance_id = 'switched' AND version = 40$$);
-- A save does not need what it builds on: it is stored whole then.
UPDATE sayiir_workflow_versions SET data = '\x00' WHERE instance_id = 'switched' AND base IS NOT NULL;
SELECT qa.keep('switched', qa.grown(41)), sayiir_load_task_result('switched', qa.t('a'));
SELECT l.data = qa.grown(41) AS same FROM sayiir_load_snapshot('switched') l;
SELECT qa.try($$SET sayiir.history = 'whole'$$);
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
