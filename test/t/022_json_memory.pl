# Memory of reading, stripping and editing JSON snapshots: flat over many calls, a small multiple of the snapshot in each.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

# Few shared buffers, since those a backend has touched count as its memory; no autovacuum, whose
# invalidations would make caches come and go.
my $node = new_node('json_memory', conf => "shared_buffers = 16MB\nautovacuum = off\nmax_wal_size = 1GB\n");
my $MB = 1024 * 1024;

# Four tasks with 5 MB of output each: 20 MB, in some 70 MB of JSON.
my $file = $node->data_dir . '/snapshot';
my $numbers = join(',', map { ($_ * 7919) % 256 } 1 .. 65536);
open my $target, '>:raw', $file or die "$file: $!";
print $target "SYRS\x01\x01", '{"instance_id":"big","definition_hash":"', '00' x 32, '","created_at":1,"updated_at":1,"state":{"InProgress":{"position":"NotStarted","completed_tasks":{';
foreach my $task (1 .. 4)
{
	my $id = sprintf('%02x', $task) x 32;
	print $target $task > 1 ? ',' : '', qq|"$id":{"task_id":"$id","output":[|, join(',', ($numbers) x 80), ']}';
}
print $target '}}}}';
close $target or die "$file: $!";
my $size = -s $file;
cmp_ok($size, '>', 60 * $MB, 'the snapshot is large');

# Bytes in the memory contexts of a session, and in kB what the kernel counts of it (highest, now).
my $contexts = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';
sub kernel
{
	my ($pid) = @_;
	my $status = slurp_file("/proc/$pid/status");

	return map { $status =~ /^$_:\s+(\d+) kB/m ? $1 : die "no $_" } qw(VmHWM VmRSS);
}

my $session = $node->background_psql('postgres');
my $pid = backend_pid($session);
sub calls
{
	my ($task) = @_;

	# The outputs come again with each save and replace themselves; the broken one is read to its end in vain.
	$session->query_safe("SELECT sayiir_save_snapshot(pg_read_binary_file('snapshot'))");
	$session->query_safe("SELECT sayiir_save_task_result('big', decode(repeat('$task', 32), 'hex'), 'out')");
	$session->query_safe(q{DO $$ BEGIN PERFORM sayiir_save_snapshot(pg_read_binary_file('snapshot') || '\x7d'); RAISE 'taken'; EXCEPTION WHEN SQLSTATE '22P03' THEN END $$});
	return $session->query_safe($contexts);
}
calls('a1');
my $early = calls('a2');
my $late;
$late = calls("a$_") foreach (3 .. 6);
cmp_ok($late, '<=', $early + 64 * 1024, 'the memory of the session has not grown');
is($session->query_safe(q{SELECT count(*), sum(octet_length(output)) FROM sayiir_workflow_tasks WHERE task_id < '\x10'}), '4|' . 4 * 80 * 65536, 'the outputs are in the task rows');
is($session->query_safe(q{SELECT count(*), max(octet_length(data)) < 2000 FROM sayiir_workflow_snapshot_history}), '12|t', 'the stored snapshots are small');

SKIP:
{
	skip 'there is no /proc', 2 if !-r "/proc/$pid/status";
	my ($high, $now) = kernel($pid);
	# What the caller itself holds is one snapshot; then there are 20 MB of outputs, and one of them being compressed.
	cmp_ok($high, '<', 4 * $size / 1024, "at its highest the session took less than four snapshots' memory ($high kB for $size bytes)");
	# Read before anything else is done: freed memory is given back.
	cmp_ok($now, '<', $size / 1024, 'and between calls less than one');
}

# A stored snapshot of many tasks, edited many times.
$session->query_safe(<<'SQL');
SELECT sayiir_save_snapshot('\x535952530101'::bytea || convert_to(format('{"instance_id":"many","definition_hash":"%s","created_at":1,"updated_at":1,"state":{"InProgress":{"position":"NotStarted","completed_tasks":{%s}}}}',
	repeat('00', 32), (SELECT string_agg(format('"%1$s":{"task_id":"%1$s","output":[%2$s]}', encode(sha256(int4send(i)), 'hex'), i % 256), ',') FROM generate_series(1, 20000) i)), 'UTF8'))
SQL
sub results
{
	my ($from) = @_;

	$session->query_safe("SELECT sayiir_save_task_result('many', sha256(int8send(i)), 'out') FROM generate_series($from, $from + 9) i");
	return $session->query_safe($contexts);
}
$early = results(0);
$late = results($_ * 10) foreach (1 .. 5);
cmp_ok($late, '<=', $early + 64 * 1024, 'edits leave no memory behind');
is($session->query_safe(q{SELECT completed_task_count FROM sayiir_workflow_snapshots WHERE instance_id = 'many'}), 20060, 'and all are there');
# Within one statement the calls follow each other without a transaction's end between them.
my $high = $session->query_safe(<<'SQL');
SELECT max((SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE v > 0)) - min((SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE v > 0)) < 20 * 1024 * 1024
FROM (SELECT sayiir_save_task_result('many', sha256(int2send(i::int2)), 'out') AS v FROM generate_series(1, 30) i OFFSET 0) c
SQL
is($high, 't', 'nor within a statement');
$session->quit;

SKIP:
{
	my ($available) = -r '/proc/meminfo' && slurp_file('/proc/meminfo') =~ /^MemAvailable:\s+(\d+) kB/m;
	skip 'a snapshot of 256 MB needs 3 GB of free memory', 3
	  if !defined $available || $available < 3 * $MB || $ENV{SAYIIR_SKIP_LARGE};

	# An edit makes nothing that could not have been saved: 256 MB are the limit, to the byte.
	$node->safe_psql('postgres', <<'SQL');
WITH head AS (SELECT '{"instance_id":"full","definition_hash":"' || repeat('00', 32) || '","created_at":1,"updated_at":1,"state":{"InProgress":{"position":"NotStarted","completed_tasks":{}}},"x":"' AS text)
SELECT sayiir_save_snapshot('\x535952530101'::bytea || (text || repeat(' ', 256 * 1024 * 1024 - 6 - length(text) - 2) || '"}')::bytea, 'full', 'InProgress', sha256('wf')) FROM head
SQL
	is($node->safe_psql('postgres', "SELECT octet_length(data) FROM sayiir_load_snapshot('full')"), 256 * $MB, 'a snapshot of 256 MB is saved');
	sqlstate_is($node, 'postgres', "SELECT sayiir_save_task_result('full', sha256('t'), 'out')", '54000', 'a result that would make it longer is refused');
	is($node->safe_psql('postgres', "SELECT history_version, completed_task_count, cardinality(task_ids) FROM sayiir_load_snapshot('full')"), '1|0|0', 'and not kept');
}
integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, ['54000'], 'without an error that was not asked for');

done_testing();
