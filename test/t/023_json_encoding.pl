# JSON snapshots are UTF-8 whatever the database is: what it cannot hold is refused, what it need not hold is kept.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = new_node('json_encoding');

# Payloads are written in ASCII here, with the escapes of JSON; RAW in one stands for bytes that are given apart.
sub make_db
{
	my ($db, $encoding) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $db ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	install($node, $db);
	$node->safe_psql($db, <<'SQL');
CREATE FUNCTION test.frame(id text, state text, more text, raw bytea = '') RETURNS bytea LANGUAGE sql AS $$
	SELECT '\x535952530101'::bytea || decode(replace(encode(convert_to(format(
		'{"instance_id":"%s","definition_hash":"%s","created_at":1,"updated_at":1,"state":%s%s}', id, repeat('0a', 32), state, more), 'UTF8'), 'hex'),
		encode('RAW', 'hex'), encode(raw, 'hex')), 'hex') $$;
CREATE FUNCTION test.written() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM sayiir_workflow_snapshot_history $$;
SQL
	return;
}
my $at_task = '{"InProgress":{"position":{"AtTask":{"task_id":"' . '0b' x 32 . '"}},"completed_tasks":{}}}';
my $failed = '{"Failed":{"error":"%s"}}';

make_db('latin1', 'LATIN1');

# What LATIN1 holds arrives in it: the id (escaped, or in the bytes of UTF-8), the error, the tags.
is($node->safe_psql('latin1', "SELECT sayiir_save_snapshot(test.frame('caf\\u00e9', '" . sprintf($failed, 'p\\u00e9ch\\u00e9') . "', ',\"task_tags\":[\"\\u00fc\",\"t\"]'))"), 1,
	'LATIN1: a snapshot with e acute is saved');
is($node->safe_psql('latin1', <<'SQL'), '\x636166e9|\x70e96368e9|\xfc|t', 'LATIN1: its texts are in LATIN1');
SELECT instance_id::bytea, error::bytea, task_tags[1]::bytea, task_tags[2] FROM sayiir_workflow_snapshots
SQL
is($node->safe_psql('latin1', "SELECT sayiir_save_snapshot(test.frame('RAW', '$at_task', '', '\\xc3a9'))"), 1, 'LATIN1: an id in the bytes of UTF-8');
is($node->safe_psql('latin1', "SELECT history_version, octet_length(instance_id) FROM sayiir_workflow_snapshots WHERE instance_id = chr(233)"), '1|1', 'LATIN1: is one character');
# The limit of 256 bytes is that of the stored text.
is($node->safe_psql('latin1', "SELECT sayiir_save_snapshot(test.frame(repeat('\\u00e9', 256), '$at_task', ''))"), 1, 'LATIN1: 256 characters are 256 bytes');
sqlstate_is($node, 'latin1', "SELECT sayiir_save_snapshot(test.frame(repeat('\\u00e9', 257), '$at_task', ''))", '22023', 'LATIN1: one more is too much');

# The edit finds the instance, and its bytes stay UTF-8; the snapshot that comes with a result is the same instance's.
is($node->safe_psql('latin1', "SELECT sayiir_save_task_result(chr(233), decode(repeat('0b', 32), 'hex'), 'out')"), 2, 'LATIN1: a result');
is($node->safe_psql('latin1', "SELECT position('\\xc3a9'::bytea in data) > 0 FROM sayiir_load_snapshot(chr(233))"), 't', 'LATIN1: the stored snapshot is still UTF-8');
is($node->safe_psql('latin1', "SELECT sayiir_save_task_result(chr(233), decode(repeat('0c', 32), 'hex'), 'out', test.frame('\\u00e9', '$at_task', ''))"), 3, 'LATIN1: a result with data');
sqlstate_is($node, 'latin1', "SELECT sayiir_save_task_result(chr(233), decode(repeat('0d', 32), 'hex'), 'out', test.frame('\\u00e8', '$at_task', ''))", '22023',
	'LATIN1: not with data of another instance');

# What LATIN1 does not hold: 22P05, and nothing is written.
my $written = $node->safe_psql('latin1', 'SELECT test.written()');
my %beyond = (
	'the instance id' => "test.frame('\\u0416', '$at_task', '')",
	'the instance id in bytes' => "test.frame('RAW', '$at_task', '', '\\xd096')",
	'the error' => "test.frame('e', '" . sprintf($failed, 'a\\u0416b') . "', '')",
	'a tag' => "test.frame('t', '$at_task', ',\"task_tags\":[\"a\",\"\\ud83d\\ude00\"]')");
sqlstate_is($node, 'latin1', "SELECT sayiir_save_snapshot($beyond{$_})", '22P05', "LATIN1: $_ cannot be held") foreach sort keys %beyond;
sqlstate_is($node, 'latin1', "SELECT sayiir_save_task_result(chr(233), decode(repeat('0d', 32), 'hex'), 'out', test.frame('\\u00e9', '$at_task', ',\"task_tags\":[\"\\u0416\"]'))", '22P05',
	'LATIN1: nor a tag that comes with a result');
is($node->safe_psql('latin1', 'SELECT test.written()'), $written, 'LATIN1: nothing of these was written');

# What stays in the bytes alone may be anything, and is kept.
is($node->safe_psql('latin1', "SELECT sayiir_save_snapshot(test.frame('kept', '$at_task', ',\"x\\u0416\":\"RAW\"', '\\xd096f09f9880'))"), 1, 'LATIN1: a member that nobody knows');
is($node->safe_psql('latin1', "SELECT sayiir_save_task_result('kept', decode(repeat('0b', 32), 'hex'), 'out')"), 2, 'LATIN1: is edited around');
is($node->safe_psql('latin1', "SELECT position('\\xd096f09f9880'::bytea in data) > 0 FROM sayiir_load_snapshot('kept')"), 't', 'LATIN1: and kept');
# Messages about it are in the database's encoding, whatever the member is called.
sqlstate_is($node, 'latin1', "SELECT sayiir_save_snapshot(test.frame('m', '{\"RAW\":{}}', '', '\\xd096'))", '22P03', 'LATIN1: an unknown state of another alphabet');
sqlstate_is($node, 'latin1', "SELECT sayiir_save_snapshot(test.frame('m', '$at_task', ',\"RAW\":1,\"RAW\":1', '\\xd096'))", '22P03', 'LATIN1: a member of another alphabet twice');
sqlstate_is($node, 'latin1', "SELECT sayiir_save_snapshot(test.frame('RAW', '$at_task', '', '\\xe9'))", '22P03', 'LATIN1: the payload itself must be UTF-8');
integrity_ok($node, 'latin1', 'LATIN1: the store is sound');

# A database without an encoding takes UTF-8 as it is.
make_db('sql_ascii', 'SQL_ASCII');
is($node->safe_psql('sql_ascii', "SELECT sayiir_save_snapshot(test.frame('\\u0416', '" . sprintf($failed, '\\ud83d\\ude00') . "', ''))"), 1, 'SQL_ASCII: a snapshot is saved');
is($node->safe_psql('sql_ascii', 'SELECT instance_id::bytea, error::bytea FROM sayiir_workflow_snapshots'), '\xd096|\xf09f9880', 'SQL_ASCII: its texts are UTF-8');
integrity_ok($node, 'sql_ascii', 'SQL_ASCII: the store is sound');

log_has_only($node, 0, [qw(22P03 22P05 22023)], 'no other errors');
done_testing();
