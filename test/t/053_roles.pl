# The recipes for roles in the README, run as they are written there: each role can do its work and
# nothing else (CASES B34). Then the same under what an administrator may add: row security on every
# table, and event triggers that refuse every definition of an object.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('roles');
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE SCHEMA sayiir; CREATE EXTENSION sayiir_pg SCHEMA sayiir; CREATE ROLE nobody LOGIN');

# --- The recipes as written ---------------------------------------------------------------------

my ($chapter) = slurp_file("$FindBin::RealBin/../../README.md") =~ /^## Privileges\n(.*?)^## /ms;
my @recipes = $chapter =~ /^```sql\n(.*?)^```/msg;

is(scalar(@recipes), 5, 'the README has five recipes');
for my $n (1 .. @recipes)
{
	my ($role) = $recipes[$n - 1] =~ /CREATE ROLE (\w+)/;

	append_to_file("$dir/$n.sql", $recipes[$n - 1]);
	my ($out, $err) = run_command([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', "$dir/$n.sql" ]);
	is("$out$err", '', "$role: the recipe runs");
}

# The SQLSTATE of SQL that a role runs, '' for success.
sub state_as
{
	my ($role, $sql) = @_;
	my ($status, undef, $stderr) = $node->psql('postgres', $sql, extra_params => [ '-U', $role, '-v', 'VERBOSITY=sqlstate' ]);

	return $status == 0 ? '' : $stderr =~ /(?:ERROR|FATAL):\s+(\w{5})\s*$/m ? $1 : $stderr;
}

# --- What each of them does ---------------------------------------------------------------------

my $save = "SELECT sayiir_save_snapshot('one', 'wf', 'InProgress', sha256('def'), sha256('t1'))";
my $claim = "SELECT instance_id FROM sayiir_claim_tasks('w', definition_hashes => ARRAY[sha256('def')])";
my $claim_and_end = "SELECT a.status FROM sayiir_claim_tasks('w', definition_hashes => ARRAY[sha256('def')]) c"
  . " CROSS JOIN LATERAL sayiir_advance('done'::bytea, c.claim_token, c.instance_id, 'Completed', sha256('def')) a";
my %work = (
	application => [ $save, "SELECT sayiir_delete_snapshot('wf')", $save, $claim, "SELECT sayiir_cancel('wf')", "SELECT sayiir_send_event('wf', 'e', 'x')",
		'SELECT sayiir_check_integrity()', "SELECT sayiir_delete_snapshot('wf')" ],
	worker => [ "SELECT sayiir_save_snapshot('one', 'done', 'InProgress', sha256('def'), sha256('t1'))", $claim_and_end, $save,
		'SELECT sayiir_save_snapshots(ARRAY[\'one\'::bytea], ARRAY[\'wf2\'], ARRAY[\'InProgress\'], ARRAY[sha256(\'def\')])',
		"SELECT sayiir_save_task_result('wf', sha256('t0'), 'out')", $claim, "SELECT sayiir_check_signals('wf')",
		"SELECT sayiir_load_snapshot('wf')", "SELECT sayiir_load_task_result('wf', sha256('t0'))", "SELECT sayiir_task_id('x')" ],
	operator => [ 'SELECT sayiir_list_snapshots()', "SELECT sayiir_pause('wf', 'by', 'why')", "SELECT sayiir_get_signal('wf', 'Pause')",
		"SELECT sayiir_clear_signal('wf', 'Pause')", "SELECT sayiir_send_event('wf', 'e', 'x')", 'SELECT sayiir_check_integrity()', 'SELECT sayiir_history_stats()',
		"SELECT sayiir_history('wf')", "SELECT sayiir_prune_history(10, '1 day')", "SELECT sayiir_delete_terminal('1 day')", 'SELECT sayiir_wakeup_stats()',
		"SELECT sayiir_prune_events('1 day')", 'TABLE sayiir_workflows', 'TABLE sayiir_queue', "SELECT sayiir_cancel('wf')" ],
	reader => [ "SELECT sayiir_load_snapshot('wf')", "SELECT sayiir_load_task_result('wf', sha256('t0'))", 'SELECT sayiir_list_snapshots()',
		"SELECT sayiir_history('wf')", "SELECT sayiir_history_data('wf', 1)", "SELECT sayiir_task_id('x')" ],
	dashboard => [ 'TABLE sayiir.sayiir_workflows', 'TABLE sayiir.sayiir_queue',
		'SELECT instance_id, version, status, current_task_id, created_at FROM sayiir.sayiir_workflow_snapshot_history',
		'SELECT instance_id, task_id, status, worker_id, started_at, completed_at, error FROM sayiir.sayiir_workflow_tasks' ]);
my %refused = (
	worker => [ "SELECT sayiir_cancel('wf')", "SELECT sayiir_delete_snapshot('wf')", 'SELECT sayiir_prune_history(1)', 'TABLE sayiir_workflows' ],
	operator => [ $save, "SELECT sayiir_load_snapshot('wf')", "SELECT sayiir_load_task_result('wf', sha256('t0'))", "SELECT sayiir_history_data('wf', 1)",
		$claim, "SELECT sayiir_delete_snapshot('wf')" ],
	reader => [ $save, $claim, "SELECT sayiir_cancel('wf')", 'TABLE sayiir_workflows', "SELECT sayiir_save_task_result('wf', sha256('t0'), 'x')" ],
	dashboard => [ 'SELECT data FROM sayiir.sayiir_workflow_snapshot_history', 'SELECT output FROM sayiir.sayiir_workflow_tasks',
		'TABLE sayiir.sayiir_workflow_claims', "SELECT sayiir.sayiir_load_snapshot('wf')" ],
	nobody => [ "SELECT sayiir.sayiir_load_snapshot('wf')" ]);
my @tables = split /\n/, $node->safe_psql('postgres',
	"SELECT c.oid::regclass FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e' WHERE relkind = 'r' ORDER BY 1");

# Lets every role do its work, and all that it may not do.
sub all_roles
{
	my ($when, $refusal) = @_;

	foreach my $role (qw(application worker operator reader dashboard nobody))
	{
		# A reader finds what a worker has left; what the role needs of a search_path, its recipe has set.
		my $path = $role eq 'reader' ? 'SET search_path = sayiir; ' : '';

		foreach my $sql (@{ $work{$role} // [] })
		{
			is(state_as($role, $path . $sql), '', "$when: $role may: $sql");
		}
		foreach my $sql (@{ $refused{$role} // [] })
		{
			is(state_as($role, $path . $sql), '42501', "$when: $role may not: $sql");
		}
		my @broken = grep { state_as($role, $_) !~ $refusal }
		  map { ("DELETE FROM $_", "TRUNCATE $_", "ALTER TABLE $_ ADD COLUMN x int", "INSERT INTO $_ DEFAULT VALUES", "DROP TABLE $_", "BEGIN; LOCK TABLE $_") } @tables;
		is("@broken", '', "$when: $role writes, empties, locks and alters no table");
	}
	return;
}

# The workflow that the worker takes and ends is the only one at that moment.
is(scalar(@tables), 7, 'the extension has seven tables');
all_roles('plain', qr/^42501$/);
is($node->safe_psql('postgres', "SELECT sayiir.sayiir_list_snapshots('Completed')"), 'done', 'the worker has ended a workflow');
is($node->safe_psql('postgres', <<'SQL'), '', 'without EXECUTE a role may call no function');
SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sayiir_pg') AND has_function_privilege('nobody', p.oid, 'EXECUTE')
SQL

# --- An administrator's additions ---------------------------------------------------------------

$node->safe_psql('postgres', "SELECT sayiir.sayiir_delete_snapshot(id) FROM sayiir.sayiir_list_snapshots() id");
$node->safe_psql('postgres', join('', map { "ALTER TABLE $_ ENABLE ROW LEVEL SECURITY; ALTER TABLE $_ FORCE ROW LEVEL SECURITY; CREATE POLICY none ON $_ USING (false) WITH CHECK (false);" } @tables)
	. <<'SQL');
CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no definition of objects here: %', tg_tag; END $$;
CREATE EVENT TRIGGER starts ON ddl_command_start EXECUTE FUNCTION refuse();
CREATE EVENT TRIGGER ends ON ddl_command_end EXECUTE FUNCTION refuse();
CREATE EVENT TRIGGER rewrites ON table_rewrite EXECUTE FUNCTION refuse();
CREATE EVENT TRIGGER drops ON sql_drop EXECUTE FUNCTION refuse();
SQL
# A trigger is first to refuse a definition.
all_roles('with row security and event triggers', qr/^(42501|P0001)$/);
is($node->safe_psql('postgres', 'SELECT * FROM sayiir.sayiir_check_integrity()'), '', 'the store is sound');

$node->stop;
done_testing();
