-- sayiir_save_snapshots: each element is a call of sayiir_save_snapshot; all or none.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- Versions come in the order of the elements, whatever the order of the ids.
SELECT sayiir_save_snapshots(ARRAY['\x0b', '\x0a', '\x0c']::bytea[], '{b,a,c}', '{InProgress,InProgress,Paused}', array_fill(qa.t('wf'), '{3}'));
SELECT sayiir_save_snapshots(ARRAY['\x1a', '\x1d']::bytea[], '{a,d}', '{InProgress,Completed}', array_fill(qa.t('wf'), '{2}'), ARRAY[qa.t('x'), NULL]);
-- NULL for those that had ended
SELECT sayiir_save_snapshots(ARRAY['\x2a', '\x2b', '\x2d']::bytea[], '{d,b,a}', '{InProgress,Failed,InProgress}', array_fill(qa.t('wf'), '{3}'), error => '{x,oops,NULL}');
SELECT instance_id, qa.load(instance_id) FROM sayiir_workflow_snapshots ORDER BY 1;
SELECT qa.show('a');
-- one, none, an array that begins elsewhere
SELECT sayiir_save_snapshots(ARRAY['\x01']::bytea[], '{one}', '{InProgress}', ARRAY[qa.t('wf')]);
SELECT sayiir_save_snapshots('{}', '{}', '{}', '{}'), sayiir_save_snapshots('{}', '{}', '{}', '{}', task_tags => '{}', error => NULL);
SELECT sayiir_save_snapshots('[5:6]={"\\x02","\\x03"}', '[0:1]={one,two}', '{InProgress,InProgress}', array_fill(qa.t('wf'), '{2}', '{-3}'));

-- The same by single calls and by a batch: every column of every table.
CREATE TABLE qa.given (n integer, step integer, data bytea, id text, status text, def bytea, cur bytea, cnt integer, err text, kind text, wake timestamptz,
	trace text, prio integer, tags text, lc bytea, out bytea, ev integer, sig text);
