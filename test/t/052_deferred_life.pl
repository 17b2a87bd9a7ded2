# sayiir.notify = deferred: the life of the process that sends, and servers on which there is none.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirDeferred;
use SayiirTest;
use Test::More;

my $node = new_node('life', init => { allows_streaming => 1 }, conf => deferred_conf());
my $ear = listener($node, 'postgres');

# Which instances were heard of, once all was sent
sub instances
{
	my ($ear, $lost) = @_;

	settle($ear->{node}, $ear->{db}, $lost);
	return join(' ', map { decode_hint($_)->{instance_id} } heard($ear));
}

# --- It is killed -----------------------------------------------------------------------------------

my $holder = hold_sender($node, 'postgres');
my $pid = stop_sender($node, 'postgres');
$node->safe_psql('postgres', "SELECT test.save('k' || g, 'x') FROM generate_series(1, 3) g");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
kill 'CONT', $pid;
is(instances($ear), 'k1 k2 k3', 'what a terminated sender had not taken is sent by the next one');
isnt(sender_pid($node, 'postgres'), $pid, 'which is another process');
is(stats($node, 'postgres')->{dropped}, 0, 'nothing was dropped');
$holder->quit;

$holder = hold_sender($node, 'postgres');
$pid = stop_sender($node, 'postgres');
$node->safe_psql('postgres', "SELECT test.save('c1', 'x')");
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
kill 'CONT', $pid;
is(instances($ear), 'c1', 'a cancel does not stop it');
$holder->quit;

# --- A name of a database that is dropped, copied, moved, shut to others ------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE other');
install($node, 'other');
my $other_ear = listener($node, 'other');
$node->safe_psql('postgres', "SELECT test.save('here', 'x')");
$node->safe_psql('other', "SELECT test.save('there', 'x'), test.save('there2', 'x')");
is(instances($other_ear), 'there there2', 'two databases: each hears its own');
is(instances($ear), 'here', 'and the other one its own');
is(stats($node, 'other')->{queued}, 2, 'each counts its own');
ok(sender_pid($node, 'other') ne sender_pid($node, 'postgres'), 'each has a sender');
$other_ear->{session}->quit;

# These wait five seconds for the sender to go, which it does after two.
$node->safe_psql('other', "SELECT test.save('there', 'y', cur => 't2')");
sqlstate_is($node, 'postgres', 'CREATE DATABASE copy TEMPLATE other', '', 'a database can be copied right after a hint');
$node->safe_psql('other', "SELECT test.save('there', 'z', cur => 't3')");
sqlstate_is($node, 'postgres', 'ALTER DATABASE other RENAME TO another', '', 'and renamed');
is($node->safe_psql('another', 'SELECT queued FROM sayiir_wakeup_stats()'), '4', 'its counters go along');
is($node->safe_psql('copy', 'SELECT queued FROM sayiir_wakeup_stats()'), '0', 'those of the copy begin');
$node->safe_psql('another', "SELECT test.save('there', 'z', cur => 't4')");
sqlstate_is($node, 'postgres', 'DROP DATABASE another', '', 'and dropped');

$holder = hold_sender($node, 'copy');
stop_sender($node, 'copy');
$node->safe_psql('copy', "SELECT test.save('there', 'z', cur => 't5')");
$node->safe_psql('postgres', 'ALTER DATABASE copy ALLOW_CONNECTIONS false');
$pid = sender_pid($node, 'copy');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
kill 'CONT', $pid;
ok($node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'sayiir_pg wakeups' AND datname = 'copy' AND pid <> $pid"),
	'a database that takes no more connections still gets a sender');
$holder->quit;
sqlstate_is($node, 'postgres', 'DROP DATABASE copy WITH (FORCE)', '', 'a database can be dropped by force while its hints are sent');

# More databases than there are rings: a ring whose database no longer uses it is taken over.
foreach my $n (1 .. 17)
{
	$node->safe_psql('postgres', "CREATE DATABASE d$n");
	$node->safe_psql("d$n", "CREATE EXTENSION sayiir_pg; SELECT sayiir_save_snapshot('x', 'i', 'InProgress', rpad('wf', 32)::bytea, rpad('t', 32)::bytea)");
	settle($node, "d$n");
	my $sent = $node->safe_psql("d$n", 'SELECT sent FROM sayiir_wakeup_stats()');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'd$n'");
	$node->safe_psql('postgres', "DROP DATABASE d$n");
	fail("database $n: $sent sent") if $sent ne '1';
}
$node->safe_psql('postgres', "SELECT test.save('here', 'y', cur => 't2')");
is(instances($ear), 'here', 'databases that come and go leave room for others');

# --- The server stops, crashes, is copied -----------------------------------------------------------

