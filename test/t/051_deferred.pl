# sayiir.notify = deferred: which hints go out, in which order, and what the counters say of them.
#
# A sender that is halted makes hints gather; a marker that is sent when the counters say that all were
# sent comes after them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirDeferred;
use SayiirTest;
use Test::More;

my $node = new_node('deferred', conf => deferred_conf('sayiir.wakeup_ring_size = 16kB', 'max_prepared_transactions = 5'));
my $ear = listener($node, 'postgres');

# What was heard of some SQL, as "instance task ..."
sub hints
{
	my ($sql) = @_;

	$node->psql('postgres', $sql);
	settle($node, 'postgres');
	return join(' ', map { my $h = decode_hint($_); "$h->{instance_id}/" . $h->{task_id} =~ s/ +\z//r } heard($ear));
}

# --- Which hints ----------------------------------------------------------------------------------

is($node->safe_psql('postgres', 'SELECT * FROM sayiir_wakeup_stats()'), '0|0|0|0', 'nothing is counted yet');
is($node->safe_psql('postgres', "LOAD 'sayiir_pg'; SHOW sayiir.notify"), 'deferred', 'the setting of the configuration file holds');
is(hints("SELECT test.save('w', 'one')"), 'w/t1', 'a save wakes');
is($node->safe_psql('postgres', 'SELECT * FROM sayiir_wakeup_stats()'), '1|1|0|0', 'one queued, one sent');

$node->safe_psql('postgres', "SELECT test.save('p', 'one', tags => ARRAY['a', 'b'])");
settle($node, 'postgres');
my ($deferred) = heard($ear);
$node->safe_psql('postgres', "SET sayiir.notify = transactional; SELECT test.save('p', 'two', tags => ARRAY['a', 'b'])");
my ($transactional) = heard($ear);
is($deferred, $transactional, 'the payload is that of a transactional hint');

$node->safe_psql('postgres', "SELECT test.save('long', 'one', tags => ARRAY[repeat('x', 6000)])");
settle($node, 'postgres');
is_deeply([ heard($ear) ], [''], 'a hint that is too long for NOTIFY comes empty');
$node->safe_psql('postgres', "SELECT test.save('l', 'one', tags => ARRAY[repeat('x', 5909)])");
settle($node, 'postgres');
is(length((heard($ear))[0]), 7999, 'the longest that NOTIFY takes comes whole');

foreach my $case (
	[ 'a rollback',                   "BEGIN; SELECT test.save('w', 'x'); ROLLBACK", '' ],
	[ 'an error',                     "BEGIN; SELECT test.save('w', 'x'); SELECT 1/0; COMMIT", '' ],
	[ 'a savepoint rolled back',      "BEGIN; SAVEPOINT s; SELECT test.save('w', 'x'); ROLLBACK TO s; COMMIT", '' ],
	[ 'before, within and after a savepoint rolled back',
		"BEGIN; SELECT test.save('w', 'a', cur => 'a'); SAVEPOINT s; SELECT test.save('w', 'b', cur => 'b'); ROLLBACK TO s; SELECT test.save('w', 'c', cur => 'c'); COMMIT",
		'w/a w/c' ],
	[ 'a savepoint released',         "BEGIN; SAVEPOINT s; SELECT test.save('w', 'b', cur => 'b'); RELEASE s; COMMIT", 'w/b' ],
	[ 'one released inside one rolled back',
		"BEGIN; SELECT test.save('w', 'a', cur => 'a'); SAVEPOINT s; SAVEPOINT i; SELECT test.save('w', 'b', cur => 'b'); RELEASE i; SELECT test.save('w', 'c', cur => 'c'); ROLLBACK TO s; COMMIT",
		'w/a' ],
	[ 'one rolled back inside one released',
		"BEGIN; SAVEPOINT s; SELECT test.save('w', 'b', cur => 'b'); SAVEPOINT i; SELECT test.save('w', 'c', cur => 'c'); ROLLBACK TO i; RELEASE s; SELECT test.save('w', 'd', cur => 'd'); COMMIT",
		'w/b w/d' ],
	[ 'a caught error',
		"DO \$\$ BEGIN PERFORM test.save('w', 'a', cur => 'a'); BEGIN PERFORM test.save('w', 'b', cur => 'b'); RAISE 'no'; EXCEPTION WHEN raise_exception THEN NULL; END; PERFORM test.save('w', 'c', cur => 'c'); END \$\$",
		'w/a w/c' ],
	[ 'commits inside a block',
		"DO \$\$ BEGIN PERFORM test.save('w', 'a', cur => 'a'); COMMIT; PERFORM test.save('w', 'b', cur => 'b'); ROLLBACK; PERFORM test.save('w', 'c', cur => 'c'); END \$\$",
		'w/a w/c' ],
	[ 'steps of one transaction', "BEGIN; SELECT test.save('w', 's', cur => 's' || g) FROM generate_series(1, 9) g; COMMIT",
		join(' ', map { "w/s$_" } 1 .. 9) ],
	[ 'steps of one session', join(' ', map { "SELECT test.save('w', 's', cur => 's$_');" } 1 .. 9), join(' ', map { "w/s$_" } 1 .. 9) ],
	[ 'the same step twice in a transaction', "BEGIN; SELECT test.save('w', 'a'); SELECT test.save('w', 'b'); COMMIT", 'w/t1' ],
	[ 'off for a transaction', "BEGIN; SET LOCAL sayiir.notify = off; SELECT test.save('w', 'a'); COMMIT", '' ])
{
	is(hints($case->[1]), $case->[2], "$case->[0]: " . ($case->[2] eq '' ? 'wakes nobody' : 'wakes for what was committed'));
}
is(stats($node, 'postgres')->{dropped}, 0, 'none of these was dropped');

# --- Prepared transactions ------------------------------------------------------------------------

is(hints("BEGIN; SELECT test.save('2pc', 'one'); PREPARE TRANSACTION 'a'"), '', 'a prepared transaction wakes nobody');
is(stats($node, 'postgres')->{dropped}, 1, 'its hint is counted as dropped');
is(hints("COMMIT PREPARED 'a'"), '', 'nor does its commit');
is($node->safe_psql('postgres', "SELECT history_version FROM sayiir_load_snapshot('2pc')"), '1', 'what it saved is there');
is(hints("BEGIN; SELECT test.save('2pc', 'two'); SAVEPOINT s; SELECT test.save('2pc', 'three'); ROLLBACK TO s; PREPARE TRANSACTION 'a'"), '', 'another one');
is(stats($node, 'postgres')->{dropped}, 2, 'a hint that was rolled back is not counted');
is(hints("ROLLBACK PREPARED 'a'"), '', 'its rollback wakes nobody');
sqlstate_is($node, 'postgres', "SET sayiir.notify = transactional; BEGIN; SELECT test.save('2pc', 'two'); PREPARE TRANSACTION 'a'",
	'0A000', 'after a transactional hint PREPARE is refused');

# --- Equal hints, and too many ----------------------------------------------------------------------

my $holder = hold_sender($node, 'postgres');
my $pid = stop_sender($node, 'postgres');
my $before = stats($node, 'postgres');

$node->safe_psql('postgres', join(' ', map { "SELECT test.save('eq', 'x$_');" } 1 .. 10) . "SELECT test.save('other', 'x')");
is(stats($node, 'postgres')->{queued} - $before->{queued}, 11, 'hints wait for a sender that does not come');
is_deeply([ heard($ear) ], [], 'and nobody has heard them');
kill 'CONT', $pid;
settle($node, 'postgres');
is(join(' ', map { decode_hint($_)->{instance_id} } heard($ear)), 'eq other', 'equal ones that waited together are sent once, where the first was');
is(stats($node, 'postgres')->{coalesced} - $before->{coalesced}, 9, 'the others are counted as coalesced');
is(stats($node, 'postgres')->{sent} - $before->{sent}, 2, 'and not as sent');

stop_sender($node, 'postgres');
$before = stats($node, 'postgres');
$node->safe_psql('postgres', join(' ', map { "SELECT test.save('full$_', 'x');" } 1 .. 300));
my $after = stats($node, 'postgres');
my $queued = $after->{queued} - $before->{queued};
my $dropped = $after->{dropped} - $before->{dropped};
is($queued + $dropped, 300, 'a full ring: each hint is queued or dropped');
cmp_ok($queued, '>', 50, 'some found room');
cmp_ok($dropped, '>', 50, 'some found none');
kill 'CONT', $pid;
settle($node, 'postgres');
is(join(' ', map { decode_hint($_)->{instance_id} } heard($ear)), join(' ', map { "full$_" } 1 .. $queued), 'those that found room come, in order');
is($node->safe_psql('postgres', "SELECT count(*) FROM sayiir_workflow_snapshots WHERE instance_id LIKE 'full%'"), '300', 'and every save is there');
is(hints("SELECT test.save('after', 'x')"), 'after/t1', 'after that hints find room again');

$before = stats($node, 'postgres');
$node->safe_psql('postgres', "SELECT test.save('one' || g, 'x') FROM generate_series(1, 300) g");
settle($node, 'postgres');
$after = stats($node, 'postgres');
is($after->{queued} - $before->{queued} + $after->{dropped} - $before->{dropped}, 300, 'more hints in a transaction than the ring has room for: each is queued or dropped');
cmp_ok($after->{dropped} - $before->{dropped}, '>', 50, 'some found no room');
is(scalar(heard($ear)), $after->{queued} - $before->{queued}, 'the others come');
$node->safe_psql('postgres', "BEGIN; SAVEPOINT s; SELECT test.save('none' || g, 'x') FROM generate_series(1, 300) g; ROLLBACK TO s; COMMIT");
is_deeply(stats($node, 'postgres'), $after, 'such a savepoint rolled back counts nothing');

# The bytes of one transaction go round the end of the ring many times.
foreach my $round (1 .. 40)
{
	$node->safe_psql('postgres', "SELECT test.save('round' || g, 'x', cur => '$round', tags => ARRAY[repeat('t', g)]) FROM generate_series(1, 20) g");
	settle($node, 'postgres');
}
is(join(' ', map { my $h = decode_hint($_); "$h->{instance_id}.$h->{task_id}" =~ s/ +\z//r . length($h->{tags}[0]) } heard($ear)),
	join(' ', map { my $round = $_; map { "round$_.$round" . $_ } 1 .. 20 } 1 .. 40), 'round the end of the ring: every byte as it was put');

$holder->quit;
ok(no_sender($node, 'postgres'), 'the sender leaves when nothing comes');
is(hints("SELECT test.save('again', 'x')"), 'again/t1', 'and comes back with the next hint');

integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, [qw(00000 22012 0A000)], 'no error but those provoked');
$ear->{session}->quit;
$node->stop('smart');
done_testing();
