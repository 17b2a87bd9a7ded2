# Leases run by the server's clock, not by that of a transaction (CASES B45), and no lock outlives a call's transaction,
# nor is shared with the application (CASES B48).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirWorkers;
use Test::More;

my $node = new_node('worker_clock', conf => "lock_timeout = 20s\n");

install_workers($node, 'postgres');

# --- Clocks --------------------------------------------------------------------------------------

$node->safe_psql('postgres', "SELECT test.put('x'), test.put('y')");
is($node->safe_psql('postgres', <<'SQL'), "1\n0\n\n1\nt|t|t", 'a claim of a second expires within its own transaction');
BEGIN;
SELECT count(*) FROM sayiir_claim_task('x', test.id('t1'), 'w', '1 second');
SELECT count(*) FROM sayiir_claim_task('x', test.id('t1'), 'w', '1 second');
SELECT test.expired('x');
SELECT count(*) FROM sayiir_claim_task('x', test.id('t1'), 'w', '1 second');
SELECT claimed_at > now() + interval '1 second', expires_at - claimed_at = interval '1 second', claimed_at < clock_timestamp()
FROM sayiir_workflow_claims;
COMMIT;
SQL
# A transaction that began long ago: its claim lives from now, and its token is checked now.
my $long = session($node, 'postgres');
$long->query_safe('BEGIN');
$long->query_safe('SELECT now()');
$node->safe_psql('postgres', "SELECT sayiir_claim_task('y', test.id('t1'), 'early', '50 milliseconds'); SELECT test.expired('y')");
is($long->query_safe("SELECT test.claims(1, ttl => '1 hour', worker => 'late')"), 'y at t1', 'a claim that expired after the begin is taken over');
is($long->query_safe("SELECT expires_at - clock_timestamp() BETWEEN '59 minutes' AND '1 hour', claimed_at > now() FROM sayiir_workflow_claims WHERE instance_id = 'y'"),
	't|t', '... from now on');
is($long->query_safe("SELECT sayiir_extend_claim('y', test.token('y'), '2 hours') - clock_timestamp() BETWEEN '119 minutes' AND '2 hours'"), 't', 'a heartbeat adds nothing up');
is($long->query_safe("SELECT sayiir_extend_claim('y', test.token('y'), '1 hour') - clock_timestamp() BETWEEN '59 minutes' AND '1 hour'"), 't', '... and can shorten');
$long->query_safe('COMMIT');
# A step of one second's lease: the new lease starts at the step.
is($node->safe_psql('postgres', <<'SQL'), 't|t', 'a step that keeps the claim gives it its time from now on');
BEGIN;
SELECT pg_sleep(0.05) \g /dev/null
SELECT s.expires_at > now() + interval '1 hour' AND s.expires_at <= clock_timestamp() + interval '1 hour' AS a FROM test.step('y', test.token('y'), 't2', next => '1 hour') s \gset
SELECT :'a', c.expires_at > now() + interval '1 hour' FROM sayiir_workflow_claims c WHERE c.instance_id = 'y';
COMMIT;
SQL
# The settings of a session change nothing.
is($node->safe_psql('postgres', <<'SQL'), 't', 'in any time zone and style');
SET TimeZone = 'Asia/Kathmandu'; SET IntervalStyle = iso_8601; SET DateStyle = 'German';
SELECT test.put('tz') \g /dev/null
SELECT expires_at - claimed_at = '90 seconds' FROM sayiir_claim_task('tz', test.id('t1'), 'w', '90 seconds');
SQL

# --- Advisory locks ------------------------------------------------------------------------------

# Ids whose 32-bit hashes are equal, by the server's own function; small and large keys of an application.
my @ids = qw(w75935 w193969 w73737 w126873);
is($node->safe_psql('postgres', "SELECT hashtext('w75935') = hashtext('w193969'), hashtext('w73737') = hashtext('w126873')"), 't|t', 'the ids have equal hashes');
$node->safe_psql('postgres', join '', map { "SELECT test.put('$_');" } @ids);
my $other = session($node, 'postgres');
$other->query_safe('SET lock_timeout = 1000');
foreach my $pair ([ @ids[0, 1] ], [ @ids[2, 3] ])
{
	my ($one, $two) = @$pair;

	$long->query_safe('BEGIN');
	is($long->query_safe("SELECT test.put('$one', 't2'); SELECT count(*) FROM sayiir_claim_task('$one', test.id('t2'), 'w', '1 hour'); SELECT sayiir_send_event('$one', 'go', 'x')"),
		"2\n1\nf", "$one is being saved and claimed");
	is($other->query_safe("SELECT test.put('$two', 't2'); SELECT count(*) FROM sayiir_claim_task('$two', test.id('t2'), 'w', '1 hour'); SELECT sayiir_send_event('$two', 'go', 'x')"),
		"2\n1\nf", "$two does not wait for it");
	$long->query_safe('ROLLBACK');
}
# Events for instances that are not there yet: the same.
$long->query_safe('BEGIN');
is($long->query_safe("SELECT sayiir_send_event('n-$ids[0]', 'go', 'x'), sayiir_send_event('w193969x', 'go', 'x')"), 'f|f', 'events for nobody yet');
is($other->query_safe("SELECT sayiir_send_event('n-$ids[1]', 'go', 'x')"), 'f', 'another one for another nobody does not wait');
is($other->query_safe("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"), 0, 'after its transaction a sender has no advisory lock left');
$long->query_safe('COMMIT');
is($long->query_safe("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 0, '... nor has the other one');

# An application that has locked what it can name: every small key, and keys of the ids in the usual ways.
$long->query_safe(<<'SQL');
SELECT count(pg_advisory_lock(g)) FROM generate_series(-100, 1000) g;
SELECT count(pg_advisory_lock(0, g)) FROM generate_series(-100, 1000) g;
SELECT count(pg_advisory_lock(hashtext(i))), count(pg_advisory_lock(hashtextextended(i, 0))), count(pg_advisory_lock(0, hashtext(i))) FROM unnest('{app,w75935}'::text[]) i;
SQL
is($other->query_safe(<<'SQL') =~ s/\s+/ /gr, "1 1 app at t1 f 2 Cancelled f", 'an application that holds advisory locks is in nobody\'s way');
SELECT test.put('app', priority => 1);
SELECT test.put('w75935-app', NULL, kind => 'AtSignal', signal => 'go');
SELECT test.claims(1);
SELECT sayiir_send_event('nobody', 'go', 'x');
SELECT test.put('app', 't2');
SELECT sayiir_cancel('app');
SELECT sayiir_send_event('app', 'go', 'x');
SQL
$long->query_safe('SELECT pg_advisory_unlock_all()');

# Locks are few, however many instances one transaction is about: the table of locks is the whole server's.
is(sqlstate($node, 'postgres', "SELECT sayiir_send_event('bulk' || g, 'go', 'x') FROM generate_series(1, 20000) g"), '',
	'20,000 events for nobody yet in one transaction');
is(sqlstate($node, 'postgres', "SELECT test.put('park' || g, NULL, kind => 'AtSignal', signal => 'go') FROM generate_series(1, 20000) g"), '',
	'20,000 new instances parked in one transaction');
is(sqlstate($node, 'postgres', "SELECT test.put('task' || g) FROM generate_series(1, 20000) g"), '', '20,000 new instances at a task');
integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, ['00000'], 'no error reached a client');

$_->quit foreach $long, $other;
$node->stop;
done_testing();
