-- sayiir_check_integrity: each violation, planted by hand, is named; a sound store has none.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

SELECT count(*) FROM sayiir_check_integrity();
CREATE PROCEDURE qa.four(id text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM qa.sv(id);
	PERFORM qa.sv(id, p_data => '\x02', p_cur => qa.t('b'), p_lc => qa.t('a'), p_out => '\xaa');
	PERFORM sayiir_save_task_result(id, qa.t('b'), '\xbb');
	PERFORM qa.sv(id, 'Paused', p_data => '\x04', p_cur => qa.t('c'));
END $$;
CALL qa.four('sound');
CALL qa.four('sound, ended');
SELECT qa.sv('sound, ended', 'Failed', '\x09', NULL, p_err => 'oops');
SELECT qa.sv('sound, one', 'Completed', '\x09', NULL);
SELECT count(*) FROM sayiir_check_integrity();
SELECT count(*) FROM sayiir_check_integrity(NULL);
SELECT count(*) FROM sayiir_check_integrity('sound');
SELECT count(*) FROM sayiir_check_integrity(instance_id => 'nobody');

-- Plants a violation in an instance of that name, and shows what is said: of the store, of the
-- instance, and that nothing is said of the others.
CREATE PROCEDURE qa.plant(id text, VARIADIC statements text[]) LANGUAGE plpgsql AS $$
DECLARE
	s text;
	r record;
	n bigint;
BEGIN
	FOREACH s IN ARRAY statements LOOP
		EXECUTE format(s, id);
	END LOOP;
	FOR r IN SELECT * FROM sayiir_check_integrity() ORDER BY 1, 2, 3 LOOP
		RAISE INFO '%: % %', r.violated_by, r.invariant, r.detail;
	END LOOP;
	IF EXISTS (SELECT * FROM sayiir_check_integrity() EXCEPT ALL SELECT * FROM sayiir_check_integrity(id))
		OR EXISTS (SELECT * FROM sayiir_check_integrity(id) EXCEPT ALL SELECT * FROM sayiir_check_integrity()) THEN
		RAISE INFO 'OTHERWISE WHEN ASKED FOR THE INSTANCE';
	END IF;
	SELECT count(*) INTO n FROM sayiir_check_integrity('sound');
	IF n > 0 THEN RAISE INFO 'THE SOUND INSTANCE IS NAMED'; END IF;
	-- out of every table that knows instances
	FOR s IN SELECT a.attrelid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
		WHERE a.attname = 'instance_id' AND c.relname LIKE 'sayiir%' ORDER BY 1
	LOOP
		EXECUTE format('DELETE FROM %s WHERE instance_id = %L', s, id);
	END LOOP;
END $$;

-- A store that is wrong about a status is wrong about who can be claimed, too, and says so (I6).
-- I1
CALL qa.four('hole');
CALL qa.plant('hole', $$DELETE FROM sayiir_workflow_versions WHERE instance_id = %L AND version = 2$$);
CALL qa.four('two holes');
CALL qa.plant('two holes', $$UPDATE sayiir_workflow_versions SET version = version + 100 WHERE instance_id = %L AND version > 2$$,
	$$UPDATE sayiir_workflow_versions SET version = 5 WHERE instance_id = %L AND version = 103$$,
	$$UPDATE sayiir_workflow_versions SET version = 9 WHERE instance_id = %L AND version = 104$$,
	$$UPDATE sayiir_workflow_snapshots SET history_version = 9 WHERE instance_id = %L$$);
CALL qa.four('snapshot ahead');
CALL qa.plant('snapshot ahead', $$UPDATE sayiir_workflow_snapshots SET history_version = 5 WHERE instance_id = %L$$);
CALL qa.four('snapshot behind');
CALL qa.plant('snapshot behind', $$UPDATE sayiir_workflow_snapshots SET history_version = 3, status = 'InProgress', data_hash = sha256('\x02') WHERE instance_id = %L$$);
CALL qa.four('newest lost');
CALL qa.plant('newest lost', $$DELETE FROM sayiir_workflow_versions WHERE instance_id = %L AND version = 4$$);
CALL qa.four('no history');
CALL qa.plant('no history', $$DELETE FROM sayiir_workflow_versions WHERE instance_id = %L$$);
CALL qa.four('version 0');
CALL qa.plant('version 0', $$INSERT INTO sayiir_workflow_versions SELECT instance_id, 0, status, current_task_id, data, data_hash
	FROM sayiir_workflow_versions WHERE instance_id = %L AND version = 1$$);

-- I2
CALL qa.four('hash of a version');
CALL qa.plant('hash of a version', $$UPDATE sayiir_workflow_versions SET data_hash = sha256('') WHERE instance_id = %L AND version = 2$$);
CALL qa.four('data of a version');
CALL qa.plant('data of a version', $$UPDATE sayiir_workflow_versions SET data = data || '\x00' WHERE instance_id = %L AND version = 1$$);
CALL qa.four('data of the newest');
CALL qa.plant('data of the newest', $$UPDATE sayiir_workflow_versions SET data = '' WHERE instance_id = %L AND version = 4$$);
CALL qa.four('data of all');
CALL qa.plant('data of all', $$UPDATE sayiir_workflow_versions SET data = '\x77' WHERE instance_id = %L$$);
CALL qa.four('short hash');
CALL qa.plant('short hash', $$UPDATE sayiir_workflow_versions SET data_hash = substr(data_hash, 1, 31) WHERE instance_id = %L AND version = 1$$);
CALL qa.four('hash of the snapshot');
CALL qa.plant('hash of the snapshot', $$UPDATE sayiir_workflow_snapshots SET data_hash = sha256('') WHERE instance_id = %L$$);
CALL qa.four('status of the snapshot');
CALL qa.plant('status of the snapshot', $$UPDATE sayiir_workflow_snapshots SET status = 'InProgress' WHERE instance_id = %L$$);
CALL qa.four('status of the newest');
CALL qa.plant('status of the newest', $$UPDATE sayiir_workflow_versions SET status = 'InProgress' WHERE instance_id = %L AND version = 4$$);

-- I3
CALL qa.four('no snapshot');
CALL qa.plant('no snapshot', $$DELETE FROM sayiir_workflow_snapshots WHERE instance_id = %L$$);
CALL qa.plant('history alone', $$INSERT INTO sayiir_workflow_versions VALUES (%L, 1, 'InProgress', NULL, '', sha256(''))$$);
CALL qa.plant('task alone', $$INSERT INTO sayiir_workflow_tasks VALUES (%L, qa.t('a'), 'active')$$);
SELECT qa.sv('ended without time', 'Completed', '\x09', NULL);
CALL qa.plant('ended without time', $$UPDATE sayiir_workflow_snapshots SET completed_at = NULL WHERE instance_id = %L$$);
SELECT qa.sv('active after the end', 'Cancelled', '\x09', NULL);
CALL qa.plant('active after the end', $$INSERT INTO sayiir_workflow_tasks VALUES (%1$L, qa.t('a'), 'active'), (%1$L, qa.t('b'), 'active'), (%1$L, qa.t('c'), 'pending')$$);

-- I4 shows as a version after a terminal one
CALL qa.four('reopened');
CALL qa.plant('reopened', $$UPDATE sayiir_workflow_versions SET status = 'Failed' WHERE instance_id = %L AND version = 2$$);
SELECT qa.sv('changed at the end', 'Completed', '\x08', NULL);
CALL qa.plant('changed at the end', $$INSERT INTO sayiir_workflow_versions VALUES (%L, 2, 'Completed', NULL, '\x09', sha256('\x09'))$$,
	$$UPDATE sayiir_workflow_snapshots SET history_version = 2, data_hash = sha256('\x09') WHERE instance_id = %L$$);

-- several at once, of one instance
CALL qa.four('all of it');
CALL qa.plant('all of it', $$UPDATE sayiir_workflow_versions SET data = '\x77', status = 'Failed' WHERE instance_id = %L AND version <= 2$$,
	$$DELETE FROM sayiir_workflow_versions WHERE instance_id = %L AND version = 3$$,
	$$UPDATE sayiir_workflow_snapshots SET status = 'Failed' WHERE instance_id = %L$$);
-- text in the details is text
SELECT qa.sv(E'%s%n "quo\'te\\');
CALL qa.plant(E'%s%n "quo\'te\\', $$UPDATE sayiir_workflow_snapshots SET history_version = 7 WHERE instance_id = %L$$);

-- What the store itself can do leaves no violation: everything again, in one transaction, and rolled back in parts.
SELECT count(*) FROM sayiir_check_integrity();
BEGIN;
CALL qa.four('tx');
SAVEPOINT s;
SELECT qa.sv('tx', 'Completed', '\x09', NULL);
ROLLBACK TO s;
SELECT qa.sv('tx', 'Failed', '\x0a', NULL);
SELECT sayiir_delete_snapshot('sound, ended');
SELECT count(*) FROM sayiir_check_integrity();
COMMIT;
SELECT count(*) FROM sayiir_check_integrity();

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
