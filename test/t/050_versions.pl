# CASES B15, B25: from each version of the extension to the newest, with rows in it, by every update script in
# the tree: what comes out is what a fresh installation gives, the rows stay, and calls that were understood
# still are. Then the same with a version that is made up here, to see that this suite would notice.
#
# On the way, library and SQL objects meet in all combinations: either can be the newer one for a while, and a
# session keeps the library that it has loaded.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use SayiirVersions;
use Test::More;

my $tree = "$FindBin::RealBin/../..";
my ($version) = slurp_file("$tree/sayiir_pg.control") =~ /^default_version\s*=\s*'([^']+)'/m;

# A tree and a stage of its own, into which versions are installed that nobody has seen.
my $dir = PostgreSQL::Test::Utils::tempdir();
my ($copy, $stage) = ("$dir/tree", "$dir/stage");
mkdir $copy;
# With the objects: they are built already.
system_or_bail('sh', '-c', 'cp -pR "$1"/Makefile "$1"/sayiir_pg.control "$1"/sayiir_pg--*.sql "$1"/src "$1"/.build-flags "$2"',
	'sh', $tree, $copy);
chomp(my $settings = `cd '$tree' && STAGE='$stage' bash -c '. dev/env.sh && extension_conf'`);
chomp(my $sharedir = `'$ENV{PG_CONFIG}' --sharedir`);
my $extensions = "$stage$sharedir/extension";

# Installs what the tree has now: the library and the SQL, or the SQL alone.
sub install_stage
{
	my ($what) = @_;
	my @make = ('make', '-s', '-C', $copy, "PG_CONFIG=$ENV{PG_CONFIG}", 'WERROR=1', "EXTVERSION=$version");

	if ($what eq 'all')
	{
		command_ok([ @make, "DESTDIR=$stage", 'install' ], 'the library and the scripts are installed');
	}
	else
	{
		system_or_bail('sh', '-c', 'cp "$1"/sayiir_pg.control "$1"/sayiir_pg--*.sql "$2"', 'sh', $copy, $extensions);
	}
	return;
}

sub write_file
{
	my ($file, $content) = @_;

	open my $handle, '>', $file or die "$file: $!";
	print $handle $content;
	close $handle or die "$file: $!";
	return;
}

install_stage('all');
my $node = PostgreSQL::Test::Cluster->new('versions');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "$settings\n");
$node->start;

# --- The versions in the tree ---------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE one');
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION sayiir_pg') for ('one', 'other');
is(join("\n", differences(describe($node, 'one'), describe($node, 'other'))), '', 'two installations are described alike');
like(describe($node, 'one'), qr/^$_/m, "the description has lines of $_")
  for ('member', 'dumped', 'function', 'relation', 'column', 'constraint', 'index', 'view', 'sequence', 'comment', 'right', 'first right');

my @chains = chains($node, 'postgres', $version, $tree);
is($chains[0][-1], $version, "there is a way to version $version");
is(join("\n", walk($node, $tree, @$_)), '', 'from version ' . join(' to ', @$_)) for @chains;

# --- A version that is made up --------------------------------------------------------------------------------

