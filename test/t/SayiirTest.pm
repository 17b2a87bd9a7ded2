# What the TAP suites share: servers with the extension, calls by name, a look at all that is stored
# which does not rely on the extension's own functions, and a decoder of the wakeup payload.
package SayiirTest;

use strict;
use warnings;

use Exporter 'import';
use MIME::Base64;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(new_node install integrity_ok sqlstate sqlstate_is session start_query finish_query
  wait_for_lock backend_pid task_id decode_hint log_has_only);

# Makes and starts a server, with the extension and the functions of install() in database postgres.
# Options: init => {...} for PostgreSQL::Test::Cluster->init, conf => further settings.
sub new_node
{
	my ($name, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ], %{ $option{init} // {} });
	# %e is the SQLSTATE, which log_has_only reads; statements with megabytes in them stay out of the log.
	$node->append_conf('postgresql.conf',
		"log_statement = none\nlog_min_error_statement = panic\n"
		  . "log_line_prefix = '%m [%p] sqlstate=%e '\n"
		  . ($option{conf} // ''));
	$node->start;
	install($node, 'postgres');
	return $node;
}

# Creates the extension in a database, and calls of it that take text in place of bytes.
sub install
{
	my ($node, $db) = @_;

	$node->safe_psql($db, 'CREATE EXTENSION sayiir_pg;' . helpers());
	return;
}

# save, result: the two writing functions. A task's id is its name, padded to 32 bytes.
sub helpers
{
	return <<'SQL';
CREATE SCHEMA test;
CREATE FUNCTION test.save(id text, data bytea, expected integer = NULL, status text = 'InProgress',
	cur text = 't1', done text = NULL, output bytea = NULL, tags text[] = '{}')
RETURNS integer LANGUAGE sql AS $$
	SELECT sayiir_save_snapshot(data => data, instance_id => id, status => status,
		definition_hash => rpad('wf', 32)::bytea, current_task_id => rpad(cur, 32)::bytea, task_tags => tags,
		last_completed_task_id => rpad(done, 32)::bytea, last_completed_output => output,
		expected_version => expected) $$;
CREATE FUNCTION test.result(id text, task text, output bytea, data bytea = NULL, expected integer = NULL)
RETURNS integer LANGUAGE sql AS $$
	SELECT sayiir_save_task_result(id, rpad(task, 32)::bytea, output, data => data, expected_version => expected) $$;
SQL
}

# Compares all that is stored with the invariants, here and by sayiir_check_integrity.
sub integrity_ok
{
	my ($node, $db, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	my $broken = $node->safe_psql($db, <<'SQL');
SELECT 'I1 versions of ' || instance_id FROM sayiir_workflow_snapshot_history
	GROUP BY instance_id HAVING count(*) <> max(version) OR min(version) <> 1
UNION ALL
SELECT 'I1, I2 newest version of ' || s.instance_id
	FROM sayiir_workflow_snapshots s
	LEFT JOIN sayiir_workflow_snapshot_history h ON h.instance_id = s.instance_id AND h.version = s.history_version
	WHERE h.data_hash IS DISTINCT FROM s.data_hash OR h.status IS DISTINCT FROM s.status
		OR EXISTS (SELECT FROM sayiir_workflow_snapshot_history n
			WHERE n.instance_id = s.instance_id AND n.version > s.history_version)
UNION ALL
SELECT 'I2 hash of ' || instance_id || ' ' || version FROM sayiir_workflow_snapshot_history
	WHERE data_hash <> sha256(data)
UNION ALL
SELECT 'I3 orphan of ' || instance_id FROM (SELECT instance_id FROM sayiir_workflow_snapshot_history
		UNION SELECT instance_id FROM sayiir_workflow_tasks) x
	WHERE NOT EXISTS (SELECT FROM sayiir_workflow_snapshots s WHERE s.instance_id = x.instance_id)
UNION ALL
SELECT 'I3 end of ' || instance_id FROM sayiir_workflow_snapshots s
	WHERE status IN ('Completed', 'Failed', 'Cancelled') AND (completed_at IS NULL
		OR EXISTS (SELECT FROM sayiir_workflow_tasks t WHERE t.instance_id = s.instance_id AND t.status = 'active'))
UNION ALL
SELECT 'I4 ' || e.instance_id || ' goes on after ' || e.version FROM sayiir_workflow_snapshot_history e
	WHERE e.status IN ('Completed', 'Failed', 'Cancelled') AND EXISTS (SELECT FROM sayiir_workflow_snapshot_history n
		WHERE n.instance_id = e.instance_id AND n.version > e.version)
UNION ALL
SELECT 'check_integrity: ' || violated_by || ' ' || invariant || ' ' || detail FROM sayiir_check_integrity()
SQL
	return is($broken, '', $test);
}

# The SQLSTATE that a command ends with, '' when it succeeds. Each call is a session of its own.
sub sqlstate
{
	my ($node, $db, $sql) = @_;
	my ($status, $stdout, $stderr) =
	  $node->psql($db, $sql, extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);

	return '' if $status == 0;
	return $1 if $stderr =~ /(?:ERROR|FATAL):\s+([0-9A-Z]{5})\s*$/m;
	return "exit status $status: $stderr";
}

sub sqlstate_is
{
	my ($node, $db, $sql, $expected, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is(sqlstate($node, $db, $sql), $expected, $test);
}

# A session that stays open, goes on after errors and shows them by SQLSTATE alone.
sub session
{
	my ($node, $db) = @_;

	return $node->background_psql($db,
		on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
}

# Starts a command in a session without waiting for its end.
sub start_query
{
	my ($session, $sql) = @_;

	$session->query_until(qr/^started$/m, "\\echo started\n$sql;\n");
	return;
}

# Waits for the end of what start_query started: (output, SQLSTATE or '').
sub finish_query
{
	my ($session) = @_;
	my $output = $session->query('');
	my $state = $session->{stderr} =~ /(?:ERROR|FATAL):\s+([0-9A-Z]{5})/ ? $1 : $session->{stderr};

	$session->{stderr} = '';
	return ($output, $state);
}

# Waits until a backend waits for a heavyweight lock.
sub wait_for_lock
{
	my ($node, $db, $pid) = @_;

	$node->poll_query_until($db,
		"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid AND state = 'active'")
	  or die "backend $pid does not wait for a lock";
	return;
}

sub backend_pid
{
	my ($session) = @_;

	return $session->query_safe('SELECT pg_backend_pid()');
}

# The bytes of a task's id in test.save and test.result.
sub task_id
{
	my ($name) = @_;

	return pack('A32', $name);
}

# Reads a wakeup payload; dies on anything that a listener could not read.
sub decode_hint
{
	my ($payload) = @_;
	my %hint;
	my $count;

	die "not base64 without padding: $payload\n"
	  if $payload !~ m{\A[A-Za-z0-9+/]+\z} || length($payload) % 4 == 1;
	my $bytes = decode_base64($payload . '=' x (-length($payload) % 4));
	# The bits that the last letter has to spare must be zero.
	(my $again = encode_base64($bytes, '')) =~ s/=+\z//;
	die "not canonical base64: $payload\n" if $again ne $payload;

	($hint{version}, $hint{instance_id}, $hint{task_id}, $hint{definition_hash}, $count, my $rest) =
	  unpack('C Q</a a32 a32 Q< a*', $bytes);
	$hint{tags} = [];
	for (1 .. $count)
	{
		(my $tag, $rest) = unpack('Q</a a*', $rest);
		push @{ $hint{tags} }, $tag;
	}
	die "bytes after the last tag\n" if $rest ne '';
	# Packed again it must be the same: nothing was cut short.
	my $packed = pack('C Q</a* a32 a32 Q<', @hint{qw(version instance_id task_id definition_hash)}, $count)
	  . join('', map { pack('Q</a*', $_) } @{ $hint{tags} });
	die "lengths do not fit\n" if $packed ne $bytes;
	return \%hint;
}

# Checks that the log from an offset on reports errors of these SQLSTATEs only.
sub log_has_only
{
	my ($node, $offset, $allowed, $test) = @_;
	my %allowed = map { $_ => 1 } @$allowed;
	my @found;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	foreach my $line (split /\n/, slurp_file($node->logfile, $offset))
	{
		push @found, $line
		  if $line =~ /sqlstate=(\w{5}) (WARNING|ERROR|FATAL|PANIC):/ && !$allowed{$1};
	}
	return is(join("\n", @found), '', $test);
}

1;
