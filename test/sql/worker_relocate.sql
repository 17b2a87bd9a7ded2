-- CASES B32 for the functions for workers: the extension moves to another schema while their statements are warm.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE SCHEMA first;
CREATE EXTENSION sayiir_pg SCHEMA first;
-- A life among workers, every function by the name of its schema.
CREATE PROCEDURE qa.use(s text) LANGUAGE plpgsql AS $$
DECLARE
	c record;
	r record;
	said text := '';
	t text;
BEGIN
	EXECUTE format('SELECT %I.sayiir_save_snapshot(''\x01'', ''i'', ''InProgress'', qa.t(''wf''), qa.t(''a''))', s);
	EXECUTE format('SELECT * FROM %I.sayiir_claim_tasks(''w'')', s) INTO c;
	said := said || c.instance_id || ' ' || qa.nm(c.task_id) || ' v' || c.history_version;
	EXECUTE format('SELECT %I.sayiir_extend_claim(''i'', $1, ''1 minute'') IS NOT NULL', s) INTO t USING c.claim_token;
	said := said || ', extended ' || t;
	EXECUTE format('SELECT * FROM %I.sayiir_advance(''\x02'', $1, ''i'', ''InProgress'', qa.t(''wf''), qa.t(''b''), next_claim_ttl => ''1 minute'')', s) INTO r USING c.claim_token;
	said := said || format(', v%s %s', r.history_version, r.status);
	EXECUTE format('SELECT %I.sayiir_pause(''i'')', s) INTO t;
	said := said || ', ' || t;
	EXECUTE format('SELECT %I.sayiir_release_claim(''i'', $1)', s) USING c.claim_token;
	EXECUTE format('SELECT %I.sayiir_unpause(''i'')', s) INTO t;
	said := said || ', v' || t;
	EXECUTE format('SELECT count(*) FROM %I.sayiir_claim_task(''i'', qa.t(''b''), ''w'')', s) INTO t;
	said := said || ', claimed ' || t;
	EXECUTE format('SELECT %I.sayiir_save_snapshot(''\x03'', ''i'', ''InProgress'', qa.t(''wf''), position_kind => ''AtSignal'', awaited_signal => ''go'')', s);
	EXECUTE format('SELECT %I.sayiir_send_event(''i'', ''go'', $1)', s) INTO t USING convert_to(s, 'UTF8');
	said := said || ', sent ' || t;
	EXECUTE format('SELECT convert_from(%I.sayiir_consume_event(''i'', ''go''), ''UTF8'')', s) INTO t;
	said := said || ', read ' || t;
	EXECUTE format('SELECT %1$I.sayiir_store_signal(''i'', ''Cancel'', ''r''), %1$I.sayiir_clear_signal(''i'', ''Pause'')', s);
	EXECUTE format('SELECT reason FROM %I.sayiir_get_signal(''i'', ''Cancel'')', s) INTO t;
	said := said || ', because ' || t;
	EXECUTE format('SELECT %I.sayiir_check_signals(''i'')', s) INTO t;
	said := said || ', ' || t;
	EXECUTE format('SELECT status || '' '' || coalesce(waiting_for, ''-'') FROM %I.sayiir_workflows', s) INTO t;
	said := said || ', view ' || t;
	EXECUTE format('SELECT %I.sayiir_prune_events(''1 hour'')', s) INTO t;
	EXECUTE format('SELECT count(*) FROM %I.sayiir_check_integrity()', s) INTO t;
	said := said || ', unsound ' || t;
	EXECUTE format('SELECT %I.sayiir_delete_snapshot(''i'')', s);
	RAISE INFO '%: %', s, said;
END $$;
CALL qa.use('first');
CALL qa.use('first');
CREATE SCHEMA "se""cond";
ALTER EXTENSION sayiir_pg SET SCHEMA "se""cond";
CALL qa.use('se"cond');
CALL qa.use('se"cond');
-- other tables of the names in the old place are nobody's business
CREATE TABLE first.sayiir_workflow_ready (instance_id text);
CREATE TABLE first.sayiir_workflow_claims (instance_id text);
ALTER SCHEMA "se""cond" RENAME TO third;
CALL qa.use('third');
SELECT (SELECT count(*) FROM first.sayiir_workflow_ready) + (SELECT count(*) FROM first.sayiir_workflow_claims);
-- rolled back; and dropped and made anew in the same session
BEGIN;
ALTER EXTENSION sayiir_pg SET SCHEMA public;
CALL qa.use('public');
ROLLBACK;
CALL qa.use('third');
DROP EXTENSION sayiir_pg;
CREATE EXTENSION sayiir_pg SCHEMA third;
CALL qa.use('third');
DROP EXTENSION sayiir_pg;
DROP SCHEMA first, third CASCADE;
DROP SCHEMA qa CASCADE;
