# A hot standby reads and refuses to write (CASES B28); promoted, it writes on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $primary = new_node('primary', init => { allows_streaming => 1 });
my $standby = PostgreSQL::Test::Cluster->new('standby');

$primary->safe_psql('postgres', "SELECT test.save('before', 'one'); SELECT test.result('before', 't0', 'out')");
$primary->backup('base');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->safe_psql('postgres', <<'SQL');
SELECT test.save('after', 'one');
SELECT test.save('after', 'two', cur => 't2', done => 't1', output => 'o1');
SELECT test.result('after', 't2', 'o2');
SELECT test.save('ended', 'end', status => 'Completed');
SQL
$primary->wait_for_catchup($standby);

# --- Reading: each call is the first in its session ---------------------------------------------

my %read = (
	"SELECT history_version, convert_from(data, 'UTF8'), outputs[1], completed_task_count FROM sayiir_load_snapshot('before')" => '2|one|\x6f7574|1',
	"SELECT history_version, convert_from(data, 'UTF8'), cardinality(task_ids) FROM sayiir_load_snapshot('after')" => '3|two|2',
	"SELECT history_version, convert_from(data, 'UTF8') FROM sayiir_load_snapshot('after', 1)" => '1|one',
	"SELECT string_agg(id, ' ') FROM sayiir_list_snapshots() id" => 'after before ended',
	"SELECT sayiir_list_snapshots('Completed')" => 'ended',
	"SELECT sayiir_load_task_result('after', rpad('t2', 32)::bytea)" => '\x6f32',
	"SELECT sayiir_load_task_result('after', rpad('t3', 32)::bytea) IS NULL" => 't',
	"SELECT * FROM sayiir_check_integrity()" => '',
	"SELECT sayiir_task_id('x') = sha256('x')" => 't');
foreach my $sql (sort keys %read)
{
	is($standby->safe_psql('postgres', $sql), $read{$sql}, "standby: $sql");
}
sqlstate_is($standby, 'postgres', "SELECT sayiir_load_snapshot('nobody')", 'P0002', 'standby: an unknown instance is unknown there, too');

# --- Writing ------------------------------------------------------------------------------------

my %write = (
	'a new instance' => "SELECT test.save('new', 'x')",
	'a further save' => "SELECT test.save('after', 'x')",
	'a save with expected_version' => "SELECT test.save('after', 'x', expected => 3)",
	'an end' => "SELECT test.save('after', 'x', status => 'Failed')",
	'a silent save' => "SET sayiir.notify = off; SELECT test.save('after', 'x')",
	'a result' => "SELECT test.result('after', 't4', 'x')",
	'a delete' => "SELECT sayiir_delete_snapshot('after')");
foreach my $what (sort keys %write)
{
	sqlstate_is($standby, 'postgres', $write{$what}, '25006', "standby: $what is refused");
	sqlstate_is($primary, 'postgres', "BEGIN READ ONLY; $write{$what}", '25006', "read-only transaction: $what is refused");
}
foreach my $sql (sort keys %read)
{
	is($primary->safe_psql('postgres', "SET default_transaction_read_only = on; $sql"), $read{$sql}, "read-only session: $sql");
}

# A refusal does no harm to the session.
my $session = session($standby, 'postgres');
my $pid = backend_pid($session);
for (1 .. 3)
{
	start_query($session, "SELECT test.save('after', 'x')");
	is((finish_query($session))[1], '25006', 'standby: refused');
	is($session->query_safe("SELECT history_version FROM sayiir_load_snapshot('after')"), 3, 'standby: and loaded in the same session');
}
is(backend_pid($session), $pid, 'standby: the session is the same');

# One transaction there is one moment as well.
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($session->query_safe("SELECT history_version, cardinality(outputs) FROM sayiir_load_snapshot('after')"), '3|2', 'standby: a first load');
$primary->safe_psql('postgres', "SELECT test.save('after', 'four', done => 't3', output => 'o3')");
$primary->wait_for_catchup($standby);
is($session->query_safe("SELECT history_version, cardinality(outputs) FROM sayiir_load_snapshot('after')"), '3|2', 'standby: the same after a save');
$session->query_safe('COMMIT');
is($session->query_safe("SELECT history_version, cardinality(outputs) FROM sayiir_load_snapshot('after')"), '4|3', 'standby: the save in the next transaction');

# --- Promotion ----------------------------------------------------------------------------------

$primary->stop;
$standby->promote;
is($session->query_safe("SELECT test.save('after', 'five')"), 5, 'promoted: a session from before writes');
is($standby->safe_psql('postgres', "SELECT test.result('before', 't1', 'out')"), 3, 'promoted: a new one does, too');
is($standby->safe_psql('postgres', "SELECT test.save('new', 'x')"), 1, 'promoted: a new instance');
is($standby->safe_psql('postgres', "SELECT test.save('ended', 'late') IS NULL"), 't', 'promoted: what has ended stays so');
integrity_ok($standby, 'postgres', 'promoted: the store is sound');

$session->quit;
$standby->stop;
done_testing();
