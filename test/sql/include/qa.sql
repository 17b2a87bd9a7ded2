\set ECHO none
-- What every file of this suite begins with: settled output, a clean database, and the helpers
-- in schema qa. pg_regress tells psql where the suite lies:
--   \getenv suite PG_ABS_SRCDIR
--   \set qa :suite /sql/include/qa.sql
--   \i :qa
\set VERBOSITY default
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on
\pset null NULL
\pset fieldsep ' | '
SET client_min_messages = warning;

-- What a file that broke off has left behind must not fail the next one.
DROP SCHEMA IF EXISTS qa CASCADE;
DROP EXTENSION IF EXISTS sayiir_pg CASCADE;

CREATE SCHEMA qa;

-- The id of the task of that name, by core's own functions.
CREATE FUNCTION qa.t(name text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT pg_catalog.sha256(pg_catalog.convert_to($1, 'UTF8')) $$;

-- The name behind an id, so that expected output can be read by people.
CREATE FUNCTION qa.nm(id bytea) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT coalesce((SELECT n FROM unnest('{a,b,c,d,e,f,g,x,y,z,wf,wf2}'::text[]) AS n
		WHERE qa.t(n) = id), pg_catalog.encode(id, 'hex')) $$;

-- One save; the argument list of the real function is written out here and nowhere else.
CREATE FUNCTION qa.sv(p_id text, p_status text DEFAULT 'InProgress', p_data bytea DEFAULT '\x01',
	p_cur bytea DEFAULT qa.t('a'), p_tags text[] DEFAULT '{}', p_lc bytea DEFAULT NULL,
	p_out bytea DEFAULT NULL, p_ev integer DEFAULT NULL, p_err text DEFAULT NULL,
	p_count integer DEFAULT NULL, p_kind text DEFAULT NULL, p_wake timestamptz DEFAULT NULL,
	p_trace text DEFAULT NULL, p_prio integer DEFAULT 3, p_def bytea DEFAULT qa.t('wf'))
RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	RETURN sayiir_save_snapshot(data => p_data, instance_id => p_id, status => p_status,
		definition_hash => p_def, current_task_id => p_cur, completed_task_count => p_count,
		error => p_err, position_kind => p_kind, delay_wake_at => p_wake, trace_parent => p_trace,
		task_priority => p_prio, task_tags => p_tags, last_completed_task_id => p_lc,
		last_completed_output => p_out, expected_version => p_ev);
END $$;

-- Runs a statement; gives its first value, or everything that its error says.
CREATE FUNCTION qa.try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
	m text;
	d text;
	h text;
BEGIN
	EXECUTE statement INTO r;
	RETURN coalesce(r, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ': ' || m
		|| CASE WHEN d <> '' THEN E'\n  detail: ' || d ELSE '' END
		|| CASE WHEN h <> '' THEN E'\n  hint: ' || h ELSE '' END;
END $$;

-- Versions that were made at a moment: each save by itself has its own transaction time.
CREATE FUNCTION qa.at(p_id text, moment timestamptz) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE WHEN moment IS NULL THEN 'never' ELSE (
		SELECT coalesce('v' || string_agg(h.version::text, ',' ORDER BY h.version), 'some other time')
		FROM sayiir_workflow_snapshot_history h WHERE h.instance_id = p_id AND h.created_at = moment) END;
END $$;

-- All that the three tables say about an instance.
CREATE FUNCTION qa.show(p_id text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT format('snapshot %s v%s, def %s, current %s, count %s, hash %s, started %s, completed %s, updated %s',
			s.status, s.history_version, qa.nm(s.definition_hash), coalesce(qa.nm(s.current_task_id), '-'),
			s.completed_task_count,
			coalesce((SELECT string_agg('v' || h.version, ',' ORDER BY h.version) FROM sayiir_workflow_snapshot_history h
				WHERE h.instance_id = p_id AND sha256(h.data) = s.data_hash), 'WRONG'),
			qa.at(p_id, s.started_at), qa.at(p_id, s.completed_at), qa.at(p_id, s.updated_at))
		|| CASE WHEN (s.error, s.position_kind, s.delay_wake_at, s.trace_parent) IS NULL
				AND s.task_priority = 3 AND s.task_tags = '{}' THEN ''
			ELSE format(E'\n         error %s, kind %s, wake %s, trace %s, priority %s, tags %s',
				coalesce(quote_literal(s.error), '-'), coalesce(quote_literal(s.position_kind), '-'),
				CASE WHEN s.delay_wake_at IS NULL THEN '-' WHEN NOT isfinite(s.delay_wake_at) THEN s.delay_wake_at::text
					ELSE to_char(s.delay_wake_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') END,
				coalesce(quote_literal(s.trace_parent), '-'), s.task_priority, s.task_tags) END
		FROM sayiir_workflow_snapshots s WHERE s.instance_id = p_id;
	RETURN QUERY SELECT format('history v%s %s, current %s, data %s%s', h.version, h.status, coalesce(qa.nm(h.current_task_id), '-'),
			CASE WHEN length(h.data) > 20 THEN length(h.data) || ' bytes' ELSE h.data::text END,
			CASE WHEN h.data_hash IS DISTINCT FROM sha256(h.data) THEN ', WRONG HASH' ELSE '' END)
		FROM sayiir_workflow_snapshot_history h WHERE h.instance_id = p_id ORDER BY h.version;
	RETURN QUERY SELECT format('task %s %s, worker %s, started %s, completed %s, error %s, output %s, version %s',
			qa.nm(k.task_id), k.status, coalesce(k.worker_id, '-'), qa.at(p_id, k.started_at), qa.at(p_id, k.completed_at),
			coalesce(quote_literal(k.error), '-'),
			CASE WHEN length(k.output) > 20 THEN length(k.output) || ' bytes' ELSE coalesce(k.output::text, '-') END,
			coalesce(k.completed_version::text, '-'))
		FROM sayiir_workflow_tasks k WHERE k.instance_id = p_id ORDER BY qa.nm(k.task_id) COLLATE "C";
END $$;

-- The task rows of an instance in one line.
CREATE FUNCTION qa.tasks(p_id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT string_agg(qa.nm(k.task_id) || ' ' || k.status || coalesce(' ' || k.output::text, ''), ', '
			ORDER BY qa.nm(k.task_id) COLLATE "C")
		FROM sayiir_workflow_tasks k WHERE k.instance_id = p_id);
END $$;

-- What a load answers, times left out.
CREATE FUNCTION qa.load(p_id text, p_version integer DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	l record;
BEGIN
	SELECT * INTO STRICT l FROM sayiir_load_snapshot(p_id, p_version);
	RETURN format('%s v%s, data %s%s, trace %s, def %s, current %s, count %s, error %s, outputs %s',
		l.status, l.history_version,
		CASE WHEN length(l.data) > 20 THEN length(l.data) || ' bytes' ELSE l.data::text END,
		CASE WHEN l.data_hash IS DISTINCT FROM sha256(l.data) THEN ', WRONG HASH' ELSE '' END,
		coalesce(quote_literal(l.trace_parent), '-'), qa.nm(l.definition_hash), coalesce(qa.nm(l.current_task_id), '-'),
		l.completed_task_count, coalesce(quote_literal(l.error), '-'),
		CASE WHEN l.task_ids IS NULL AND l.outputs IS NULL THEN 'NULL'
			WHEN cardinality(l.task_ids) IS DISTINCT FROM cardinality(l.outputs) THEN 'DO NOT PAIR'
			WHEN l.task_ids = '{}' THEN '{}'
			ELSE (SELECT string_agg(format('%s=%s', qa.nm(u.id), coalesce(u.o::text, 'NULL')), ' ' ORDER BY qa.nm(u.id) COLLATE "C")
				FROM unnest(l.task_ids, l.outputs) AS u(id, o)) END);
END $$;

-- A fingerprint of every row version in every table of the extension: equal before and after means
-- that nothing at all was written, not even the same values again.
CREATE FUNCTION qa.whole() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	f text := '';
	name text;
	part text;
BEGIN
	FOR name IN SELECT d.objid::regclass::text FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid AND e.extname = 'sayiir_pg'
		JOIN pg_class c ON d.objid = c.oid AND c.relkind = 'r'
		WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' ORDER BY 1
	LOOP
		EXECUTE format('SELECT md5(coalesce(string_agg(md5(r::text || r.ctid::text || r.xmin::text), '''' ORDER BY r.ctid), ''''))
			FROM %s r', name) INTO part;
		f := f || part;
	END LOOP;
	RETURN md5(f);
END $$;

-- The invariants, asked for in plain SQL, and the server's own answer: no row on a sound store.
CREATE FUNCTION qa.unsound() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT format('I1 %s: versions are not 1..N, or the snapshot is not at N', h.instance_id)
		FROM sayiir_workflow_snapshot_history h GROUP BY h.instance_id
		HAVING min(h.version) <> 1 OR count(*) <> max(h.version)
			OR max(h.version) <> coalesce((SELECT s.history_version FROM sayiir_workflow_snapshots s
				WHERE s.instance_id = h.instance_id), max(h.version));
	RETURN QUERY SELECT format('I1 %s: no history', s.instance_id) FROM sayiir_workflow_snapshots s
		WHERE NOT EXISTS (SELECT FROM sayiir_workflow_snapshot_history h WHERE h.instance_id = s.instance_id);
	RETURN QUERY SELECT format('I2 %s v%s: hash', h.instance_id, h.version) FROM sayiir_workflow_snapshot_history h
		WHERE h.data_hash <> sha256(h.data);
	RETURN QUERY SELECT format('I2 %s: hash or status differ from the newest version', s.instance_id)
		FROM sayiir_workflow_snapshots s JOIN sayiir_workflow_snapshot_history h
			ON h.instance_id = s.instance_id AND h.version = s.history_version
		WHERE (h.data_hash, h.status) IS DISTINCT FROM (s.data_hash, s.status);
	RETURN QUERY SELECT format('I3 %s: history or task without snapshot', o.instance_id)
		FROM (SELECT instance_id FROM sayiir_workflow_snapshot_history UNION SELECT instance_id FROM sayiir_workflow_tasks) o
		WHERE NOT EXISTS (SELECT FROM sayiir_workflow_snapshots s WHERE s.instance_id = o.instance_id);
	RETURN QUERY SELECT format('I3 %s: ended without time, or with an active task', s.instance_id)
		FROM sayiir_workflow_snapshots s WHERE s.status IN ('Completed', 'Failed', 'Cancelled')
			AND (s.completed_at IS NULL OR EXISTS (SELECT FROM sayiir_workflow_tasks k
				WHERE k.instance_id = s.instance_id AND k.status = 'active'));
	RETURN QUERY SELECT format('I4 %s: v%s follows an end', h.instance_id, h.version) FROM sayiir_workflow_snapshot_history h
		WHERE EXISTS (SELECT FROM sayiir_workflow_snapshot_history e WHERE e.instance_id = h.instance_id
			AND e.version < h.version AND e.status IN ('Completed', 'Failed', 'Cancelled'));
	RETURN QUERY SELECT format('sayiir_check_integrity: %s %s %s', c.violated_by, c.invariant, c.detail)
		FROM sayiir_check_integrity() c;
END $$;

-- The wakeup payload, built from its description alone.
CREATE FUNCTION qa.le64(n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(substring(int8send(n) FROM i FOR 1), '' ORDER BY i DESC) FROM generate_series(1, 8) i $$;
CREATE FUNCTION qa.str(s text) RETURNS bytea LANGUAGE sql STABLE AS $$
	SELECT qa.le64(length(b)) || b FROM (SELECT convert_to(s, 'UTF8') AS b) x $$;
CREATE FUNCTION qa.b64(b bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT rtrim(replace(encode(b, 'base64'), E'\n', ''), '=') $$;
CREATE FUNCTION qa.hint(p_id text, p_task bytea, p_def bytea, p_tags text[]) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT qa.b64('\x02'::bytea || qa.str(p_id) || p_task || p_def || qa.le64(cardinality(p_tags))
		|| coalesce((SELECT string_agg(qa.str(u.tag), '' ORDER BY u.i) FROM unnest(p_tags) WITH ORDINALITY AS u(tag, i)), '')) $$;

\set ECHO all
