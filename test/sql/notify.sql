-- Which calls wake, which do not, and the setting sayiir.notify.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;
LISTEN sayiir_task_ready;
-- psql shows what this session hears; payload and process id are cut off.
\set hear '\\o |sed "s/ with payload.*//; s/ received from.*//"'

-- Only an InProgress save that has a current task: the first two. psql hears after each.
:hear
SELECT 'at a task', qa.sv('n');
SELECT 'the same again', qa.sv('n');
SELECT 'at another place', qa.sv('n', p_cur => NULL, p_kind => 'AtDelay');
SELECT 'paused at a task', qa.sv('n', 'Paused');
SELECT 'paused', qa.sv('n', 'Paused', p_cur => NULL);
SELECT 'task result', sayiir_save_task_result('n', qa.t('a'), '\xaa');
SELECT 'task result with data', sayiir_save_task_result('n', qa.t('b'), '\xaa', '\x05');
SELECT 'its repeat', sayiir_save_task_result('n', qa.t('b'), '\xaa', '\x05');
SELECT 'completed at a task', qa.sv('n', 'Completed', '\x09');
SELECT 'failed at a task', qa.sv('nf', 'Failed', '\x09');
SELECT 'cancelled at a task', qa.sv('nc', 'Cancelled', '\x09');
SELECT 'too late', qa.sv('n');
SELECT 'repeated end', qa.sv('n', 'Completed', '\x09');
SELECT 'deleted', sayiir_delete_snapshot('n');
SELECT 'loaded', count(*) FROM sayiir_load_snapshot('nf');
\o
-- A recognized repeat wakes nobody, nor does a conflict.
:hear
SELECT 'first', qa.sv('r', p_ev => 0);
SELECT 'repeat', qa.sv('r', p_ev => 0);
SELECT 'conflict', left(qa.try($$SELECT qa.sv('r', p_data => '\x02', p_ev => 0)$$), 5);
\o
-- Only what is committed is heard; two saves of one step are heard once, of two steps twice.
:hear
BEGIN; SELECT 'rolled back', qa.sv('tx'); ROLLBACK;
BEGIN; SAVEPOINT s; SELECT 'savepoint rolled back', qa.sv('tx'); ROLLBACK TO s; SELECT 'at no task', qa.sv('tx', p_cur => NULL); COMMIT;
BEGIN; SELECT 'twice', qa.sv('tx'); SELECT 'the same step', qa.sv('tx', p_data => '\x02'); COMMIT;
BEGIN; SELECT 'two', qa.sv('tx', p_data => '\x03'); SELECT 'steps', qa.sv('tx', p_data => '\x04', p_cur => qa.t('b')); COMMIT;
\o

-- The setting: transactional by default, off, and nothing else.
SHOW sayiir.notify;
:hear
SET sayiir.notify = off;
SELECT 'off', qa.sv('o');
SET sayiir.notify = 'Transactional';
SELECT 'transactional', qa.sv('o');
BEGIN; SET LOCAL sayiir.notify = off; SELECT 'off for a transaction', qa.sv('o'); COMMIT;
SELECT 'afterwards', qa.sv('o');
\o
SHOW sayiir.notify;
SELECT qa.try($$SET sayiir.notify = 'nonsense'$$);
SELECT qa.try($$SET sayiir.notify = ''$$);
SELECT qa.try($$SET sayiir.notify = 1$$);
-- deferred needs preloading, which test/t/051_deferred.pl has; the counters are there in any case
SELECT qa.try($$SET sayiir.notify = deferred$$);
SELECT * FROM sayiir_wakeup_stats();
SELECT qa.try($$SET sayiir.notifi = off$$);
SELECT name, setting, vartype, context, boot_val, short_desc <> '' FROM pg_settings WHERE name LIKE 'sayiir.%' ORDER BY 1;
UNLISTEN *;
-- at the functions, and for every user
CREATE ROLE regress_sayiir_app;
SET ROLE regress_sayiir_app;
SET sayiir.notify = off;
SHOW sayiir.notify;
RESET sayiir.notify;
RESET ROLE;

DROP ROLE regress_sayiir_app;

-- Set before the library is loaded: by the session, and for the database.
\c -
SET sayiir.notify = off;
LISTEN sayiir_task_ready;
:hear
SELECT 'off before loading', sayiir_save_snapshot('\x01', 'early', 'InProgress', sha256('wf'), sha256('a'));
SET sayiir.notify = transactional;
SELECT 'on', sayiir_save_snapshot('\x02', 'early', 'InProgress', sha256('wf'), sha256('a'));
\o
SELECT current_database() AS db \gset
ALTER DATABASE :"db" SET sayiir.notify = off;
\c -
LISTEN sayiir_task_ready;
:hear
SELECT 'off for the database', sayiir_save_snapshot('\x03', 'early', 'InProgress', sha256('wf'), sha256('a'));
SET sayiir.notify = transactional;
SELECT 'on', sayiir_save_snapshot('\x04', 'early', 'InProgress', sha256('wf'), sha256('a'));
RESET sayiir.notify;
SELECT 'reset', sayiir_save_snapshot('\x05', 'early', 'InProgress', sha256('wf'), sha256('a'));
\o
ALTER DATABASE :"db" RESET sayiir.notify;
-- a value that there is not is warned of when the library comes, and the default applies; the save works
\c -
SET sayiir.notify = nonsense;
SET sayiir.notifi = off;
LISTEN sayiir_task_ready;
:hear
SELECT 'nonsense before loading', sayiir_save_snapshot('\x06', 'early', 'InProgress', sha256('wf'), sha256('a'));
\o
SHOW sayiir.notify;

SET client_min_messages = warning;
SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
