# Which calls of the worker protocol wake a listener, and what the hint says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirWorkers;
use Test::More;

my $node = new_node('hints');
my $listener;

install_workers($node, 'postgres');
$listener = listen_to($node, 'postgres');

# One case: SQL before (without hints), the SQL in question, the hints it sends.
sub hints
{
	my ($before, $sql, $expected, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('postgres', "SET sayiir.notify = off; SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i; $before");
	return is(heard_of($node, 'postgres', $listener, $sql), $expected, $test);
}

my $claimed = "SELECT test.put('x'); SELECT test.claims();";
my $jclaimed = "SELECT test.jput('x', 't1'); SELECT test.claims();";
my $parked = "SELECT test.put('x', NULL, kind => 'AtSignal', signal => 'go');";

# --- Claims and steps ----------------------------------------------------------------------------

hints("SELECT test.put('x')", "SELECT test.claims()", '', 'a claim wakes nobody');
hints($claimed, "SELECT sayiir_extend_claim('x', test.token('x'), '1 hour')", '', 'a heartbeat wakes nobody');
hints($claimed, "SELECT test.step('x', test.token('x'), 't2', next => '1 hour')", '', 'a step that keeps the claim wakes nobody');
hints($claimed, "SELECT test.step('x', test.token('x'), 't2')", 'x at t2', 'a step that gives it up wakes for the next task');
hints($jclaimed, "SELECT sayiir_advance(test.js('x', 't2'), test.token('x'), next_claim_ttl => '1 hour')", '', 'the same with one argument: keeping it');
hints($jclaimed, "SELECT sayiir_advance(test.js('x', 't2'), test.token('x'))", 'x at t2', 'the same with one argument: giving it up');
hints($claimed, "SELECT test.step('x', test.token('x'), NULL, status => 'Completed')", '', 'the last step wakes nobody');
hints($claimed, "SELECT test.step('x', test.token('x'), NULL, next => '1 hour', kind => 'AtSignal', signal => 'go')", '', 'a step that parks wakes nobody');
hints("$claimed SELECT sayiir_send_event('x', 'go', 'event')", "SELECT test.step('x', test.token('x'), NULL, kind => 'AtSignal', signal => 'go')",
	'x at no task', 'a step that parks where an event is wakes');
hints($claimed, "SELECT test.put('x', token => test.token('x'))", '', 'a save that does not move it leaves the claim, and wakes nobody');
hints($claimed, "SELECT test.put('x')", '', 'nor does one without the token');
hints($claimed, "SELECT test.put('x', 't2', token => test.token('x'))", 'x at t2', 'a save that moves it wakes');
hints($claimed, "SELECT sayiir_save_task_result('x', test.id('t1'), 'out', claim_token => test.token('x'))", '', 'a result wakes nobody');
hints("$claimed CREATE TABLE test.k AS SELECT test.token('x') AS t; SELECT test.step('x', t, 't2') FROM test.k", "SELECT test.step('x', t, 't2') FROM test.k; DROP TABLE test.k", '', 'a repeated step wakes nobody');
hints($claimed, "BEGIN; SELECT test.step('x', test.token('x'), 't2'); ROLLBACK", '', 'a step rolled back wakes nobody');
hints("$claimed SELECT sayiir_pause('x')", "SELECT test.step('x', test.token('x'), 't2')", '', 'a step that a pause ends wakes nobody');
hints("$claimed SELECT sayiir_cancel('x')", "SELECT test.step('x', test.token('x'), 't2')", '', 'a step that a cancel ends wakes nobody');

# --- Release -------------------------------------------------------------------------------------

hints($claimed, "SELECT sayiir_release_claim('x', test.token('x'))", 'x at t1', 'a release wakes');
hints($claimed, "SELECT sayiir_release_claim('x', test.token('x'), retry_after => '1 hour')", '', 'a release until later wakes nobody');
hints("$claimed SELECT sayiir_pause('x')", "SELECT sayiir_release_claim('x', test.token('x'))", '', 'a release that a pause follows wakes nobody');
hints("$parked SELECT sayiir_send_event('x', 'go', 'event'); SELECT test.claims()", "SELECT sayiir_release_claim('x', test.token('x'))", 'x at no task', 'a release at a parked place: no task');

# --- Signals -------------------------------------------------------------------------------------

hints("SELECT test.put('x')", "SELECT sayiir_pause('x'); SELECT sayiir_cancel('x')", '', 'pause and cancel wake nobody');
hints("SELECT test.put('x'); SELECT sayiir_pause('x')", "SELECT sayiir_unpause('x')", 'x at t1', 'an unpause wakes');
hints("SELECT test.jput('x', 't1'); SELECT sayiir_pause('x')", "SELECT sayiir_unpause('x')", 'x at t1', 'an unpause of one of Sayiir\'s own wakes');
hints("$parked SELECT sayiir_pause('x')", "SELECT sayiir_unpause('x')", '', 'an unpause at a place without an event wakes nobody');
hints("$parked SELECT sayiir_pause('x'); SELECT sayiir_send_event('x', 'go', 'event')", "SELECT sayiir_unpause('x')", 'x at no task', 'an unpause where an event came meanwhile wakes');
hints("SELECT test.put('x'); SELECT sayiir_store_signal('x', 'Pause')", "SELECT test.claims()", '', 'a pause applied by a claim wakes nobody');
hints("SELECT test.put('x'); SELECT sayiir_store_signal('x', 'Pause')", "SELECT sayiir_clear_signal('x', 'Pause')", 'x at t1', 'a signal taken back wakes');
hints("$claimed SELECT sayiir_pause('x')", "SELECT sayiir_clear_signal('x', 'Pause')", '', 'a signal taken back from a claimed one wakes nobody');

# --- Events --------------------------------------------------------------------------------------

hints($parked, "SELECT sayiir_send_event('x', 'go', 'event')", 'x at no task', 'an event for an opaque parked one wakes: no task');
hints($parked, "SELECT sayiir_send_event('x', 'other', 'event')", '', 'an event of another name wakes nobody');
hints("SELECT test.put('x')", "SELECT sayiir_send_event('x', 'go', 'event')", '', 'an event that nobody waits for wakes nobody');
hints('', "SELECT sayiir_send_event('new', 'go', 'event')", '', 'nor one for nobody');
hints('', "SELECT test.put('new', NULL, kind => 'AtSignal', signal => 'go')", 'new at no task', 'the first save that parks where it is wakes');
hints("SELECT test.jput('x', 'signal go t2')", "SELECT sayiir_send_event('x', 'go', 'event')", 'x at t2', 'an event that moves one of Sayiir\'s own wakes for its next task');
hints("SELECT test.jput('x', 'signal go')", "SELECT sayiir_send_event('x', 'go', 'event')", '', 'an event that completes it wakes nobody');
hints("$parked SELECT sayiir_send_event('x', 'go', 'event'); SELECT test.claims()", "SELECT sayiir_send_event('x', 'go', 'second')", '', 'an event for a claimed one wakes nobody');
hints("$parked SELECT sayiir_send_event('x', 'go', 'event')", "SELECT sayiir_consume_event('x', 'go')", '', 'consuming wakes nobody');

# --- Places that end by themselves ---------------------------------------------------------------

hints("SELECT test.jput('x', 'delay 2001-01-01T00:00:00Z t2')", "SELECT test.claims()", '', 'a delay that a claim ends wakes nobody');
is($node->safe_psql('postgres', 'SELECT instance_id, test.name(task_id), test.name(current_task_id) FROM sayiir_workflow_claims JOIN sayiir_workflow_snapshots USING (instance_id)'),
	'x|t2|t2', 'its next task was given out');
hints('', "SELECT test.jput('x', 'delay 2101-01-01T00:00:00Z t2')", '', 'a save at a delay wakes nobody');

integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, ['00000'], 'no error reached a client');
$listener->quit;
$node->stop;
done_testing();
