-- Turns what bench/driver.c has written into tables in Markdown. Of paired slices (the same round
-- of the same cell) the quotient is taken; a ratio is the median of these.

CREATE TEMP TABLE slice (cell text, size int, connections int, durable int, scenario text, round int,
	operations float8, seconds float8, cpu float8, wal float8);
CREATE TEMP TABLE latency (cell text, size int, connections int, durable int, scenario text,
	operations float8, median float8, p99 float8, notified float8);
CREATE TEMP TABLE hint (LIKE latency);
CREATE TEMP TABLE updates (cell text, size int, connections int, durable int, store text, updated float8, hot float8);
SELECT format('COPY slice FROM %L', :'dir' || '/slice'),
	format('COPY latency FROM %L', :'dir' || '/latency'),
	format('COPY hint FROM %L', :'dir' || '/hint'),
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
SELECT s.cell, s.size, s.connections, s.durable, s.scenario, sum(s.operations) AS operations,
	pg_temp.median(array_agg(s.operations / s.seconds)) AS rate,
	pg_temp.median(array_agg(s.cpu / s.operations)) AS cpu,
	sum(s.wal) / sum(s.operations) AS wal,
	min(l.median) AS median, min(l.p99) AS p99
FROM slice AS s
JOIN latency AS l USING (cell, size, connections, durable, scenario)
GROUP BY s.cell, s.size, s.connections, s.durable, s.scenario;

-- One row for a cell and a pair of scenarios
CREATE TEMP VIEW pair AS
SELECT a.cell, a.size, a.connections, a.durable, a.scenario AS ours, b.scenario AS theirs,
	array_agg((a.operations / a.seconds) / (b.operations / b.seconds)) AS rate,
	array_agg((a.cpu / a.operations) / NULLIF(b.cpu / b.operations, 0)) AS cpu
FROM slice AS a
JOIN slice AS b USING (cell, size, connections, durable, round)
GROUP BY a.cell, a.size, a.connections, a.durable, a.scenario, b.scenario;

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
JOIN pair AS q ON (q.cell, q.size, q.connections, q.durable, q.ours, q.theirs)
	= (p.cell, p.size, p.connections, p.durable, 'extension-quiet', 'client-quiet')
JOIN cell AS e ON (e.cell, e.size, e.connections, e.durable, e.scenario) = (p.cell, p.size, p.connections, p.durable, p.ours)
JOIN cell AS c ON (c.cell, c.size, c.connections, c.durable, c.scenario) = (p.cell, p.size, p.connections, p.durable, p.theirs)
JOIN cell AS eq ON (eq.cell, eq.size, eq.connections, eq.durable, eq.scenario) = (q.cell, q.size, q.connections, q.durable, q.ours)
JOIN cell AS cq ON (cq.cell, cq.size, cq.connections, cq.durable, cq.scenario) = (q.cell, q.size, q.connections, q.durable, q.theirs)
WHERE p.cell = 'save' AND p.durable = 1 AND p.ours = 'extension' AND p.theirs = 'client'
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
JOIN pair AS q ON (q.cell, q.size, q.connections, q.durable, q.ours, q.theirs)
	= (p.cell, p.size, p.connections, p.durable, 'extension-quiet', 'client-quiet')
JOIN cell AS e ON (e.cell, e.size, e.connections, e.durable, e.scenario) = (p.cell, p.size, p.connections, p.durable, p.ours)
JOIN cell AS c ON (c.cell, c.size, c.connections, c.durable, c.scenario) = (p.cell, p.size, p.connections, p.durable, p.theirs)
JOIN cell AS eq ON (eq.cell, eq.size, eq.connections, eq.durable, eq.scenario) = (q.cell, q.size, q.connections, q.durable, q.ours)
JOIN cell AS cq ON (cq.cell, cq.size, cq.connections, cq.durable, cq.scenario) = (q.cell, q.size, q.connections, q.durable, q.theirs)
JOIN cell AS f1 ON (f1.cell, f1.size, f1.connections, f1.durable, f1.scenario) = (p.cell, p.size, p.connections, p.durable, 'floor-call')
JOIN cell AS f2 ON (f2.cell, f2.size, f2.connections, f2.durable, f2.scenario) = (p.cell, p.size, p.connections, p.durable, 'floor-row')
JOIN updates AS eu ON (eu.cell, eu.size, eu.durable, eu.store) = ('save', p.size, p.durable, 'extension')
JOIN updates AS cu ON (cu.cell, cu.size, cu.durable, cu.store) = ('save', p.size, p.durable, 'client')
WHERE p.cell = 'save' AND p.durable = 0 AND p.ours = 'extension' AND p.theirs = 'client'
ORDER BY p.size, p.connections;

