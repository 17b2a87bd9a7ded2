# Send against park with random delays: none is left parked with an unread event that no worker is given (CASES B46).
#
# Of 64 instances at a time, pgbench clients park each at a signal, or create it there, while others send it the event,
# up to two milliseconds apart; some in longer transactions, some in one that is rolled back first. Then workers take on
# whatever is ready, until nothing is: then nothing may be parked.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirWorkers;
use Test::More;

my $rounds = $ENV{SAYIIR_LONG} ? 40 : 6;
my $node = new_node('send_park', conf => "max_connections = 40\n");
my $silent = [qr/\A\s*(pgbench \(.*\)\n)?\z/];

install_workers($node, 'postgres');
$node->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE test.parked;
CREATE SEQUENCE test.sent;
CREATE FUNCTION test.park(kind text, n bigint) RETURNS integer LANGUAGE sql AS $$
	SELECT CASE kind WHEN 'opaque' THEN test.put('i' || n, NULL, kind => 'AtSignal', signal => 'go')
		WHEN 'json' THEN test.jput('i' || n, 'signal go t2')
		WHEN 'last' THEN test.jput('i' || n, 'signal go') END $$;
-- What is given out goes on, with the event where the server has not done that.
CREATE FUNCTION test.drain() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	c record;
	n integer := 0;
BEGIN
	FOR c IN SELECT * FROM sayiir_claim_tasks('w', 1000, '1 hour') LOOP
		IF c.task_id IS NULL AND sayiir_consume_event(c.instance_id, 'go') IS NULL THEN
			RAISE 'given out without an event: %', c.instance_id;
		END IF;
		PERFORM sayiir_save_snapshot(data => 'end', instance_id => c.instance_id, status => 'Completed',
			definition_hash => test.id('wf'), claim_token => c.claim_token);
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;
SQL

foreach my $kind (qw(opaque json last))
{
	foreach my $exists (0, 1)
	{
		my $what = "$kind, " . ($exists ? 'existing' : 'new');

		foreach my $round (1 .. $rounds)
		{
			$node->safe_psql('postgres', "SET sayiir.notify = off; SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i;
				DELETE FROM sayiir_workflow_events; SELECT setval('test.parked', 1, false), setval('test.sent', 1, false);"
				  . ($exists ? $kind eq 'opaque' ? "SELECT test.put('i' || g) FROM generate_series(1, 64) g" : "SELECT test.jput('i' || g, 't1') FROM generate_series(1, 64) g" : ''));
			# Quietly, since there are many; what goes wrong is told.
			my %script = (park => <<SQL, send => <<'SQL');
\\set us random(0, 2000)
\\set rollback random(1, 4)
SELECT nextval('test.parked') AS n \\gset
\\sleep :us us
\\if :rollback = 1
BEGIN;
SELECT test.park('$kind', :n);
\\sleep :us us
ROLLBACK;
\\endif
BEGIN;
SELECT test.park('$kind', :n);
\\sleep :us us
COMMIT;
SQL
\set us random(0, 2000)
\set rollback random(1, 4)
SELECT nextval('test.sent') AS n \gset
\sleep :us us
\if :rollback = 1
BEGIN;
SELECT sayiir_send_event('i' || :n, 'go', 'rolled back');
\sleep :us us
ROLLBACK;
\endif
BEGIN;
SELECT sayiir_send_event('i' || :n, 'go', 'event');
\sleep :us us
COMMIT;
SQL
			my @run;
			my $dir = PostgreSQL::Test::Utils::tempdir();
			foreach my $name (sort keys %script)
			{
				PostgreSQL::Test::Utils::append_to_file("$dir/$name", $script{$name});
				push @run, IPC::Run::start([ 'pgbench', '-n', '-c', '8', '-j', '1', '-t', '8', '-f', "$dir/$name", $node->connstr('postgres') ],
					'<', \undef, '>', "$dir/$name.out", '2>', "$dir/$name.err");
			}
			my $good = grep { $_->finish } @run;
			is($good, 2, "$what, round $round: parked and sent")
			  or diag(map { PostgreSQL::Test::Utils::slurp_file("$dir/$_.err") } sort keys %script);
			# Half of what is parked needs no worker, the other half gets one.
			is($node->safe_psql('postgres', <<'SQL'), '0|64|0|0|', "$what, round $round: none is left parked, no event is left unread");
SELECT test.drain() \g /dev/null
SELECT count(*) FILTER (WHERE status = 'InProgress'), count(*) FILTER (WHERE status = 'Completed'),
	(SELECT count(*) FROM sayiir_workflow_events), (SELECT count(*) FROM sayiir_workflow_ready),
	(SELECT string_agg(v::text, ' ') FROM sayiir_check_integrity() v)
FROM sayiir_workflow_snapshots
SQL
		}
	}
}
integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, ['00000'], 'no error reached a client');

$node->stop;
done_testing();