INSERT INTO qa.given VALUES
	(1, 1, '\x01', 'r', 'InProgress', qa.t('wf'), qa.t('a'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(2, 1, '\x', 'q', 'InProgress', qa.t('wf'), NULL, 7, NULL, 'AtDelay', '2031-02-03 04:05:06.789012+00', '00-ab-cd-01', 1, '{gpu,"a b"}', NULL, NULL, 0, NULL),
	(3, 1, '\x03', 's', 'Paused', qa.t('wf2'), qa.t('b'), NULL, '', '', '-infinity', '', 5, '{}', qa.t('a'), '\xaa', NULL, ''),
	(4, 1, '\x04', 'p', 'InProgress', qa.t('wf'), NULL, NULL, NULL, 'AtSignal', NULL, NULL, 2, '[2:3]={x,y}', qa.t('a'), NULL, NULL, 'go'),
	(1, 2, '\x11', 'r', 'InProgress', qa.t('wf'), qa.t('b'), NULL, NULL, NULL, NULL, NULL, NULL, '{t}', qa.t('a'), '\xab', 1, NULL),
	(2, 2, '\x12', 'q', 'Completed', qa.t('wf'), NULL, NULL, 'e', NULL, NULL, NULL, NULL, NULL, qa.t('c'), '\xac', NULL, NULL),
	(3, 2, '\x13', 's', 'Paused', qa.t('wf2'), qa.t('c'), 3, NULL, NULL, NULL, NULL, NULL, NULL, qa.t('a'), NULL, NULL, NULL),
	(4, 2, '\x14', 'p', 'Cancelled', qa.t('wf'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL),
	(1, 3, '\x11', 'r', 'InProgress', qa.t('wf'), qa.t('b'), NULL, NULL, NULL, NULL, NULL, NULL, '{t}', qa.t('a'), '\xab', 1, NULL),
	(2, 3, '\x22', 'q', 'InProgress', qa.t('wf'), qa.t('a'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(3, 3, '\x23', 's', 'Failed', qa.t('wf2'), NULL, NULL, 'end', NULL, NULL, NULL, NULL, NULL, qa.t('d'), '\xad', 2, NULL),
	(4, 3, '\x14', 'p', 'Cancelled', qa.t('wf'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
UPDATE qa.given SET sig = NULL WHERE sig = '';
CREATE TABLE qa.answers (kind text, step integer, versions integer[]);
-- one transaction for all: times are equal then, but for the clock at which an instance came to its place
BEGIN;
DO $$
DECLARE
	s integer;
	g qa.given;
	v integer[];
BEGIN
	FOR s IN 1 .. 3 LOOP
		v := '{}';
		FOR g IN SELECT * FROM qa.given WHERE step = s ORDER BY n LOOP
			v := v || sayiir_save_snapshot(g.data, 'single' || g.id, g.status, g.def, g.cur, g.cnt, g.err, g.kind, g.wake, g.trace, g.prio, g.tags::text[], g.lc, g.out, g.ev, NULL, g.sig);
		END LOOP;
		INSERT INTO qa.answers VALUES ('single', s, v);
		INSERT INTO qa.answers SELECT 'batch', s, sayiir_save_snapshots(array_agg(data ORDER BY n), array_agg('batch' || id ORDER BY n), array_agg(status ORDER BY n), array_agg(def ORDER BY n),
			array_agg(cur ORDER BY n), array_agg(cnt ORDER BY n), array_agg(err ORDER BY n), array_agg(kind ORDER BY n), array_agg(wake ORDER BY n), array_agg(trace ORDER BY n), array_agg(prio ORDER BY n),
			array_agg(tags ORDER BY n), array_agg(lc ORDER BY n), array_agg(out ORDER BY n), array_agg(ev ORDER BY n), NULL, array_agg(sig ORDER BY n)) FROM qa.given WHERE step = s;
	END LOOP;
END $$;
COMMIT;
SELECT * FROM qa.answers ORDER BY step, kind;
CREATE FUNCTION qa.rows_of(kind text) RETURNS TABLE (rel text, r jsonb) LANGUAGE sql AS $$
	SELECT rel, r || jsonb_build_object('instance_id', substr(r->>'instance_id', length(kind) + 1)) FROM (
		SELECT 'snapshots' AS rel, to_jsonb(x) - 'waiting_since' AS r FROM sayiir_workflow_snapshots x UNION ALL SELECT 'versions', to_jsonb(x) FROM sayiir_workflow_versions x
		UNION ALL SELECT 'tasks', to_jsonb(x) - 'started_at' - 'completed_at' FROM sayiir_workflow_tasks x UNION ALL SELECT 'ready', to_jsonb(x) - 'ready_at' FROM sayiir_workflow_ready x) a
	WHERE r->>'instance_id' LIKE kind || '%' $$;
SELECT rel, count(*) FROM qa.rows_of('batch') GROUP BY 1 ORDER BY 1;
(SELECT 'single only', * FROM qa.rows_of('single') EXCEPT ALL SELECT 'single only', * FROM qa.rows_of('batch')) UNION ALL
(SELECT 'batch only', * FROM qa.rows_of('batch') EXCEPT ALL SELECT 'batch only', * FROM qa.rows_of('single'));

-- Under claims, as single calls.
SELECT sayiir_save_snapshots(array_fill('\x01'::bytea, '{3}'), '{k1,k2,k3}', array_fill('InProgress'::text, '{3}'), array_fill(qa.t('wf'), '{3}'), array_fill(qa.t('a'), '{3}'));
SELECT claim_token AS k1 FROM sayiir_claim_task('k1', qa.t('a'), 'w') \gset
SELECT sayiir_save_snapshots(array_fill('\x02'::bytea, '{2}'), '{k2,k1}', array_fill('InProgress'::text, '{2}'), array_fill(qa.t('wf'), '{2}'), array_fill(qa.t('b'), '{2}'), claim_token => ARRAY[NULL, :'k1']::uuid[]);
SELECT qa.try(format($$SELECT sayiir_save_snapshots(array_fill('\x03'::bytea, '{2}'), '{k2,k1}', array_fill('InProgress'::text, '{2}'), array_fill(qa.t('wf'), '{2}'), claim_token => ARRAY[NULL, %L]::uuid[])$$, :'k1'));
SELECT instance_id, history_version FROM sayiir_workflow_snapshots WHERE instance_id LIKE 'k%' ORDER BY 1;

-- Bad input: refused with the element, and nothing is written. The call is good but for what is put in its place.
CREATE FUNCTION qa.batch(VARIADIC bad text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before text := qa.whole();
	args text[] := ARRAY['data=>ARRAY[''\x01'',''\x02'',''\x03'']::bytea[]', 'instance_id=>''{n1,n2,n3}''', 'status=>''{InProgress,InProgress,InProgress}''', 'definition_hash=>array_fill(qa.t(''wf''),''{3}'')'];
	a text;
	c text;
	r text;
BEGIN
	FOREACH a IN ARRAY bad LOOP
		args := array(SELECT x FROM unnest(args) x WHERE split_part(x, '=>', 1) <> split_part(a, '=>', 1)) || a;
	END LOOP;
	BEGIN
		EXECUTE 'SELECT sayiir_save_snapshots(' || array_to_string(args, ', ') || ')' INTO r;
		RAISE 'no error';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS c = PG_EXCEPTION_CONTEXT, a = PG_EXCEPTION_DETAIL;
		r := SQLSTATE || ': ' || SQLERRM || CASE WHEN a <> '' THEN ' (' || a || ')' ELSE '' END || coalesce(' [' || substring(c FROM '^element \d+ of the batch') || ']', '');
	END;
	RETURN r || CASE WHEN before <> qa.whole() THEN ' AND SOMETHING WAS WRITTEN' ELSE '' END;
END $$;
SELECT qa.batch('data=>NULL');
SELECT qa.batch('instance_id=>NULL');
SELECT qa.batch('status=>NULL');
SELECT qa.batch('definition_hash=>NULL');
SELECT qa.batch('data=>ARRAY[''\x01'',NULL,''\x03'']::bytea[]');
SELECT qa.batch('instance_id=>''{n1,n2,NULL}''');
SELECT qa.batch('status=>''{NULL,Paused,Paused}''');
SELECT qa.batch('definition_hash=>ARRAY[qa.t(''wf''),NULL,qa.t(''wf'')]');
SELECT qa.batch('instance_id=>''{n1,n2}''');
SELECT qa.batch('instance_id=>''{}''');
SELECT qa.batch('data=>''{}''');
SELECT qa.batch('task_tags=>''{}''');
SELECT qa.batch('error=>''{a,b,c,d}''');
SELECT qa.batch('task_tags=>''{{a},{b},{c}}''');
SELECT qa.batch('instance_id=>''{{n1,n2,n3}}''');
SELECT qa.batch('instance_id=>''{n1,n2,n1}''');
SELECT qa.batch('instance_id=>''{"",n2,n1}''');
SELECT qa.batch('status=>''{Paused,Nonsense,Paused}''');
SELECT qa.batch('definition_hash=>ARRAY[qa.t(''wf''),qa.t(''wf''),''\x00'']');
SELECT qa.batch('task_tags=>ARRAY[''{a}'',''{b'',NULL]');
SELECT qa.batch('task_tags=>ARRAY[''{a}'',''b'',NULL]');
SELECT qa.batch('task_tags=>ARRAY[''{a}'',''{NULL}'',NULL]');
SELECT qa.batch('task_tags=>ARRAY[''{{a}}'',''{}'',NULL]');
SELECT qa.batch('task_priority=>''{1,NULL,6}''');
SELECT qa.batch('completed_task_count=>''{1,-1,6}''');
SELECT qa.batch('expected_version=>''{NULL,NULL,-1}''');
SELECT qa.batch('last_completed_output=>ARRAY[NULL,NULL,''\x01'']::bytea[]');
SELECT qa.batch('awaited_signal=>ARRAY['''',NULL,NULL]');
-- found out when all others were written, or in the middle
SELECT qa.batch('expected_version=>''{NULL,NULL,4}''');
SELECT qa.batch('expected_version=>''{NULL,4,NULL}''');
SELECT qa.batch('instance_id=>''{n1,c,n2}''');
SELECT qa.batch('claim_token=>ARRAY[NULL,NULL,gen_random_uuid()]');
SELECT count(*) FROM sayiir_workflow_snapshots WHERE instance_id LIKE 'n%';

-- Many, in one call.
SELECT cardinality(v), (SELECT count(*) FROM unnest(v) x WHERE x = 1) FROM (
	SELECT sayiir_save_snapshots(array_agg(int4send(i)), array_agg('many' || i), array_agg('InProgress'::text), array_agg(qa.t('wf')), array_agg(qa.t('a')), task_tags => array_agg('{t' || i % 3 || '}')) AS v
	FROM generate_series(1, 5000) i) x;
SELECT count(*), count(DISTINCT task_tags) FROM sayiir_workflow_snapshots WHERE instance_id LIKE 'many%';
SELECT * FROM sayiir_check_integrity();
