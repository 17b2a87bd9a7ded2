# What the suite on versions of the extension does: describes an extension, fills it, walks it from version
# to version, and tells what went wrong on the way.
package SayiirVersions;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(describe differences chains walk);

# Everything that the catalogs of a database say about the extension, as lines.
sub describe
{
	my ($node, $db) = @_;

	return $node->safe_psql($db, slurp_file("$FindBin::RealBin/describe_extension.sql"));
}

# The lines of one description that another has not, in both directions.
sub differences
{
	my ($fresh, $updated) = @_;
	my %fresh = map { $_ => 1 } split /\n/, $fresh;
	my %updated = map { $_ => 1 } split /\n/, $updated;

	return ((map { "only in a fresh installation: $_" } grep { !$updated{$_} } sort keys %fresh),
		(map { "only after the update: $_" } grep { !$fresh{$_} } sort keys %updated));
}

# The ways to a version, each a list of versions: from every version that has an installation script by the
# way the server takes, and once over every update script.
sub chains
{
	my ($node, $db, $newest, $folder) = @_;
	my @files = map { m{sayiir_pg--([^/]+)\.sql\z} ? $1 : () } sort glob("$folder/sayiir_pg--*.sql");
	my @installed = grep { !/--/ } @files;
	my %path = map { my ($from, $to, $path) = split /\|/; ("$from|$to" => $path) }
	  split /\n/, $node->safe_psql($db, "SELECT source, target, path FROM pg_extension_update_paths('sayiir_pg') WHERE path IS NOT NULL");
	my %chains;

	foreach my $from (@installed)
	{
		$chains{$from} = 1 if $from eq $newest;
		$chains{ $path{"$from|$newest"} } = 1 if defined $path{"$from|$newest"};
	}
	foreach my $update (grep { /--/ } @files)
	{
		my ($from, $to) = split /--/, $update;
		my ($base) = grep { $_ eq $from || defined $path{"$_|$from"} } @installed;
		my $to_newest = $to eq $newest ? $to : $path{"$to|$newest"};

		die "no installation script leads to $from, or $to not to $newest" if !defined $base || !defined $to_newest;
		$chains{ ($base eq $from ? $from : $path{"$base|$from"}) . "--$to_newest" } = 1;
	}
	return map { [ split /--/ ] } sort keys %chains;
}

# Rows in every table, by calls that every version has.
sub fill
{
	return <<'SQL';
SELECT sayiir_save_snapshot(data => convert_to(repeat('snapshot ' || v, 300), 'UTF8'), instance_id => 'i' || n,
	status => CASE WHEN v = 5 AND n % 5 = 0 THEN 'Completed' ELSE 'InProgress' END, definition_hash => sha256('wf'),
	current_task_id => sha256(v::text::bytea), last_completed_task_id => sha256((v - 1)::text::bytea),
	last_completed_output => sha256(v::text::bytea), task_tags => ARRAY['t' || n % 3])
FROM generate_series(1, 5) v, generate_series(1, 20) n ORDER BY v, n;
SELECT count(*) FROM sayiir_claim_tasks('worker', 3, NULL, '{t0,t1,t2}');
SELECT sayiir_store_signal('i1', 'Pause', 'why', 'me');
SELECT sayiir_send_event('i' || n, 'name', 'payload') FROM generate_series(1, 3) n;
SQL
}

# A call for each function, number of arguments, and set of names that resolves in this version, as a client
# without types would write it.
sub resolving_calls
{
	my ($node, $db) = @_;

	return split /\n/, $node->safe_psql($db, can_resolve() . <<'SQL');
WITH f AS (
	SELECT p.oid::regproc::text AS name, p.pronargs::integer AS most, (p.pronargs - p.pronargdefaults)::integer AS least, p.proargnames AS names
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'sayiir_pg'),
call AS (
	SELECT format('%s(%s)', name, array_to_string(array_fill('NULL'::text, ARRAY[n]), ', ')) AS text FROM f, generate_series(least, most) n
	-- by name: what is required, and with it each of the others, and all
	UNION SELECT format('%s(%s)', name, (SELECT string_agg(a || ' => NULL', ', ') FROM unnest(names[:most]) WITH ORDINALITY AS x(a, i)
		WHERE i <= least OR i = n OR n = most + 1)) FROM f, generate_series(1, most + 1) n)
SELECT text FROM call WHERE pg_temp.resolves(text) ORDER BY text COLLATE "C"
SQL
}