\qecho
\qecho '## Wakeups'
\qecho
\qecho 'Durable saves per second with a hint from each, as sayiir.notify says: sent with the commit'
\qecho '(transactional, the default), or after it by another process (deferred). The client sends its own with'
\qecho 'the commit. «None»: the extension without hints, which is the ceiling for it.'
\qecho
\qecho '| snapshot | connections | client | transactional | deferred | none | deferred / none | deferred / client | deferred / transactional |'
\qecho '|---|---|---|---|---|---|---|---|---|'
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s | %s |',
	pg_temp.bytes(p.size), p.connections, pg_temp.n(c.rate), pg_temp.n(t.rate), pg_temp.n(d.rate), pg_temp.n(n.rate),
	pg_temp.ratio(p.rate), pg_temp.ratio(pc.rate), pg_temp.ratio(pt.rate))
FROM pair AS p
JOIN pair AS pc USING (cell, size, connections, durable, ours)
JOIN pair AS pt USING (cell, size, connections, durable, ours)
JOIN cell AS c USING (cell, size, connections, durable)
JOIN cell AS t USING (cell, size, connections, durable)
JOIN cell AS d USING (cell, size, connections, durable)
JOIN cell AS n USING (cell, size, connections, durable)
WHERE p.cell = 'hints' AND p.ours = 'extension-deferred' AND p.theirs = 'extension-quiet'
	AND pc.theirs = 'client' AND pt.theirs = 'extension'
	AND c.scenario = 'client' AND t.scenario = 'extension' AND d.scenario = 'extension-deferred'
	AND n.scenario = 'extension-quiet'
ORDER BY p.size, p.connections;

\qecho
\qecho 'From the answer to a durable save until a listener has its hint, in milliseconds, one save at a time'
\qecho 'and nothing else going on; 0 where the hint was there first.'
\qecho
\qecho '| hint of | p50 ms | p99 ms | saves measured |'
\qecho '|---|---|---|---|'
SELECT format('| %s | %s | %s | %s |', CASE scenario WHEN 'client' THEN 'the client'
	WHEN 'extension' THEN 'the extension, transactional' ELSE 'the extension, deferred' END,
	pg_temp.n(median / 1000, 2), pg_temp.n(p99 / 1000, 2), operations)
FROM hint
ORDER BY scenario = 'extension-deferred', scenario;

\qecho
\qecho '## Batches'
\qecho
\qecho 'Durable saves per second over one connection: 100 in a call of `sayiir_save_snapshots`, one in a call'
\qecho 'of `sayiir_save_snapshot`, and one in a statement of the client.'
\qecho
\qecho '| snapshot | batch | single | client | batch / single | batch / client | CPU µs of a save: batch / single | WAL bytes: batch / single |'
\qecho '|---|---|---|---|---|---|---|---|'
SELECT format('| %s | %s | %s | %s | %s | %s | %s / %s | %s / %s |',
	pg_temp.bytes(p.size), pg_temp.n(b.rate), pg_temp.n(s.rate), pg_temp.n(c.rate), pg_temp.ratio(p.rate),
	pg_temp.ratio(pc.rate), pg_temp.n(b.cpu), pg_temp.n(s.cpu), pg_temp.n(b.wal), pg_temp.n(s.wal))
FROM pair AS p
JOIN pair AS pc USING (cell, size, connections, durable, ours)
JOIN cell AS b USING (cell, size, connections, durable)
JOIN cell AS s USING (cell, size, connections, durable)
JOIN cell AS c USING (cell, size, connections, durable)
WHERE p.cell = 'batch' AND p.ours = 'extension-batch' AND p.theirs = 'extension' AND pc.theirs = 'client'
	AND b.scenario = 'extension-batch' AND s.scenario = 'extension' AND c.scenario = 'client'