$ear->{session}->quit;
$node->safe_psql('postgres', "SELECT test.save('stop', 'x')");
$node->stop('smart');
ok(1, 'a smart shutdown does not wait for the sender');
$node->start;
is($node->safe_psql('postgres', 'SELECT * FROM sayiir_wakeup_stats()'), '0|0|0|0', 'the counters begin with the server');

$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->reload;
$holder = hold_sender($node, 'postgres');
$pid = stop_sender($node, 'postgres');
$node->safe_psql('postgres', "SELECT test.save('crash', 'x')");
kill 'KILL', $pid;
$node->poll_query_until('postgres', "SELECT pg_postmaster_start_time() IS NOT NULL AND NOT pg_is_in_recovery() AND queued = 0 FROM sayiir_wakeup_stats()")
  or die 'the server does not come back';
eval { $holder->quit };
is($node->safe_psql('postgres', "SELECT history_version FROM sayiir_load_snapshot('crash')"), '1', 'a sender killed hard: what was saved is there');
$ear = listener($node, 'postgres');
$node->safe_psql('postgres', "SELECT test.save('crash', 'y', cur => 't2')");
is(instances($ear), 'crash', 'and hints come again');

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
is($standby->safe_psql('postgres', "SELECT * FROM sayiir_wakeup_stats()"), '0|0|0|0', 'a standby has counters');
is($standby->safe_psql('postgres', "LOAD 'sayiir_pg'; SHOW sayiir.notify"), 'deferred', 'and the setting');
sqlstate_is($standby, 'postgres', "SELECT test.save('crash', 'z')", '25006', 'it refuses writes');
$standby->promote;
my $standby_ear = listener($standby, 'postgres');
$standby->safe_psql('postgres', "SELECT test.save('crash', 'z', cur => 't3')");
is(instances($standby_ear), 'crash', 'promoted, it defers');
$standby_ear->{session}->quit;
$standby->stop;

# --- No sender to be had ----------------------------------------------------------------------------

$ear->{session}->quit;
$node->stop;
# The only one is the server's own, which launches logical replication.
$node->append_conf('postgresql.conf', 'max_worker_processes = 1');
$node->start;
$ear = listener($node, 'postgres');
$node->safe_psql('postgres', "SELECT test.save('w', 'x')");
is(join(' ', map { decode_hint($_)->{instance_id} } heard($ear)), 'w', 'without a background worker to spare a hint is sent transactionally');
is($node->safe_psql('postgres', 'SELECT * FROM sayiir_wakeup_stats()'), '0|0|0|0', 'and not counted');
$ear->{session}->quit;
$node->stop;

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nmax_worker_processes = 8");
$node->start;
$ear = listener($node, 'postgres');
my ($status, $stdout, $stderr) = $node->psql('postgres', "SELECT test.save('w', 'y', cur => 't2'); SHOW sayiir.notify");
is($status, 0, 'not preloaded, with the setting in the configuration file: a save works');
is($stdout, "2\ntransactional", 'and is transactional');
like($stderr, qr/WARNING:  sayiir.notify cannot be "deferred": sayiir_pg is not preloaded$/m, 'with a warning at the first call');
is(join(' ', map { decode_hint($_)->{instance_id} } heard($ear)), 'w', 'and wakes');

$node->append_conf('postgresql.conf', 'sayiir.notify = transactional');
$node->reload;
sqlstate_is($node, 'postgres', "LOAD 'sayiir_pg'; SET sayiir.notify = deferred", '22023', 'set without preloading: refused');
(undef, undef, $stderr) = $node->psql('postgres', "LOAD 'sayiir_pg'; SET sayiir.notify = deferred");
like($stderr, qr/HINT:  Add sayiir_pg to shared_preload_libraries and restart the server/, 'with a hint');
(undef, undef, $stderr) = $node->psql('postgres', "LOAD 'sayiir_pg'; ALTER ROLE CURRENT_USER SET sayiir.notify = deferred");
like($stderr, qr/NOTICE:  sayiir.notify = deferred takes effect when sayiir_pg is preloaded/, 'for a role: a notice');
($status, $stdout, $stderr) = $node->psql('postgres', "SELECT test.save('w', 'z', cur => 't3'); SHOW sayiir.notify");
is($stdout, "3\ntransactional", 'then its sessions are transactional');
like($stderr, qr/WARNING:  sayiir.notify cannot be "deferred"/m, 'with a warning');
is(join(' ', map { decode_hint($_)->{instance_id} } heard($ear)), 'w', 'and wake');
($status, $stdout, $stderr) = $node->psql('postgres', "SET sayiir.notify = deferred; SELECT test.save('w', 'z2', cur => 't4'); SHOW sayiir.notify");
is($stdout, "4\ntransactional", 'set in a session before the library is loaded: the same');
is($node->safe_psql('postgres', 'SELECT * FROM sayiir_wakeup_stats()'), '0|0|0|0', 'the counters are zeros');
$ear->{session}->quit;

integrity_ok($node, 'postgres', 'the store is sound');
$node->stop;
done_testing();
