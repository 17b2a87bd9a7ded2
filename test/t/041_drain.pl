# Eight workers drain many workflows while they are killed (B46, B47 in the large).
#
# Workers die by SIGKILL at any moment, and connections are cut by pg_terminate_backend. Their claims are short, so
# that others take over. In the end every workflow is Completed with all its results, and each task was executed
# once, plus once for each kill that hit it. SAYIIR_LONG=1 drains 2,000 workflows of five tasks in place of 500;
# SAYIIR_SEED chooses other moments.

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

my $python = python() or plan skip_all => 'python3 with psycopg 3 is needed';
my $workflows = $ENV{SAYIIR_LONG} ? 2000 : 500;
my $kills = $ENV{SAYIIR_LONG} ? 120 : 40;
my $seed = $ENV{SAYIIR_SEED} // 'sayiir';
my $workers = 8;
# Long enough for a task on a busy machine, short enough that the last of the dead is taken over soon.
my $ttl = '3 seconds';

my $node = new_node('drain', conf => "max_connections = 40\n");
$node->safe_psql('postgres', <<SQL);
CREATE TABLE test.runs (run uuid PRIMARY KEY, worker text, instance_id text, task_id bytea, at timestamptz DEFAULT clock_timestamp());
CREATE TABLE test.late (worker text, instance_id text);
CREATE TABLE test.killed (worker text PRIMARY KEY);
CREATE FUNCTION test.task(n integer) RETURNS bytea LANGUAGE sql AS \$\$ SELECT sha256(('task ' || n)::bytea) \$\$;
-- One half opaque, one half Sayiir's own.
SELECT count(CASE WHEN g % 2 = 0 THEN sayiir_save_snapshot(data => 'start', instance_id => 'd' || g, status => 'InProgress',
		definition_hash => sha256('drain'), current_task_id => test.task(1))
	ELSE sayiir_save_snapshot('\\x535952530101'::bytea || convert_to(format('{"instance_id":"d%s","definition_hash":"%s","state":{"InProgress":'
		|| '{"position":{"AtTask":{"task_id":"%s"}},"completed_tasks":{},"last_completed_task_id":null}},"created_at":1,"updated_at":1}',
		g, encode(sha256('drain'), 'hex'), encode(test.task(1), 'hex')), 'UTF8')) END)
FROM generate_series(1, $workflows) g;
SQL

my $connstr = $node->connstr('postgres');
my @worker;
my $born = 0;
my $wrong = '';

# Puts a worker of a new name at place $n.
sub start_worker
{
	my ($n) = @_;
	my %w = (name => 'drain-' . ++$born, output => '');

	$w{run} = IPC::Run::start([ $python, "$FindBin::RealBin/drain_worker.py", $connstr, $w{name}, $ttl, $seed ],
		'<', \undef, '>', \$w{output}, '2>&1');
	$w{pid} = $w{run}{KIDS}[0]{PID};
	$worker[$n] = \%w;
	return;
}

# Kills the worker at place $n; the record says that it was killed, not whether that hit an execution.
sub kill_worker
{
	my ($n) = @_;
	my $w = $worker[$n];

	kill 'KILL', $w->{pid};
	eval { $w->{run}->finish };
	$wrong .= $w->{output};
	# What its backend was doing is settled when it is gone.
	$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = '$w->{name}')");
	$node->safe_psql('postgres', "INSERT INTO test.killed VALUES ('$w->{name}')");
	return;
}

