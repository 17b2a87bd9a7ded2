# Many sessions on few instances: no deadlock, no duplicate, no hole (CASES B22, B23, B27).
#
# Only refusals that the contract names may occur; a statement that fails with anything else ends
# its pgbench client and with it the test. What is stored afterwards is sound, and where the number
# of successful calls is known, exactly that many versions are there.
# SAYIIR_RACE_TRANSACTIONS sets how many each session of the mixed race makes (default 400).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $transactions = $ENV{SAYIIR_RACE_TRANSACTIONS} // 400;
my $all = 8 * $transactions;
my $node = new_node('concurrency', conf => "max_connections = 30\n");

# A call in a race with deletes may find no instance, one that names a version may find another. Each
# load has to be of one moment: the snapshot says how many outputs came with it.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION test.attempt(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE 'SELECT ' || call INTO answer;
	RETURN answer;
EXCEPTION WHEN no_data_found OR SQLSTATE 'SY001' THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION test.load(id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	l record;
BEGIN
	SELECT * INTO STRICT l FROM sayiir_load_snapshot(id);
	IF l.data_hash <> sha256(l.data) OR cardinality(l.task_ids) <> cardinality(l.outputs)
			OR l.completed_task_count <> cardinality(l.outputs) THEN
		RAISE 'load of % is not of one moment', id USING ERRCODE = 'XX000';
	END IF;
EXCEPTION WHEN no_data_found THEN
	NULL;
END $$;
CREATE FUNCTION test.check() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	v record;
BEGIN
	FOR v IN SELECT * FROM sayiir_check_integrity() LOOP
		RAISE 'violation: % % %', v.violated_by, v.invariant, v.detail USING ERRCODE = 'XX000';
	END LOOP;
END $$;
CREATE SEQUENCE test.numbers;
CREATE TABLE test.answers (answer text);
SQL

# --- Everything at once over five instances -----------------------------------------------------

my %mixed = (
	'save@40' => <<'SQL',
\set id random(1, 5)
\set step random(1, 20)
SELECT test.save('x' || :id, ('save ' || random())::bytea, cur => 't' || :step);
SQL
	'done@15' => <<'SQL',
\set id random(1, 5)
\set step random(1, 20)
SELECT test.save('x' || :id, ('done ' || random())::bytea, cur => 't' || :step, done => 't' || :step - 1, output => 'out');
SQL
	'pair@10' => <<'SQL',
\set id random(1, 4)
BEGIN;
SELECT test.save('x' || :id, ('pair ' || random())::bytea);
SELECT test.save('x' || :id + 1, ('pair ' || random())::bytea, cur => 't2');
COMMIT;
SQL
	'result@25' => <<'SQL',
\set id random(1, 5)
\set step random(1, 20)
\set out random(1, 2)
SELECT test.attempt(format('test.result(%L, %L, %L)', 'x' || :id, 't' || :step, 'out ' || :out));
SQL
	'expected@10' => <<'SQL',
\set id random(1, 5)
\set version random(0, 20)
SELECT test.attempt(format('test.save(%L, %L, expected => %s)', 'x' || :id, 'expected', :version));
SQL
	'load@15' => <<'SQL',
\set id random(1, 5)
SELECT test.load('x' || :id);
SELECT count(*) FROM sayiir_list_snapshots();
SELECT test.attempt(format('sayiir_load_task_result(%L, %L)', 'x' || :id, rpad('t1', 32)));
SQL
	# The invariants hold after every commit, not only at the end.
	'check@3' => <<'SQL',
SELECT test.check();
SQL
	'end@3' => <<'SQL',
\set id random(1, 5)
\set how random(1, 3)
SELECT test.save('x' || :id, 'end', status => (ARRAY['Completed', 'Failed', 'Cancelled'])[:how]);
SQL
	'delete@5' => <<'SQL',
\set id random(1, 5)
SELECT test.attempt(format('sayiir_delete_snapshot(%L)', 'x' || :id));
SQL
	'new@10' => <<'SQL',
\set id random(1, 100000)
SELECT test.save('new ' || :id / 100, 'new');
SQL
);
my $offset = -s $node->logfile;
$node->pgbench("-n -c 8 -j 2 -t $transactions", 0, [qr/processed: $all\/$all/], [qr/\A\s*(pgbench \(.*\)\n)?\z/], 'a mixed race of eight sessions',
	{ map { ("mixed_$_" => $mixed{$_}) } keys %mixed });
integrity_ok($node, 'postgres', 'the store is sound after it');
log_has_only($node, $offset, ['00000'], 'no error reached a client');
ok($node->poll_query_until('postgres',
		"SELECT n_tup_ins > 1000 FROM pg_stat_user_tables WHERE relname = 'sayiir_workflow_versions'"),
	'more than a thousand versions were made');

# --- Counting exactly ---------------------------------------------------------------------------

# Results of different tasks, each sent twice: all survive, each counts once.
$node->safe_psql('postgres', "SELECT test.save('many', 'one')");
$node->pgbench('-n -c 8 -j 2 -t 50', 0, [qr/processed: 400\/400/], [qr/\A\s*(pgbench \(.*\)\n)?\z/], '400 results of different tasks',
	{ 'exact_results' => <<'SQL' });
SELECT nextval('test.numbers') AS n \gset
SELECT test.result('many', 't' || :n, ('out ' || :n)::bytea);
SELECT test.result('many', 't' || :n, ('out ' || :n)::bytea);
SQL
is($node->safe_psql('postgres', "SELECT history_version, completed_task_count, cardinality(outputs) FROM sayiir_load_snapshot('many')"),
	'401|400|400', 'each is one version and one task');

# Saves that name the version: the winners are as many as the versions.
$node->pgbench('-n -c 8 -j 2 -t 50', 0, [qr/processed: 400\/400/], [qr/\A\s*(pgbench \(.*\)\n)?\z/], '400 saves that name a version',
	{ 'exact_expected' => <<'SQL' });
SELECT coalesce(max(history_version), 0) AS v FROM sayiir_workflow_snapshots WHERE instance_id = 'cas' \gset
INSERT INTO test.answers SELECT test.attempt(format('test.save(%L, %L, expected => %s)', 'cas', 'by ' || :client_id || random(), :v));
SQL
is($node->safe_psql('postgres', <<'SQL'), 't|t|t', 'each version was won by one session');
SELECT count(*) = 400, count(*) FILTER (WHERE answer <> 'SY001') = max(h.history_version),
	count(DISTINCT answer) FILTER (WHERE answer <> 'SY001') = max(h.history_version)
FROM test.answers, sayiir_load_snapshot('cas') h
SQL

# Serialization failures are retried by pgbench; nothing else may fail, and none is counted twice.
foreach my $level ('repeatable read', 'serializable')
{
	(my $id = $level) =~ s/ /_/;

	$offset = -s $node->logfile;
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=' . ($level =~ s/ /\\ /r);
	$node->pgbench('-n -c 8 -j 2 -t 25 --max-tries=100000', 0, [qr/processed: 200\/200/], [qr/\A\s*(pgbench \(.*\)\n)?\z/],
		"200 saves and results in $level", { "level_$id" => <<SQL });
BEGIN;
SELECT test.save('$id', 'save');
SELECT test.result('$id', 't' || :client_id, random()::text::bytea);
COMMIT;
SQL
	log_has_only($node, $offset, [ '00000', '40001' ], "$level: only serialization failures");
	is($node->safe_psql('postgres', "SELECT history_version, completed_task_count FROM sayiir_load_snapshot('$id')"),
		'400|8', "$level: each call is one version");
}
integrity_ok($node, 'postgres', 'the store is sound at the end');

$node->stop;
done_testing();
