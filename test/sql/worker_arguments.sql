-- Arguments of the functions for workers: NULL, empty, of a wrong size, and nothing written by a call that is refused.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

SELECT qa.ws('i'), qa.claim('i'), sayiir_pause('i'), sayiir_send_event('i', 'go', '\x01'), qa.ws('p', 'Paused');
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
CREATE TABLE qa.bad (n integer GENERATED ALWAYS AS IDENTITY, wants text, names text, call text);
-- NULL where a value is required: 22004, naming it
INSERT INTO qa.bad (wants, names, call) VALUES
	('22004', 'instance_id', $$sayiir_claim_task(NULL, sha256(''), 'w')$$), ('22004', 'task_id', $$sayiir_claim_task('i', NULL, 'w')$$), ('22004', 'worker_id', $$sayiir_claim_task('i', sha256(''), NULL)$$),
	('22004', 'worker_id', $$sayiir_claim_tasks(NULL)$$),
	('22004', 'instance_id', $$sayiir_extend_claim(NULL, qa.k('i'), '1 s')$$), ('22004', 'claim_token', $$sayiir_extend_claim('i', NULL, '1 s')$$), ('22004', 'ttl', $$sayiir_extend_claim('i', qa.k('i'), NULL)$$),
	('22004', 'instance_id', $$sayiir_release_claim(NULL, qa.k('i'))$$), ('22004', 'claim_token', $$sayiir_release_claim('i', NULL)$$),
	('22004', 'data', $$sayiir_advance(NULL, qa.k('i'))$$), ('22004', 'claim_token', $$sayiir_advance(qa.jp('i', '"NotStarted"'), NULL)$$),
	('22004', 'data', $$sayiir_advance(NULL, qa.k('i'), 'i', 'InProgress', sha256(''))$$), ('22004', 'claim_token', $$sayiir_advance('\x02', NULL, 'i', 'InProgress', sha256(''))$$),
	('22004', 'instance_id', $$sayiir_advance('\x02', qa.k('i'), NULL, 'InProgress', sha256(''))$$), ('22004', 'status', $$sayiir_advance('\x02', qa.k('i'), 'i', NULL, sha256(''))$$), ('22004', 'definition_hash', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', NULL::bytea)$$),
	('22004', 'instance_id', $$sayiir_cancel(NULL)$$), ('22004', 'instance_id', $$sayiir_pause(NULL)$$), ('22004', 'instance_id', $$sayiir_unpause(NULL)$$),
	('22004', 'instance_id', $$sayiir_store_signal(NULL, 'Cancel')$$), ('22004', 'kind', $$sayiir_store_signal('i', NULL)$$), ('22004', 'instance_id', $$sayiir_get_signal(NULL, 'Cancel')$$), ('22004', 'kind', $$sayiir_get_signal('i', NULL)$$),
	('22004', 'instance_id', $$sayiir_clear_signal(NULL, 'Cancel')$$), ('22004', 'kind', $$sayiir_clear_signal('i', NULL)$$), ('22004', 'instance_id', $$sayiir_check_signals(NULL)$$),
	('22004', 'instance_id', $$sayiir_send_event(NULL, 'go', '')$$), ('22004', 'signal_name', $$sayiir_send_event('i', NULL, '')$$), ('22004', 'payload', $$sayiir_send_event('i', 'go', NULL)$$),
	('22004', 'instance_id', $$sayiir_consume_event(NULL, 'go')$$), ('22004', 'signal_name', $$sayiir_consume_event('i', NULL)$$), ('22004', 'older_than', $$sayiir_prune_events(NULL)$$);
-- an instance id that is empty or over 256 bytes
INSERT INTO qa.bad (wants, names, call) SELECT '22023', 'instance_id', format(c, l) FROM unnest(ARRAY[$$''$$, $$repeat('i', 257)$$, $$repeat('é', 129)$$]) l, unnest(ARRAY[$$sayiir_claim_task(%s, sha256(''), 'w')$$, $$sayiir_extend_claim(%s, qa.k('i'), '1 s')$$,
	$$sayiir_release_claim(%s, qa.k('i'))$$, $$sayiir_advance('\x02', qa.k('i'), %s, 'InProgress', sha256(''))$$, $$sayiir_cancel(%s)$$, $$sayiir_pause(%s)$$, $$sayiir_unpause(%s)$$, $$sayiir_store_signal(%s, 'Cancel')$$,
	$$sayiir_get_signal(%s, 'Cancel')$$, $$sayiir_clear_signal(%s, 'Cancel')$$, $$sayiir_check_signals(%s)$$, $$sayiir_send_event(%s, 'go', '')$$, $$sayiir_consume_event(%s, 'go')$$]) c;
INSERT INTO qa.bad (wants, names, call) VALUES
	-- ids that are not 32 bytes
	('22023', 'task_id', $$sayiir_claim_task('i', '\x00', 'w')$$), ('22023', 'task_id', $$sayiir_claim_task('i', '', 'w')$$), ('22023', 'task_id', $$sayiir_claim_task('i', sha256('') || '\x00', 'w')$$),
	('22023', 'interrupted_at_task', $$sayiir_check_signals('i', '\x00')$$), ('22023', 'definition_hashes', $$sayiir_claim_tasks('w', definition_hashes => '{"\\x00"}')$$),
	('22023', 'definition_hash', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', '\x00'::bytea)$$), ('22023', 'current_task_id', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), '\x00')$$),
	('22023', 'last_completed_task_id', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), last_completed_task_id => '\x00')$$),
	-- worker ids
	('22023', 'worker_id', $$sayiir_claim_task('i', sha256(''), '')$$), ('22023', 'worker_id', $$sayiir_claim_task('i', sha256(''), repeat('w', 257))$$), ('22023', 'worker_id', $$sayiir_claim_tasks('')$$), ('22023', 'worker_id', $$sayiir_claim_tasks(repeat('é', 129))$$),
	-- intervals
	('22023', 'ttl', $$sayiir_claim_task('i', sha256(''), 'w', '0')$$), ('22023', 'ttl', $$sayiir_claim_tasks('w', ttl => '-1 s')$$), ('22023', 'ttl', $$sayiir_extend_claim('i', qa.k('i'), '0')$$), ('22023', 'retry_after', $$sayiir_release_claim('i', qa.k('i'), '-1 s')$$),
	('22023', 'next_claim_ttl', $$sayiir_advance(qa.jp('i', '"NotStarted"'), qa.k('i'), next_claim_ttl => '0')$$), ('22023', 'next_claim_ttl', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), next_claim_ttl => '-1 s')$$),
	('22023', 'aging', $$sayiir_claim_tasks('w', aging => '0')$$),
	-- counts
	('22023', 'max_tasks', $$sayiir_claim_tasks('w', -1)$$), ('22023', 'batch', $$sayiir_prune_events('1 s', -1)$$), ('22023', 'expected_version', $$sayiir_advance(qa.jp('i', '"NotStarted"'), qa.k('i'), expected_version => -1)$$),
	('22023', 'completed_task_count', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), completed_task_count => -1)$$), ('22023', 'expected_version', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), expected_version => -1)$$),
	-- tags, priority, status, output without its task
	('22023', 'worker_tags', $$sayiir_claim_tasks('w', worker_tags => '{NULL}')$$), ('22023', 'worker_tags', $$sayiir_claim_tasks('w', worker_tags => '{{a},{b}}')$$), ('22023', 'task_tags', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), task_tags => '{NULL}')$$),
	('22023', 'task_priority', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), task_priority => 6)$$), ('22023', 'status', $$sayiir_advance('\x02', qa.k('i'), 'i', 'Pending', sha256(''))$$), ('22023', 'status', $$sayiir_advance('\x02', qa.k('i'), 'i', '', sha256(''))$$),
	('22023', 'last_completed_output', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), last_completed_output => '')$$),
	-- names of kinds and of events
	('22023', 'signal', $$sayiir_store_signal('i', 'cancel')$$), ('22023', 'signal', $$sayiir_store_signal('i', '')$$), ('22023', 'signal', $$sayiir_get_signal('i', 'Unpause')$$), ('22023', 'signal', $$sayiir_clear_signal('i', 'Cancel ')$$),
	('22023', 'signal_name', $$sayiir_send_event('i', '', '')$$), ('22023', 'signal_name', $$sayiir_send_event('i', repeat('n', 257), '')$$), ('22023', 'signal_name', $$sayiir_consume_event('i', '')$$), ('22023', 'signal_name', $$sayiir_consume_event('i', repeat('n', 257))$$),
	('22023', 'awaited_signal', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), awaited_signal => '')$$), ('22023', 'awaited_signal', $$sayiir_advance('\x02', qa.k('i'), 'i', 'InProgress', sha256(''), awaited_signal => repeat('n', 257))$$),
	('22023', 'awaited_signal', $$sayiir_save_snapshot('\x02', 'i', 'InProgress', sha256(''), awaited_signal => '')$$), ('22023', 'awaited_signal', $$sayiir_save_snapshot('\x02', 'i', 'InProgress', sha256(''), awaited_signal => repeat('n', 257))$$),
	-- what must be a JSON snapshot
	('22P03', '', $$sayiir_advance('\x02', qa.k('i'))$$), ('22P03', '', $$sayiir_advance('\x535952530201', qa.k('i'))$$),
	-- unknown instances
	('P0002', 'nobody', $$sayiir_claim_task('nobody', sha256(''), 'w')$$), ('P0002', 'nobody', $$sayiir_cancel('nobody')$$), ('P0002', 'nobody', $$sayiir_pause('nobody')$$), ('P0002', 'nobody', $$sayiir_unpause('nobody')$$), ('P0002', 'nobody', $$sayiir_store_signal('nobody', 'Pause')$$),
	-- no such claim
	('SY002', '"i"', $$sayiir_extend_claim('i', qa.k('none'), '1 s')$$), ('SY002', '"i"', $$sayiir_release_claim('i', qa.k('none'))$$), ('SY002', '"i"', $$sayiir_advance(qa.jp('i', '"NotStarted"'), qa.k('none'))$$), ('SY002', '"nobody"', $$sayiir_extend_claim('nobody', qa.k('none'), '1 s')$$),
	-- not in this state
	('SY003', '"i"', $$sayiir_unpause('i')$$), ('SY003', '"p"', $$sayiir_save_snapshot('\x02', 'p', 'InProgress', sha256(''))$$);

