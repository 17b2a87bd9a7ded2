\set ECHO none
-- The life of an instance in calls that need nothing from search_path. Output: 1, 2, 2 (a repeat), 3, 3 (a repeat), the
-- newest version with two outputs, version 2 with one, an output, the id, no violation, a task id, no hint, 4, NULL (too
-- late), void, {1}, void.
SELECT public.sayiir_save_snapshot('\x01', 'h', 'InProgress', pg_catalog.sha256('wf'), pg_catalog.sha256('a'), task_tags => '{t}');
SELECT public.sayiir_save_snapshot('\x02', 'h', 'InProgress', pg_catalog.sha256('wf'), pg_catalog.sha256('b'), last_completed_task_id => pg_catalog.sha256('a'), last_completed_output => '\xaa', expected_version => 1);
SELECT public.sayiir_save_snapshot('\x02', 'h', 'InProgress', pg_catalog.sha256('wf'), pg_catalog.sha256('b'), last_completed_task_id => pg_catalog.sha256('a'), last_completed_output => '\xaa', expected_version => 1);
SELECT public.sayiir_save_task_result('h', pg_catalog.sha256('b'), '\xbb');
SELECT public.sayiir_save_task_result('h', pg_catalog.sha256('b'), '\xbb');
SELECT history_version, data, pg_catalog.cardinality(outputs) FROM public.sayiir_load_snapshot('h');
SELECT history_version, data, outputs FROM public.sayiir_load_snapshot('h', 2);
SELECT public.sayiir_load_task_result('h', pg_catalog.sha256('b'));
SELECT * FROM public.sayiir_list_snapshots('InProgress', 'a', 5);
SELECT * FROM public.sayiir_check_integrity();
SELECT public.sayiir_task_id('abc');
SELECT instance_id FROM public.sayiir_decode_hint('');
SELECT public.sayiir_save_snapshot('\x09', 'h', 'Failed', pg_catalog.sha256('wf'), error => 'e');
SELECT public.sayiir_save_snapshot('\x08', 'h', 'InProgress', pg_catalog.sha256('wf'));
SELECT public.sayiir_delete_snapshot('h');
SELECT public.sayiir_save_snapshots('{"\\x01"}', '{hb}', '{InProgress}', ARRAY[pg_catalog.sha256('wf')], ARRAY[pg_catalog.sha256('a')], task_tags => '{"{t}"}');
SELECT public.sayiir_delete_snapshot('hb');
\set ECHO all
