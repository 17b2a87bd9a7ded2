-- Timestamps in a JSON snapshot: which are read, and to which instant.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
\set ECHO none

-- Ids in the payloads of this file: @a is the 64 digits of task a's.
CREATE FUNCTION qa.ids(payload text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	n text;
BEGIN
	FOREACH n IN ARRAY '{wf,a,b,c,d,e,f,g,x,y,z}'::text[] LOOP
		payload := replace(payload, '@' || n, encode(qa.t(n), 'hex'));
	END LOOP;
	RETURN payload;
END $$;

-- The envelope around a payload.
CREATE FUNCTION qa.frame(payload text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT '\x535952530101'::bytea || convert_to(qa.ids(payload), 'UTF8') $$;

-- A snapshot of this state, perhaps with further members.
CREATE FUNCTION qa.js(p_id text, state text, more text DEFAULT '') RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT qa.frame('{"instance_id":' || to_json(p_id) || ',"definition_hash":"@wf","state":' || state
		|| ',"created_at":1700000000,"updated_at":1700000100' || more || '}') $$;

\set ECHO all
CREATE EXTENSION sayiir_pg;

-- What a delay until then becomes, in each column's place where a timestamp is read.
CREATE FUNCTION qa.delay(at text) RETURNS bytea LANGUAGE sql AS $$
	SELECT qa.js('t', '{"InProgress":{"position":{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-31T00:00:00Z","wake_at":'
		|| to_json(at) || ',"next_task_id":"@e"}},"completed_tasks":{}}}') $$;
CREATE FUNCTION qa.retry(at text) RETURNS bytea LANGUAGE sql AS $$
	SELECT qa.js('t', '{"InProgress":{"position":{"AtTask":{"task_id":"@a"}},"completed_tasks":{}}}',
		',"task_retries":{"@a":{"attempts":1,"policy":{},"last_error":"e","next_retry_at":' || to_json(at) || '}}') $$;
CREATE FUNCTION qa.fork(at text) RETURNS bytea LANGUAGE sql AS $$
	SELECT qa.js('t', '{"InProgress":{"position":{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":'
		|| to_json(at) || '}},"completed_tasks":{}}}') $$;
CREATE FUNCTION qa.signal(at text) RETURNS bytea LANGUAGE sql AS $$
	SELECT qa.js('t', '{"InProgress":{"position":{"AtSignal":{"signal_id":"@x","signal_name":"s","wake_at":'
		|| to_json(at) || '}},"completed_tasks":{}}}') $$;
CREATE FUNCTION qa.wake(data bytea) RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
	PERFORM sayiir_save_snapshot(data);
	RETURN (SELECT s.delay_wake_at FROM sayiir_workflow_snapshots s WHERE s.instance_id = 't');
END $$;

-- The server's own reading of the same text must agree, whatever the session's settings. Half a microsecond and
-- more rounds up; the server's own input rounds to even through a double, so such have their result written out.
SET timezone = 'America/St_Johns';
SET datestyle = 'SQL, DMY';
CREATE TABLE qa.good (at text, expected timestamptz);
INSERT INTO qa.good SELECT at, at::timestamptz FROM unnest('{
	2031-01-02T03:04:05Z, 2031-01-02T03:04:05z, 2031-01-02t03:04:05Z,
	2031-01-02T03:04:05+00:00, 2031-01-02T03:04:05-00:00, 2031-01-02T03:04:05+05:30, 2031-01-02T03:04:05-03:30,
	2031-01-02T23:30:00-08:00, 2031-01-01T00:15:00+14:00, 2031-12-31T23:59:59-12:00, 2030-01-01T00:00:00+15:59,
	2031-01-02T03:04:05.6Z, 2031-01-02T03:04:05.67Z, 2031-01-02T03:04:05.678Z, 2031-01-02T03:04:05.6789Z,
	2031-01-02T03:04:05.67890Z, 2031-01-02T03:04:05.678901Z, 2031-01-02T03:04:05.000001+01:00, 2031-01-02T03:04:05.999999Z,
	2031-01-02T03:04:05.000000000Z, 2031-01-02T03:04:05.678901000Z, 2031-01-02T03:04:05.678901999-01:00,
	2000-01-01T00:00:00Z, 1999-12-31T23:59:59.999999Z, 1970-01-01T00:00:00Z, 1969-12-31T23:59:59.5Z,
	2024-02-29T00:00:00Z, 2000-02-29T12:00:00Z, 2100-02-28T23:59:59Z, 2031-03-30T02:30:00+01:00,
	2016-12-31T23:59:60Z, 2031-06-30T12:00:60.25+02:00,
	0001-01-01T00:00:00Z, 1582-10-10T00:00:00Z, 1900-03-01T00:00:00Z, 9999-12-31T23:59:59.999999Z, 9999-12-31T23:59:59-15:59}'::text[]) at;
INSERT INTO qa.good VALUES
	('2031-01-02T03:04:05.6789014Z', '2031-01-02 03:04:05.678901+00'),
	('2031-01-02T03:04:05.67890149Z', '2031-01-02 03:04:05.678901+00'),
	('2031-01-02T03:04:05.678901499Z', '2031-01-02 03:04:05.678901+00'),
	('2031-01-02T03:04:05.678901500Z', '2031-01-02 03:04:05.678902+00'),
	('2031-01-02T03:04:05.678902500Z', '2031-01-02 03:04:05.678903+00'),
	('2031-01-02T03:04:05.000000499Z', '2031-01-02 03:04:05+00'),
	('2031-01-02T03:04:05.0000005Z', '2031-01-02 03:04:05.000001+00'),
	('2031-01-02T03:04:05.999999499Z', '2031-01-02 03:04:05.999999+00'),
	('2031-01-02T03:04:05.999999500Z', '2031-01-02 03:04:06+00'),
	('2031-12-31T23:59:59.999999999Z', '2032-01-01 00:00:00+00'),
	('1969-12-31T23:59:59.999999999Z', '1970-01-01 00:00:00+00'),
	('1960-02-29T23:59:59.9999999-01:00', '1960-03-01 01:00:00+00'),
	('9999-12-31T23:59:59.999999999Z', '10000-01-01 00:00:00+00');
SELECT count(*) FROM qa.good;
SELECT at, expected, qa.wake(qa.delay(at)) FROM qa.good WHERE qa.wake(qa.delay(at)) IS DISTINCT FROM expected;
-- and so in the other places
SELECT at, expected, qa.wake(qa.retry(at)) FROM qa.good WHERE qa.wake(qa.retry(at)) IS DISTINCT FROM expected;
SELECT at, expected, qa.wake(qa.fork(at)) FROM qa.good WHERE qa.wake(qa.fork(at)) IS DISTINCT FROM expected;
SELECT at, expected, qa.wake(qa.signal(at)) FROM qa.good WHERE qa.wake(qa.signal(at)) IS DISTINCT FROM expected;
-- the ends of February in a whole cycle of the calendar, and of each month in some years
SELECT count(*), count(*) FILTER (WHERE qa.wake(qa.delay(to_char(d, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))) IS DISTINCT FROM d AT TIME ZONE 'UTC')
FROM (SELECT make_date(y, 3, 1) + time '06:07:08' - i * interval '1 day' FROM generate_series(1900, 2300) y, generate_series(0, 1) i
	UNION ALL SELECT make_date(y, m, 1) + time '23:59:59' - i * interval '1 day'
	FROM unnest('{1900,2000,2023,2024,2100}'::int[]) y, generate_series(1, 12) m, generate_series(0, 1) i) days(d);
-- an escape is as good as the letter
SELECT sayiir_save_snapshot(qa.js('t', '{"InProgress":{"position":{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":"2031-01-02\u005403:04:05\u005a"}},"completed_tasks":{}}}')) > 0;
SELECT delay_wake_at = '2031-01-02 03:04:05 UTC' FROM sayiir_workflow_snapshots WHERE instance_id = 't';

-- Everything else is refused, at the place of the value, with nothing written.
CREATE TABLE qa.before AS SELECT qa.whole() AS f;
SELECT count(*), qa.try(format('SELECT sayiir_save_snapshot(qa.delay(%L))', at)) AS answer FROM unnest('{
	"", now, infinity, -infinity, epoch, 2031-01-02, 2031-01-02T03:04:05, 2031-01-02T03:04Z, 2031-01-02T03:04:05., 2031-01-02T03:04:05.Z,
	2031-01-02T03:04:05.1234567890Z, 2031-01-02T03:04:05+01, 2031-01-02T03:04:05+0100, 2031-01-02T03:04:05+1:00, 2031-01-02T03:04:05+24:00,
	2031-01-02T03:04:05+01:60, 2031-01-02T03:04:05ZZ, 2031-01-02T03:04:05Z+01:00, 2031-01-02T03:04:05 UTC, 2031-01-02T03:04:05Europe/Berlin,
	2031-13-01T00:00:00Z, 2031-00-01T00:00:00Z, 2031-01-00T00:00:00Z, 2031-01-32T00:00:00Z, 2031-02-29T00:00:00Z, 2100-02-29T00:00:00Z,
	2031-04-31T00:00:00Z, 2031-01-02T24:00:00Z, 2031-01-02T03:60:00Z, 2031-01-02T03:04:61Z, 31-01-02T03:04:05Z, 20311-01-02T03:04:05Z,
	+12031-01-02T03:04:05Z, -0001-01-02T03:04:05Z, 2031-1-2T03:04:05Z, 2031/01/02T03:04:05Z, 2031-01-02X03:04:05Z, 20310102T030405Z,
	" 2031-01-02T03:04:05Z", "2031-01-02T03:04:05Z ", "2031-01-02T03:04:05 Z", 2031-01-02T03:04:05.5.5Z, 2031-01-02T03:04:0xZ, 1893553445,
	"2031-01-02T03:04:05,5Z", "2031-01-02T03:04:٠٥Z"}'::text[]) at
GROUP BY 2;
-- the other timestamps are checked too
SELECT qa.try(format('SELECT sayiir_save_snapshot(qa.js(''t'', %L, %L))', state, more)) FROM (VALUES
	('{"InProgress":{"position":{"AtDelay":{"delay_id":"@d","entered_at":"2030-12-32T00:00:00Z","wake_at":"2030-12-31T00:00:00Z"}},"completed_tasks":{}}}', ''),
	('{"InProgress":{"position":{"AtFork":{"fork_id":"@f","completed_branches":{},"wake_at":"soon"}},"completed_tasks":{}}}', ''),
	('{"InProgress":{"position":{"AtSignal":{"signal_id":"@f","signal_name":"s","wake_at":"soon"}},"completed_tasks":{}}}', ''),
	('{"Cancelled":{"cancelled_at":"soon","completed_tasks":{}}}', ''),
	('{"Paused":{"paused_at":"soon","completed_tasks":{},"position":"NotStarted"}}', ''),
	('{"Failed":{"error":"e"}}', ',"task_retries":{"@a":{"next_retry_at":"soon"}}'),
	('{"Failed":{"error":"e"}}', ',"task_deadline":{"task_id":"@a","deadline":"soon","timeout_ms":1}')) v(state, more);
SELECT qa.whole() = f AS untouched FROM qa.before;

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
