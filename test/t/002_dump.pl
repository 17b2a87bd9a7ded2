# A dump carries every row (CASES B04).
#
# Each way of dumping and restoring gives tables that are equal row for row, loads that are equal,
# the rights that were granted, and a store on which writing goes on at the next version. One
# database has the extension in public, one in a schema whose name needs quoting.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump');
my @encoding = (extra => [ '--encoding=UTF8', '--locale=C' ]);
my $dir = PostgreSQL::Test::Utils::tempdir();
my $odd = q{"My ""odd"" $chema\"};

$node->init(@encoding);
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE app; CREATE ROLE monitor; CREATE DATABASE src; CREATE DATABASE odd');
fill('src', 'public');
fill('odd', $odd);

# Creates the extension in a schema, with 200 saves over 20 instances of all kinds, with results, and
# with something in every table.
sub fill
{
	my ($db, $schema) = @_;

	$node->safe_psql($db, "CREATE SCHEMA $schema") if $schema ne 'public';
	$node->safe_psql($db, <<SQL);
CREATE EXTENSION sayiir_pg SCHEMA $schema;
GRANT USAGE ON SCHEMA $schema TO app;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA $schema TO app;
REVOKE EXECUTE ON FUNCTION $schema.sayiir_delete_snapshot(text) FROM app;
GRANT SELECT ON $schema.sayiir_workflow_snapshots TO monitor;
SET search_path = $schema;
-- Ids and texts with everything that COPY or a literal could trip over; bytes from none to 60 kB.
CREATE TEMP TABLE ids AS SELECT g AS n,
	CASE g % 5 WHEN 0 THEN format(E'tab\\tnewline\\n%s', g) WHEN 1 THEN format(E'\\\\. \\\\N %s', g)
		WHEN 2 THEN format('"quoted" ''%s''', g) WHEN 3 THEN format('é %s', g) ELSE format(' plain %s ', g) END AS id
	FROM generate_series(1, 20) g;
SELECT sayiir_save_snapshot(
	data => CASE v % 4 WHEN 0 THEN '' WHEN 1 THEN '\\x00ff5c270a00' ELSE
		(SELECT string_agg(sha256((n || ' ' || v || ' ' || i)::bytea), '') FROM generate_series(1, 100 * n) i) END,
	instance_id => id,
	status => CASE WHEN v < 10 THEN 'InProgress' ELSE (ARRAY['Completed', 'Failed', 'Cancelled', 'InProgress', 'Paused'])[1 + n % 5] END,
	definition_hash => sha256('wf'), current_task_id => CASE WHEN v < 10 OR n % 5 = 3 THEN sayiir_task_id('task ' || v) END,
	error => CASE WHEN v = 10 AND n % 5 = 1 THEN E'went\\twrong \\\\ ' || n END,
	position_kind => 'AtTask', delay_wake_at => CASE v % 3 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' END::timestamptz,
	trace_parent => '00-' || md5(n::text), task_priority => 1 + v % 5,
	task_tags => CASE WHEN (v + n) % 2 = 0 THEN '{}' ELSE ARRAY['a''b', 'c\\d', 'NULL', '', ' x,y{}"', 'é'] END,
	last_completed_task_id => CASE WHEN v > 1 THEN sayiir_task_id('task ' || v - 1) END,
	last_completed_output => CASE WHEN v > 1 AND v % 3 > 0 THEN sha256(v::text::bytea) WHEN v > 1 THEN '' END)
FROM ids, generate_series(1, 10) v ORDER BY v, n;
SELECT sayiir_save_task_result(id, sayiir_task_id('extra ' || n), decode(repeat('00ff', n * 100), 'hex'))
FROM ids WHERE n % 5 = 3 ORDER BY n;
SELECT sayiir_claim_task(id, sayiir_task_id('task 10'), 'worker') FROM ids WHERE n = 8;
SELECT sayiir_store_signal(id, 'Pause', 'why', 'me') FROM ids WHERE n = 13;
SELECT sayiir_send_event(id, 'signal ' || n, convert_to(id, 'UTF8')) FROM ids;
SQL
	is($node->safe_psql($db, "SELECT count(*) FROM $schema.sayiir_workflow_snapshot_history"),
		204, "$db has 200 saves and 4 results");
	return;
}

# Count and digest of each table of the extension, of all loads, and the rights on all of it.
sub contents
{
	my ($server, $db, $schema) = @_;

	return $server->safe_psql($db, <<SQL);
-- A dump has no use for the third column of a sequence.
SELECT format('SELECT %L, count(*) || '' rows'', md5(string_agg(t::text, E''\\n'' ORDER BY t::text COLLATE "C")) FROM (SELECT %s FROM %s) t',
	c.relname, CASE c.relkind WHEN 'S' THEN 'last_value, is_called' ELSE '*' END, c.oid::regclass)
FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND c.relkind IN ('r', 'p', 'S')
ORDER BY c.relname \\gexec
-- In which order the outputs of a load come is left open.
SELECT 'loads', count(*), md5(string_agg(id || (to_jsonb(l) - 'task_ids' - 'outputs')
	|| (SELECT coalesce(string_agg(t::text || o::text, ' ' ORDER BY t), '') FROM unnest(task_ids, outputs) AS pair (t, o)),
	E'\\n' ORDER BY id COLLATE "C"))
FROM $schema.sayiir_list_snapshots() id, $schema.sayiir_load_snapshot(id) l;
SELECT string_agg(what || ': ' || acl, E'\\n' ORDER BY what, acl) FROM (
	SELECT p.proname || ' ' || p.pronargs AS what, a::text AS acl FROM pg_proc p, unnest(p.proacl) a WHERE p.proname LIKE 'sayiir%'
	UNION ALL
	SELECT c.relname, a::text FROM pg_class c, unnest(c.relacl) a WHERE c.relname LIKE 'sayiir%') x
SQL
}

my %expected = (src => contents($node, 'src', 'public'), odd => contents($node, 'odd', $odd));
unlike($expected{src}, qr/\|0 rows/, 'every table of the extension has rows to carry');
like($expected{src}, qr/sayiir_workflow_versions\|.*\nloads\|20\|/, 'every instance can be loaded');
like($expected{src}, qr/sayiir_save_snapshot \d+: app=X/, 'the rights are looked at');

is($node->safe_psql('src', <<'SQL'), '', 'every table of the extension is marked for the dump');
SELECT d.objid::regclass FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'sayiir_pg'
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND c.relkind IN ('r', 'p', 'S') AND c.oid <> ALL (e.extconfig)
SQL

# What was restored is equal, and can be written on.
sub restored_ok
{
	my ($server, $db, $source, $test, $rights) = @_;
	my $schema = $source eq 'odd' ? $odd : 'public';
	my ($is, $expected) = (contents($server, $db, $schema), $expected{$source});
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	# A dump of data alone knows nothing of rights.
	s/^loads[^\n]*\n\K.*//sm for $rights ? () : ($is, $expected);
	is($is, $expected, "$test: rows, loads and rights are equal");
	my $on = join(', ', 'data => \'more\'', "instance_id => 'é 3'", "status => 'InProgress'", "definition_hash => sha256('wf')");
	is($server->safe_psql($db, ($rights ? 'SET ROLE app;' : '') . "SELECT $schema.sayiir_save_snapshot($on)"),
		12, "$test: writing goes on at the next version");
	is($server->safe_psql($db, "SELECT $schema.sayiir_send_event('é 3', 'signal 3', 'more'); "
			  . "SELECT convert_from($schema.sayiir_consume_event('é 3', 'signal 3'), 'UTF8') FROM generate_series(1, 2)"),
		"f\né 3\nmore", "$test: events go on behind those that were there");
	is($server->safe_psql($db, "SELECT * FROM $schema.sayiir_check_integrity()"), '', "$test: the store is sound");
	return;
}

# Runs psql on a dump, which must not complain.
sub run_plain
{
	my ($db, $file, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	$node->command_checks_all(
		[ 'psql', '-XqAt', '-1', '-v', 'ON_ERROR_STOP=1', '-d', $db, '-f', $file ],
		0, [], [qr/\A\z/], $test);
	return;
}

# The whole server.
my $other = PostgreSQL::Test::Cluster->new('restored');
$other->init(@encoding);
$other->start;
$node->command_ok([ 'pg_dumpall', '-f', "$dir/all.sql" ], 'pg_dumpall');
my ($status, $stdout, $stderr) = $other->psql('postgres', '', on_error_stop => 0, extra_params => [ '-f', "$dir/all.sql" ]);
is(join("\n", grep { !/role "\w+" already exists/ } split /\n/, $stderr), '', 'pg_dumpall restores without an error');
restored_ok($other, $_, $_, "$_, pg_dumpall", 1) for ('src', 'odd');

# The usual way, and the plain format.
foreach my $source ('src', 'odd')
{
	$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/$source.dump", $source ], "$source: pg_dump -Fc");
	$node->safe_psql('postgres', "CREATE DATABASE ${source}_custom");
	$node->command_checks_all([ 'pg_restore', '--exit-on-error', '-d', "${source}_custom", "$dir/$source.dump" ],
		0, [], [qr/\A\z/], "$source: pg_restore");
	restored_ok($node, "${source}_custom", $source, "$source, -Fc", 1);
}
$node->command_ok([ 'pg_dump', '-f', "$dir/src.sql", 'src' ], 'pg_dump in plain format');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
run_plain('plain', "$dir/src.sql", 'psql');
restored_ok($node, 'plain', 'src', 'plain', 1);

# Data alone, into an extension that was just created.
$node->command_ok([ 'pg_dump', '--data-only', '-f', "$dir/data.sql", 'src' ], 'pg_dump --data-only');
$node->safe_psql('postgres', 'CREATE DATABASE data_only');
$node->safe_psql('data_only', 'CREATE EXTENSION sayiir_pg');
run_plain('data_only', "$dir/data.sql", 'psql with the data alone');
restored_ok($node, 'data_only', 'src', '--data-only', 0);

# By schema. PostgreSQL leaves CREATE EXTENSION out of such a dump unless it is asked for; the rows are in it.
$node->command_ok([ 'pg_dump', '-Fc', '-n', $odd, '-f', "$dir/schema.dump", 'odd' ], 'pg_dump -n');
$node->safe_psql('postgres', 'CREATE DATABASE by_schema');
$node->safe_psql('by_schema', "CREATE SCHEMA $odd; CREATE EXTENSION sayiir_pg SCHEMA $odd");
$node->command_checks_all([ 'pg_restore', '--exit-on-error', '--data-only', '-d', 'by_schema', "$dir/schema.dump" ],
	0, [], [qr/\A\z/], 'pg_restore of the schema\'s data');
restored_ok($node, 'by_schema', 'odd', '-n', 0);

$node->command_ok([ 'pg_dump', '-n', $odd, '-e', 'sayiir_pg', '-f', "$dir/both.sql", 'odd' ], 'pg_dump -n -e');
$node->safe_psql('postgres', 'CREATE DATABASE by_both');
run_plain('by_both', "$dir/both.sql", 'psql with schema and extension');
restored_ok($node, 'by_both', 'odd', '-n -e', 1);

$node->stop;
$other->stop;
done_testing();
