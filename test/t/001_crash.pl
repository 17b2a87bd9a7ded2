# What was acknowledged is there after a crash.
#
# Sessions write as fast as they can, the server and all its processes are killed at a random moment,
# and after recovery each save, result, end and delete whose reply had arrived is found as the reply
# said, bytes included. What was not acknowledged is there as a whole or not at all.
# SAYIIR_CRASH_ROUNDS sets the number of crashes (default 3).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;
use Time::HiRes qw(usleep);

my $rounds = $ENV{SAYIIR_CRASH_ROUNDS} // 3;
my $clients = 4;

# A node for tests runs without fsync; what is tested here is a durable one.
my $node = new_node('crash', conf => "fsync = on\nsynchronous_commit = on\nfull_page_writes = on\n");
$node->safe_psql('postgres', <<'SQL');
-- Incompressible bytes that can be computed again: from a few up to some 20 kB, stored in line and out of line.
CREATE FUNCTION test.bytes(seed text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(sha256((seed || g)::bytea), '') FROM generate_series(0, abs(hashtext(seed)) % 600) g $$;
CREATE TABLE test.acked (kind text, id text, version integer, seed text);
SQL

# What one session of one round sends: statements, each followed by a line that acknowledges it.
sub script
{
	my ($round, $client) = @_;
	my $sql = '';

	for my $i (0 .. 5000)
	{
		my $seed = "$round-$client-$i";
		my $own = "$round-$client-" . $i % 10;

		if ($i % 7 == 3)
		{
			# Both or neither.
			$sql .= <<SQL;
BEGIN;
SELECT test.save('left $client', test.bytes('$seed')) AS l, test.save('right $client', test.bytes('$seed')) AS r \\gset
COMMIT;
\\echo save|left $client|:l|$seed
\\echo save|right $client|:r|$seed
SQL
		}
		elsif ($i % 7 == 5)
		{
			$sql .= "SELECT 'result', 'shared', test.result('shared', '$seed', test.bytes('$seed')), '$seed';\n";
		}
		elsif ($i % 20 == 6)
		{
			$sql .= "SELECT 'end', 'ended $seed', test.save('ended $seed', test.bytes('$seed'), status => 'Completed'), '$seed';\n";
		}
		elsif ($i % 20 == 11)
		{
			$sql .= <<SQL;
SELECT test.save('deleted $seed', test.bytes('$seed')) AS one \\gset
SELECT 'delete', 'deleted $seed', 0, sayiir_delete_snapshot('deleted $seed');
SQL
		}
		elsif ($i % 2)
		{
			$sql .= "SELECT 'save', 'shared', test.save('shared', test.bytes('$seed')), '$seed';\n";
		}
		else
		{
			$sql .= "SELECT 'save', '$own', test.save('$own', test.bytes('$seed')), '$seed';\n";
		}
	}
	return $sql;
}

# Kills the postmaster and every process of its server, and waits until they are dead. One that its
# parent has not taken note of yet is dead, too; only a new postmaster would take it for alive.
sub kill_all
{
	my @pids = split /\n/, $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
	my @notes = ($node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock');

	unshift @pids, (split /\n/, slurp_file($notes[0]))[0];
	$node->kill9;
	kill 'KILL', @pids;
	foreach my $pid (@pids)
	{
		my $tries = 100 * $PostgreSQL::Test::Utils::timeout_default;

		while (kill(0, $pid))
		{
			if (-e "/proc/$pid/stat" && slurp_file("/proc/$pid/stat") =~ /^\d+ \(.*\) Z/)
			{
				unlink @notes;
				last;
			}
			die "process $pid does not die" if $tries-- == 0;
			usleep(10_000);
		}
	}
	return;
}

$node->safe_psql('postgres', "SELECT test.save('shared', 'first')");

for my $round (1 .. $rounds)
{
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $enough = 100 + int(rand(900));
	my (@running, @acked);

	$node->safe_psql('postgres', 'TRUNCATE test.acked');
	my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM sayiir_workflow_snapshot_history');
	for my $client (1 .. $clients)
	{
		append_to_file("$dir/$client.sql", script($round, $client));
		push @running,
		  IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', "$dir/$client.sql" ],
			'<', \undef, '>', "$dir/$client.acked", '2>', "$dir/$client.errors");
	}
	$node->poll_query_until('postgres', "SELECT count(*) > $before + $enough FROM sayiir_workflow_snapshot_history")
	  or die 'the sessions write nothing';
	kill_all();
	$_->finish for @running;

	for my $client (1 .. $clients)
	{
		like(slurp_file("$dir/$client.errors"), qr/server closed the connection|connection to server was lost/,
			"round $round: the crash interrupted session $client");
		push @acked, grep { /\n\z/ } split /(?<=\n)/, slurp_file("$dir/$client.acked");
	}
	cmp_ok(scalar(@acked), '>', $enough / 2, "round $round: many calls were acknowledged");

	$node->start;
	append_to_file("$dir/acked", join('', @acked));
	$node->safe_psql('postgres', "\\copy test.acked FROM '$dir/acked' WITH (DELIMITER '|')");

	is($node->safe_psql('postgres', <<'SQL'), '', "round $round: every acknowledged save is there with its bytes");
SELECT a FROM test.acked a WHERE kind IN ('save', 'end') AND NOT EXISTS (
	SELECT FROM sayiir_workflow_snapshot_history h
	WHERE h.instance_id = a.id AND h.version = a.version AND h.data = test.bytes(a.seed))
SQL
	is($node->safe_psql('postgres', <<'SQL'), '', "round $round: every acknowledged result is there with its bytes");
SELECT a FROM test.acked a WHERE kind = 'result' AND (
	NOT EXISTS (SELECT FROM sayiir_workflow_snapshot_history h WHERE h.instance_id = a.id AND h.version = a.version)
	OR sayiir_load_task_result(a.id, rpad(a.seed, 32)::bytea) IS DISTINCT FROM test.bytes(a.seed))
SQL
	is($node->safe_psql('postgres', <<'SQL'), '', "round $round: what has ended has ended, what was deleted is gone");
SELECT a FROM test.acked a LEFT JOIN sayiir_workflow_snapshots s ON s.instance_id = a.id
WHERE kind = 'end' AND s.status IS DISTINCT FROM 'Completed' OR kind = 'delete' AND s.instance_id IS NOT NULL
SQL
	is($node->safe_psql('postgres', <<'SQL'), '', "round $round: transactions over two instances are there for both or for none");
SELECT l.version FROM (SELECT * FROM sayiir_workflow_snapshot_history WHERE instance_id LIKE 'left %') l
FULL JOIN (SELECT * FROM sayiir_workflow_snapshot_history WHERE instance_id LIKE 'right %') r
	ON r.instance_id = replace(l.instance_id, 'left', 'right') AND r.version = l.version AND r.data = l.data
WHERE l.version IS NULL OR r.version IS NULL
SQL
	integrity_ok($node, 'postgres', "round $round: the store is sound");

	my $last = $node->safe_psql('postgres', "SELECT history_version FROM sayiir_load_snapshot('shared')");
	is($node->safe_psql('postgres', "SELECT test.save('shared', 'after')"), $last + 1, "round $round: writing goes on");
}

$node->stop;
done_testing();
