# Bytes that the disk has lost: whoever asks for them is told, all others go on, and the ways out work.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = new_node('damaged', conf => "autovacuum = off\n");

# Values of 20 kB that do not compress are stored out of line, small ones are not.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION test.random(kilobytes integer, seed text) RETURNS bytea LANGUAGE sql AS $$
	SELECT string_agg(sha256(convert_to(seed || g, 'UTF8')), '') FROM generate_series(1, kilobytes * 32) g $$;
SELECT test.save('big ' || g, test.random(20, g::text)), test.save('small ' || g, '\x01') FROM generate_series(1, 3) g;
SELECT test.save('output', '\x01'), test.result('output', 't0', test.random(20, 'o'));
SELECT test.save('cut', test.random(20, 'v' || g)) FROM generate_series(1, 3) g;
SQL
my %toast = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres',
		"SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE relname = '$_'") }
  qw(sayiir_workflow_versions sayiir_workflow_tasks);
$node->stop;
foreach my $file (values %toast)
{
	my $size = -s $file;

	ok($size > 0, 'there is something to lose');
	open my $handle, '+<:raw', $file or die "$file: $!";
	print $handle "\0" x $size;
	close $handle or die "$file: $!";
}
$node->start;

# Calls; returns what they print and the messages.
sub ask
{
	my ($sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql);

	return "$out\n$err";
}

like(ask("SELECT sayiir_load_snapshot('big 1')"), qr/missing chunk number 0/, 'a load says what the server says');
my $claimed = ask("SELECT instance_id FROM sayiir_claim_tasks('w', 10) ORDER BY 1");
like($claimed, qr/^small 1\nsmall 2\nsmall 3\n/, 'the others are given out');
like($claimed, qr/WARNING:  workflow instance "$_" is held back/, "$_ is held back") foreach ('big 1', 'big 3', 'output', 'cut');
is(ask("SELECT instance_id FROM sayiir_claim_tasks('w', 10)"), "\n", 'and is not tried again at once');

is(ask("SELECT violated_by, invariant FROM sayiir_check_integrity() ORDER BY 1"),
	join("\n", (map { "big $_|I2" } 1 .. 3), ('cut|I2') x 3) . "\n", 'the check tells of each version that is lost');
is(ask("SELECT sayiir_prune_history(keep_versions => 2)"), "1\n", 'pruning deletes what is lost, too');

# Ways out. A save of other bytes looks at the version before, unless it is told to keep no deltas.
is(ask("SET sayiir.history = full; SELECT test.save('big 1', test.random(20, 'new'))"), "2\n", 'it can be saved again');
is(ask("SELECT octet_length(data) FROM sayiir_load_snapshot('big 1')"), "20480\n", 'and loaded');
is(ask("SELECT sayiir_delete_snapshot('big 2')"), "\n", 'it can be deleted');
is(ask("SELECT string_agg(DISTINCT violated_by, ' ') FROM sayiir_check_integrity()"), "big 1 big 3 cut\n", 'and is not told of any more');
$node->stop;
done_testing();
