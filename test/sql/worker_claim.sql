-- One claim at a time: who gets it, who does not, how it is prolonged, given back, and lost.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set worker :suite /sql/include/worker.sql
\i :worker
CREATE EXTENSION sayiir_pg;

-- A row, and what it says; without ttl until released.
SELECT qa.ws('i');
SELECT qa.claim('i');
SELECT qa.place('i');
SELECT qa.ws('n');
SELECT qa.claim('n', p_ttl => NULL);
SELECT expires_at IS NULL FROM sayiir_workflow_claims WHERE instance_id = 'n';
-- the default ttl is NULL
SELECT qa.ws('dflt');
SELECT claim_token IS NOT NULL, claimed_at IS NOT NULL, expires_at FROM sayiir_claim_task('dflt', qa.t('a'), 'w');
-- the clock, not the time of the transaction: a claim is live by the time it is made (CASES B45)
BEGIN;
SELECT qa.ws('clock');
SELECT claimed_at > now() AND expires_at > now() + '1 second' FROM sayiir_claim_task('clock', qa.t('a'), 'w', '1 second');
COMMIT;

-- None: a live claim, also of the same worker; another task than the present one; other places; other states.
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT qa.claim('i', p_worker => 'w2'), qa.claim('i'), qa.claim('n'), qa.claim('n', p_ttl => NULL);
SELECT qa.whole() = f AS untouched FROM qa.before;
SELECT qa.ws('other task'), qa.ws('no task', p_cur => NULL), qa.ws('parked', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go'),
	qa.ws('delay over', p_cur => NULL, p_kind => 'AtDelay', p_wake => '2020-01-01Z');
SELECT qa.ws(s, s, p_cur => NULL) FROM unnest('{Completed,Failed,Cancelled}'::text[]) s;
SELECT qa.ws('paused, with its task'), qa.ws('paused, with its task', 'Paused');
SELECT qa.ws('paused by the server'), sayiir_pause('paused by the server');
SELECT qa.ws('cancel pending'), sayiir_store_signal('cancel pending', 'Cancel');
SELECT qa.ws('pause pending'), sayiir_store_signal('pause pending', 'Pause');
UPDATE qa.before SET f = qa.whole();
SELECT qa.claim('other task', qa.t('b')), qa.claim('no task'), qa.claim('parked'), qa.claim('delay over'), qa.claim('Completed'), qa.claim('Failed'), qa.claim('Cancelled'),
	qa.claim('paused, with its task'), qa.claim('paused by the server'), qa.claim('cancel pending'), qa.claim('pause pending');
SELECT qa.whole() = f AS untouched FROM qa.before;
-- taken back, it can be had; the other task's claim as well
SELECT sayiir_clear_signal('cancel pending', 'Cancel'), qa.claim('cancel pending'), qa.claim('other task');
-- a delayed retry can be had by name: the rule knows no delay
SELECT qa.ws('retry', p_wake => '2099-01-01Z'), qa.claim('retry');
-- a task whose output is stored already
SELECT qa.ws('stored'), sayiir_save_task_result('stored', qa.t('a'), '\xaa'), qa.claim('stored');

-- Unknown: P0002, and after a delete again.
SELECT qa.try($$SELECT qa.claim('nobody')$$);
SELECT qa.ws('gone'), qa.claim('gone'), sayiir_delete_snapshot('gone');
SELECT qa.try($$SELECT qa.claim('gone')$$);

-- Expired: taken over, by anyone, with a new token, also under the same name (CASES B47).
SELECT qa.ws('x'), qa.claim('x', p_worker => 'w1', p_label => 'old'), qa.expire('x'), qa.claim('x', p_worker => 'w1', p_label => 'new');
SELECT qa.k('old') <> qa.k('new');
SELECT qa.try($$SELECT sayiir_extend_claim('x', qa.k('old'), '1 minute')$$);
SELECT qa.try($$SELECT sayiir_release_claim('x', qa.k('old'))$$);
SELECT qa.try($$SELECT sayiir_save_task_result('x', qa.t('a'), '\xaa', claim_token => qa.k('old'))$$);
SELECT qa.place('x');
SELECT qa.expire('x'), qa.claim('x', p_worker => 'w2');
SELECT qa.place('x');
-- a claim without ttl is never taken over
SELECT qa.claim('n', p_worker => 'w2');
-- an expired one is no claim, taken over or not
SELECT qa.ws('e'), qa.claim('e'), qa.expire('e');
SELECT qa.try($$SELECT sayiir_extend_claim('e', qa.k('e'), '1 minute')$$);
SELECT qa.try($$SELECT sayiir_release_claim('e', qa.k('e'))$$);
-- the ttl of a new claim may be none, or another
SELECT qa.claim('e', p_ttl => NULL);

-- ttl: positive; months and infinitely small ones
SELECT ttl, qa.try(format('SELECT qa.claim(''retry'', p_ttl => %L)', ttl)) FROM unnest('{0,-1 second,-1 microsecond,1 month -31 days,-1 month 1 day,0 days -1 hours}'::interval[]) ttl;
SELECT qa.ws('short'), qa.ws('long'), qa.ws('too long');
SELECT expires_at - claimed_at FROM sayiir_claim_task('short', qa.t('a'), 'w', '1 microsecond');
SELECT qa.claim('long', p_ttl => '1 month 100 years');
SELECT qa.try($$SELECT qa.claim('too long', p_ttl => '300000 years')$$);
SELECT qa.place('too long');
-- a worker id: 1 to 256 bytes
SELECT qa.ws('wid');
SELECT length(w), left(qa.try(format('SELECT count(*) FROM sayiir_claim_task(''wid'', qa.t(''a''), %L)', w)), 40) FROM unnest(ARRAY['', repeat('w', 257), repeat('é', 129)]) w;
SELECT qa.claim('wid', p_worker => repeat('é', 128));
SELECT octet_length(worker_id) FROM sayiir_workflow_claims WHERE instance_id = 'wid';
SELECT qa.ws('odd'), qa.claim('odd', p_worker => E' %s''"\\\n');
SELECT qa.place('odd');
-- a worker of that name, in an error
SELECT qa.try($$SELECT sayiir_release_claim('odd', qa.k('nobody'))$$);

-- Extend: now + ttl, never added up; NULL and no change without ttl; shorter too.
SELECT qa.ws('h'), qa.claim('h', p_ttl => '1 minute');
SELECT qa.extend('h', '10 minutes'), qa.extend('h', '10 minutes'), qa.extend('h', '2 seconds'), qa.extend('h', '2 hours');
SELECT qa.place('h');
UPDATE qa.before SET f = md5(c::text) FROM sayiir_workflow_claims c WHERE instance_id = 'n';
SELECT qa.extend('n', '1 second');
SELECT md5(c::text) = f AS unchanged FROM sayiir_workflow_claims c, qa.before WHERE instance_id = 'n';
-- it makes no version
SELECT history_version FROM sayiir_workflow_snapshots WHERE instance_id = 'h';
-- in a transaction, by the clock
BEGIN;
SELECT sayiir_extend_claim('h', qa.k('h'), '1 minute') > now() + '1 minute';
ROLLBACK;
-- ttl positive, not NULL
SELECT ttl, qa.try(format('SELECT sayiir_extend_claim(''h'', qa.k(''h''), %L::interval)', ttl)) FROM unnest('{0,-1 second,NULL}'::interval[]) ttl;
-- SY002: no claim, another's token, an unknown instance, one that ended
SELECT qa.try($$SELECT sayiir_extend_claim('h', qa.k('n'), '1 minute')$$);
SELECT qa.try($$SELECT sayiir_extend_claim('parked', qa.k('n'), '1 minute')$$);
SELECT qa.try($$SELECT sayiir_extend_claim('nobody', qa.k('n'), '1 minute')$$);
SELECT qa.try($$SELECT sayiir_extend_claim('Failed', qa.k('n'), '1 minute')$$);

-- Release: to be had again at once, with another token; a second release is refused.
SELECT qa.ws('r'), qa.claim('r', p_label => 'r1'), sayiir_release_claim('r', qa.k('r1')), qa.place('r');
SELECT qa.try($$SELECT sayiir_release_claim('r', qa.k('r1'))$$);
SELECT qa.claim('r', p_worker => 'w2', p_label => 'r2'), qa.k('r1') <> qa.k('r2');
SELECT qa.try($$SELECT sayiir_release_claim('r', qa.k('r1'))$$);
SELECT sayiir_release_claim('r', qa.k('r2'), NULL), qa.place('r');
-- retry_after: delay_wake_at is then; no version, waiting for sayiir_claim_tasks, yet to be had by name
SELECT qa.claim('r'), sayiir_release_claim('r', qa.k('r'), '2 hours'), qa.place('r');
SELECT delay_wake_at BETWEEN clock_timestamp() + '1 hour 59 minutes' AND clock_timestamp() + '2 hours' FROM sayiir_workflow_snapshots WHERE instance_id = 'r';
SELECT qa.claim('r'), sayiir_release_claim('r', qa.k('r')), qa.place('r');
SELECT after, qa.try(format('SELECT sayiir_release_claim(''h'', qa.k(''h''), %L)', after)) FROM unnest('{0,-1 second}'::interval[]) after;
-- SY002
SELECT qa.try($$SELECT sayiir_release_claim('h', qa.k('n'))$$);
SELECT qa.try($$SELECT sayiir_release_claim('nobody', qa.k('n'))$$);
SELECT qa.try($$SELECT sayiir_release_claim('Failed', qa.k('n'))$$);
SELECT qa.place('h');

-- A pending signal is applied by the release; then neither claim nor signal is left. A cancel outweighs a pause.
SELECT qa.ws('rc'), qa.claim('rc'), sayiir_cancel('rc', 'why', 'me'), sayiir_release_claim('rc', qa.k('rc')), qa.place('rc');
SELECT qa.ws('rp'), qa.claim('rp'), sayiir_pause('rp'), sayiir_release_claim('rp', qa.k('rp'), '1 hour'), qa.place('rp');
SELECT qa.ws('rcp'), qa.claim('rcp'), sayiir_pause('rcp'), sayiir_cancel('rcp'), sayiir_release_claim('rcp', qa.k('rcp')), qa.place('rcp');

-- retry_after at another place than a task; an event that is there is not put off by it
SELECT qa.ws('rf', p_cur => NULL, p_kind => 'AtFork', p_wake => '2020-01-01Z', p_def => qa.t('wf2')), qa.ws('rs', p_cur => NULL, p_kind => 'AtSignal', p_awaits => 'go', p_def => qa.t('wf2')), sayiir_send_event('rs', 'go', '\x01');
SELECT qa.claims(p_max => 10, p_defs => ARRAY[qa.t('wf2')]);
SELECT sayiir_release_claim('rf', qa.k('rf'), '2 hours'), sayiir_release_claim('rs', qa.k('rs'), '2 hours'), qa.place('rf'), qa.place('rs');
SELECT qa.claims(p_max => 10, p_defs => ARRAY[qa.t('wf2')]);

-- A claim that is rolled back was none.
BEGIN;
SELECT qa.claim('stored');
SELECT qa.ws('tx'), qa.claim('tx');
ROLLBACK;
BEGIN;
SELECT qa.ws('tx'), qa.claim('tx');
SAVEPOINT s;
SELECT sayiir_release_claim('tx', qa.k('tx'));
ROLLBACK TO s;
SELECT qa.place('tx');
COMMIT;
SELECT qa.claim('tx'), qa.place('tx');

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