CREATE FUNCTION qa.judge(b qa.bad) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	m text;
	h text;
BEGIN
	EXECUTE 'SELECT * FROM ' || b.call;
	RETURN 'NOT REFUSED';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, h = PG_EXCEPTION_HINT;
	RETURN concat_ws(', ', CASE WHEN SQLSTATE <> b.wants THEN 'BUT ' || SQLSTATE END, CASE WHEN strpos(m, b.names) = 0 THEN 'WITHOUT THE NAME: ' || m END, CASE WHEN h = '' THEN 'WITHOUT A HINT: ' || m END);
END $$;
SELECT b.wants, b.call, qa.judge(b) FROM qa.bad b ORDER BY n;
SELECT qa.whole() = f AS untouched FROM qa.before;

-- NULL in what has a default is that default.
SELECT qa.ws('n');
SELECT count(*) FROM sayiir_claim_task('n', qa.t('a'), 'w', NULL);
SELECT claim_token AS token FROM sayiir_workflow_claims WHERE instance_id = 'n' \gset
SELECT history_version, status, expires_at FROM sayiir_advance('\x02', :'token', 'n', 'InProgress', qa.t('wf'), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT qa.show('n');
SELECT sayiir_pause('n', NULL, NULL), sayiir_check_signals('n', NULL, NULL), sayiir_unpause('n', NULL), sayiir_store_signal('n', 'Pause', NULL, NULL), sayiir_prune_events('1 hour', NULL);
-- Texts for the reasons may be long.
SELECT sayiir_store_signal('n', 'Pause', repeat('r', 10000), repeat('q', 10000));
SELECT length(reason), length(requested_by) FROM sayiir_get_signal('n', 'Pause');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
