# Which saves wake a listener, and with exactly which payload.
#
# A listener has heard everything once it has heard a marker that was sent after the saves, since
# notifications arrive in the order of the commits. The payload is read here by a decoder of its own.
# Strings in this file are bytes, UTF-8 where they go beyond ASCII.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

my $node = new_node('wakeups');
my $listener;
my $marker = 0;

# Listens in a database, whose sessions are the subject from then on.
sub listen_in
{
	my ($db) = @_;

	$listener->quit if $listener;
	$listener = $node->background_psql($db);
	$listener->query_safe('LISTEN sayiir_task_ready');
	$listener->query_safe('LISTEN marker');
	return;
}

# Runs SQL in a session of its own (a statement that fails ends it) and returns what the listener
# heard of it: the payloads, in their order.
sub heard
{
	my ($db, $sql, %params) = @_;
	my $heard = '';
	my $tries = 10 * $PostgreSQL::Test::Utils::timeout_default;

	$node->psql($db, $sql, %params);
	$node->safe_psql($db, 'NOTIFY marker, \'' . ++$marker . '\'');
	until ($heard =~ /"marker" with payload "$marker"/)
	{
		die "the marker never came: $heard" if $tries-- == 0;
		$heard .= $listener->query_safe('SELECT') . "\n";
		select(undef, undef, undef, 0.1) if $tries < 10 * $PostgreSQL::Test::Utils::timeout_default - 3;
	}
	return map { /with payload "(.*)" received/ ? $1 : '' } grep { /"sayiir_task_ready"/ } split /\n/, $heard;
}

