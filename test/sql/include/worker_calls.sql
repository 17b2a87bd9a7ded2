\set ECHO none
-- The life of an instance among workers, in calls that need nothing from search_path. Output: 1; the task given out; true;
-- a step to version 2; Pending, and who asked; a step that meets the pause, 4; 5; void; buffered false; 6, parked; true;
-- given out there; the older payload; void and true; Pending; Cancelled; nothing pruned; no violation; void.
SELECT public.sayiir_save_snapshot('\x01', 'h', 'InProgress', pg_catalog.sha256('wf'), pg_catalog.sha256('a'), task_tags => '{t}');
SELECT instance_id, task_id OPERATOR(pg_catalog.=) pg_catalog.sha256('a') AS task, history_version, data, claim_token AS token FROM public.sayiir_claim_tasks('w', worker_tags => '{t,u}', definition_hashes => ARRAY[pg_catalog.sha256('wf')]) \gset
SELECT :'instance_id', :'task', :'history_version', :'data';
SELECT public.sayiir_extend_claim('h', :'token', '1 minute') IS NOT NULL;
SELECT history_version, status FROM public.sayiir_advance('\x02', :'token', 'h', 'InProgress', pg_catalog.sha256('wf'), pg_catalog.sha256('b'), last_completed_task_id => pg_catalog.sha256('a'), last_completed_output => '\xaa', expected_version => 1, next_claim_ttl => '1 minute');
SELECT public.sayiir_pause('h', 'r', 'q');
SELECT reason, requested_by FROM public.sayiir_get_signal('h', 'Pause');
SELECT history_version, status FROM public.sayiir_advance('\x03', :'token', 'h', 'InProgress', pg_catalog.sha256('wf'), pg_catalog.sha256('c'), next_claim_ttl => '1 minute');
SELECT public.sayiir_unpause('h');
SELECT claim_token AS token FROM public.sayiir_claim_task('h', pg_catalog.sha256('c'), 'w', '1 minute') \gset
SELECT public.sayiir_release_claim('h', :'token');
SELECT public.sayiir_send_event('h', 'go', '\x05');
SELECT public.sayiir_save_snapshot('\x06', 'h', 'InProgress', pg_catalog.sha256('wf'), position_kind => 'AtSignal', awaited_signal => 'go');
SELECT public.sayiir_send_event('h', 'go', '\x06');
SELECT instance_id, position_kind, history_version FROM public.sayiir_claim_tasks('w');
SELECT public.sayiir_consume_event('h', 'go');
SELECT public.sayiir_store_signal('h', 'Pause'), public.sayiir_clear_signal('h', 'Pause');
SELECT public.sayiir_cancel('h');
SELECT public.sayiir_check_signals('h');
SELECT public.sayiir_prune_events('1 hour');
SELECT count(*) FROM public.sayiir_check_integrity();
SELECT public.sayiir_delete_snapshot('h');
-- Sayiir's own: moved past a delay, and by an event, and ended by one
SELECT public.sayiir_save_snapshot('\x535952530101'::pg_catalog.bytea OPERATOR(pg_catalog.||) pg_catalog.convert_to(pg_catalog.format('{"instance_id":"j","definition_hash":"%1$s","state":{"InProgress":{"position":{"AtDelay":{"delay_id":"%1$s","entered_at":"2019-12-31T00:00:00Z","wake_at":"2020-01-01T00:00:00Z","next_task_id":"%1$s"}},"completed_tasks":{},"last_completed_task_id":null}},"created_at":1,"updated_at":1}', pg_catalog.encode(pg_catalog.sha256('a'), 'hex')), 'UTF8'));
SELECT instance_id, position_kind, history_version FROM public.sayiir_claim_tasks('w');
SELECT public.sayiir_save_snapshot('\x535952530101'::pg_catalog.bytea OPERATOR(pg_catalog.||) pg_catalog.convert_to(pg_catalog.format('{"instance_id":"j","definition_hash":"%1$s","state":{"InProgress":{"position":{"AtSignal":{"signal_id":"%1$s","signal_name":"go","wake_at":null,"next_task_id":null}},"completed_tasks":{},"last_completed_task_id":null}},"created_at":1,"updated_at":1}', pg_catalog.encode(pg_catalog.sha256('a'), 'hex')), 'UTF8'));
SELECT public.sayiir_pause('j'), public.sayiir_unpause('j'), public.sayiir_send_event('j', 'go', '\x07');
SELECT status, history_version FROM public.sayiir_load_snapshot('j');
SELECT public.sayiir_delete_snapshot('j');
\set ECHO all
