# A server killed with live claims, pending signals and unread events: what was acknowledged is there, and fits.
#
# Sessions claim, advance, send, park, pause and release as fast as they can; the server and all its processes are
# killed at a random moment. After recovery the queue follows from the other tables, each acknowledged claim is
# held under its token, and all of it goes on to its end. SAYIIR_CRASH_ROUNDS sets the number of crashes (3).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirWorkers;
use Test::More;
use Time::HiRes qw(usleep);

my $rounds = $ENV{SAYIIR_CRASH_ROUNDS} // 3;
my $clients = 4;

# A node for tests runs without fsync; what is tested here is a durable one.
my $node = new_node('worker_crash', conf => "fsync = on\nsynchronous_commit = on\nfull_page_writes = on\n");
install_workers($node, 'postgres');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE test.acked (kind text, id text, what text);
SQL

# What one session of one round sends; each reply that arrives is an acknowledgement: kind|id|what.
sub script
{
	my ($round, $client) = @_;
	my $sql = '';

	for my $i (0 .. 3000)
	{
		my $id = "$round-$client-$i";

		$sql .= "SELECT test.put('$id') AS v \\gset\n";
		if ($i % 5 == 0)
		{
			$sql .= "SELECT 'claim', '$id', claim_token FROM sayiir_claim_task('$id', test.id('t1'), 'w$client', '1 day');\n";
		}
		elsif ($i % 5 == 1)
		{
			# The claim ends with a step; the step is what is acknowledged.
			$sql .= <<SQL;
SELECT claim_token AS k FROM sayiir_claim_task('$id', test.id('t1'), 'w$client', '1 day') \\gset
SELECT 'at', '$id', CASE history_version WHEN 2 THEN 't2' END FROM test.step('$id', :'k', 't2', done => 't1', output => 'out');
SELECT claim_token AS k FROM sayiir_claim_task('$id', test.id('t2'), 'w$client', '1 day') \\gset
SELECT 'at', '$id', CASE history_version WHEN 3 THEN 't3' END FROM test.step('$id', :'k', 't3', done => 't2', output => 'out', next => '1 day');
SQL
		}
		elsif ($i % 5 == 2)
		{
			$sql .= <<SQL;
SELECT test.put('$id', NULL, kind => 'AtSignal', signal => 'go') AS v \\gset
SELECT 'event', '$id', 'go' FROM sayiir_send_event('$id', 'go', 'event') WHERE sayiir_send_event;
SQL
		}
		elsif ($i % 5 == 3)
		{
			$sql .= <<SQL;
SELECT test.jput('j$id', 'signal go t2') AS v \\gset
SELECT 'at', 'j$id', 't2' FROM sayiir_send_event('j$id', 'go', 'event') WHERE sayiir_send_event;
SELECT 'event', 'later $id', 'go' FROM sayiir_send_event('later $id', 'go', 'event');
SQL
		}
		else
		{
			$sql .= <<SQL;
SELECT 'status', '$id', sayiir_pause('$id');
SELECT test.put('$id-c') AS v \\gset
SELECT claim_token AS k FROM sayiir_claim_task('$id-c', test.id('t1'), 'w$client', '1 day') \\gset
SELECT 'signal', '$id-c', 'Cancel' FROM sayiir_cancel('$id-c') WHERE sayiir_cancel = 'Pending';
SQL
		}
	}
	return $sql;
}

