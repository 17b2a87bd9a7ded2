# A dump carries claims, signals, events and the queue (CASES B04), and all of them go on where they were.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirWorkers;
use Test::More;

my $node = new_node('worker_dump');
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', 'CREATE DATABASE src');
$node->safe_psql('src', 'CREATE EXTENSION sayiir_pg; CREATE SCHEMA test');
install_workers($node, 'src');
$node->safe_psql('src', <<'SQL');
SELECT test.put('free' || g, priority => 1 + g % 5, tags => CASE g % 3 WHEN 0 THEN '{}' WHEN 1 THEN '{gpu}'::text[] ELSE ARRAY['a''b', 'c\d', '', 'é'] END)
FROM generate_series(1, 20) g;
SELECT test.put('later', wake => '2101-01-01Z'), test.put('held'), test.put('kept'), test.put('left'), test.put('stopped'), test.put('asked'), test.put('paused');
SELECT test.put('parked', NULL, kind => 'AtSignal', signal => 'go'), test.put('waiting', NULL, kind => 'AtSignal', signal => 'go');
SELECT test.jput('json', 'signal go t2'), test.jput('delayed', 'delay 2001-01-01T00:00:00Z t2');
SELECT sayiir_claim_task('held', test.id('t1'), E'worker\t\\N "1"', '1 day'), sayiir_claim_task('kept', test.id('t1'), 'w2'),
	sayiir_claim_task('left', test.id('t1'), 'dead', '1 microsecond'), sayiir_claim_task('stopped', test.id('t1'), 'w3', '1 day');
SELECT sayiir_cancel('stopped', E'why\t\\.\n', 'é'), sayiir_pause('stopped'), sayiir_store_signal('asked', 'Pause', 'later', 'me'), sayiir_pause('paused');
SELECT sayiir_send_event('parked', 'go', decode('00ff5c270a', 'hex')), sayiir_send_event('parked', 'go', 'second'),
	sayiir_send_event('nobody', E'odd\t"name"\\', 'x'), sayiir_send_event('held', 'go', '');
-- A hole in the numbers, so that the count of the rows is not the last number.
BEGIN; SELECT sayiir_send_event('parked', 'go', 'rolled back') FROM generate_series(1, 7); ROLLBACK;
SQL

# Digest of every table and sequence of the extension.
sub contents
{
	my ($db) = @_;

	return $node->safe_psql($db, <<'SQL');
SELECT format('SELECT %L, count(*), md5(string_agg(t::text, E''\n'' ORDER BY t::text COLLATE "C")) FROM %s t',
	c.relname, CASE WHEN c.relkind = 'S' THEN format('(SELECT last_value, is_called FROM %s)', c.oid::regclass) ELSE c.oid::regclass::text END)
FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND c.relkind IN ('r', 'S')
ORDER BY c.relname \gexec
SELECT 'check: ' || v FROM sayiir_check_integrity() v
SQL
}

my $before = contents('src');
like($before, qr/sayiir_workflow_claims\|4\|.*sayiir_workflow_events\|4\|.*sayiir_workflow_events_id_seq\|1\|.*sayiir_workflow_ready\|\d\d\|.*sayiir_workflow_signals\|3\|/s,
	'there are claims, events, signals and a queue');
unlike($before, qr/check:/, 'and they fit');

foreach my $way (
	[ custom => [ 'pg_dump', '-Fc', '-f', "$dir/custom", 'src' ], [ 'pg_restore', '--exit-on-error', '-d', 'custom', "$dir/custom" ] ],
	[ plain  => [ 'pg_dump', '-f', "$dir/plain", 'src' ], [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'plain', '-f', "$dir/plain" ] ],
	[ inserts => [ 'pg_dump', '--inserts', '-f', "$dir/inserts", 'src' ], [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'inserts', '-f', "$dir/inserts" ] ],
	[ data   => [ 'pg_dump', '-Fc', '--data-only', '-f', "$dir/data", 'src' ], [ 'pg_restore', '--exit-on-error', '-d', 'data', "$dir/data" ], 'fresh' ])
{
	my ($db, $dump, $restore, $fresh) = @$way;

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0");
	$node->safe_psql($db, 'CREATE EXTENSION sayiir_pg') if $fresh;
	$node->command_ok($dump, "$db: dumped");
	$node->command_ok($restore, "$db: restored");
	is(contents($db), $before, "$db: row for row equal, numbers included");
	next if $fresh;

	# The old tokens go on; so does everything else.
	is($node->safe_psql($db, "SELECT test.step('held', test.token('held'), 't2', done => 't1', output => 'out')") =~ /^\(2,InProgress,/, 1, "$db: a claim goes on under its token");
	is($node->safe_psql($db, "SELECT test.step('stopped', test.token('stopped'), 't2')"), '(3,Cancelled,)', "$db: a pending cancel is applied");
	is($node->safe_psql($db, "SELECT test.claims(100, worker => 'other')") =~ tr/,//, 23, "$db: what is free, left, parked with an event or due is given out")
	  or diag($node->safe_psql($db, 'SELECT instance_id FROM sayiir_workflow_claims'));
	is($node->safe_psql($db, "SELECT status FROM sayiir_workflow_snapshots WHERE instance_id = 'asked'"), 'Paused', "$db: a stored pause is applied");
	is($node->safe_psql($db, "SELECT sayiir_consume_event('parked', 'go') = '\\x00ff5c270a', sayiir_consume_event('parked', 'go'), sayiir_consume_event('parked', 'go')"),
		't|\x7365636f6e64|', "$db: the events are there in their order");
	is($node->safe_psql($db, "SELECT sayiir_send_event('waiting', 'go', 'x'), sayiir_send_event('json', 'go', 'x')"), 't|t', "$db: events find who is parked");
	is($node->safe_psql($db, "SELECT id FROM sayiir_workflow_events WHERE instance_id = 'waiting'"), 12, "$db: the next event has the next number");
	integrity_ok($node, $db, "$db: the store is sound");
}

$node->stop;
done_testing();
