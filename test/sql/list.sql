-- sayiir_list_snapshots: ids in C order, page by page, by status, and read in part (CASES B35, B40).
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

SELECT * FROM sayiir_list_snapshots();
SELECT qa.sv(i, s) FROM (VALUES ('a', 'InProgress'), ('B', 'Paused'), ('_x', 'Completed'), ('-y', 'Failed'), ('é', 'Cancelled'),
	('10', 'InProgress'), ('9', 'Paused'), ('a b', 'Completed'), ('A', 'InProgress'), ('z', 'Failed'), ('ab', 'InProgress'), ('Z', 'Cancelled')) v(i, s);
-- in the order of the bytes
SELECT * FROM sayiir_list_snapshots();
SELECT * FROM sayiir_list_snapshots(NULL, NULL, NULL) LIMIT 3;
-- by status
SELECT s, (SELECT string_agg(i, ',') FROM sayiir_list_snapshots(s) i) FROM unnest('{InProgress,Paused,Completed,Failed,Cancelled}'::text[]) s;
SELECT qa.try($$SELECT * FROM sayiir_list_snapshots('Ended')$$);
SELECT qa.try($$SELECT * FROM sayiir_list_snapshots('inprogress')$$);
SELECT qa.try($$SELECT * FROM sayiir_list_snapshots('')$$);
-- after: an id that is there, one that is not, before all, after all; the id itself is left out
SELECT string_agg(i, ',') FROM sayiir_list_snapshots(after => 'A') i;
SELECT string_agg(i, ',') FROM sayiir_list_snapshots(after => 'C') i;
SELECT string_agg(i, ',') FROM sayiir_list_snapshots(after => ' ') i;
SELECT string_agg(i, ',') FROM sayiir_list_snapshots(after => '') i;
SELECT string_agg(i, ',') FROM sayiir_list_snapshots(after => 'é') i;
SELECT string_agg(i, ',') FROM sayiir_list_snapshots('InProgress', 'A') i;
-- max_rows: none, one, more than there are, all
SELECT count(*) FROM sayiir_list_snapshots(max_rows => 0);
SELECT * FROM sayiir_list_snapshots(max_rows => 1);
SELECT string_agg(i, ',') FROM sayiir_list_snapshots('InProgress', NULL, 2) i;
SELECT count(*) FROM sayiir_list_snapshots(max_rows => 2147483647);
SELECT count(*) FROM sayiir_list_snapshots(max_rows => NULL);
SELECT qa.try($$SELECT * FROM sayiir_list_snapshots(max_rows => -1)$$);

-- Keyset paging visits every id once, in order, at any size of page, of every status.
SELECT count(qa.sv('p' || i % 7 || '-' || i, (ARRAY['InProgress', 'Paused', 'Failed'])[1 + i % 3])) FROM generate_series(1, 400) i;
CREATE FUNCTION qa.pages(stat text, size integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	seen text[] := '{}';
	page text[];
	last text;
BEGIN
	LOOP
		SELECT array_agg(i) INTO page FROM sayiir_list_snapshots(stat, last, size) i;
		EXIT WHEN page IS NULL OR cardinality(seen) > 1000;
		seen := seen || page;
		last := page[cardinality(page)];
	END LOOP;
	RETURN CASE WHEN seen = ARRAY(SELECT s.instance_id FROM sayiir_workflow_snapshots s WHERE s.status = coalesce(stat, s.status)
		ORDER BY s.instance_id COLLATE "C") THEN 'all, once, in order' ELSE 'WRONG' END;
END $$;
SELECT s, n, qa.pages(s, n) FROM unnest('{NULL,InProgress,Paused,Failed,Cancelled}'::text[]) s, unnest('{1,3,100,1000}'::integer[]) n;

-- Read in part: in the select list, twice in one, in cursors closed and rolled back, joined to
-- itself, with little memory, and in a loop that saves and deletes meanwhile.
SET work_mem = '64kB';
SELECT count(qa.sv('n' || i)) FROM generate_series(1, 3000) i;
SELECT count(*), min(i COLLATE "C"), max(i COLLATE "C") FROM sayiir_list_snapshots() i;
SELECT sayiir_list_snapshots() LIMIT 1;
SELECT * FROM sayiir_list_snapshots() LIMIT 2 OFFSET 1;
SELECT sayiir_list_snapshots(max_rows => 3), sayiir_list_snapshots('Failed', NULL, 2);
SELECT count(*) FROM generate_series(1, 200) g, LATERAL (SELECT i FROM sayiir_list_snapshots(after => 'n' || g) i LIMIT 1) x;
SELECT count(*) FROM (SELECT (SELECT sayiir_list_snapshots(after => 'n' || g) LIMIT 1) FROM generate_series(1, 200) g) x;
BEGIN;
DECLARE c CURSOR FOR SELECT sayiir_list_snapshots();
FETCH 2 FROM c;
SELECT sayiir_delete_snapshot('10');
SELECT qa.sv('00');
FETCH 2 FROM c;
CLOSE c;
DECLARE c CURSOR FOR SELECT * FROM sayiir_list_snapshots();
FETCH 3 FROM c;
ROLLBACK;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT sayiir_list_snapshots();
FETCH 1 FROM c;
COMMIT;
FETCH 2 FROM c;
CLOSE c;
SELECT count(*), bool_and(a = b) FROM sayiir_list_snapshots() WITH ORDINALITY AS x(a, i) JOIN sayiir_list_snapshots() WITH ORDINALITY AS y(b, j) ON i = j;
DO $$
DECLARE
	id text;
BEGIN
	FOR id IN SELECT * FROM sayiir_list_snapshots('InProgress', 'n') LOOP
		IF id LIKE '%7' THEN
			PERFORM sayiir_delete_snapshot(id);
		ELSE
			PERFORM qa.sv(id, 'Completed', '\x09', NULL);
		END IF;
	END LOOP;
END $$;
SELECT count(*) FROM sayiir_list_snapshots('Completed', 'n') i WHERE i LIKE 'n%';
SELECT count(*) FROM sayiir_list_snapshots('InProgress', 'n') i WHERE i LIKE 'n%';
-- a query that breaks off with an error
SELECT qa.try($$SELECT 1 / (length(i) - 2) FROM sayiir_list_snapshots() i$$);
RESET work_mem;

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
