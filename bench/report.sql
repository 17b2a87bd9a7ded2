-- Turns what bench/driver.c has written into tables in Markdown. Of paired slices (the same round
-- of the same cell) the quotient is taken; a ratio is the median of these.

CREATE TEMP TABLE slice (cell text, size int, connections int, durable int, scenario text, round int,
	operations float8, seconds float8, cpu float8, wal float8);
CREATE TEMP TABLE latency (cell text, size int, connections int, durable int, scenario text,
	operations float8, median float8, p99 float8, notified float8);
CREATE TEMP TABLE updates (cell text, size int, connections int, durable int, store text, updated float8, hot float8);
SELECT format('COPY slice FROM %L', :'dir' || '/slice'),
	format('COPY latency FROM %L', :'dir' || '/latency'),
	format('COPY updates FROM %L', :'dir' || '/table') \gexec

CREATE FUNCTION pg_temp.median(float8[]) RETURNS float8 LANGUAGE sql
	AS 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest($1) AS x';
-- 20000 as 20 kB
CREATE FUNCTION pg_temp.bytes(int) RETURNS text LANGUAGE sql
	AS $$ SELECT CASE WHEN $1 < 1000 THEN $1 || ' B' ELSE $1 / 1000 || ' kB' END $$;
-- A number with a sensible number of digits
CREATE FUNCTION pg_temp.n(float8, digits int = 0) RETURNS text LANGUAGE sql
	AS $$ SELECT COALESCE(round($1::numeric, digits)::text, '–') $$;
-- A ratio: its median, smallest and greatest
CREATE FUNCTION pg_temp.ratio(float8[]) RETURNS text LANGUAGE sql
	AS $$ SELECT format('**%s** (%s–%s)', round(pg_temp.median($1)::numeric, 2),
		round(min(x)::numeric, 2), round(max(x)::numeric, 2)) FROM unnest($1) AS x $$;

-- One row for a cell and a scenario
CREATE TEMP VIEW cell AS
SELECT s.size, s.connections, s.durable, s.scenario, sum(s.operations) AS operations,
	pg_temp.median(array_agg(s.operations / s.seconds)) AS rate,
	pg_temp.median(array_agg(s.cpu / s.operations)) AS cpu,
	sum(s.wal) / sum(s.operations) AS wal,
	min(l.median) AS median, min(l.p99) AS p99
FROM slice AS s
JOIN latency AS l USING (cell, size, connections, durable, scenario)
GROUP BY s.size, s.connections, s.durable, s.scenario;

-- One row for a cell and a pair of scenarios
CREATE TEMP VIEW pair AS
SELECT a.size, a.connections, a.durable, a.scenario AS ours, b.scenario AS theirs,
	array_agg((a.operations / a.seconds) / (b.operations / b.seconds)) AS rate,
	array_agg((a.cpu / a.operations) / NULLIF(b.cpu / b.operations, 0)) AS cpu
FROM slice AS a
JOIN slice AS b USING (cell, size, connections, durable, round)
GROUP BY a.size, a.connections, a.durable, a.scenario, b.scenario;

\qecho
\qecho '## Durable saves'
\qecho
\qecho 'Each save is committed and flushed to disk. Saves per second and latencies in milliseconds:'
\qecho 'extension / client. Ratio: extension over client, the median of paired slices (smallest–greatest).'
\qecho '«No wakeup»: both without a notification, the most that a way around its lock can give.'
\qecho
\qecho '| snapshot | connections | saves/s | ratio | p50 ms | p99 ms | no wakeup: saves/s | ratio | saves measured |'
\qecho '|---|---|---|---|---|---|---|---|---|'
SELECT format('| %s | %s | %s / %s | %s | %s / %s | %s / %s | %s / %s | %s | %s / %s |',
	pg_temp.bytes(e.size), e.connections, pg_temp.n(e.rate), pg_temp.n(c.rate),
	pg_temp.ratio(p.rate), pg_temp.n(e.median / 1000, 2), pg_temp.n(c.median / 1000, 2),
	pg_temp.n(e.p99 / 1000, 1), pg_temp.n(c.p99 / 1000, 1),
	pg_temp.n(eq.rate), pg_temp.n(cq.rate), pg_temp.ratio(q.rate), e.operations, c.operations)
FROM pair AS p
JOIN pair AS q ON (q.size, q.connections, q.durable, q.ours, q.theirs)
	= (p.size, p.connections, p.durable, 'extension-quiet', 'client-quiet')
JOIN cell AS e ON (e.size, e.connections, e.durable, e.scenario) = (p.size, p.connections, p.durable, p.ours)
JOIN cell AS c ON (c.size, c.connections, c.durable, c.scenario) = (p.size, p.connections, p.durable, p.theirs)
JOIN cell AS eq ON (eq.size, eq.connections, eq.durable, eq.scenario) = (q.size, q.connections, q.durable, q.ours)
JOIN cell AS cq ON (cq.size, cq.connections, cq.durable, cq.scenario) = (q.size, q.connections, q.durable, q.theirs)
WHERE p.durable = 1 AND p.ours = 'extension' AND p.theirs = 'client'
ORDER BY p.size, p.connections;

