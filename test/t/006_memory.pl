# Memory: flat over many calls, and long lists without gathering them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

# No autovacuum, whose invalidations would make caches come and go.
my $node = new_node('memory', conf => "autovacuum = off\nmax_wal_size = 2GB\n");

# --- 20,000 calls in one session ----------------------------------------------------------------

# Some of each kind, every second one a failure or a call that writes nothing. $i makes them differ.
sub calls
{
	my ($i) = @_;
	my $id = 'm' . $i % 50;
	my $long = "'" . 'x' x (1 + $i % 200) . "'";

	return <<SQL;
SELECT test.save('$id', repeat('data $i ', 1 + $i % 500)::bytea, tags => ARRAY['a', $long]);
SELECT test.save('$id', 'step', cur => 't$i', done => 't1', output => $long);
SELECT test.save('$id', 'step', expected => 0);
SELECT test.save('$id', 'step', status => $long);
SELECT test.result('$id', 't' || $i, $long);
SELECT test.result('$id', 't' || $i, $long);
SELECT test.result($long, 't2', 'out');
SELECT test.result('$id', 't2', 'out', expected => 1000000);
SELECT * FROM sayiir_load_snapshot('$id');
SELECT * FROM sayiir_load_snapshot($long);
SELECT * FROM sayiir_load_snapshot('$id', 1000000);
SELECT sayiir_load_task_result('$id', rpad('t1', 32)::bytea);
SELECT sayiir_load_task_result('$id', 'short');
SELECT sayiir_list_snapshots(max_rows => 7) LIMIT 2;
SELECT count(*) FROM sayiir_list_snapshots('InProgress', '$id');
SELECT sayiir_decode_hint('not base64 $i'), sayiir_task_id($long);
SELECT test.save('$id', 'end', status => 'Failed');
SELECT test.save('$id', 'late');
SELECT sayiir_delete_snapshot('$id');
SELECT sayiir_delete_snapshot('$id');
SQL
}

my $contexts = "SELECT name || '=' || sum(total_bytes) FROM pg_backend_memory_contexts GROUP BY name ORDER BY name;\n";
my ($status, $stdout, $stderr) = $node->psql('postgres',
	"\\o /dev/null\n" . join('', map { calls($_) } 1 .. 200)
	  # Once for nothing, so that the looking itself needs no more memory the second time.
	  . "$contexts\\o\n\\echo early\n$contexts\\o /dev/null\n"
	  . join('', map { calls($_) } 201 .. 1000)
	  . "\\o\n\\echo late\n$contexts",
	on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
is($status, 0, 'a session of 20,000 calls comes to its end');
my %errors;
$errors{$1}++ while $stderr =~ /ERROR:\s+(\w{5})/g;
is_deeply(\%errors,
	{ '22023' => 2000, 'P0002' => 4000, 'SY001' => 2000, '22P03' => 1000 }, 'the calls that are to fail have failed as they should');

my ($early, $late) = $stdout =~ /\Aearly\n(.*)late\n(.*)\z/s;
my %early = map { split /=/ } split /\n/, $early;
my %late = map { split /=/ } split /\n/, $late;
my ($before, $after) = (0, 0);
$before += $_ for values %early;
$after += $_ for values %late;
note("$before bytes early, $after bytes late");
cmp_ok($after, '<', $before + 64 * 1024, 'the memory of the session has not grown')
  or diag(join("\n", map { "$_: " . ($early{$_} // 0) . " -> $late{$_}" } grep { $late{$_} != ($early{$_} // 0) } sort keys %late));
is($node->safe_psql('postgres', 'SELECT count(*) FROM sayiir_workflow_tasks, sayiir_workflow_snapshot_history'), 0, 'all was deleted');

# --- A million ids ------------------------------------------------------------------------------

# Some 80 MB of ids when each is held in memory, which no part of a session may do.
$node->safe_psql('postgres', <<'SQL');
INSERT INTO sayiir_workflow_snapshots (instance_id, status, definition_hash, completed_task_count, task_priority, task_tags, history_version, data_hash)
SELECT 'list ' || lpad(g::text, 55, '0'), 'InProgress', '\x00', 0, 3, '{}', 1, '\x00' FROM generate_series(1, 1000000) g;
ANALYZE sayiir_workflow_snapshots;
SQL
# Shared buffers that a session has touched count as its memory, so there are few of them here.
$node->append_conf('postgresql.conf', 'shared_buffers = 8MB');
$node->restart;

SKIP:
{
	skip 'the memory of a process is read from /proc', 1 if !-r "/proc/$$/status";
	my $session = session($node, 'postgres');
	my $pid = backend_pid($session);
	my $peak = sub { return slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m ? $1 : die 'no VmHWM' };

	$session->query_safe("SET work_mem = '1MB'");
	$session->query_safe("SELECT sayiir_list_snapshots(max_rows => 10)");
	my $start = $peak->();
	is($session->query_safe("SELECT count(*), min(id), max(length(id)) FROM sayiir_list_snapshots(after => 'list') id"),
		'1000000|list ' . '0' x 54 . '1|60', 'a million ids, in a query\'s FROM');
	is($session->query_safe("SELECT count(*) FROM (SELECT sayiir_list_snapshots('InProgress', 'list') OFFSET 0) x"),
		1000000, 'and in its select list');
	cmp_ok($peak->() - $start, '<', 32 * 1024, 'took less than 32 MB');

	# Read in part: a cursor left open, a limit.
	$session->query_safe('BEGIN');
	$session->query_safe("DECLARE c CURSOR FOR SELECT sayiir_list_snapshots(after => 'list')");
	is($session->query_safe('FETCH 2 FROM c'), 'list ' . '0' x 54 . "1\nlist " . '0' x 54 . '2', 'a cursor read in part');
	$session->query_safe('ROLLBACK');
	$start = $peak->();
	$session->query_safe(<<'SQL');
DO $$ BEGIN
	FOR i IN 1 .. 200 LOOP
		PERFORM sayiir_list_snapshots(after => 'list ' || lpad('990000', 55, '0')) LIMIT 1;
	END LOOP;
END $$
SQL
	cmp_ok($peak->() - $start, '<', 10 * 1024, '200 lists of 10,000, cut off at their first row, leave nothing behind');
	is($session->{stderr}, '', 'no warning either');
	$session->quit;
}

log_has_only($node, 0, [ '00000', 'SY001', '22023', '22P03', 'P0002' ], 'no other error or warning was met');
$node->stop;
done_testing();
