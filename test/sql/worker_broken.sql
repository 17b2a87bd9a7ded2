-- An instance whose history is damaged, or whose versions are at their end, keeps nobody else waiting: it is held back,
-- with a warning, and can be dealt with by whoever repairs it.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;
CREATE FUNCTION qa.at_delay(p_id text) RETURNS bytea LANGUAGE sql AS $$
	SELECT '\x535952530101'::bytea || convert_to(format('{"instance_id":"%s","definition_hash":"%s","state":{"InProgress":{"position":{"AtDelay":{"delay_id":"%s","entered_at":"2020-01-01T00:00:00Z","wake_at":"2020-01-01T00:00:01Z","next_task_id":"%s"}},"completed_tasks":{},"last_completed_task_id":null}},"created_at":1,"updated_at":2}',
		p_id, encode(qa.t('wf'), 'hex'), encode(qa.t('d'), 'hex'), encode(qa.t('b'), 'hex')), 'UTF8') $$;
-- Who can be had, in the order of their names.
CREATE FUNCTION qa.claim_all(p_max integer DEFAULT 10) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT c.instance_id || ' at ' || coalesce(qa.nm(c.task_id), c.position_kind) FROM sayiir_claim_tasks('w', p_max) AS c ORDER BY 1 $$;
CREATE FUNCTION qa.claims() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT c.instance_id || ' by ' || c.worker_id FROM sayiir_workflow_claims c WHERE c.expires_at > clock_timestamp() ORDER BY 1 $$;
CREATE PROCEDURE qa.expire() LANGUAGE sql AS $$ UPDATE sayiir_workflow_claims SET expires_at = '2020-01-01Z' $$;

-- Damaged, and waiting longer than the innocent
SELECT qa.sv('changed'), qa.sv('gone'), sayiir_save_snapshot(qa.at_delay('parked'));
SELECT qa.sv('innocent 1'), qa.sv('innocent 2');
UPDATE sayiir_workflow_versions SET data = '\x02' WHERE instance_id = 'changed';
DELETE FROM sayiir_workflow_versions WHERE instance_id = 'gone';
UPDATE sayiir_workflow_versions SET data = substr(data, 1, 100) WHERE instance_id = 'parked';
SELECT qa.claim_all(1);
SELECT qa.claims();
-- The warning is not repeated while they are held back, and what is told of the rest is told of them
SELECT qa.claim_all();
SELECT instance_id, waiting_for, held_by FROM sayiir_workflows WHERE instance_id NOT LIKE 'innocent%' ORDER BY 1;
SELECT violated_by, invariant FROM sayiir_check_integrity() ORDER BY 1, 2;
CALL qa.expire();
SELECT qa.claim_all();
-- Named, it is the caller's own business
CALL qa.expire();
SELECT claim_token IS NOT NULL FROM sayiir_claim_task('changed', qa.t('a'), 'w', '1 minute');
SELECT qa.try($$SELECT sayiir_load_snapshot('changed')$$);

-- A signal that cannot be applied does not stand before those that can
CALL qa.expire();
SELECT sayiir_claim_tasks('w', 10) IS NULL;
SELECT qa.sv('willing');
SELECT sayiir_store_signal(i, 'Cancel') FROM unnest('{changed,gone,parked,willing}'::text[]) AS i;
CALL qa.expire();
SELECT qa.claim_all(1);
SELECT qa.claims();
SELECT qa.claim_all(1), (SELECT status FROM sayiir_workflow_snapshots WHERE instance_id = 'willing');
SELECT qa.claim_all(1), (SELECT status FROM sayiir_workflow_snapshots WHERE instance_id = 'willing');
SELECT qa.claim_all(1);
SELECT status FROM sayiir_workflow_snapshots WHERE instance_id = 'willing';

-- Ways out: bytes brought along, a save, deletion
SELECT sayiir_check_signals('changed', data => '\x03');
SELECT qa.sv('gone', 'Failed', '\x04', p_err => 'lost');
SELECT sayiir_delete_snapshot('parked');
SELECT violated_by, invariant, detail FROM sayiir_check_integrity() ORDER BY 1, 2, 3;
SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() AS i;

-- B36: versions at their end. Who is at a task is given out as ever; who would have to be moved on is left to the worker;
-- a signal that would need one more version is held back.
SELECT qa.sv('last task'), sayiir_save_snapshot(qa.at_delay('last delay')), qa.sv('last signal'), qa.sv('innocent');
UPDATE sayiir_workflow_snapshots SET history_version = 2147483647, oldest_version = 2147483647 WHERE instance_id LIKE 'last %';
UPDATE sayiir_workflow_versions SET version = 2147483647 WHERE instance_id LIKE 'last %';
SELECT sayiir_store_signal('last signal', 'Pause');
SELECT qa.claim_all();
SELECT qa.claims();
SELECT qa.try($$SELECT qa.sv('last task')$$);
SELECT qa.unsound();

-- A trigger of the user's that refuses the signal of one instance
SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() AS i;
CREATE FUNCTION qa.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.instance_id = 'refused' AND NEW.status = 'Cancelled' THEN RAISE 'not this one'; END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON sayiir_workflow_snapshots FOR EACH ROW EXECUTE FUNCTION qa.refuse();
SELECT qa.sv('refused'), qa.sv('willing'), qa.sv('other');
SELECT sayiir_store_signal('refused', 'Cancel'), sayiir_store_signal('willing', 'Cancel');
SELECT qa.claim_all();
SELECT instance_id, status FROM sayiir_workflow_snapshots ORDER BY 1;
SELECT qa.unsound();

DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
