# Large values: whatever goes in comes out, up to the limit of 256 MB and not a byte beyond it.
# SAYIIR_SKIP_LARGE leaves out what needs gigabytes of memory.

use strict;
use warnings;

use Digest::SHA;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = new_node('large', conf => "max_wal_size = 2GB\n");
my $MB = 1024 * 1024;

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

integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, [ '00000', '54000' ], 'no other error or warning was met');
$node->stop;
done_testing();