ORDER BY p.size;

\qecho
\qecho '## Growth'
\qecho
\qecho 'The CPU of a save in a store that has grown, over that of a save of the same size in one that has not'
\qecho '(1,000 instances at their first versions). Old snapshot: a transaction that began before all of these'
\qecho 'saves is open, so that no row version can go; last the client in the same state, over the same.'
\qecho
\qecho '| store | CPU µs | ratio | heap-only % |'
\qecho '|---|---|---|---|'
SELECT format('| %s | %s | %s | %s |', CASE p.ours
	WHEN 'extension-v1000' THEN 'histories of 1,000 versions'
	WHEN 'extension-v10000' THEN 'histories of 10,000 versions'
	WHEN 'extension-million' THEN 'beside 1,000,000 other instances'
	WHEN 'extension-held' THEN 'an old snapshot is held'
	ELSE 'an old snapshot is held: the client' END,
	pg_temp.n(g.cpu), pg_temp.ratio(p.cpu), pg_temp.n(100 * u.hot / u.updated))
FROM pair AS p
JOIN cell AS g ON (g.cell, g.scenario) = (p.cell, p.ours)
JOIN updates AS u ON (u.cell, u.store) = (p.cell, p.ours)
WHERE p.cell = 'growth' AND p.theirs = 'extension' AND p.ours <> p.theirs
ORDER BY array_position('{extension-v1000,extension-v10000,extension-million,extension-held,client-held}', p.ours);

\qecho
\qecho '## Task results'
\qecho
\qecho 'One call of `sayiir_save_task_result`, without and with the new snapshot, against the five round'
\qecho 'trips of the client. Network: what it adds to each round trip (the driver holds each answer for so long;'
\qecho 'without, both are on one machine). The CPU is from a run with synchronous_commit off.'
\qecho
\qecho '| network ms | snapshot | connections | call | results/s | ratio | p50 ms | p99 ms | CPU µs | ratio | WAL bytes |'
\qecho '|---|---|---|---|---|---|---|---|---|---|---|'
SELECT format('| %s | %s | %s | %s | %s / %s | %s | %s / %s | %s / %s | %s / %s | %s | %s / %s |',
	CASE p.cell WHEN 'result' THEN '0' ELSE '1' END, pg_temp.bytes(e.size), e.connections,
	CASE e.scenario WHEN 'extension-result' THEN 'without snapshot' ELSE 'with snapshot' END,
	pg_temp.n(e.rate), pg_temp.n(c.rate), pg_temp.ratio(p.rate),
	pg_temp.n(e.median / 1000, 2), pg_temp.n(c.median / 1000, 2),
	pg_temp.n(e.p99 / 1000, 1), pg_temp.n(c.p99 / 1000, 1),
	pg_temp.n(e0.cpu), pg_temp.n(c0.cpu), pg_temp.ratio(p0.cpu), pg_temp.n(e.wal), pg_temp.n(c.wal))
FROM pair AS p
JOIN pair AS p0 ON (p0.cell, p0.size, p0.durable, p0.ours, p0.theirs) = ('result', p.size, 0, p.ours, p.theirs)
JOIN cell AS e ON (e.cell, e.size, e.connections, e.durable, e.scenario) = (p.cell, p.size, p.connections, p.durable, p.ours)
JOIN cell AS c ON (c.cell, c.size, c.connections, c.durable, c.scenario) = (p.cell, p.size, p.connections, p.durable, p.theirs)
JOIN cell AS e0 ON (e0.cell, e0.size, e0.durable, e0.scenario) = ('result', p.size, 0, p.ours)
JOIN cell AS c0 ON (c0.cell, c0.size, c0.durable, c0.scenario) = ('result', p.size, 0, p.theirs)
WHERE p.cell IN ('result', 'result-far') AND p.durable = 1 AND p.ours LIKE 'extension-result%' AND p.theirs = 'client-result'
ORDER BY p.cell, p.size, p.connections, p.ours;
