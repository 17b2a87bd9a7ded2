# Branches of a fork that end at the same moment: none of their results is lost from a JSON snapshot.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = new_node('json_branches');
my ($sessions, $each) = (8, 100);
my $all = $sessions * $each;

$node->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE test.branch;
CREATE FUNCTION test.frame(payload text) RETURNS bytea LANGUAGE sql AS $$
	SELECT '\x535952530101'::bytea || convert_to(payload, 'UTF8') $$;
CREATE FUNCTION test.id(i bigint) RETURNS bytea LANGUAGE sql AS $$
	SELECT sha256(convert_to('branch ' || i, 'UTF8')) $$;
CREATE FUNCTION test.fork(id text, status text, more text) RETURNS integer LANGUAGE sql AS $$
	SELECT sayiir_save_snapshot(test.frame(format(
		'{"instance_id":"%s","definition_hash":"%s","state":{"%s":{"position":{"AtFork":{"fork_id":"%s","completed_branches":{},"wake_at":null}}'
		'%s,"completed_tasks":{ },"last_completed_task_id":null}},"created_at":1,"updated_at":1,"x":[2.0,18446744073709551615]}',
		id, encode(test.id(0), 'hex'), status, encode(test.id(0), 'hex'), more))) $$;
SQL

# Each answer must be a version of its own, whichever way the sessions meet.
$node->safe_psql('postgres', q{CREATE TABLE test.answers (instance text, version integer, PRIMARY KEY (instance, version));});
foreach my $case ([ 'running', 'InProgress', '' ], [ 'paused', 'Paused', ',"paused_at":"2030-01-01T00:00:00Z"' ])
{
	my ($id, $status, $more) = @$case;

	$node->safe_psql('postgres', "SELECT test.fork('$id', '$status', '$more'); ALTER SEQUENCE test.branch RESTART;");
	$node->pgbench("--no-vacuum --client=$sessions --jobs=2 --transactions=$each --protocol=prepared",
		0, [qr{processed: $all/$all}], [qr{^$}],
		"$id: $all results in $sessions sessions",
		{ "021_json_$id" => <<SQL });
SELECT nextval('test.branch') AS branch \\gset
INSERT INTO test.answers SELECT '$id', sayiir_save_task_result('$id', test.id(:branch), int8send(:branch));
SQL

	is($node->safe_psql('postgres', <<SQL), "$all|$all|t", "$id: every result is in completed_tasks, stripped");
SELECT count(*), count(DISTINCT key), bool_and(value = jsonb_build_object('task_id', key, 'output', '[]'::jsonb)
	AND decode(key, 'hex') IN (SELECT test.id(i) FROM generate_series(1, $all) i))
FROM sayiir_load_snapshot('$id') l, jsonb_each(convert_from(substr(l.data, 7), 'UTF8')::jsonb #> '{state,$status,completed_tasks}')
SQL
	is($node->safe_psql('postgres', <<SQL), "$all|$all", "$id: every output is in its task row");
SELECT count(*), count(*) FILTER (WHERE sayiir_load_task_result('$id', test.id(i)) = int8send(i)) FROM generate_series(1, $all) i
SQL
	is($node->safe_psql('postgres', <<SQL), ($all + 1) . "|$all|$status", "$id: version and count");
SELECT history_version, completed_task_count, status FROM sayiir_workflow_snapshots WHERE instance_id = '$id'
SQL
	is($node->safe_psql('postgres', <<SQL), "2|" . ($all + 1) . "|$all", "$id: each call had a version of its own");
SELECT min(version), max(version), count(*) FROM test.answers WHERE instance = '$id'
SQL
	# Version n has n - 1 of them, the newest of which is the last one completed; all other bytes are as they were.
	is($node->safe_psql('postgres', <<SQL), ($all + 1) . "|1|t|t", "$id: the versions are without a hole, each with one result more");
SELECT count(*), min(version), bool_and(tasks = version - 1), bool_and(version = 1 OR last IS NOT NULL)
FROM (SELECT version, (SELECT count(*) FROM jsonb_object_keys(state #> '{completed_tasks}')) AS tasks,
		state -> 'completed_tasks' -> (state ->> 'last_completed_task_id') AS last
	FROM (SELECT version, convert_from(substr(data, 7), 'UTF8')::jsonb #> '{state,$status}' AS state
		FROM sayiir_workflow_snapshot_history WHERE instance_id = '$id') h) v
SQL
	is($node->safe_psql('postgres', <<SQL), 1, "$id: what no result touches is the same in all versions");
SELECT count(DISTINCT regexp_replace(regexp_replace(regexp_replace(convert_from(substr(data, 7), 'UTF8'),
	'"completed_tasks":\\{.*?\\}? \\}', ''), '"last_completed_task_id":[^}]*', ''), '"updated_at":\\d+', ''))
FROM sayiir_workflow_snapshot_history WHERE instance_id = '$id'
SQL
}
integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, [], 'without an error on the way');

done_testing();