# A column, a function with one more argument, and a table.
my $next = 'next';
my $table = <<'SQL';
CREATE TABLE sayiir_workflow_notes (
	instance_id text COLLATE "C" NOT NULL,
	note text NOT NULL DEFAULT 'none',
	CONSTRAINT sayiir_workflow_notes_pkey PRIMARY KEY (instance_id)
);
COMMENT ON TABLE sayiir_workflow_notes IS 'notes';
CREATE INDEX sayiir_workflow_notes_note_idx ON sayiir_workflow_notes (note);
SELECT pg_catalog.pg_extension_config_dump('sayiir_workflow_notes', '');
SQL
my $function = <<'SQL';
CREATE FUNCTION sayiir_task_id(name text, salt text = NULL)
RETURNS bytea
LANGUAGE C IMMUTABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'sayiir_task_id_salted';
REVOKE ALL ON FUNCTION sayiir_task_id(text, text) FROM PUBLIC;
COMMENT ON FUNCTION sayiir_task_id(text, text) IS 'the id of the task of that name';
SQL
my $column = q{COMMENT ON COLUMN sayiir_workflow_signals.note IS 'a note';} . "\n";
my $update = <<"SQL";
ALTER TABLE sayiir_workflow_signals ADD COLUMN note text NOT NULL DEFAULT '';
${column}DROP FUNCTION sayiir_task_id(text);
$function$table
SQL
my $script = slurp_file("$tree/sayiir_pg--$version.sql");
$script =~ s/(CREATE TABLE sayiir_workflow_signals \(.*?)(\n\tCONSTRAINT)/$1\n\tnote text NOT NULL DEFAULT '',$2/s or die;
$script =~ s/^CREATE FUNCTION sayiir_task_id\(.*?^COMMENT ON FUNCTION sayiir_task_id\(text\)\s+IS '[^']*';\n/$function/ms or die;
$script .= $column . $table;
write_file("$copy/sayiir_pg--$next.sql", $script);
write_file("$copy/sayiir_pg--$version--$next.sql", $update);
(my $control = slurp_file("$copy/sayiir_pg.control")) =~ s/'\Q$version\E'/'$next'/;
write_file("$copy/sayiir_pg.control", $control);
write_file("$copy/src/next_version.c", <<'C');
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "arg.h"
#include "sql_function.h"

SQL_FUNCTION(sayiir_task_id_salted, 2)
{
	Datum		name;

	arg_require(fcinfo, 0, "name");
	name = PG_GETARG_DATUM(0);
	if (!PG_ARGISNULL(1))
		name = DirectFunctionCall2(textcat, name, PG_GETARG_DATUM(1));
	PG_RETURN_DATUM(DirectFunctionCall1(sha256_bytea, name));
}
C

# A session that has loaded the library and prepared its statements, on an extension that will be updated.
my $save = "SELECT sayiir_save_snapshot('data', instance_id => 'i', status => 'InProgress', definition_hash => sha256('wf'))";
my $id = "SELECT sayiir_task_id('a') = sha256('a')";
my $old = session($node, 'one');
is($old->query_safe("$save; $id"), "1\nt", 'a session has the library of before');
my $before = describe($node, 'one');

# The SQL is there before its library.
install_stage('scripts');
my ($status, $stdout, $stderr) = $node->psql('one', 'ALTER EXTENSION sayiir_pg UPDATE');
like($stderr, qr/could not find function "sayiir_task_id_salted" in file/, 'the SQL of a newer library is refused');
is(describe($node, 'one'), $before, 'and nothing of it is left');

# The library is there before its SQL.
install_stage('all');
is($node->safe_psql('one', "$save; $id"), "2\nt", 'a new library works with the SQL of before');
is($old->query_safe("$save; $id"), "3\nt", 'and so does a session with the library of before');

# Something of the user's hangs on a function that the update makes anew.
$node->safe_psql('one', "CREATE VIEW uses AS SELECT sayiir_task_id('x')");
($status, $stdout, $stderr) = $node->psql('one', 'ALTER EXTENSION sayiir_pg UPDATE');
like($stderr, qr/cannot drop function sayiir_task_id\(text\) because other objects depend on it\n.*view uses depends/,
	'an update says which view is in its way');
is(describe($node, 'one'), $before, 'and nothing of it is left');
$node->safe_psql('one', 'DROP VIEW uses');

# The update, while a session with the library of before is open.
$node->safe_psql('one', 'ALTER EXTENSION sayiir_pg UPDATE');
is($old->query_safe($save), '4', 'functions that are as they were work on with the library of before');
$old->query($id);
like($old->{stderr}, qr/42883/, 'others say that they are not in it');
$old->{stderr} = '';
is($old->query_safe($save), '5', 'and the session goes on');
$old->quit;
is($node->safe_psql('one', "$save; $id; SELECT sayiir_task_id('a', 'b') = sha256('ab')"), "6\nt\nt", 'after connecting again all is new');
integrity_ok($node, 'one', 'the store is sound');

is(join("\n", walk($node, $copy, @$_)), '', 'from version ' . join(' to ', @$_)) for chains($node, 'postgres', $next, $copy);

# --- Update scripts that are wrong ------------------------------------------------------------------------------

# What is changed in the right one, and what has to be said about it.
my @drifts = (
	[ 'a comment is missing', sub { s/^COMMENT ON TABLE.*\n//m }, qr/only in a fresh installation: comment \| public\.sayiir_workflow_notes/ ],
	[ 'a comment of a column is missing', sub { s/^COMMENT ON COLUMN.*\n//m }, qr/fresh installation: comment \| public\.sayiir_workflow_signals\.note/ ],
	[ 'a default is another', sub { s/DEFAULT 'none'/DEFAULT 'nothing'/ }, qr/only after the update: column \| sayiir_workflow_notes\.note .*'nothing'/ ],
	[ 'NOT NULL is forgotten', sub { s/text NOT NULL DEFAULT ''/text DEFAULT ''/ }, qr/only after the update: column \| sayiir_workflow_signals\.note/ ],
	[ 'columns are in another order', sub { s/(\tinstance_id.*\n)(\tnote.*\n)/$2$1/ }, qr/only after the update: column \| sayiir_workflow_notes\.note \| number 1/ ],
	[ 'a constraint has another name', sub { s/notes_pkey/notes_key/ }, qr/only after the update: constraint \| sayiir_workflow_notes sayiir_workflow_notes_key/ ],
	[ 'an index is missing', sub { s/^CREATE INDEX.*\n//m }, qr/only in a fresh installation: index \| sayiir_workflow_notes_note_idx/ ],
	[ 'the table is not marked for the dump', sub { s/^SELECT pg_catalog\.pg_ext.*\n//m }, qr/only in a fresh installation: dumped \| sayiir_workflow_notes/ ],
	[ 'not all of its rows are', sub { s/notes', ''/notes', 'WHERE false'/ }, qr/only after the update: dumped \| sayiir_workflow_notes \| WHERE WHERE false/ ],
	[ 'everybody may call it', sub { s/^REVOKE.*\n//m }, qr/only after the update: right \| public\.sayiir_task_id\(.*\) \| public: EXECUTE/ ],
	[ 'everybody may read it', sub { $_ .= "GRANT SELECT ON sayiir_workflow_notes TO PUBLIC;\n" }, qr/only after the update: first right \| public\.sayiir_workflow_notes \| public: SELECT/ ],
	[ 'a function has another property', sub { s/ PARALLEL SAFE// }, qr/only after the update: function \| sayiir_task_id\(text,text\)/ ],
	[ 'storage is another', sub { $_ .= "ALTER TABLE sayiir_workflow_notes SET (fillfactor = 50);\n" }, qr/only after the update: relation \| sayiir_workflow_notes .*fillfactor=50/ ],
	[ 'an object is left over', sub { $_ .= "CREATE FUNCTION sayiir_left_over() RETURNS integer LANGUAGE sql AS 'SELECT 1';\n" }, qr/only after the update: member \| public\.sayiir_left_over\(\)/ ],
	[ 'the old function stays beside the new', sub { s/^DROP FUNCTION.*\n//m }, qr/the call no longer resolves: sayiir_task_id\(NULL\)/ ],
	[ 'an argument has another name', sub { s/name text, salt/task text, salt/ }, qr/the call no longer resolves: sayiir_task_id\(name => NULL\)/ ],
	[ 'an argument of a symbol has another type', sub { s/(task_id\()name text, salt text = NULL/$1name bytea/; s/_salted//; s/text, text/bytea/g },
		qr/sayiir_task_id with 1 arguments was \(text\) returns bytea, and is \(bytea\) returns bytea/ ],
	[ 'a row is lost', sub { $_ .= "DELETE FROM sayiir_workflow_events WHERE instance_id = 'i1';\n" }, qr/the rows were\n.*sayiir_workflow_events\|3\|.*and are\n.*sayiir_workflow_events\|2\|/s ],
	[ 'a row is changed', sub { $_ .= "UPDATE sayiir_workflow_signals SET reason = upper(reason);\n" }, qr/the rows were/ ],
	[ 'it fails', sub { $_ .= "SELECT 1 / 0;\n" }, qr/the update fails: .*division by zero/ ]);

foreach my $drift (@drifts)
{
	my ($name, $change, $expected) = @$drift;

	local $_ = $update;
	$change->();
	isnt($_, $update, "an update script in which $name") or next;
	write_file("$extensions/sayiir_pg--$version--$next.sql", $_);
	like(join("\n", walk($node, $copy, $version, $next)), $expected, 'is noticed');
}

$node->stop;
done_testing();