\qecho
\qecho '## What a save costs the server'
\qecho
\qecho 'One connection, synchronous_commit off: CPU of the backend in microseconds for each save, bytes of'
\qecho 'WAL for each save, and the share of updates of the snapshot row that were heap-only.'
\qecho 'Floors: a call of a C function that touches no table (sayiir_task_id), and an upsert of one'
\qecho 'row of two columns by its key. CPU of other processes is not in these numbers.'
\qecho
\qecho '| snapshot | CPU µs | ratio | no wakeup: CPU µs | ratio | floors µs | WAL bytes | ratio | heap-only % |'
\qecho '|---|---|---|---|---|---|---|---|---|'
SELECT format('| %s | %s / %s | %s | %s / %s | %s | %s, %s | %s / %s | %s | %s / %s |',
	pg_temp.bytes(e.size), pg_temp.n(e.cpu), pg_temp.n(c.cpu), pg_temp.ratio(p.cpu),
	pg_temp.n(eq.cpu), pg_temp.n(cq.cpu), pg_temp.ratio(q.cpu), pg_temp.n(f1.cpu), pg_temp.n(f2.cpu),
	pg_temp.n(e.wal), pg_temp.n(c.wal), pg_temp.n(e.wal / c.wal, 2),
	pg_temp.n(100 * eu.hot / eu.updated), pg_temp.n(100 * cu.hot / cu.updated))
FROM pair AS p
JOIN pair AS q ON (q.size, q.connections, q.durable, q.ours, q.theirs)
	= (p.size, p.connections, p.durable, 'extension-quiet', 'client-quiet')
JOIN cell AS e ON (e.size, e.connections, e.durable, e.scenario) = (p.size, p.connections, p.durable, p.ours)
JOIN cell AS c ON (c.size, c.connections, c.durable, c.scenario) = (p.size, p.connections, p.durable, p.theirs)
JOIN cell AS eq ON (eq.size, eq.connections, eq.durable, eq.scenario) = (q.size, q.connections, q.durable, q.ours)
JOIN cell AS cq ON (cq.size, cq.connections, cq.durable, cq.scenario) = (q.size, q.connections, q.durable, q.theirs)
JOIN cell AS f1 ON (f1.size, f1.connections, f1.durable, f1.scenario) = (p.size, p.connections, p.durable, 'floor-call')
JOIN cell AS f2 ON (f2.size, f2.connections, f2.durable, f2.scenario) = (p.size, p.connections, p.durable, 'floor-row')
JOIN updates AS eu ON (eu.cell, eu.size, eu.durable, eu.store) = ('save', p.size, p.durable, 'extension')
JOIN updates AS cu ON (cu.cell, cu.size, cu.durable, cu.store) = ('save', p.size, p.durable, 'client')
WHERE p.durable = 0 AND p.ours = 'extension' AND p.theirs = 'client'
ORDER BY p.size, p.connections;

\qecho
\qecho '## Task results'
\qecho
\qecho 'One call of `sayiir_save_task_result`, without and with the new snapshot, against the five round'
\qecho 'trips of the client. The CPU is from a run with synchronous_commit off.'
\qecho
\qecho '| snapshot | connections | call | results/s | ratio | p50 ms | p99 ms | CPU µs | ratio | WAL bytes |'
\qecho '|---|---|---|---|---|---|---|---|---|---|'
SELECT format('| %s | %s | %s | %s / %s | %s | %s / %s | %s / %s | %s / %s | %s | %s / %s |',
	pg_temp.bytes(e.size), e.connections,
	CASE e.scenario WHEN 'extension-result' THEN 'without snapshot' ELSE 'with snapshot' END,
	pg_temp.n(e.rate), pg_temp.n(c.rate), pg_temp.ratio(p.rate),
	pg_temp.n(e.median / 1000, 2), pg_temp.n(c.median / 1000, 2),
	pg_temp.n(e.p99 / 1000, 1), pg_temp.n(c.p99 / 1000, 1),
	pg_temp.n(e0.cpu), pg_temp.n(c0.cpu), pg_temp.ratio(p0.cpu), pg_temp.n(e.wal), pg_temp.n(c.wal))
FROM pair AS p
JOIN pair AS p0 ON (p0.size, p0.durable, p0.ours, p0.theirs) = (p.size, 0, p.ours, p.theirs)
JOIN cell AS e ON (e.size, e.connections, e.durable, e.scenario) = (p.size, p.connections, p.durable, p.ours)
JOIN cell AS c ON (c.size, c.connections, c.durable, c.scenario) = (p.size, p.connections, p.durable, p.theirs)
JOIN cell AS e0 ON (e0.size, e0.durable, e0.scenario) = (p.size, 0, p.ours)
JOIN cell AS c0 ON (c0.size, c0.durable, c0.scenario) = (p.size, 0, p.theirs)
WHERE p.durable = 1 AND p.ours LIKE 'extension-result%' AND p.theirs = 'client-result'
ORDER BY p.size, p.connections, p.ours;
