# The history as deltas on a whole server: 500 versions written with the setting to and fro come back as they were, after
# a dump too; saves, pruning and deleting beside each other lose nothing; a large snapshot, and the memory that it takes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = new_node('history');
$node->safe_psql('postgres', <<'SQL');
-- A snapshot that grows in its middle, of about 10 kB at first.
CREATE FUNCTION test.grown(n integer, lines integer = 300) RETURNS bytea LANGUAGE sql STABLE AS $$
	SELECT convert_to(format('at %s %s updated %s', $1,
		(SELECT string_agg(md5(i::text), chr(10) ORDER BY i) FROM generate_series(1, $2 + $1) i), $1), 'UTF8') $$;
CREATE TABLE test.kept (instance_id text, version integer, data bytea, hash bytea);
CREATE FUNCTION test.keep(id text, bytes bytea) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	v integer := test.save(id, bytes);
BEGIN
	INSERT INTO test.kept VALUES (id, v, bytes, sha256(bytes));
	RETURN v;
END $$;
SQL

# How many versions load as they were saved, of how many there are, and how many rows of those are stored whole.
my $all_loads = <<'SQL';
SELECT h.instance_id, count(*), count(*) FILTER (WHERE sha256(l.data) = k.hash AND l.data_hash = k.hash AND h.data = l.data
	AND l.history_version = h.version) FROM sayiir_workflow_snapshot_history h
JOIN test.kept k USING (instance_id, version), LATERAL sayiir_load_snapshot(h.instance_id, h.version) l GROUP BY 1 ORDER BY 1;
SQL

# --- 500 versions -------------------------------------------------------------------------------

# Runs of 1 to 20 saves under one setting, each run in a session of its own; some save what is there, or something else.
srand(5);
my ($at, $mode) = (1, 'delta');
while ($at <= 500)
{
	my $to = $at + int(rand(20));
	$to = 500 if $to > 500;
	$node->safe_psql('postgres', <<"SQL");
SET sayiir.history = $mode;
SELECT count(test.keep('long', CASE WHEN n % 41 = 0 THEN sha256(int4send(n)) WHEN n % 17 = 0 THEN test.grown(n - 1) ELSE test.grown(n) END))
FROM generate_series($at, $to) n;
SQL
	($at, $mode) = ($to + 1, $mode eq 'delta' ? 'full' : 'delta');
}
is($node->safe_psql('postgres', $all_loads), 'long|500|500', 'every one of 500 versions is what was saved, the setting to and fro');
is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE base IS NULL) > 50, count(base) > 50 FROM sayiir_workflow_versions"),
	't|t', 'both ways of storing are among them');
is($node->safe_psql('postgres', 'SELECT * FROM sayiir_check_integrity()'), '', 'the store is sound');

# --- Dump and restore ---------------------------------------------------------------------------

my $file = $node->basedir . '/dump';
command_ok([ 'pg_dump', '-Fc', '-f', $file, $node->connstr('postgres') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_restore', '-d', $node->connstr('restored'), $file ], 'pg_restore');
is($node->safe_psql('restored', $all_loads), 'long|500|500', 'every version is what was saved, restored');
is($node->safe_psql('restored', "SELECT test.keep('long', test.grown(501)); SELECT * FROM sayiir_check_integrity()"),
	'501', 'and saves go on');

# --- Saves, pruning and deleting, side by side --------------------------------------------------

# Four sessions save, each its own instances and one that all share; two prune; one deletes what has ended. Nobody waits for
# a time: each does a number of rounds.
my $saves = <<'SQL';
SELECT count(test.keep('shared', test.grown(n, 100))), count(test.keep('own ' || :client_id, test.grown(n, 200))),
	count(test.save('ends ' || :client_id || ' ' || n, 'x')), count(test.save('ends ' || :client_id || ' ' || n, 'y', status => 'Completed'))
FROM generate_series(:n, :n) n;
SQL
my $dir = $node->basedir;
append_to_file("$dir/save.sql", "\\set n random(1, 300)\n$saves");
append_to_file("$dir/prune.sql", "SELECT sayiir_prune_history(5, batch => 30);\n");
append_to_file("$dir/delete.sql", "SELECT sayiir_delete_terminal('0', 3);\n");
my @running = map {
	my ($script, $clients, $rounds) = @$_;
	my ($out, $err) = ('', '');
	my $h = IPC::Run::start(
		[ 'pgbench', '-n', '-c', $clients, '-j', $clients, '-t', $rounds, '-f', "$dir/$script.sql", '-d', $node->connstr('postgres') ],
		'<', \undef, '>', \$out, '2>', \$err);
	[ $h, $script, \$err ]
} ([ 'save', 4, 60 ], [ 'prune', 2, 100 ], [ 'delete', 1, 100 ]);
foreach my $run (@running)
{
	$run->[0]->finish;
	is($run->[0]->result(0), 0, "$run->[1]: no error beside the others") or diag(${ $run->[2] });
}
$node->safe_psql('postgres', "DO 'BEGIN WHILE sayiir_delete_terminal(''0'') > 0 LOOP END LOOP; END'");
is($node->safe_psql('postgres', "SELECT count(*) FROM sayiir_list_snapshots() id WHERE id LIKE 'ends %'"), '0', 'all that ended is gone');
is($node->safe_psql('postgres', 'SELECT * FROM sayiir_check_integrity()'), '', 'the store is sound');
is($node->safe_psql('postgres', "SELECT instance_id, history_version FROM sayiir_workflow_snapshots WHERE instance_id IN ('shared', 'own 0', 'own 3') ORDER BY 1"),
	"own 0|60\nown 3|60\nshared|240", 'no save was lost');
is($node->safe_psql('postgres', "SELECT bool_and(a = b) FROM (SELECT split_part(x, '|', 2) AS a, split_part(x, '|', 3) AS b FROM (
	SELECT h.instance_id || '|' || count(*) || '|' || count(*) FILTER (WHERE sha256(l.data) = k.hash) AS x
	FROM sayiir_workflow_snapshot_history h JOIN test.kept k USING (instance_id, version),
	LATERAL sayiir_load_snapshot(h.instance_id, h.version) l GROUP BY h.instance_id) y) z"), 't', 'what is left is what was saved');

$node->stop;
done_testing();
