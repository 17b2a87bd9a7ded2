# Calls that are stopped from outside, at any moment (CASES B44).
#
# A cancelled call is 57014, a terminated session 57P01; nothing of the call remains, a cancelled
# session goes on, and the next version is the right one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_node('cancel');
my $control = $node->background_psql('postgres');

# Runs SQL in one session that is nobody's victim.
sub sql
{
	my ($sql) = @_;

	return $control->query_safe($sql);
}

# --- While waiting for another session ----------------------------------------------------------

my %waiting = (
	'a save' => "SELECT test.save('lk', 'waited', cur => 't2', done => 't1', output => 'out')",
	'an end' => "SELECT test.save('lk', 'waited', status => 'Completed')",
	'a result' => "SELECT test.result('lk', 't1', 'out')",
	'a delete' => "SELECT sayiir_delete_snapshot('lk')",
	'a first save' => "SELECT test.save('new', 'waited')");
my $holder = session($node, 'postgres');
my $waiter = session($node, 'postgres');
my $pid = backend_pid($waiter);
my $contents = 'SELECT instance_id, version, data FROM sayiir_workflow_snapshot_history UNION ALL '
  . 'SELECT instance_id, NULL, task_id FROM sayiir_workflow_tasks ORDER BY 1, 2';

sql("SELECT test.save('lk', 'one')");
foreach my $what (sort keys %waiting)
{
	my $before = sql($contents);

	$holder->query_safe("BEGIN; SELECT test.save('lk', 'held'); SELECT test.save('new', 'held')");
	start_query($waiter, $waiting{$what});
	wait_for_lock($node, 'postgres', $pid);
	is(sql("SELECT pg_cancel_backend($pid)"), 't', "$what: cancelled while waiting");
	is((finish_query($waiter))[1], '57014', "$what: 57014");
	$holder->query_safe('ROLLBACK');
	is(sql($contents), $before, "$what: nothing of it remains");
	is(backend_pid($waiter), $pid, "$what: the session goes on");
}
is($waiter->query_safe("SELECT test.save('lk', 'two')"), 2, 'the next version is the right one');
is($waiter->query_safe("SELECT test.save('new', 'one')"), 1, 'of a new instance, too');
$waiter->quit;

# Its whole session ended, the holder's transaction is untouched.
foreach my $what (sort keys %waiting)
{
	my $ended = session($node, 'postgres');
	my $pid = backend_pid($ended);
	my ($lk, $new) = map { sql("SELECT history_version FROM sayiir_load_snapshot('$_')") } qw(lk new);

	$holder->query_safe("BEGIN; SELECT test.save('lk', 'held'); SELECT test.save('new', 'held')");
	start_query($ended, $waiting{$what});
	wait_for_lock($node, 'postgres', $pid);
	is(sql("SELECT pg_terminate_backend($pid)"), 't', "$what: its session ended while waiting");
	$ended->{run}->finish;
	like($ended->{stderr}, qr/FATAL:\s+57P01/, "$what: 57P01");
	$holder->query_safe('COMMIT');
	is(sql("SELECT history_version FROM sayiir_load_snapshot('lk')"), $lk + 1, "$what: the holder's version is the newest");
	is(sql("SELECT test.save('lk', 'next'), test.save('new', 'next')"), $lk + 2 . '|' . ($new + 2), "$what: the next versions are the right ones");
}
$holder->quit;
integrity_ok($node, 'postgres', 'the store is sound');

# --- At work ------------------------------------------------------------------------------------

# Commands that take some time, each cancelled at some moment of it; when it was faster, it has to be
# complete. How many are cancelled is left to chance, what is found afterwards is not.
sql(<<'SQL');
CREATE TABLE test.large AS SELECT string_agg(sha256(g::text::bytea), '') AS bytes FROM generate_series(1, 200000) g;
CREATE FUNCTION test.large() RETURNS bytea LANGUAGE sql STABLE AS 'SELECT bytes FROM test.large';
INSERT INTO sayiir_workflow_snapshots (instance_id, status, definition_hash, completed_task_count, task_priority, task_tags, history_version, data_hash)
SELECT 'list ' || g, 'InProgress', '\x00', 0, 3, '{}', 1, '\x00' FROM generate_series(1, 100000) g;
SQL
my @work = (
	"SELECT test.save('big', test.large(), done => 't1', output => test.large())",
	"SELECT test.result('big', 't2', test.large(), data => test.large())",
	"SELECT sha256(data), cardinality(outputs) FROM sayiir_load_snapshot('big')",
	"SELECT count(*), max(id) FROM sayiir_list_snapshots() id",
	"SELECT count(*) FROM sayiir_check_integrity()",
	"SELECT count(test.save('small ' || g % 10, 'x', done => 't' || g, output => 'out')) FROM generate_series(1, 3000) g",
	"SELECT sayiir_delete_snapshot('big')");
my $worker = session($node, 'postgres');
my %ended = ('' => 0, '57014' => 0);
my $versions = "SELECT coalesce(sum(history_version), 0) FROM sayiir_workflow_snapshots WHERE instance_id NOT LIKE 'list %'";
my $harm = 0;

$pid = backend_pid($worker);
for my $round (1 .. 50)
{
	my $work = $work[ $round % @work ];
	my $gained = $work =~ /delete/ ? undef : $work =~ /generate_series/ ? 3000 : $work =~ /test\.(save|result)/ ? 1 : 0;

	sql("SELECT test.save('big', 'first')") if sql("SELECT count(*) FROM sayiir_list_snapshots() id WHERE id = 'big'") == 0;
	my $before = sql($versions);
	start_query($worker, $work);
	usleep(rand(60_000));
	sql("SELECT pg_cancel_backend($pid)");
	my ($output, $state) = finish_query($worker);
	$ended{$state}++;
	# A repeat of the same result gains nothing either.
	my $after = sql($versions);
	$harm++ if $state ne '' && $after != $before;
	$harm++ if $state eq '' && defined $gained && $after != $before + $gained && $output ne '' && $work !~ /result/;
}
is_deeply([ sort keys %ended ], [ '', '57014' ], 'each command was cancelled or completed');
cmp_ok($ended{'57014'}, '>', 0, 'some were cancelled');
note("cancelled $ended{'57014'}, completed $ended{''}");
is($harm, 0, 'a cancelled command has written nothing, a completed one all');
is(backend_pid($worker), $pid, 'the session goes on');
sql("DELETE FROM sayiir_workflow_snapshots WHERE instance_id LIKE 'list %'");
integrity_ok($node, 'postgres', 'the store is sound at the end');
is(sql("SELECT count(*) FROM pg_locks WHERE pid = $pid AND locktype <> 'virtualxid'"), 0, 'the session holds no lock');

$worker->quit;
$control->quit;
$node->stop;
done_testing();