sub can_resolve
{
	return <<'SQL';
SET client_min_messages = warning;
CREATE OR REPLACE FUNCTION pg_temp.resolves(call text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'PREPARE tried AS SELECT * FROM ' || call;
	DEALLOCATE tried;
	RETURN true;
EXCEPTION WHEN undefined_function OR ambiguous_function THEN
	RETURN false;
END $$;
SQL
}

# The calls among these that do not resolve.
sub unresolved
{
	my ($node, $db, @calls) = @_;
	my $list = join(', ', map { "\$call\$$_\$call\$" } @calls);

	return split /\n/, $node->safe_psql($db, can_resolve()
		  . "SELECT c FROM unnest(ARRAY[$list]) c WHERE NOT pg_temp.resolves(c)");
}

# A query for number and digest of the rows of each table, by the columns that it has now.
sub contents_query
{
	my ($node, $db) = @_;

	return $node->safe_psql($db, <<'SQL');
SELECT string_agg(format('SELECT %L, count(*), md5(string_agg(t::text, E''\n'' ORDER BY t::text COLLATE "C")) FROM (SELECT %s FROM %s) t',
	c.relname, (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
		WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), c.oid::regclass), ' UNION ALL ' ORDER BY c.relname)
FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'sayiir_pg'
WHERE c.relkind = 'r'
SQL
}

# Which C symbol is declared how, by symbol and number of arguments.
sub symbols
{
	my ($node, $db) = @_;

	return map { my ($symbol, $shape) = split /\|/; ($symbol => $shape) } split /\n/, $node->safe_psql($db, <<'SQL');
SELECT format('%s with %s arguments', p.prosrc, p.pronargs),
	format('(%s) returns %s', oidvectortypes(p.proargtypes), pg_get_function_result(p.oid))
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'sayiir_pg'
JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'c'
SQL
}

# Creates the first version of a chain in a database of its own, fills it, and updates from version to version.
# A version for which the folder also has an installation script must be equal to that. Returns what is wrong, as
# lines.
sub walk
{
	my ($node, $folder, @chain) = @_;
	my $first = shift @chain;
	my ($walked, $fresh) = ('walked', 'fresh');
	my (@wrong, %declared);

	foreach my $db ($walked, $fresh)
	{
		$node->safe_psql('postgres', "SET client_min_messages = warning; DROP DATABASE IF EXISTS $db");
		$node->safe_psql('postgres', "CREATE DATABASE $db");
	}
	$node->safe_psql($walked, "CREATE EXTENSION sayiir_pg VERSION '$first';" . fill());
	my @calls = resolving_calls($node, $walked);
	my $query = contents_query($node, $walked);
	my $contents = $node->safe_psql($walked, $query);
	push @wrong, "some tables have no row before the update, fill() needs more:\n$contents" if @chain && $contents =~ /\|0\|/;
	push @wrong, 'no call resolves' if @calls < 50;

	my $version = $first;
	while (1)
	{
		my %now = symbols($node, $walked);
		foreach my $symbol (sort keys %now)
		{
			push @wrong, "$version: $symbol was $declared{$symbol}, and is $now{$symbol}: it needs another symbol"
			  if defined $declared{$symbol} && $declared{$symbol} ne $now{$symbol};
		}
		%declared = (%declared, %now);

		last if !defined($version = shift @chain);
		my ($status, $stdout, $stderr) = $node->psql($walked, "ALTER EXTENSION sayiir_pg UPDATE TO '$version'");
		if ($status != 0)
		{
			push @wrong, "$version: the update fails: $stderr";
			last;
		}
		push @wrong, map { "$version: the call no longer resolves: $_" } unresolved($node, $walked, @calls);
		# Calls that came with this version are old ones from now on.
		@calls = resolving_calls($node, $walked);
		my ($read, $now) = $node->psql($walked, $query);
		push @wrong, "$version: the rows were\n$contents\nand are\n" . ($now // 'not to be read') if $read != 0 || $now ne $contents;
		$query = contents_query($node, $walked);
		$contents = $node->safe_psql($walked, $query);

		# Without a script of its own the server would install it by an update.
		if (-e "$folder/sayiir_pg--$version.sql")
		{
			$node->safe_psql($fresh, "SET client_min_messages = warning; DROP EXTENSION IF EXISTS sayiir_pg; CREATE EXTENSION sayiir_pg VERSION '$version'");
			push @wrong, map { "$version: $_" } differences(describe($node, $fresh), describe($node, $walked));
		}
	}
	my (undef, $unsound) = $node->psql($walked, 'SELECT * FROM sayiir_check_integrity()');
	push @wrong, "not sound: $unsound" if ($unsound // 'no answer') ne '';
	# Writing goes on.
	my (undef, $saved, $error) = $node->psql($walked,
		"SELECT sayiir_save_snapshot('more', instance_id => 'i2', status => 'InProgress', definition_hash => sha256('wf'))");
	push @wrong, "the next save: $saved $error" if $saved ne '6';
	return @wrong;
}

1;
