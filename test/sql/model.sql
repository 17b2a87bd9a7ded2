-- The same few thousand random calls on the extension and on a slow, obvious model of the contract:
-- after every single one the answers, the SQLSTATEs and the three tables have to be equal.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

CREATE SCHEMA model;
-- Of the snapshots the columns of the store; those that the claims need are not the model's matter.
CREATE VIEW model.real_snapshots AS SELECT instance_id, status, definition_hash, current_task_id, completed_task_count, error, position_kind,
	delay_wake_at, trace_parent, task_priority, task_tags, history_version, data_hash, started_at, completed_at, updated_at
	FROM sayiir_workflow_snapshots;
CREATE TABLE model.snapshots AS TABLE model.real_snapshots;
CREATE TABLE model.history AS TABLE sayiir_workflow_snapshot_history;
CREATE TABLE model.tasks AS TABLE sayiir_workflow_tasks;

CREATE FUNCTION model.fail(code text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING errcode = code;
END $$;

CREATE FUNCTION model.check_id(id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF id IS NULL THEN PERFORM model.fail('22004'); END IF;
	IF octet_length(id) NOT BETWEEN 1 AND 256 THEN PERFORM model.fail('22023'); END IF;
END $$;

CREATE FUNCTION model.ended(status text) RETURNS boolean LANGUAGE sql AS $$
	SELECT coalesce($1 IN ('Completed', 'Failed', 'Cancelled'), false) $$;

-- The task becomes completed with this output by this version.
CREATE FUNCTION model.complete(id text, task bytea, result bytea, v integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	k model.tasks;
BEGIN
	SELECT * INTO k FROM model.tasks m WHERE m.instance_id = id AND m.task_id = task;
	IF k.task_id IS NULL THEN
		INSERT INTO model.tasks (instance_id, task_id, status, completed_at, output, completed_version)
		VALUES (id, task, 'completed', now(), result, v);
	ELSIF k.status <> 'completed' OR (result IS NOT NULL AND result IS DISTINCT FROM k.output) THEN
		UPDATE model.tasks m SET status = 'completed', completed_at = now(), error = NULL,
			output = coalesce(result, m.output), completed_version = v
		WHERE m.instance_id = id AND m.task_id = task;
	END IF;
END $$;

CREATE FUNCTION model.save(bytes bytea, id text, stat text, def bytea, cur bytea, cnt integer, err text, kind text,
	wake timestamptz, trace text, prio integer, tags text[], last bytea, result bytea, expected integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	s model.snapshots;
	v integer;
BEGIN
	-- arguments
	PERFORM model.check_id(id);
	IF bytes IS NULL OR stat IS NULL OR def IS NULL THEN PERFORM model.fail('22004'); END IF;
	IF stat NOT IN ('InProgress', 'Paused', 'Completed', 'Failed', 'Cancelled') OR length(def) <> 32 OR length(cur) <> 32
		OR length(last) <> 32 OR cnt < 0 OR prio NOT BETWEEN 1 AND 5 OR expected < 0 OR array_ndims(tags) > 1
		OR array_position(tags, NULL) IS NOT NULL OR (result IS NOT NULL AND last IS NULL)
	THEN PERFORM model.fail('22023'); END IF;
	SELECT * INTO s FROM model.snapshots m WHERE m.instance_id = id;
	-- a recognized repeat
	IF EXISTS (SELECT FROM model.history h WHERE h.instance_id = id AND h.version = expected + 1 AND h.status = stat
		AND h.data = bytes AND h.current_task_id IS NOT DISTINCT FROM cur) THEN
		RETURN expected + 1;
	END IF;
	IF model.ended(s.status) AND s.status = stat AND EXISTS (SELECT FROM model.history h
		WHERE h.instance_id = id AND h.version = s.history_version AND h.data = bytes) THEN
		RETURN s.history_version;
	END IF;
	-- terminal
	IF model.ended(s.status) THEN RETURN NULL; END IF;
	-- state
	IF s.status = 'Paused' AND stat = 'InProgress' THEN PERFORM model.fail('SY003'); END IF;
	-- version
	IF expected <> coalesce(s.history_version, 0) THEN PERFORM model.fail('SY001'); END IF;
	v := coalesce(s.history_version, 0) + 1;
	IF cnt IS NULL THEN
		cnt := coalesce(s.completed_task_count, 0);
		IF last IS NOT NULL AND NOT EXISTS (SELECT FROM model.tasks k
			WHERE k.instance_id = id AND k.task_id = last AND k.status = 'completed') THEN
			cnt := cnt + 1;
		END IF;
	END IF;
	DELETE FROM model.snapshots m WHERE m.instance_id = id;
	INSERT INTO model.snapshots VALUES (id, stat, def, cur, cnt, err, kind, wake, trace, coalesce(prio, 3),
		coalesce(tags, '{}'), v, sha256(bytes), coalesce(s.started_at, now()),
		CASE WHEN model.ended(stat) THEN now() END, now());
	INSERT INTO model.history VALUES (id, v, stat, cur, bytes, sha256(bytes), now());
	IF last IS NOT NULL THEN
		PERFORM model.complete(id, last, result, v);
	END IF;
	IF model.ended(stat) THEN
		UPDATE model.tasks k SET completed_at = now(), error = err,
			completed_version = CASE stat WHEN 'Completed' THEN v END,
			status = CASE stat WHEN 'Completed' THEN 'completed' WHEN 'Failed' THEN 'failed' ELSE 'cancelled' END
		WHERE k.instance_id = id AND k.status = 'active';
	ELSIF cur IS NOT NULL AND cur IS DISTINCT FROM last AND NOT EXISTS (SELECT FROM model.tasks k
		WHERE k.instance_id = id AND k.task_id = cur) THEN
		INSERT INTO model.tasks (instance_id, task_id, status, started_at) VALUES (id, cur, 'active', now());
	END IF;
	RETURN v;
END $$;

CREATE FUNCTION model.task_result(id text, task bytea, result bytea, bytes bytea, expected integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	s model.snapshots;
	k model.tasks;
	v integer;
BEGIN
	PERFORM model.check_id(id);
	IF task IS NULL OR result IS NULL THEN PERFORM model.fail('22004'); END IF;
	IF length(task) <> 32 OR expected < 0 THEN PERFORM model.fail('22023'); END IF;
	SELECT * INTO s FROM model.snapshots m WHERE m.instance_id = id;
	IF s.instance_id IS NULL THEN PERFORM model.fail('P0002'); END IF;
	SELECT * INTO k FROM model.tasks m WHERE m.instance_id = id AND m.task_id = task;
	IF k.status = 'completed' AND k.output = result AND (bytes IS NULL OR EXISTS (SELECT FROM model.history h
		WHERE h.instance_id = id AND h.version = k.completed_version AND h.data = bytes)) THEN
		RETURN k.completed_version;
	END IF;
	-- the same output once more, with the snapshot that is stored by now
	IF k.status = 'completed' AND k.output = result AND EXISTS (SELECT FROM model.history h
		WHERE h.instance_id = id AND h.version = s.history_version AND h.data = bytes) THEN
		RETURN s.history_version;
	END IF;
	IF model.ended(s.status) THEN RETURN NULL; END IF;
	IF expected <> s.history_version THEN PERFORM model.fail('SY001'); END IF;
	v := s.history_version + 1;
	IF bytes IS NULL THEN
		bytes := (SELECT h.data FROM model.history h WHERE h.instance_id = id AND h.version = s.history_version);
	END IF;
	UPDATE model.snapshots m SET history_version = v, data_hash = sha256(bytes), updated_at = now(),
		completed_task_count = completed_task_count + CASE WHEN k.status = 'completed' THEN 0 ELSE 1 END
	WHERE m.instance_id = id;
	INSERT INTO model.history VALUES (id, v, s.status, s.current_task_id, bytes, sha256(bytes), now());
	PERFORM model.complete(id, task, result, v);
	RETURN v;
END $$;

-- Back to InProgress, where it was.
CREATE FUNCTION model.unpause(id text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	s model.snapshots;
	v integer;
BEGIN
	PERFORM model.check_id(id);
	SELECT * INTO s FROM model.snapshots m WHERE m.instance_id = id;
	IF s.instance_id IS NULL THEN PERFORM model.fail('P0002'); END IF;
	IF s.status <> 'Paused' THEN PERFORM model.fail('SY003'); END IF;
	v := s.history_version + 1;
	UPDATE model.snapshots m SET history_version = v, status = 'InProgress', updated_at = now() WHERE m.instance_id = id;
	INSERT INTO model.history SELECT id, v, 'InProgress', s.current_task_id, h.data, h.data_hash, now() FROM model.history h
	WHERE h.instance_id = id AND h.version = s.history_version;
	RETURN v;
END $$;

CREATE FUNCTION model.remove(id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM model.check_id(id);
	DELETE FROM model.snapshots m WHERE m.instance_id = id;
	IF NOT FOUND THEN PERFORM model.fail('P0002'); END IF;
	DELETE FROM model.history m WHERE m.instance_id = id;
	DELETE FROM model.tasks m WHERE m.instance_id = id;
	RETURN '';
END $$;

CREATE FUNCTION model.load(id text, v integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	s model.snapshots;
	h model.history;
	known text;
BEGIN
	PERFORM model.check_id(id);
	IF v < 0 THEN PERFORM model.fail('22023'); END IF;
	SELECT * INTO s FROM model.snapshots m WHERE m.instance_id = id;
	SELECT * INTO h FROM model.history m WHERE m.instance_id = id AND m.version = coalesce(v, s.history_version);
	IF s.instance_id IS NULL OR h.instance_id IS NULL THEN PERFORM model.fail('P0002'); END IF;
	known := coalesce((SELECT string_agg(k.task_id || '=' || k.output, ' ' ORDER BY k.task_id) FROM model.tasks k
		WHERE k.instance_id = id AND k.status = 'completed' AND k.output IS NOT NULL AND k.completed_version <= h.version), '');
	RETURN (h.status, h.version, h.data, sha256(h.data), s.trace_parent, s.definition_hash, h.current_task_id,
		s.completed_task_count, s.error, known, s.updated_at);
END $$;

-- The answer of a call, or its SQLSTATE.
CREATE FUNCTION model.answer(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	EXECUTE 'SELECT ' || call INTO r;
	RETURN coalesce(r, 'NULL');
EXCEPTION WHEN OTHERS THEN
	RETURN 'error ' || SQLSTATE;
END $$;

CREATE FUNCTION model.pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT choices[1 + floor(random() * cardinality(choices))::integer] $$;

-- Rows of either side that the other does not have.
CREATE FUNCTION model.differences() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(d, E'\n') FROM (
		(SELECT 'extension ' || s::text AS d FROM model.real_snapshots s EXCEPT ALL SELECT 'extension ' || m::text FROM model.snapshots m)
		UNION ALL
		(SELECT 'model ' || m::text FROM model.snapshots m EXCEPT ALL SELECT 'model ' || s::text FROM model.real_snapshots s)
		UNION ALL
		(SELECT 'extension ' || s::text FROM public.sayiir_workflow_snapshot_history s EXCEPT ALL SELECT 'extension ' || m::text FROM model.history m)
		UNION ALL
		(SELECT 'model ' || m::text FROM model.history m EXCEPT ALL SELECT 'model ' || s::text FROM public.sayiir_workflow_snapshot_history s)
		UNION ALL
		(SELECT 'extension ' || s::text FROM public.sayiir_workflow_tasks s EXCEPT ALL SELECT 'extension ' || m::text FROM model.tasks m)
		UNION ALL
		(SELECT 'model ' || m::text FROM model.tasks m EXCEPT ALL SELECT 'model ' || s::text FROM public.sayiir_workflow_tasks s)) x $$;

CREATE TABLE model.seen (call text, answer text);

-- Every call in a transaction of its own, so that the times differ from call to call.
CREATE PROCEDURE model.run(rounds integer) LANGUAGE plpgsql AS $$
DECLARE
	kind text;
	id text;
	v integer;
	expected text;
	args text;
	real text;
	ours text;
	bad text;
	wrong integer := 0;
BEGIN
	FOR i IN 1 .. rounds LOOP
		id := model.pick('i1', 'i2', 'i3');
		v := coalesce((SELECT history_version FROM model.snapshots WHERE instance_id = id), 0);
		-- the version before the newest makes repeats, the newest makes saves, the others conflict
		expected := model.pick('NULL', 'NULL', v::text, v::text, (v - 1)::text, (v - 2)::text, '1', '0', (v + 1)::text);
		kind := model.pick('save', 'save', 'save', 'save', 'result', 'result', 'load', CASE WHEN i % 2 = 0 THEN 'unpause' WHEN i % 4 = 1 THEN 'delete' ELSE 'end' END);
		IF kind IN ('save', 'end') THEN
			args := format('%s, %L, %L, qa.t(%L), %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s',
				model.pick('''\x01''', '''\x01''', '''\x02''', '''\x''', CASE WHEN i % 20 = 0 THEN 'NULL' ELSE '''\x01''' END),
				CASE WHEN i % 97 = 0 THEN '' ELSE id END,
				CASE WHEN kind = 'save' THEN model.pick('InProgress', 'InProgress', 'InProgress', 'Paused', CASE WHEN i % 20 = 3 THEN 'Ended' ELSE 'InProgress' END)
					ELSE model.pick('Completed', 'Failed', 'Cancelled') END,
				model.pick('wf', 'wf2'),
				model.pick('NULL', 'qa.t(''a'')', 'qa.t(''a'')', 'qa.t(''b'')', CASE WHEN i % 20 = 5 THEN '''\x00''' ELSE 'qa.t(''c'')' END),
				model.pick('NULL', 'NULL', '7', CASE WHEN i % 20 = 6 THEN '-1' ELSE '0' END),
				model.pick('NULL', '''oops'''), model.pick('NULL', '''AtTask'''), model.pick('NULL', '''2030-01-01 UTC'''),
				model.pick('NULL', '''00-1-2-00'''),
				model.pick('NULL', '1', '5', CASE WHEN i % 20 = 7 THEN '6' ELSE '3' END),
				model.pick('NULL', '''{}''', '''{gpu,eu}''', CASE WHEN i % 20 = 8 THEN '''{NULL}''' ELSE '''{x}''' END),
				CASE WHEN i % 3 = 0 THEN 'NULL, NULL' WHEN i % 40 = 1 THEN 'NULL, ''\x00'''
					ELSE model.pick('qa.t(''a'')', 'qa.t(''b'')', 'qa.t(''c'')') || ', ' || model.pick('NULL', '''\xaa''', '''\xaa''', '''\xbb''', '''\x''') END,
				CASE WHEN i % 3 = 0 THEN 'NULL' ELSE expected END,
				'');
			args := rtrim(args, ', ');
			real := model.answer('public.sayiir_save_snapshot(' || args || ')');
			ours := model.answer('model.save(' || args || ')');
		ELSIF kind = 'result' THEN
			args := format('%L, %s, %s, %s, %s', CASE WHEN i % 20 = 9 THEN 'nobody' ELSE id END,
				model.pick('qa.t(''a'')', 'qa.t(''b'')', 'qa.t(''c'')', CASE WHEN i % 20 = 10 THEN '''\x00''' ELSE 'qa.t(''d'')' END),
				model.pick('''\xaa''', '''\xaa''', '''\xbb''', CASE WHEN i % 20 = 11 THEN 'NULL' ELSE '''\x''' END),
				model.pick('NULL', 'NULL', '''\x01''', '''\x02'''), expected);
			real := model.answer('public.sayiir_save_task_result(' || args || ')');
			ours := model.answer('model.task_result(' || args || ')');
		ELSIF kind = 'load' THEN
			args := format('%L, %s', CASE WHEN i % 20 = 12 THEN 'nobody' ELSE id END,
				model.pick('NULL', '1', (v - 1)::text, (v + 1)::text, '0'));
			real := model.answer(format('(SELECT (l.status, l.history_version, l.data, l.data_hash, l.trace_parent, l.definition_hash,
				l.current_task_id, l.completed_task_count, l.error, coalesce((SELECT string_agg(u.id || ''='' || u.o, '' '' ORDER BY u.id)
				FROM unnest(l.task_ids, l.outputs) AS u(id, o)), ''''), l.updated_at)::text FROM public.sayiir_load_snapshot(%s) l)', args));
			ours := model.answer('model.load(' || args || ')');
		ELSIF kind = 'unpause' THEN
			args := format('%L', id);
			real := model.answer('public.sayiir_unpause(' || args || ')');
			ours := model.answer('model.unpause(' || args || ')');
		ELSE
			args := format('%L', id);
			real := model.answer('public.sayiir_delete_snapshot(' || args || ')');
			ours := model.answer('model.remove(' || args || ')');
		END IF;
		bad := model.differences();
		INSERT INTO model.seen VALUES (kind, CASE WHEN real ~ '^\d+$' THEN CASE WHEN real::integer <= v THEN 'repeat' ELSE 'version' END
			WHEN real ~ '^\(' THEN 'row' ELSE real END);
		COMMIT;
		IF real IS DISTINCT FROM ours OR bad IS NOT NULL THEN
			RAISE INFO E'round %: % (%)\nextension says %\nmodel says %\n%', i, kind, args, real, ours, bad;
			wrong := wrong + 1;
			EXIT WHEN wrong >= 3;
			-- go on from equal tables
			DELETE FROM model.snapshots; INSERT INTO model.snapshots SELECT * FROM model.real_snapshots;
			DELETE FROM model.history; INSERT INTO model.history SELECT * FROM public.sayiir_workflow_snapshot_history;
			DELETE FROM model.tasks; INSERT INTO model.tasks SELECT * FROM public.sayiir_workflow_tasks;
			COMMIT;
		END IF;
	END LOOP;
	RAISE INFO 'differences: %', wrong;
END $$;

-- A fixed seed, so that a difference comes back. No setting of the display plays a part.
SELECT setseed(0.25);
CALL model.run(2500);

-- Every kind of answer has come up, else the comparison would have said little.
SELECT call, string_agg(DISTINCT answer, ' ' ORDER BY answer) FROM model.seen GROUP BY call ORDER BY call;
SELECT qa.unsound();

DROP SCHEMA model CASCADE;
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
