# Two-phase commit (CASES B31).
#
# PostgreSQL refuses to prepare a transaction that has a notification to send, and rolls it back. A
# transaction without one, because it wakes nobody or because wakeups are off, can be prepared; it
# holds its instances until its end, over a restart and a crash.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = new_node('prepared', conf => "max_prepared_transactions = 10\n");

sub sql
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

sub version
{
	my ($id) = @_;

	return sql("SELECT history_version || ' ' || status || ' ' || convert_from(data, 'UTF8') FROM sayiir_load_snapshot('$id')");
}

# a) Nobody to wake.
sql("SELECT test.save('a', 'one')");
sql("BEGIN; SELECT test.save('a', 'end', status => 'Completed'); PREPARE TRANSACTION 'a'");
is(version('a'), '1 InProgress one', 'a prepared end is not seen before its commit');
sql("COMMIT PREPARED 'a'");
is(version('a'), '2 Completed end', 'and seen afterwards');

sql("SELECT test.save('r', 'one')");
sql("BEGIN; SELECT test.result('r', 't1', 'out'); PREPARE TRANSACTION 'r'");
sql("COMMIT PREPARED 'r'");
is(version('r'), '2 InProgress one', 'a task result can be prepared');

sql("SELECT test.save('d', 'one')");
sql("BEGIN; SELECT sayiir_delete_snapshot('d'); PREPARE TRANSACTION 'd'");
is(version('d'), '1 InProgress one', 'so can a delete');
sql("COMMIT PREPARED 'd'");
sqlstate_is($node, 'postgres', "SELECT sayiir_load_snapshot('d')", 'P0002', 'which then deletes');

sql("BEGIN; SELECT test.save('p', 'one', status => 'Paused'); SELECT test.save('n', 'one', cur => NULL); PREPARE TRANSACTION 'p'");
sql("COMMIT PREPARED 'p'");
is(version('p'), '1 Paused one', 'a save that wakes nobody can be prepared');

# b) Somebody to wake.
sqlstate_is($node, 'postgres', "BEGIN; SELECT test.save('b', 'one'); PREPARE TRANSACTION 'b'", '0A000', 'a save with a wakeup cannot be prepared');
is(sql('SELECT count(*) FROM pg_prepared_xacts'), 0, 'nothing is left prepared');
sqlstate_is($node, 'postgres', "SELECT sayiir_load_snapshot('b')", 'P0002', 'nor saved');
is(sql("SELECT test.save('b', 'one')"), 1, 'and it can be saved again');
# A repeat and a late save write nothing, so there is nothing to send either.
sql("BEGIN; SELECT test.save('b', 'one', expected => 0); SELECT test.save('a', 'late'); PREPARE TRANSACTION 'nothing'");
sql("ROLLBACK PREPARED 'nothing'");

# c) Wakeups off.
sql("SET sayiir.notify = off; BEGIN; SELECT test.save('c', 'one'); PREPARE TRANSACTION 'c'");
sql("ROLLBACK PREPARED 'c'");
sqlstate_is($node, 'postgres', "SELECT sayiir_load_snapshot('c')", 'P0002', 'a prepared save rolled back was never there');
is(sql("SELECT test.save('c', 'again')"), 1, 'and can be saved again');
sql("SET sayiir.notify = off; BEGIN; SELECT test.save('c', 'two', done => 't1', output => 'out'); PREPARE TRANSACTION 'c'");
sql("COMMIT PREPARED 'c'");
is(version('c'), '2 InProgress two', 'a prepared save committed');

# A prepared transaction holds its instance: the next save waits, and builds on what it decided.
foreach my $end ('COMMIT', 'ROLLBACK')
{
	my $session = session($node, 'postgres');
	my $pid = backend_pid($session);

	sql("SELECT test.save('w $end', 'one')");
	sql("SET sayiir.notify = off; BEGIN; SELECT test.save('w $end', 'two'); PREPARE TRANSACTION 'w'");
	start_query($session, "SELECT test.save('w $end', 'three')");
	wait_for_lock($node, 'postgres', $pid);
	sql("$end PREPARED 'w'");
	my ($output, $state) = finish_query($session);
	is($output, $end eq 'COMMIT' ? 3 : 2, "a save that waited for $end PREPARED");
	$session->quit;
}

# Over a restart, and over a crash.
sql("SELECT test.save('s', 'one'); SELECT test.save('s', 'two')");
foreach my $mode ('fast', 'immediate')
{
	my $version = sql("SELECT history_version FROM sayiir_load_snapshot('s')");

	sql("SET sayiir.notify = off; BEGIN; SELECT test.save('s', '$mode', done => 't1', output => '$mode'); PREPARE TRANSACTION 's'");
	$node->stop($mode);
	$node->start;
	is(sql("SELECT history_version FROM sayiir_load_snapshot('s')"), $version, "prepared before a stop ($mode): not seen");
	sql("COMMIT PREPARED 's'");
	is(version('s'), $version + 1 . " InProgress $mode", "prepared before a stop ($mode): committed after it");
	is(sql("SELECT convert_from(sayiir_load_task_result('s', rpad('t1', 32)::bytea), 'UTF8')"), $mode, "with its output ($mode)");
}

integrity_ok($node, 'postgres', 'the store is sound');
$node->stop;
done_testing();
