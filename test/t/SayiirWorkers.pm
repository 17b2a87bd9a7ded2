# What the TAP suites on many workers share: calls with names in place of ids, a listener, and a
# look at who waited for whom.
package SayiirWorkers;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SayiirTest;
use Test::More;

our @EXPORT = qw(install_workers listen_to heard_of lock_waits python);

# Creates functions beside those of SayiirTest: places and steps of opaque snapshots (unless told otherwise,
# data follows from the place, so that a repeat is one) and of Sayiir's own, whose place is the name of a task or "signal NAME NEXT" or
# "delay TIME NEXT". The id of a task is its name, padded to 32 bytes.
sub install_workers
{
	my ($node, $db) = @_;

	$node->safe_psql($db, <<'SQL');
CREATE FUNCTION test.id(name text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT rpad(name, 32)::bytea $$;
CREATE FUNCTION test.name(id bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT rtrim(convert_from(id, 'UTF8')) $$;
CREATE FUNCTION test.put(id text, cur text = 't1', tags text[] = '{}', priority integer = 3, wf text = 'wf',
	kind text = NULL, signal text = NULL, wake timestamptz = NULL, token uuid = NULL, status text = 'InProgress')
RETURNS integer LANGUAGE sql AS $$
	SELECT sayiir_save_snapshot(data => (id || ' ' || coalesce(cur, kind, status))::bytea, instance_id => id, status => status,
		definition_hash => test.id(wf), current_task_id => test.id(cur), task_tags => tags, task_priority => priority,
		position_kind => kind, awaited_signal => signal, delay_wake_at => wake, claim_token => token) $$;
CREATE FUNCTION test.step(id text, token uuid, cur text, next interval = NULL, done text = NULL, output bytea = NULL,
	kind text = NULL, signal text = NULL, wake timestamptz = NULL, status text = 'InProgress', data text = NULL,
	OUT history_version integer, OUT new_status text, OUT expires_at timestamptz)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT a.* FROM sayiir_advance(coalesce($11, id || ' ' || coalesce(cur, kind, $10))::bytea, token,
		instance_id => id, status => $10, definition_hash => test.id('wf'), current_task_id => test.id(cur),
		position_kind => kind, awaited_signal => signal, delay_wake_at => wake, next_claim_ttl => next,
		last_completed_task_id => test.id(done), last_completed_output => output) a $$;
CREATE FUNCTION test.js(id text, place text, status text = 'InProgress') RETURNS bytea LANGUAGE sql AS $$
	SELECT '\x535952530101'::bytea || convert_to(format(
		'{"instance_id":%s,"definition_hash":"%s","state":{"%s":{"position":%s,"completed_tasks":{},"last_completed_task_id":null}},"created_at":1,"updated_at":1}',
		to_json(id), encode(test.id('wf'), 'hex'), status,
		CASE split_part(place, ' ', 1)
			WHEN 'signal' THEN format('{"AtSignal":{"signal_id":"%s","signal_name":%s,"wake_at":null,"next_task_id":%s}}',
				encode(test.id('sig'), 'hex'), to_json(split_part(place, ' ', 2)),
				coalesce('"' || encode(test.id(nullif(split_part(place, ' ', 3), '')), 'hex') || '"', 'null'))
			WHEN 'delay' THEN format('{"AtDelay":{"delay_id":"%s","entered_at":"2000-01-01T00:00:00Z","wake_at":"%s","next_task_id":%s}}',
				encode(test.id('delay'), 'hex'), split_part(place, ' ', 2),
				coalesce('"' || encode(test.id(nullif(split_part(place, ' ', 3), '')), 'hex') || '"', 'null'))
			ELSE format('{"AtTask":{"task_id":"%s"}}', encode(test.id(place), 'hex')) END), 'UTF8') $$;
CREATE FUNCTION test.jput(id text, place text, token uuid = NULL) RETURNS integer LANGUAGE sql AS $$
	SELECT sayiir_save_snapshot(test.js(id, place), claim_token => token) $$;
-- Claims up to n; "id at task" in the order in which they were given out.
CREATE FUNCTION test.claims(n integer = 1, ttl interval = '1 hour', tags text[] = '{}', aging interval = '1 minute',
	wf text[] = NULL, worker text = 'w') RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(instance_id || coalesce(' at ' || coalesce(test.name(task_id), position_kind), ''), ', ' ORDER BY ordinality), 'nothing')
	FROM ROWS FROM (sayiir_claim_tasks(worker, n, ttl, tags, aging, (SELECT array_agg(test.id(w)) FROM unnest(wf) w))) WITH ORDINALITY $$;
CREATE FUNCTION test.token(id text) RETURNS uuid LANGUAGE sql AS $$
	SELECT claim_token FROM sayiir_workflow_claims WHERE instance_id = id $$;
-- Waits until a claim has expired by the server's clock.
CREATE FUNCTION test.expired(id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	WHILE EXISTS (SELECT FROM sayiir_workflow_claims c WHERE c.instance_id = id
			AND (c.expires_at IS NULL OR c.expires_at > clock_timestamp())) LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
SQL
	return;
}

my $marker = 0;

# A session that listens for hints.
sub listen_to
{
	my ($node, $db) = @_;
	my $listener = $node->background_psql($db);

	$listener->query_safe('LISTEN sayiir_task_ready');
	$listener->query_safe('LISTEN marker');
	return $listener;
}

# Runs SQL and returns the hints that it sent, as "id at task" each; a place that is no task is 32 zero
# bytes. Notifications come in the order of the commits, so all are there with a marker sent afterwards.
sub heard_of
{
	my ($node, $db, $listener, $sql) = @_;
	my $heard = '';
	my $tries = 10 * $PostgreSQL::Test::Utils::timeout_default;

	$node->safe_psql($db, $sql);
	$node->safe_psql($db, 'NOTIFY marker, \'' . ++$marker . '\'');
	until ($heard =~ /"marker" with payload "$marker"/)
	{
		die "the marker never came: $heard" if $tries-- == 0;
		$heard .= $listener->query_safe('SELECT') . "\n";
		select(undef, undef, undef, 0.05);
	}
	return join ', ', map {
		my $hint = decode_hint($_);
		my $task = $hint->{task_id} eq "\0" x 32 ? 'no task' : $hint->{task_id} =~ s/ +\z//r;
		"$hint->{instance_id} at $task"
	} map { /with payload "(.*)" received/ ? $1 : () } grep { /"sayiir_task_ready"/ } split /\n/, $heard;
}

# The lines of the log, from an offset on, that tell of a session waiting for another one's transaction
# or row. The server has to run with log_lock_waits and a short deadlock_timeout.
sub lock_waits
{
	my ($node, $offset) = @_;

	return join "\n", grep { /still waiting for \w+ on (transaction|tuple|virtual|advisory)/ }
	  split /\n/, slurp_file($node->logfile, $offset);
}

# Debian's own Python, which has the psycopg of the package python3-psycopg, before another one of the
# PATH; undef when there is none with psycopg 3.
sub python
{
	my $python = -x '/usr/bin/python3' ? '/usr/bin/python3' : 'python3';

	return system("$python -c 'import psycopg' >/dev/null 2>&1") == 0 ? $python : undef;
}

1;
