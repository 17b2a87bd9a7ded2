-- CASES B26: triggers and constraints of the user's on the tables. An error comes out as it is and nothing
-- of the call remains; a row that is suppressed does not make a version that nobody can load.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

CREATE FUNCTION qa.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.instance_id LIKE 'bad%' THEN
		RAISE EXCEPTION 'not %', NEW.instance_id USING errcode = 'P0099', hint = 'of the trigger';
	END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION qa.suppress() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE WHEN coalesce(NEW.instance_id, OLD.instance_id) LIKE 'bad%' THEN NULL ELSE coalesce(NEW, OLD) END;
END $$;

-- One table after the other: in a statement of its own, caught, and with others in a transaction.
CREATE PROCEDURE qa.check_refusal(rel text) LANGUAGE plpgsql AS $$
DECLARE
	before text := qa.whole();
BEGIN
	RAISE INFO '%: save %', rel, qa.try($q$SELECT qa.sv('bad')$q$);
	RAISE INFO '%: result %', rel, qa.try($q$SELECT sayiir_save_task_result('bad known', qa.t('b'), '\xbb')$q$);
	RAISE INFO 'nothing written: %, other ids: %', qa.whole() = before, qa.sv('good ' || rel);
	RAISE INFO 'unsound: %', (SELECT count(*) FROM qa.unsound());
END $$;
SELECT qa.sv('bad known');
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON sayiir_workflow_snapshots FOR EACH ROW EXECUTE FUNCTION qa.refuse();
CALL qa.check_refusal('snapshots');
SELECT qa.sv('bad');
DROP TRIGGER refuse ON sayiir_workflow_snapshots;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON sayiir_workflow_versions FOR EACH ROW EXECUTE FUNCTION qa.refuse();
CALL qa.check_refusal('history');
SELECT qa.sv('bad');
DROP TRIGGER refuse ON sayiir_workflow_versions;
CREATE TRIGGER refuse AFTER INSERT OR UPDATE ON sayiir_workflow_tasks FOR EACH ROW EXECUTE FUNCTION qa.refuse();
CALL qa.check_refusal('tasks');
SELECT qa.sv('bad');
BEGIN;
SELECT qa.sv('good tx');
SAVEPOINT s;
SELECT qa.sv('bad');
ROLLBACK TO s;
SELECT qa.sv('good tx', p_data => '\x02');
COMMIT;
SELECT qa.show('good tx');
-- deferred until the commit
DROP TRIGGER refuse ON sayiir_workflow_tasks;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON sayiir_workflow_tasks DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION qa.refuse();
BEGIN;
SELECT qa.sv('bad');
COMMIT;
DROP TRIGGER refuse ON sayiir_workflow_tasks;
-- nothing is left of all that: the next save is the first
SELECT qa.sv('bad');
SELECT sayiir_delete_snapshot('bad');

-- A constraint of the user's.
ALTER TABLE sayiir_workflow_versions ADD CONSTRAINT small CHECK (length(data) < 4);
SELECT split_part(qa.try($$SELECT qa.sv('bad', p_data => '\x01020304')$$), E'\n', 1);
SELECT split_part(qa.try($$SELECT sayiir_save_task_result('bad known', qa.t('b'), '\xbb', '\x01020304')$$), E'\n', 1);
SELECT count(*) FROM sayiir_workflow_snapshots WHERE instance_id = 'bad';
SELECT qa.sv('bad', p_data => '\x010203');
ALTER TABLE sayiir_workflow_versions DROP CONSTRAINT small;
SELECT sayiir_delete_snapshot('bad');

-- Rows suppressed: an error, for an answer would be a lie. Nothing remains.
CREATE PROCEDURE qa.check_suppression(rel text, VARIADIC kinds text[]) LANGUAGE plpgsql AS $$
DECLARE
	events text;
