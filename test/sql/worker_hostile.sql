-- What one instance holds never keeps the others from being given out, and a step that was not written is no repeat.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;
CREATE FUNCTION qa.frame(p_id text, p_position text, p_more text DEFAULT '') RETURNS bytea LANGUAGE sql AS $$
	SELECT '\x535952530101'::bytea || convert_to(format('{"instance_id":"%s","definition_hash":"%s","state":{"InProgress":{"position":%s,"completed_tasks":{},"last_completed_task_id":null}},"created_at":1,"updated_at":2%s}',
		p_id, encode(sha256('wf'), 'hex'), p_position, p_more), 'UTF8') $$;
CREATE FUNCTION qa.at_signal(p_name text) RETURNS text LANGUAGE sql AS $$
	SELECT format('{"AtSignal":{"signal_id":"%s","signal_name":"%s","wake_at":null,"next_task_id":null}}', encode(sha256('s'), 'hex'), p_name) $$;

-- a final output that would not fit into the snapshot: the place is a worker's to take on
SELECT sayiir_send_event('big', 'go', convert_to(repeat('x', 80 * 1024 * 1024), 'UTF8'));
SELECT sayiir_save_snapshot(qa.frame('big', qa.at_signal('go')));
SELECT qa.sv('innocent');
SELECT instance_id, task_id IS NULL AS at_a_place, position_kind FROM sayiir_claim_tasks('w', 5) ORDER BY 1;
SELECT octet_length(sayiir_consume_event('big', 'go'));

-- a name that nobody could send
SELECT qa.try(format('SELECT sayiir_save_snapshot(%L)', qa.frame('n', qa.at_signal(''))));
SELECT qa.try(format('SELECT sayiir_save_snapshot(%L)', qa.frame('n', qa.at_signal(repeat('n', 257)))));

-- a due delay before a retry that is not due: the retry waits
SELECT sayiir_save_snapshot(qa.frame('retry',
	format('{"AtDelay":{"delay_id":"%s","entered_at":"2020-01-01T00:00:00Z","wake_at":"2020-01-01T00:00:01Z","next_task_id":"%s"}}', encode(sha256('d'), 'hex'), encode(sha256('t'), 'hex')),
	format(',"task_retries":{"%s":{"attempts":1,"policy":{},"last_error":"e","last_failed_worker":null,"next_retry_at":"2099-01-01T00:00:00Z"}}', encode(sha256('t'), 'hex'))));
SELECT instance_id FROM sayiir_claim_tasks('w', 5);
SELECT position_kind, delay_wake_at FROM sayiir_workflow_snapshots WHERE instance_id = 'retry';

-- the same bytes at the same task, but to be tried again later: a step, not a repeat
SELECT qa.sv('later');
SELECT claim_token AS token FROM sayiir_claim_tasks('w') \gset
SELECT history_version, status, expires_at IS NULL AS given_back FROM sayiir_advance('\x01', :'token', 'later', 'InProgress', sha256('wf'), sha256('t1'), delay_wake_at => '2099-01-01Z');
SELECT history_version, status, expires_at IS NULL AS given_back FROM sayiir_advance('\x01', :'token', 'later', 'InProgress', sha256('wf'), sha256('t1'), delay_wake_at => '2099-01-01Z');

-- a payload beyond all that NOTIFY carries
SELECT qa.try($$SELECT * FROM sayiir_decode_hint(repeat('A', 8000000))$$);

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
