# Memory: flat over many calls, large values in and out, long lists without gathering them.

use strict;
use warnings;

use Digest::SHA;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

# No autovacuum, whose invalidations would make caches come and go.
my $node = new_node('memory', conf => "autovacuum = off\nmax_wal_size = 2GB\n");
my $MB = 1024 * 1024;

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
	  . "\\o\n\\echo early\n$contexts\\o /dev/null\n"
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

# --- Large values -------------------------------------------------------------------------------

# One file of random bytes and one of zeros, of which the server reads the beginning.
my $random = $node->data_dir . '/random';
my $zeros = $node->data_dir . '/zeros';
open my $source, '<:raw', '/dev/urandom' or die "/dev/urandom: $!";
open my $target, '>:raw', $random or die "$random: $!";
for (1 .. 200)
{
	read($source, my $bytes, $MB) == $MB or die "/dev/urandom: $!";
	print $target $bytes or die "$random: $!";
}
close $target or die "$random: $!";
open $target, '>:raw', $zeros or die "$zeros: $!";
truncate $target, 256 * $MB + 1 or die "$zeros: $!";
close $target;

# SHA-256 of the first bytes of the random file.
sub digest
{
	my ($size) = @_;
	my $digest = Digest::SHA->new(256);

	open my $file, '<:raw', $random or die "$random: $!";
	while ($size > 0)
	{
		my $read = read($file, my $bytes, $size < $MB ? $size : $MB) or die "$random: $!";
		$digest->add($bytes);
		$size -= $read;
	}
	return $digest->hexdigest;
}

# Saves the first bytes of the random file as snapshot, last output and task result, and reads them back.
sub in_and_out
{
	my ($size) = @_;
	my $bytes = "pg_read_binary_file('random', 0, $size)";
	my $digest = digest($size);

	is($node->safe_psql('postgres', "SELECT test.save('blob $size', $bytes, done => 't1', output => $bytes); SELECT test.result('blob $size', 't2', $bytes)"),
		"1\n2", "$size bytes: saved as snapshot and as outputs");
	is($node->safe_psql('postgres', <<SQL), "2|$digest|$digest", "$size bytes: loaded");
SELECT history_version, encode(sha256(data), 'hex'), encode(data_hash, 'hex') FROM sayiir_load_snapshot('blob $size')
SQL
	is($node->safe_psql('postgres', "SELECT encode(sha256(sayiir_load_task_result('blob $size', rpad(t, 32)::bytea)), 'hex') FROM unnest(ARRAY['t1', 't2']) t"),
		"$digest\n$digest", "$size bytes: as output");
	return;
}

# Around the lengths at which PostgreSQL stores a value in another way.
in_and_out($_) foreach (0, 1, 126, 127, 1995, 2000, 2100, 8192, 65536, $MB - 1, 5 * $MB);
is($node->safe_psql('postgres', <<'SQL'), 't', 'all of them in one load');
SELECT bool_and(l.data IS NOT NULL AND cardinality(l.task_ids) = 2 AND outputs[1] = data AND outputs[2] = data)
FROM sayiir_list_snapshots(after => 'blob') id, sayiir_load_snapshot(id) l
SQL

SKIP:
{
	my ($available) = -r '/proc/meminfo' && slurp_file('/proc/meminfo') =~ /^MemAvailable:\s+(\d+) kB/m;
	skip 'values of hundreds of megabytes need 3 GB of free memory', 1
	  if !defined $available || $available < 3 * $MB || $ENV{SAYIIR_SKIP_LARGE};

	# Where the server has the faster compression, it spares some seconds; where not, this fails to no harm.
	$node->psql('postgres', 'ALTER DATABASE postgres SET default_toast_compression = lz4');
	my $digest = digest(200 * $MB);
	my $sums = join('|', 1, $digest, $digest);
	is($node->safe_psql('postgres', "SELECT test.save('large', pg_read_binary_file('random'))"), 1, '200 MB: saved');
	is($node->safe_psql('postgres', <<'SQL'), $sums, '200 MB: loaded');
SELECT history_version, encode(sha256(data), 'hex'), encode(data_hash, 'hex') FROM sayiir_load_snapshot('large')
SQL

	# The limit, to the byte.
	my $most = 'pg_read_binary_file(\'zeros\', 0, ' . 256 * $MB . ')';
	my $more = 'pg_read_binary_file(\'zeros\')';
	sqlstate_is($node, 'postgres', "SELECT test.save('limit', $more)", '54000', 'a snapshot over 256 MB is refused');
	sqlstate_is($node, 'postgres', "SELECT test.save('limit', 'x', done => 't1', output => $more)", '54000', 'so is an output');
	sqlstate_is($node, 'postgres', "SELECT test.result('large', 't1', $more)", '54000', 'and a task result');
	sqlstate_is($node, 'postgres', "SELECT test.result('large', 't1', 'x', data => $more)", '54000', 'and a snapshot with a task result');
	is($node->safe_psql('postgres', "SELECT count(*) FROM sayiir_list_snapshots() id WHERE id = 'limit'"), 0, 'nothing of these was kept');
	is($node->safe_psql('postgres', "SELECT test.save('limit', $most)"), 1, 'a snapshot of 256 MB is saved');
	is($node->safe_psql('postgres', "SELECT octet_length(data) FROM sayiir_load_snapshot('limit')"), 256 * $MB, 'and loaded');

	# Outputs: an instance with 256 MB of them is loaded whole, one with more without them.
	my $half = 'pg_read_binary_file(\'zeros\', 0, ' . 128 * $MB . ')';
	$node->safe_psql('postgres', "SELECT test.save('outputs', 'x', done => 't1', output => $half); SELECT test.result('outputs', 't2', $half)");
	is($node->safe_psql('postgres', "SELECT octet_length(outputs[1]) + octet_length(outputs[2]) FROM sayiir_load_snapshot('outputs')"),
		256 * $MB, '256 MB of outputs are loaded with the snapshot');
	$node->safe_psql('postgres', "SELECT test.result('outputs', 't3', '\\x00')");
	is($node->safe_psql('postgres', "SELECT history_version, task_ids IS NULL, outputs IS NULL, completed_task_count FROM sayiir_load_snapshot('outputs')"),
		'3|t|t|3', 'one byte more, and the snapshot is loaded without them');
	is($node->safe_psql('postgres', "SELECT octet_length(sayiir_load_task_result('outputs', rpad(t, 32)::bytea)) FROM unnest(ARRAY['t1', 't3']) t"),
		128 * $MB . "\n1", 'each can still be loaded by itself');
	$node->safe_psql('postgres', "SELECT sayiir_delete_snapshot(id) FROM unnest(ARRAY['large', 'limit', 'outputs']) id");
}

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

log_has_only($node, 0, [ '00000', 'SY001', '22023', '22P03', 'P0002', '54000' ], 'no other error or warning was met');
$node->stop;
done_testing();