srand(unpack('L', $seed . 'seed'));
start_worker($_) for 0 .. $workers - 1;
my $session = $node->background_psql('postgres');
my ($killed, $cut) = (0, 0);
for (;;)
{
	my $left = $session->query_safe("SELECT count(*) FROM sayiir_workflow_snapshots WHERE status = 'InProgress'");

	# The last ones end without kills, so that there is an end.
	last if $left == 0 || $killed + $cut >= $kills;
	if (rand() < 0.6)
	{
		my $n = int(rand($workers));

		kill_worker($n);
		start_worker($n);
		$killed++;
	}
	else
	{
		$session->query_safe("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'drain-%' ORDER BY random() LIMIT 1");
		$cut++;
	}
	usleep(1000 * int(rand(150)));
}
foreach my $w (@worker)
{
	$w->{run}->finish or $wrong .= "$w->{name} ended with status " . $w->{run}->full_result(0) . "\n";
	$wrong .= $w->{output};
}
$session->quit;
note("$born workers, $killed killed, $cut connections cut");
is($wrong, '', 'no worker complained, and all that were left came to their end');
cmp_ok($killed, '>', $kills / 4, 'many were killed');

# --- What became of it ---------------------------------------------------------------------------

is($node->safe_psql('postgres', "SELECT status, completed_task_count, count(*) FROM sayiir_workflow_snapshots GROUP BY 1, 2"),
	"Completed|5|$workflows", 'every workflow is Completed with five tasks');
is($node->safe_psql('postgres', "SELECT status, count(*), count(DISTINCT instance_id), count(output) FROM sayiir_workflow_tasks GROUP BY 1"),
	'completed|' . join('|', 5 * $workflows, $workflows, 5 * $workflows), 'every task is completed, with its result');
is($node->safe_psql('postgres', <<'SQL'), '', 'each result is that of an execution of this task');
SELECT t.instance_id, t.task_id, t.output FROM sayiir_workflow_tasks t
WHERE NOT EXISTS (SELECT FROM test.runs r WHERE r.run::text = convert_from(t.output, 'UTF8')
	AND (r.instance_id, r.task_id) = (t.instance_id, t.task_id))
LIMIT 5
SQL
# A kill hit the last execution of its worker, unless that one's result is the stored one.
is($node->safe_psql('postgres', <<'SQL'), '', 'a task was executed once, and once more for each kill that hit it and each worker that was late');
WITH won AS (
	SELECT instance_id, task_id, convert_from(output, 'UTF8')::uuid AS run FROM sayiir_workflow_tasks
), hit AS (
	SELECT l.* FROM test.killed k CROSS JOIN LATERAL
		(SELECT r.* FROM test.runs r WHERE r.worker = k.worker ORDER BY r.at DESC LIMIT 1) l
	WHERE NOT EXISTS (SELECT FROM won w WHERE w.run = l.run)
), late AS (
	SELECT instance_id, count(*) AS n FROM test.late GROUP BY 1
)
SELECT r.instance_id, encode(r.task_id, 'hex'), count(*) AS executions, count(h.run) AS hits
FROM test.runs r LEFT JOIN hit h USING (run)
GROUP BY r.instance_id, r.task_id
HAVING count(*) NOT BETWEEN 1 + count(h.run) AND 1 + count(h.run)
	+ coalesce((SELECT l.n FROM late l WHERE l.instance_id = r.instance_id), 0)
LIMIT 5
SQL
my $hits = $node->safe_psql('postgres', "SELECT count(*) - 5 * $workflows FROM test.runs");
my $late = $node->safe_psql('postgres', 'SELECT count(*) FROM test.late');
note("$hits executions were hit, $late were late");
cmp_ok($hits, '>', 0, 'kills did hit');
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM sayiir_workflow_claims), (SELECT count(*) FROM sayiir_workflow_ready)'),
	'0|0', 'no claim is left, and nothing in the queue');
# Each task is one version: a hit execution left none.
is($node->safe_psql('postgres', 'SELECT history_version, count(*) FROM sayiir_workflow_snapshots GROUP BY 1 ORDER BY 1'),
	'6|' . $workflows / 2 . "\n7|" . $workflows / 2, 'each task is one version, and so is a result that went ahead');
integrity_ok($node, 'postgres', 'the store is sound');
# A server process that was sending to a killed worker reports the broken connection (08006).
log_has_only($node, 0, [ '00000', '08006', '57P01', 'SY002' ], 'no other error than what was done to them');

$node->stop;
done_testing();
