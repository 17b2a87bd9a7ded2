-- What is kept: a prefix of the history goes, ended instances go, in batches, and what stays is what it was.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

CREATE FUNCTION qa.grown(n integer) RETURNS bytea LANGUAGE sql STABLE AS $$
	SELECT convert_to(format('at %s %s updated %s', $1,
		(SELECT string_agg(md5(i::text), chr(10) ORDER BY i) FROM generate_series(1, 100 + $1) i), $1), 'UTF8') $$;
CREATE TABLE qa.kept (instance_id text, version integer, load text, data bytea);
-- All loads of an instance, kept aside, and compared with what they are now.
CREATE FUNCTION qa.note(p_id text) RETURNS bigint LANGUAGE sql AS $$
	WITH n AS (INSERT INTO qa.kept SELECT $1, h.history_version, qa.load($1, h.history_version), l.data
		FROM sayiir_history($1) h, sayiir_load_snapshot($1, h.history_version) l RETURNING 1) SELECT count(*) FROM n $$;
CREATE FUNCTION qa.left(p_id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT format('%s..%s, %s of %s loads as before, %s whole', min(h.history_version), max(h.history_version),
			count(*) FILTER (WHERE l.data = k.data AND qa.load(p_id, h.history_version) = k.load), count(*),
			(SELECT count(*) FROM sayiir_workflow_versions v WHERE v.instance_id = p_id AND v.base IS NULL))
		FROM sayiir_history(p_id) h LEFT JOIN qa.kept k ON k.instance_id = p_id AND k.version = h.history_version,
		LATERAL sayiir_load_snapshot(p_id, h.history_version) l)
		|| (SELECT coalesce(string_agg('; ' || invariant || ' ' || detail, ''), '') FROM sayiir_check_integrity(p_id));
END $$;

-- Whatever is cut off, the rest is as it was: every cut of a history of deltas.
SELECT count(qa.sv('d', p_data => qa.grown(n), p_cur => qa.t('t' || n), p_lc => CASE WHEN n > 1 THEN qa.t('t' || n - 1) END, p_out => CASE WHEN n > 1 THEN int4send(n) END)) FROM generate_series(1, 70) n;
SELECT qa.note('d'), qa.left('d');
SELECT sayiir_prune_history(70), qa.left('d');
DO $$
DECLARE
	answer text;
	wrong text := '';
BEGIN
	FOR keep IN REVERSE 69 .. 2 LOOP
		answer := sayiir_prune_history(keep) || ' ' || qa.left('d');
		IF answer !~ format('^1 %s..70, %s of %s loads as before, [12] whole$', 71 - keep, keep, keep) THEN
			wrong := wrong || answer || E'\n';
		END IF;
	END LOOP;
	RAISE INFO 'wrong: %', wrong;
END $$;
SELECT qa.left('d');
-- saves go on from there
SELECT qa.sv('d', p_data => qa.grown(71));
SELECT (SELECT data = qa.grown(71) FROM sayiir_load_snapshot('d')) AS same, qa.left('d');
-- by far in one call
SELECT count(qa.sv('e', p_data => qa.grown(n))) FROM generate_series(1, 100) n;
SELECT qa.note('e'), sayiir_prune_history(37), qa.left('e');
-- never the newest
SELECT sayiir_prune_history(0), qa.left('e'), qa.left('d');
SELECT sayiir_prune_history(0), sayiir_prune_history();
-- a pruned version is unknown, a pruned repeat is not recognized any more
SELECT qa.try($$SELECT sayiir_load_snapshot('e', 99)$$);
SELECT split_part(qa.try($$SELECT qa.sv('e', p_data => qa.grown(2), p_ev => 1)$$), ':', 1);
SELECT count(*) FROM sayiir_workflow_snapshot_history WHERE instance_id = 'e';