# One payload, and what it says.
sub says
{
	my ($payloads, $expected, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	is(scalar(@$payloads), 1, "$test: one wakeup") or return;
	my $hint = eval { decode_hint($payloads->[0]) };
	is($@, '', "$test: a listener can read it");
	return is_deeply($hint,
		{ version => 2, task_id => task_id('t1'), definition_hash => pack('A32', 'wf'), tags => [], %$expected }, $test);
}

listen_in('postgres');

# --- Which saves --------------------------------------------------------------------------------

says([ heard('postgres', "SELECT test.save('w', 'one')") ], { instance_id => 'w' }, 'a first save');
says([ heard('postgres', "SELECT test.save('w', 'two', cur => 't2', done => 't1', output => 'out')") ],
	{ instance_id => 'w', task_id => task_id('t2') }, 'a step forward');
says([ heard('postgres', "SELECT test.save('w', 'tags', tags => ARRAY['gpu', '', 'b', 'gpu', E'a\\nb\"', repeat('x', 300)])") ],
	{ instance_id => 'w', tags => [ 'gpu', '', 'b', 'gpu', "a\nb\"", 'x' x 300 ] }, 'tags in their order');
says([ heard('postgres', "SELECT test.save(repeat('i', 256), 'one')") ], { instance_id => 'i' x 256 }, 'a long id');
says([ heard('postgres', "SELECT test.save('e', 'one', expected => 0)") ], { instance_id => 'e' }, 'a save with expected_version');

foreach my $silent (
	[ 'no current task',       "SELECT test.save('w', 'x', cur => NULL)" ],
	[ 'paused',                "SELECT test.save('p', 'x', status => 'Paused')" ],
	[ 'a task result',         "SELECT test.result('w', 't3', 'out')" ],
	[ 'a task result with data', "SELECT test.result('w', 't4', 'out', data => 'x')" ],
	[ 'a repeat',              "SELECT test.save('e', 'one', expected => 0)" ],
	[ 'a version conflict',    "SELECT test.save('e', 'other', expected => 0)" ],
	[ 'a rollback',            "BEGIN; SELECT test.save('w', 'x'); ROLLBACK" ],
	[ 'a savepoint rolled back', "BEGIN; SAVEPOINT s; SELECT test.save('w', 'x'); ROLLBACK TO s; COMMIT" ],
	[ 'a refused argument',    "SELECT test.save('w', 'x', status => 'nonsense')" ],
	[ 'notify off',            "SET sayiir.notify = off; SELECT test.save('w', 'x')" ],
	[ 'loading',               "SELECT count(*) FROM sayiir_load_snapshot('w'); SELECT sayiir_list_snapshots()" ],
	[ 'deleting',              "SELECT sayiir_delete_snapshot('e')" ],
	map({ [ "the end $_", "SELECT test.save('$_', 'x'); SELECT test.save('$_', 'end', status => '$_')", 1 ] } qw(Completed Failed Cancelled)),
	[ 'a late save',           "SELECT test.save('Failed', 'late')" ],
	[ 'a late result',         "SELECT test.result('Failed', 't1', 'late')" ],
	[ 'the end once more',     "SELECT test.save('Failed', 'end', status => 'Failed')" ])
{
	my ($what, $sql, $before) = @$silent;

	is(scalar(heard('postgres', $sql)), $before // 0, "$what wakes nobody");
}
is($node->safe_psql('postgres', "SELECT history_version, completed_task_count FROM sayiir_load_snapshot('w')"),
	'7|3', 'what was to be saved silently was saved');

# --- Transactions -------------------------------------------------------------------------------

my @payloads = heard('postgres', "BEGIN; SELECT test.save('tx', 'one'); SELECT test.save('tx', 'two'); COMMIT");
says(\@payloads, { instance_id => 'tx' }, 'the same step saved twice in one transaction');
@payloads = heard('postgres', "BEGIN; SELECT test.save('tx', 'three', cur => 't2'); SELECT test.save('ty', 'one', cur => 't3'); COMMIT");
is_deeply([ map { decode_hint($_)->{task_id} } @payloads ], [ task_id('t2'), task_id('t3') ], 'two steps in one transaction: two wakeups');
@payloads = heard('postgres', "BEGIN; SELECT test.save('tx', 'four'); SAVEPOINT s; SELECT test.save('tx', 'five', cur => 't5'); ROLLBACK TO s; COMMIT");
says(\@payloads, { instance_id => 'tx' }, 'what was rolled back to a savepoint is not in it');
@payloads = heard('postgres', <<'SQL');
BEGIN; SET LOCAL sayiir.notify = off; SELECT test.save('tx', 'six', cur => 't6'); COMMIT; SELECT test.save('tx', 'seven', cur => 't7')
SQL
says(\@payloads, { instance_id => 'tx', task_id => task_id('t7') }, 'off for one transaction');
is_deeply([ heard('postgres', "SET sayiir.notify = transactional; SELECT test.save('tx', 'x', cur => 't6')") ],
	[ heard('postgres', "SELECT test.save('tx', 'x', cur => 't6')") ], 'transactional is the default');

# --- Length -------------------------------------------------------------------------------------

# 7,999 letters are what NOTIFY takes: 5,999 bytes, of which id and one tag have 90 beside the tag.
@payloads = heard('postgres', "SELECT test.save('l', 'one', tags => ARRAY[repeat('x', 5909)])");
says(\@payloads, { instance_id => 'l', tags => [ 'x' x 5909 ] }, 'as long as NOTIFY takes');
is(length($payloads[0]), 7999, 'that is 7,999 letters');
is_deeply([ heard('postgres', "SELECT test.save('l', 'two', tags => ARRAY[repeat('x', 5910)])") ], [''], 'one byte more: an empty payload');
is_deeply([ heard('postgres', "SELECT test.save('l', 'three', tags => (SELECT array_agg('tag ' || g) FROM generate_series(1, 10000) g))") ],
	[''], '10,000 tags: an empty payload');
is_deeply([ heard('postgres', "SELECT test.save('l', 'four', tags => ARRAY[repeat('x', 1048576)])") ], [''], 'a tag of a megabyte: an empty payload');
is($node->safe_psql('postgres', "SELECT history_version, convert_from(data, 'UTF8') FROM sayiir_load_snapshot('l')"),
	'4|four', 'each of these saves is kept');

# --- The decoder for SQL clients ----------------------------------------------------------------

my ($payload) = heard('postgres', "SELECT test.save('déjà', 'one', tags => ARRAY['a', 'ü', ''])");
is($node->safe_psql('postgres', <<SQL), 'déjà|t1|wf|{a,ü,""}', 'sayiir_decode_hint reads what was sent');
SELECT instance_id, rtrim(convert_from(task_id, 'UTF8')), rtrim(convert_from(definition_hash, 'UTF8')), tags FROM sayiir_decode_hint('$payload')
SQL
says([$payload], { instance_id => 'déjà', tags => [ 'a', 'ü', '' ] }, 'beyond ASCII');
is($node->safe_psql('postgres', "SELECT count(*) FROM sayiir_decode_hint('')"), 0, 'an empty payload says nothing');

# --- Encodings ----------------------------------------------------------------------------------

# Makes a database of an encoding and listens there.
sub database
{
	my ($encoding) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $encoding ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	install($node, $encoding);
	listen_in($encoding);
	return;
}

database('latin1');
says([ heard('latin1', qq{SELECT test.save(U&'d\\00e9j\\00e0', 'one', tags => ARRAY[U&'\\00fc'])}) ],
	{ instance_id => 'déjà', tags => [ 'ü' ] }, 'LATIN1: the hint is UTF-8');
is($node->safe_psql('latin1', "SELECT octet_length(sayiir_list_snapshots())"), 4, 'LATIN1: the id is not');
($payload) = heard('latin1', qq{SELECT test.save(U&'d\\00e9j\\00e0', 'two')});
is($node->safe_psql('latin1', "SELECT instance_id = U&'d\\00e9j\\00e0' FROM sayiir_decode_hint('$payload')"), 't', 'LATIN1: sayiir_decode_hint');

# Byte 81 is a letter of no name in WIN1252: a valid string there which UTF-8 has no letter for.
database('win1252');
is(scalar(heard('win1252', "SELECT test.save(E'\\x81', 'one')")), 0, 'WIN1252: no such letter in UTF-8');
is(scalar(heard('win1252', "SELECT test.save('tagged', 'one', tags => ARRAY[E'\\x81'])")), 0, 'WIN1252: the same in a tag');
says([ heard('win1252', "SELECT test.save(E'\\x80', 'one')") ],
	{ instance_id => '€' }, 'WIN1252: the hint is UTF-8');
is($node->safe_psql('win1252', "SELECT count(*) FROM sayiir_workflow_snapshot_history"), 3, 'WIN1252: every save is kept');

database('sql_ascii');
says([ heard('sql_ascii', "SELECT test.save('plain', 'one', tags => ARRAY['a'])") ], { instance_id => 'plain', tags => ['a'] }, 'SQL_ASCII: ASCII');
says([ heard('sql_ascii', "SELECT test.save(E'\\xc3\\xa9', 'one')") ], { instance_id => "\xc3\xa9" }, 'SQL_ASCII: bytes that are UTF-8');
is(scalar(heard('sql_ascii', "SELECT test.save(E'\\xff', 'one')")), 0, 'SQL_ASCII: bytes that are not UTF-8 wake nobody');
is(scalar(heard('sql_ascii', "SELECT test.save(E'\\xc3', 'one')")), 0, 'SQL_ASCII: nor does half a letter');
is(scalar(heard('sql_ascii', "SELECT test.save('tagged', 'one', tags => ARRAY['a', E'\\xff'])")), 0, 'SQL_ASCII: the same in a tag');
is($node->safe_psql('sql_ascii', "SELECT count(*), bool_and(history_version = 1) FROM sayiir_workflow_snapshots"), '5|t', 'SQL_ASCII: every save is kept');
is($node->safe_psql('sql_ascii', "BEGIN; SELECT test.save(E'\\xff', 'two'); SELECT test.save(E'\\xff', 'three'); COMMIT"), "2\n3",
	'SQL_ASCII: the transaction goes on');

integrity_ok($node, $_, "$_: the store is sound") for (qw(postgres latin1 win1252 sql_ascii));
log_has_only($node, 0, [ '00000', 'SY001', '22023' ], 'no other error was met');

# --- A full queue (CASES B41) -------------------------------------------------------------------

SKIP:
{
	skip 'the size of the queue can be set from PostgreSQL 17 on', 4 if $node->pg_version < 17;
	listen_in('postgres');
	$node->append_conf('postgresql.conf', 'max_notify_queue_pages = 64');
	$node->restart;
	listen_in('postgres');
	# A listener in a transaction reads nothing, and nothing that it has not read leaves the queue.
	$listener->query_safe('BEGIN');
	is($node->safe_psql('postgres', 'SELECT pg_notification_queue_usage()'), 0, 'the queue is empty');
	my $state = '';
	for my $try (1 .. 200)
	{
		$state = sqlstate($node, 'postgres', "SELECT test.save('full $try', 'one', tags => ARRAY[repeat('x', 5000)])");
		last if $state ne '';
	}
	is($state, '54000', 'a full queue is an error of the save that finds it so');
	is($node->safe_psql('postgres', "SET sayiir.notify = off; SELECT test.save('full', 'one')"), 1, 'with wakeups off a save is possible');
	integrity_ok($node, 'postgres', 'nothing half-saved');
	$listener->query_safe('COMMIT');
}

$listener->quit;
$node->stop;
done_testing();