for my $round (1 .. $rounds)
{
	my (@run, @out, @err);
	my $dir = PostgreSQL::Test::Utils::tempdir();

	for my $client (0 .. $clients - 1)
	{
		PostgreSQL::Test::Utils::append_to_file("$dir/in$client", script($round, $client));
		$run[$client] = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/in$client", '-d', $node->connstr('postgres') ],
			'<', \undef, '>', "$dir/out$client", '2>', "$dir/err$client");
	}
	# Not before each of them is at work.
	$node->poll_query_until('postgres', "SELECT count(DISTINCT split_part(instance_id, '-', 2)) = $clients
		FROM sayiir_workflow_snapshots WHERE instance_id LIKE '$round-%'");
	usleep(300_000 + int(rand(500_000)));
	$node->stop('immediate');
	eval { $_->finish } for @run;

	@out = map { PostgreSQL::Test::Utils::slurp_file("$dir/out$_") } 0 .. $clients - 1;
	@err = map { PostgreSQL::Test::Utils::slurp_file("$dir/err$_") } 0 .. $clients - 1;
	my @acked = map { split /\n/ } @out;
	# A last line may have been cut.
	@acked = grep { /\A(claim|at|event|status|signal)\|[^|]+\|[^|]+\z/ } @acked;
	cmp_ok(scalar @acked, '>', 20, "round $round: " . @acked . ' calls were acknowledged');
	is(join('', map { /(ERROR: .*)/g } @err), '', "round $round: nothing was refused");

	$node->start;
	PostgreSQL::Test::Utils::append_to_file("$dir/acked", join("\n", @acked) . "\n");
	$node->safe_psql('postgres', "\\copy test.acked FROM '$dir/acked' (DELIMITER '|')");
	is($node->safe_psql('postgres', <<'SQL'), '', "round $round: what was acknowledged is there");
SELECT a.* FROM test.acked a
LEFT JOIN sayiir_workflow_snapshots s ON s.instance_id = a.id
WHERE NOT CASE a.kind
	WHEN 'claim' THEN EXISTS (SELECT FROM sayiir_workflow_claims c WHERE c.instance_id = a.id AND c.claim_token::text = a.what)
	-- A later step may have been written without its reply having arrived.
	WHEN 'at' THEN a.what <= test.name(s.current_task_id)
		AND EXISTS (SELECT FROM sayiir_workflow_snapshot_history h WHERE h.instance_id = a.id AND test.name(h.current_task_id) = a.what)
	WHEN 'event' THEN EXISTS (SELECT FROM sayiir_workflow_events e WHERE e.instance_id = a.id AND e.signal_name = a.what)
	WHEN 'status' THEN s.status = a.what
	WHEN 'signal' THEN EXISTS (SELECT FROM sayiir_workflow_signals g WHERE g.instance_id = a.id AND g.kind = a.what)
END LIMIT 5
SQL
	integrity_ok($node, 'postgres', "round $round: the store is sound, the queue included");
	is($node->safe_psql('postgres', <<'SQL'), 't', "round $round: the next event comes after those that are there");
WITH sent AS (SELECT sayiir_send_event('after', 'crash', 'x'))
SELECT (SELECT max(id) FROM sayiir_workflow_events) < nextval(pg_get_serial_sequence('sayiir_workflow_events', 'id')) FROM sent
SQL
	$node->safe_psql('postgres', 'TRUNCATE test.acked');
}

# All of it goes on: the tokens are good, what is free can be claimed, what is parked with an event too.
is($node->safe_psql('postgres', <<'SQL'), 't|0|0|0|0', 'all goes on to its end');
CREATE TEMP TABLE ended AS SELECT status FROM sayiir_workflow_claims c
	CROSS JOIN LATERAL sayiir_advance('end', c.claim_token, instance_id => c.instance_id, status => 'Completed', definition_hash => test.id('wf')) a;
SELECT sayiir_unpause(instance_id) FROM sayiir_workflow_snapshots WHERE status = 'Paused' \g /dev/null
SELECT count(c) FROM sayiir_claim_tasks('w', 1000000) c \g /dev/null
-- All but those that were claimed now: cancelled ones included, as their claims had ended with the step.
SELECT sayiir_save_snapshot(data => 'end', instance_id => instance_id, status => 'Completed', definition_hash => test.id('wf'), claim_token => claim_token)
	FROM sayiir_workflow_claims \g /dev/null
SELECT (SELECT count(*) > 10 AND bool_and(status = 'Completed') FROM ended),
	(SELECT count(*) FROM sayiir_workflow_snapshots s WHERE status NOT IN ('Completed', 'Cancelled')
		AND NOT (current_task_id IS NULL AND NOT EXISTS (SELECT FROM sayiir_workflow_events e WHERE e.instance_id = s.instance_id))),
	(SELECT count(*) FROM sayiir_workflow_claims), (SELECT count(*) FROM sayiir_workflow_signals), (SELECT count(*) FROM sayiir_workflow_ready)
SQL
integrity_ok($node, 'postgres', 'the store is sound at the end');

$node->stop;
done_testing();