-- Versions of several ages and statuses, by limits that all have to be passed.
CREATE FUNCTION qa.aged(p_id text, p_status text, ages interval[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n integer := cardinality(ages);
BEGIN
	PERFORM qa.sv(p_id, CASE WHEN i < n THEN 'InProgress' ELSE p_status END, int4send(i)) FROM generate_series(1, n) i;
	UPDATE sayiir_workflow_versions SET created_at = now() - ages[version] WHERE instance_id = p_id;
	UPDATE sayiir_workflow_snapshots SET completed_at = completed_at - ages[n] WHERE instance_id = p_id;
	RETURN qa.note(p_id);
END $$;
SELECT qa.aged('run', 'InProgress', '{9 days,8 days,7 days,6 days,5 days,4 days}'), qa.aged('done', 'Completed', '{9 days,8 days,7 days,6 days,5 days,4 days}'),
	qa.aged('young', 'Failed', '{9 days,1 hour,9 days,9 days,0}'), qa.aged('old', 'Cancelled', '{9 days,9 days}');
SELECT sayiir_prune_history(older_than => '10 days'), sayiir_prune_history(5, '8 days 12 hours', 'Paused');
SELECT sayiir_prune_history(5, '5 days 12 hours', 'Completed'), qa.left('done'), qa.left('run');
SELECT sayiir_prune_history(3, '7 days 12 hours', 'Completed'), qa.left('done');
SELECT sayiir_prune_history(older_than => '5 days 12 hours'), qa.left('run'), qa.left('done'), qa.left('young'), qa.left('old');
SELECT sayiir_prune_history(status => 'Failed'), qa.left('young');
SELECT sayiir_prune_history(2), qa.left('run'), qa.left('done');
-- batches: not more than asked for, until there is nothing
SELECT count(qa.sv('many ' || i, p_data => int4send(v))) FROM generate_series(1, 5) i, generate_series(1, 8) v;
SELECT count(qa.sv('long', p_data => qa.grown(n))) FROM generate_series(1, 60) n;
SELECT qa.note('long');
SELECT sayiir_prune_history(3, batch => 7), count(*) FROM sayiir_workflow_versions WHERE instance_id LIKE 'many %' OR instance_id = 'long';
DO $$
DECLARE
	n bigint;
	calls integer := 0;
BEGIN
	LOOP
		n := sayiir_prune_history(3, batch => 7);
		EXIT WHEN n = 0;
		IF n > 7 THEN RAISE 'a batch of %', n; END IF;
		calls := calls + 1;
		IF EXISTS (SELECT FROM sayiir_check_integrity()) THEN RAISE 'not sound'; END IF;
	END LOOP;
	RAISE INFO '% calls', calls;
END $$;
SELECT count(*) FROM sayiir_workflow_versions WHERE instance_id LIKE 'many %';
SELECT qa.left('long');
SELECT sayiir_prune_history(1, batch => 0), sayiir_prune_history(1, batch => NULL) > 0;
-- a version that stays and cannot be rebuilt is not made worse, and stands in nobody's way
SELECT count(qa.sv('spoilt', p_data => qa.grown(n))), count(qa.sv('sound', p_data => qa.grown(n))) FROM generate_series(1, 9) n;
UPDATE sayiir_workflow_versions SET data = '\x00' WHERE instance_id = 'spoilt' AND version = 6;
SELECT sayiir_prune_history(4);
SELECT instance_id, count(*) FROM sayiir_workflow_versions WHERE instance_id IN ('spoilt', 'sound') GROUP BY 1 ORDER BY 1;
SELECT sayiir_delete_snapshot('spoilt');
SELECT qa.try($$SELECT sayiir_prune_history(-1)$$);
SELECT qa.try($$SELECT sayiir_prune_history(1, batch => -1)$$);
SELECT qa.try($$SELECT sayiir_prune_history(status => 'completed')$$);
SELECT count(*) FROM sayiir_check_integrity();

-- Ended instances, the oldest first, with all that hangs on them.
SELECT count(qa.sv('end ' || i, 'Completed', p_cur => qa.t('a'), p_lc => qa.t('b'), p_out => '\x01')) FROM generate_series(1, 9) i;
UPDATE sayiir_workflow_snapshots SET completed_at = completed_at - right(instance_id, 1)::integer * interval '1 day' WHERE instance_id LIKE 'end %';
SELECT sayiir_delete_terminal('9 days 1 hour'), sayiir_delete_terminal('8 days 1 hour'), sayiir_delete_terminal('1 hour', 0), sayiir_delete_terminal('5 days 1 hour', 2);
SELECT array_agg(instance_id ORDER BY instance_id) FROM sayiir_workflow_snapshots WHERE instance_id LIKE 'end %';
SELECT sayiir_delete_terminal('0', NULL), sayiir_delete_terminal('0');
SELECT status, count(*) FROM sayiir_workflow_snapshots GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM (SELECT instance_id FROM sayiir_workflow_tasks UNION ALL SELECT instance_id FROM sayiir_workflow_versions) x
WHERE instance_id LIKE 'end %' OR instance_id IN ('done', 'young', 'old');
SELECT qa.try($$SELECT sayiir_delete_terminal(NULL)$$);
SELECT qa.try($$SELECT sayiir_delete_terminal('1 day', -1)$$);
SELECT count(*) FROM sayiir_check_integrity();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
