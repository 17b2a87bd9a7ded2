# Who is given out next: priority and aging, tags, definitions, delays; and nobody starves.
#
# Waiting counts by the server's clock; where a test needs one that has waited for long, the clock of the save is moved
# back in the tables and in the queue alike, and the store is asked whether they still fit.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirWorkers;
use Test::More;

my $node = new_node('dispatch');

install_workers($node, 'postgres');
$node->safe_psql('postgres', <<'SQL');
-- As if the instance had come to its place that much earlier.
CREATE FUNCTION test.waited(id text, ago interval) RETURNS void LANGUAGE sql AS $$
	UPDATE sayiir_workflow_snapshots SET waiting_since = waiting_since - ago WHERE instance_id = id;
	UPDATE sayiir_workflow_ready SET ready_at = ready_at - ago WHERE instance_id = id AND ready_at < now() $$;
SQL

# The order in which they are given out, one call or one by one.
sub order_is
{
	my ($sql, $call, $expected, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->safe_psql('postgres', "SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i; $sql");
	is($node->safe_psql('postgres', 'SELECT * FROM sayiir_check_integrity()'), '', "$test: sound before");
	is($node->safe_psql('postgres', "SELECT test.claims($call)"), $expected, $test);
	is($node->safe_psql('postgres', 'SELECT * FROM sayiir_check_integrity()'), '', "$test: sound after");
	return;
}

my $five = join '', map { my $id = (qw(z y x w v))[$_ - 1]; "SELECT test.put('$id', priority => $_);" } 5, 3, 1, 4, 2;

order_is($five, '9', 'z at t1, y at t1, x at t1, w at t1, v at t1', 'priority first');
order_is($five, '2', 'z at t1, y at t1', 'the most urgent two');
order_is("SELECT test.put(i, priority => 3) FROM unnest('{c,a,b}'::text[]) i", '9', 'c at t1, a at t1, b at t1', 'among equals the longest waiting');
order_is("$five SELECT test.waited('v', '210 seconds')", '9', 'z at t1, v at t1, y at t1, x at t1, w at t1', 'three and a half minutes of waiting are worth three levels and a half');
order_is("$five SELECT test.waited('v', '250 seconds')", '9', 'v at t1, z at t1, y at t1, x at t1, w at t1', 'after more than four it overtakes all');
order_is("$five SELECT test.waited('v', '210 seconds')", "9, aging => '10 minutes'", 'z at t1, y at t1, x at t1, w at t1, v at t1', 'with a longer aging they are not');
order_is("$five SELECT test.waited('v', '210 seconds'), test.waited('w', '130 seconds')", '9', 'z at t1, v at t1, w at t1, y at t1, x at t1', 'two of them have waited');
order_is("SELECT test.put('old', priority => 5); SELECT test.put('new', priority => 1); SELECT test.waited('old', '1 second')",
	"9, aging => '1 millisecond'", 'old at t1, new at t1', 'with little aging, waiting outweighs priority');
order_is($five, "1, aging => '1000000 years'", 'z at t1', 'with endless aging, priority alone');
order_is("$five SELECT test.waited('v', '100 years')", "1, aging => '1000000 years'", 'z at t1', 'whatever the waiting');

# --- What does not restart the waiting, and what does ----------------------------------------------

my $two = "SELECT test.put('a'); SELECT test.put('b');";
my $t = "test.token('a')";
foreach my $case (
	[ 'a task result does not restart it', "SELECT sayiir_save_task_result('a', test.id('t1'), 'out')", 'a at t1, b at t1' ],
	[ 'a save that stays does not', "SELECT test.put('a')", 'a at t1, b at t1' ],
	[ 'a release does not', "SELECT sayiir_claim_task('a', test.id('t1'), 'w', '1 hour'); SELECT sayiir_release_claim('a', $t)", 'a at t1, b at t1' ],
	[ 'an expiry does not', "SELECT sayiir_claim_task('a', test.id('t1'), 'w', '1 microsecond'); SELECT test.expired('a')", 'a at t1, b at t1' ],
	[ 'a moving save does', "SELECT test.put('a', 't2')", 'b at t1, a at t2' ],
	[ 'a step does', "SELECT sayiir_claim_task('a', test.id('t1'), 'w', '1 hour'); SELECT test.step('a', $t, 't2')", 'b at t1, a at t2' ],
	[ 'a delay that is over counts from its end', "SELECT test.put('a', wake => clock_timestamp())", 'b at t1, a at t1' ],
	[ 'a delay that was over before does not count', "SELECT test.put('c', wake => '2001-01-01Z')", 'a at t1, b at t1, c at t1' ])
{
	my ($test, $sql, $expected) = @$case;

	order_is("$two $sql", '9', $expected, "waiting: $test");
}

# --- Tags and definitions -------------------------------------------------------------------------

my $tagged = "SELECT test.put('none'); SELECT test.put('g', tags => '{gpu}'); SELECT test.put('gb', tags => '{gpu,big}'); SELECT test.put('e', tags => ARRAY['']); SELECT test.put('gg', tags => '{gpu,gpu}');";
order_is($tagged, '9', 'none at t1, g at t1, gb at t1, e at t1, gg at t1', 'a worker without tags takes anything');
order_is($tagged, "9, tags => '{gpu}'", 'none at t1, g at t1, gg at t1', 'a worker takes what asks for no more than it has');
order_is($tagged, "9, tags => '{big,other,gpu}'", 'none at t1, g at t1, gb at t1, gg at t1', 'in any order');
order_is($tagged, "9, tags => '{GPU}'", 'none at t1', 'to the letter');
order_is($tagged, "9, tags => ARRAY['']", 'none at t1, e at t1', 'an empty tag is a tag');

my $wfs = "SELECT test.put('a', wf => 'one'); SELECT test.put('b', wf => 'two'); SELECT test.put('c', wf => 'three', tags => '{gpu}');";
order_is($wfs, "9, wf => '{two,three}'", 'b at t1, c at t1', 'of the given definitions');
order_is($wfs, "9, wf => '{two,three,one}', tags => '{other}'", 'a at t1, b at t1', 'and tags');
order_is($wfs, "9, wf => '{four}'", 'nothing', 'of another definition: nothing');
is($node->safe_psql('postgres', "SELECT count(*) FROM sayiir_claim_tasks('w', definition_hashes => '{}')"), 0, 'of none: nothing');

# --- Delays --------------------------------------------------------------------------------------

order_is("SELECT test.put('later', priority => 1, wake => '2101-01-01Z'); SELECT test.put('due', priority => 5, wake => '2001-01-01Z'); SELECT test.put('never', priority => 1, wake => 'infinity'); SELECT test.put('ever', priority => 4, wake => '-infinity')",
	'9', 'ever at t1, due at t1', 'a retry that is not due waits');
order_is("SELECT test.put('a'); SELECT sayiir_claim_task('a', test.id('t1'), 'w', '1 hour'); SELECT sayiir_release_claim('a', test.token('a'), '1 day')", '9', 'nothing', 'a release until tomorrow');
# Until a moment that passes: asked again and again.
$node->safe_psql('postgres', "SELECT sayiir_release_claim('a', c.claim_token, '300 milliseconds') FROM sayiir_claim_task('a', test.id('t1'), 'w', '1 hour') c");
ok($node->poll_query_until('postgres', "SELECT test.claims()", 'a at t1'), 'a release for a while comes back by itself');
order_is("SELECT test.put('fork', NULL, kind => 'AtFork', wake => '2001-01-01Z'); SELECT test.put('join', NULL, kind => 'AtJoin'); SELECT test.put('timeout', NULL, kind => 'AtSignal', signal => 'go', wake => '2001-01-01Z');
	SELECT test.put('parked', NULL, kind => 'AtSignal', signal => 'go'); SELECT test.put('delay', NULL, kind => 'AtDelay', wake => '2101-01-01Z')",
	'9', 'fork at AtFork, timeout at AtSignal', 'another place is given out when its time has come');
order_is("SELECT test.jput('next', 'delay 2001-01-01T00:00:00Z t2'); SELECT test.jput('last', 'delay 2001-01-01T00:00:00Z'); SELECT test.jput('late', 'delay 2101-01-01T00:00:00Z t2')",
	'9', 'next at t2', 'one of Sayiir\'s own at a due delay is moved on first');
is($node->safe_psql('postgres', "SELECT status, history_version FROM sayiir_workflow_snapshots WHERE instance_id = 'last'"), 'Completed|2', '... or completed');
is($node->safe_psql('postgres', "SELECT status, worker_id FROM sayiir_workflow_tasks WHERE instance_id = 'next' AND task_id = test.id('t2')"), 'active|w', '... by the worker who gets it');
order_is("SELECT test.put('stored'); SELECT sayiir_save_task_result('stored', test.id('t1'), 'out')", '1', 'stored at t1', 'a task whose output is stored is given out too');
is($node->safe_psql('postgres', "SELECT sayiir_release_claim('stored', test.token('stored')); SELECT convert_from(outputs[1], 'UTF8'), test.name(task_ids[1]), history_version FROM sayiir_claim_tasks('w')"),
	"\nout|t1|2", '... with its output');

# --- What is given is what is there ---------------------------------------------------------------

$node->safe_psql('postgres', <<'SQL');
SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i;
SELECT sayiir_save_snapshot(data => decode('00ff5c', 'hex'), instance_id => 'full', status => 'InProgress', definition_hash => test.id('wf'),
	current_task_id => test.id('t3'), trace_parent => '00-trace', position_kind => 'AtTask', last_completed_task_id => test.id('t2'), last_completed_output => 'two');
SELECT sayiir_save_task_result('full', test.id('t1'), 'one');
SQL
is($node->safe_psql('postgres', <<'SQL'), 'full|t3|AtTask|2|\x00ff5c|wf|00-trace|t1 t2|one two|t', 'a claim loads the whole instance');
CREATE TEMP TABLE c AS SELECT * FROM sayiir_claim_tasks('w');
SELECT c.instance_id, test.name(c.task_id), position_kind, history_version, data, test.name(definition_hash), trace_parent,
	(SELECT string_agg(test.name(i), ' ' ORDER BY i) FROM unnest(task_ids) i),
	(SELECT string_agg(convert_from(o, 'UTF8'), ' ' ORDER BY i) FROM unnest(task_ids, outputs) AS p (i, o)),
	(c.instance_id, c.task_id, c.claim_token, c.expires_at) = (k.instance_id, k.task_id, k.claim_token, k.expires_at)
FROM c, sayiir_workflow_claims k
SQL
is($node->safe_psql('postgres', "SELECT expires_at - claimed_at FROM sayiir_workflow_claims"), '00:00:30', 'for thirty seconds unless told otherwise');

# --- Nobody starves -------------------------------------------------------------------------------

# For every one that is taken, two more urgent ones arrive; the clock moves on by ten seconds each time. The one of
# priority 5 has its turn once it has waited for four levels.
my $turn = $node->safe_psql('postgres', <<'SQL');
SET sayiir.notify = off;
SELECT sayiir_delete_snapshot(i) FROM sayiir_list_snapshots() i \g /dev/null
SELECT test.put('patient', priority => 5) \g /dev/null
DO $$
DECLARE
	got text;
BEGIN
	FOR i IN 1 .. 100 LOOP
		PERFORM test.put('urgent ' || i || p, priority => 1) FROM generate_series(1, 2) p;
		got := test.claims(1);
		IF got = 'patient at t1' THEN
			PERFORM set_config('test.turn', i::text, false);
			EXIT;
		END IF;
		UPDATE sayiir_workflow_snapshots SET waiting_since = waiting_since - interval '10 seconds';
		UPDATE sayiir_workflow_ready SET ready_at = ready_at - interval '10 seconds';
	END LOOP;
END $$;
SELECT current_setting('test.turn')
SQL
cmp_ok($turn, '>=', 24, 'four minutes do not make up for four levels before they are over');
cmp_ok($turn, '<=', 60, "the patient one has its turn (after $turn), however many urgent ones come");
integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, ['00000'], 'no error reached a client');

$node->stop;
done_testing();