BEGIN
	FOREACH events IN ARRAY kinds LOOP
		EXECUTE format('CREATE TRIGGER suppress BEFORE %s ON %I FOR EACH ROW EXECUTE FUNCTION qa.suppress()', events, rel);
		RAISE INFO '% % new: %', rel, events, qa.try($q$SELECT qa.sv('bad')$q$);
		RAISE INFO '% % known: %', rel, events, qa.try($q$SELECT qa.sv('bad known', p_data => '\x02')$q$);
		RAISE INFO '% % result: %', rel, events, qa.try(format($q$SELECT sayiir_save_task_result('bad known', qa.t(%L), '\xbb')$q$, rel || events));
		EXECUTE format('DROP TRIGGER suppress ON %I', rel);
		-- whatever was answered, what is stored is sound, and loads
		RAISE INFO 'unsound: %, loads: %, %', (SELECT count(*) FROM qa.unsound()),
			left(qa.try($q$SELECT qa.load('bad')$q$), 13), left(qa.try($q$SELECT qa.load('bad known')$q$), 13);
		PERFORM qa.try($q$SELECT sayiir_delete_snapshot('bad')$q$);
		DELETE FROM sayiir_workflow_tasks WHERE instance_id = 'bad';
	END LOOP;
END $$;
CALL qa.check_suppression('sayiir_workflow_snapshots', 'INSERT', 'UPDATE');
CALL qa.check_suppression('sayiir_workflow_versions', 'INSERT');
-- A task row whose output is suppressed is an output that nobody can load: the same. The row is inserted
-- for a task that was never active, updated for one that is.
SELECT qa.sv('bad task', p_data => '\x01');
CREATE PROCEDURE qa.check_lost_output(events text, task text) LANGUAGE plpgsql AS $$
DECLARE
	before text := qa.whole();
BEGIN
	EXECUTE format('CREATE TRIGGER suppress BEFORE %s ON sayiir_workflow_tasks FOR EACH ROW EXECUTE FUNCTION qa.suppress()', events);
	RAISE INFO '% result: %', events, qa.try(format($q$SELECT sayiir_save_task_result('bad task', qa.t(%L), '\xbb')$q$, task));
	RAISE INFO '% save: %', events, qa.try(format($q$SELECT qa.sv('bad task', p_data => '\x02', p_lc => qa.t(%L), p_out => '\xbb')$q$, task));
	RAISE INFO 'nothing written: %', qa.whole() = before;
	DROP TRIGGER suppress ON sayiir_workflow_tasks;
END $$;
CALL qa.check_lost_output('INSERT', 'b');
CALL qa.check_lost_output('UPDATE', 'a');

-- A rewriting trigger is the user's own business, yet it does not break the session.
CREATE FUNCTION qa.upper() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.error := upper(NEW.error); RETURN NEW; END $$;
CREATE TRIGGER rewrite BEFORE INSERT OR UPDATE ON sayiir_workflow_snapshots FOR EACH ROW EXECUTE FUNCTION qa.upper();
SELECT qa.sv('rewritten', p_err => 'oops');
SELECT error FROM sayiir_load_snapshot('rewritten');
DROP TRIGGER rewrite ON sayiir_workflow_snapshots;

-- A trigger that itself saves, in the middle of a save: of another instance. It finds the path that the
-- extension's functions have pinned, and so brings its own.
CREATE FUNCTION qa.mirror() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
	IF NEW.instance_id NOT LIKE 'mirror of %' THEN
		PERFORM qa.sv('mirror of ' || NEW.instance_id, NEW.status, NEW.data);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER mirror AFTER INSERT ON sayiir_workflow_versions FOR EACH ROW EXECUTE FUNCTION qa.mirror();
SELECT qa.sv('seen'), qa.sv('seen', p_data => '\x02'), sayiir_save_task_result('seen', qa.t('b'), '\xbb', '\x03');
SELECT qa.sv('seen', 'Completed', '\x09', NULL);
SELECT qa.show('mirror of seen');
SELECT qa.show('seen');
DROP TRIGGER mirror ON sayiir_workflow_versions;

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
