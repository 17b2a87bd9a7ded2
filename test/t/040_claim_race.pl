# Many workers claim from many workflows at once: none is given out twice, none is left, nobody waits.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirWorkers;
use Test::More;

my $node = new_node('claim_race', conf => "max_connections = 30\nlog_lock_waits = on\ndeadlock_timeout = 1ms\n");
my $silent = [qr/\A\s*(pgbench \(.*\)\n)?\z/];

install_workers($node, 'postgres');
$node->safe_psql('postgres', <<'SQL');
CREATE UNLOGGED TABLE test.got (instance_id text, claim_token uuid, worker text);
-- Three definitions, four sets of tags, five priorities: sixty kinds of work.
SELECT count(test.put('i' || g, priority => 1 + g % 5, wf => 'wf' || g % 3,
	tags => (ARRAY['{}', '{a}', '{b}', '{a,b}'])[1 + g % 4]::text[])) FROM generate_series(1, 3000) g;
SQL

# --- Each once ----------------------------------------------------------------------------------

my $offset = -s $node->logfile;
$node->pgbench('-n -c 8 -j 2 -t 150', 0, [qr/processed: 1200\/1200/], $silent, '8 workers claim 1,200 times',
	{ 'race_claims' => <<'SQL' });
\set n random(1, 5)
INSERT INTO test.got SELECT instance_id, claim_token, 'w' || :client_id FROM sayiir_claim_tasks('w' || :client_id, :n, '1 hour');
SQL
is($node->safe_psql('postgres', <<'SQL'), '3000|3000|3000|8', 'every instance was given out, each once, and each worker got some');
SELECT count(*), count(DISTINCT instance_id), count(DISTINCT claim_token), count(DISTINCT worker) FROM test.got
SQL
is($node->safe_psql('postgres', <<'SQL'), '3000|0', 'each is held by whom it was given to');
SELECT count(*), (SELECT count(*) FROM sayiir_workflow_ready)
FROM test.got g JOIN sayiir_workflow_claims c USING (instance_id, claim_token) WHERE c.worker_id = g.worker
SQL
is(lock_waits($node, $offset), '', 'nobody waited for anybody');
integrity_ok($node, 'postgres', 'the store is sound');

# --- All after the same -------------------------------------------------------------------------

$node->safe_psql('postgres', <<'SQL');
TRUNCATE test.got;
SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i;
SELECT count(test.put('s' || g)) FROM generate_series(1, 200) g;
SQL
$offset = -s $node->logfile;
# Every client walks through the same ids in the same order.
$node->pgbench('-n -c 8 -j 2 -t 200 -D n=0', 0, [qr/processed: 1600\/1600/], $silent, '8 workers after each of 200 tasks',
	{ 'race_claim' => <<'SQL' });
\set n :n + 1
INSERT INTO test.got SELECT 's' || :n, claim_token, 'w' || :client_id FROM sayiir_claim_task('s' || :n, test.id('t1'), 'w' || :client_id, '1 hour');
SQL
is($node->safe_psql('postgres', <<'SQL'), '200|200|200', 'each task had one winner');
SELECT count(*), count(DISTINCT g.instance_id), count(c.instance_id)
FROM test.got g LEFT JOIN sayiir_workflow_claims c ON (c.instance_id, c.claim_token, c.worker_id) = (g.instance_id, g.claim_token, g.worker)
SQL
is(lock_waits($node, $offset), '', 'nobody waited for anybody there either');

# --- Claims that expire, are taken over, released, and moved on -----------------------------------

$node->safe_psql('postgres', <<'SQL');
SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i;
SELECT count(test.put('m' || g)) FROM generate_series(1, 60) g;
CREATE TABLE test.done (instance_id text, task text, PRIMARY KEY (instance_id, task));
-- The second half of a step, of a worker whose claims hardly live long enough: what it does under a claim
-- that it has lost is refused (its bytes are its own, so that it is no repeat); what is not refused is done by
-- it alone, or the key says so.
CREATE FUNCTION test.work(id text, token text, task text, worker text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n integer := substr(task, 2);
BEGIN
	IF id = '' THEN
		RETURN 'nothing';
	ELSIF random() < 0.1 THEN
		PERFORM sayiir_release_claim(id, token::uuid);
		RETURN 'released';
	ELSIF random() < 0.3 THEN
		PERFORM test.expired(id);
	END IF;
	-- On one that has ended, nothing is written and the version is NULL.
	IF (SELECT s.history_version FROM test.step(id, token::uuid, CASE WHEN n < 10 THEN 't' || n + 1 END,
		done => task, output => worker::bytea, status => CASE WHEN n < 10 THEN 'InProgress' ELSE 'Completed' END, data => task || ' by ' || token) s) IS NULL THEN
		RETURN 'late';
	END IF;
	INSERT INTO test.done VALUES (id, task);
	RETURN 'done';
EXCEPTION WHEN SQLSTATE 'SY002' THEN
	RETURN 'late';
END $$;
CREATE TABLE test.answers (answer text);
SQL
$offset = -s $node->logfile;
$node->pgbench('-n -c 8 -j 2 -t 400', 0, [qr/processed: 3200\/3200/], $silent, '8 workers with claims of 5 ms',
	{ 'race_work' => <<'SQL' });
SELECT coalesce(max(instance_id), '') AS i, coalesce(max(claim_token::text), '') AS k, coalesce(max(test.name(task_id)), 't0') AS t
FROM sayiir_claim_tasks('w' || :client_id, 1, '5 milliseconds') \gset
INSERT INTO test.answers SELECT test.work(':i', ':k', ':t', 'w' || :client_id);
SQL
# What is left is little, or nothing.
$node->safe_psql('postgres', <<'SQL');
DO $$
DECLARE
	c record;
BEGIN
	LOOP
		PERFORM test.expired(instance_id) FROM sayiir_workflow_claims;
		SELECT * INTO c FROM sayiir_claim_tasks('last', 1, '1 hour');
		EXIT WHEN NOT FOUND;
		PERFORM * FROM test.step(c.instance_id, c.claim_token, CASE WHEN c.task_id <> test.id('t10')
				THEN 't' || substr(test.name(c.task_id), 2)::integer + 1 END, done => test.name(c.task_id), output => 'last',
			status => CASE WHEN c.task_id <> test.id('t10') THEN 'InProgress' ELSE 'Completed' END);
		INSERT INTO test.done VALUES (c.instance_id, test.name(c.task_id));
	END LOOP;
END $$;
SQL
is($node->safe_psql('postgres', <<'SQL'), '60|600|600', 'every task was done once, by one worker');
SELECT (SELECT count(*) FROM sayiir_workflow_snapshots WHERE status = 'Completed' AND completed_task_count = 10 AND history_version = 11),
	(SELECT count(*) FROM test.done), (SELECT count(*) FROM sayiir_workflow_tasks WHERE status = 'completed')
SQL
ok($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE answer = 'late') > 0 AND count(*) FILTER (WHERE answer = 'released') > 0 FROM test.answers") eq 't',
	'some came too late, some gave up');
integrity_ok($node, 'postgres', 'the store is sound at the end');
log_has_only($node, 0, ['00000'], 'no error reached a client');

$node->stop;
done_testing();
