-- sayiir_task_id: the SHA-256 of the name, in UTF-8 whatever the database.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- test vectors of FIPS 180-4, and the empty name
SELECT sayiir_task_id('abc');
SELECT sayiir_task_id(name => 'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq');
SELECT sayiir_task_id(repeat('a', 1000000));
SELECT sayiir_task_id('');
-- what core says, around the borders of a block
SELECT bool_and(sayiir_task_id(repeat('x', n)) = sha256(convert_to(repeat('x', n), 'UTF8'))) FROM generate_series(0, 300) n;
SELECT n, sayiir_task_id(n) = sha256(convert_to(n, 'UTF8')) FROM unnest(ARRAY['schlüssel', 'ключ', '🔑', ' a ', E'a\nb', 'a''b', '%s%n']) n;
SELECT count(DISTINCT sayiir_task_id(n)) FROM unnest('{a,A," a","a ",á}'::text[]) n;
SELECT qa.try('SELECT sayiir_task_id(NULL)');
-- immutable: it can be indexed by, and is folded when a statement is planned
CREATE TABLE qa.names (name text);
CREATE INDEX ON qa.names (sayiir_task_id(name));
INSERT INTO qa.names VALUES ('a'), ('b');
SELECT name FROM qa.names WHERE sayiir_task_id(name) = sayiir_task_id('b');
EXPLAIN (COSTS OFF) SELECT 1 WHERE sayiir_task_id('a') = '\x00';
-- the tasks of a store are found by it
SELECT sayiir_save_snapshot('\x01', 'i', 'InProgress', sayiir_task_id('wf'), sayiir_task_id('first step'));
SELECT status FROM sayiir_workflow_tasks WHERE task_id = sayiir_task_id('first step');

DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
