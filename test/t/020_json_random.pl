# Random JSON snapshots, saved and edited, against an edit written anew in Python: test/t/json_oracle.py.
#
# SAYIIR_SEED and SAYIIR_SHAPES choose other snapshots, and more of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

# Debian's own Python, which has the psycopg of the package python3-psycopg, before another one of the PATH.
my $python = -x '/usr/bin/python3' ? '/usr/bin/python3' : 'python3';
plan skip_all => 'python3 with psycopg 3 is needed'
  if system("$python -c 'import psycopg' >/dev/null 2>&1") != 0;

my $node = new_node('json_random');
my $seed = $ENV{SAYIIR_SEED} // 'sayiir';
my $shapes = $ENV{SAYIIR_SHAPES} // 220;

my $output = '';
my $good = IPC::Run::run([ $python, "$FindBin::RealBin/json_oracle.py", $node->connstr('postgres'), $seed, $shapes ],
	'>', \$output, '2>', \my $errors);
foreach my $line (split /\n/, $output)
{
	if ($line =~ /^(not )?ok \d+ - (.*)/) { ok(!$1, $2); }
	elsif ($line =~ /^#/) { diag($line); }
}
ok($good, 'the oracle comes to its end') or diag($errors);
integrity_ok($node, 'postgres', 'the store is sound');
log_has_only($node, 0, [], 'without an error on the way');

done_testing();
