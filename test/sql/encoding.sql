-- Databases of other encodings: task ids and hints are of UTF-8 everywhere.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
SELECT current_database() AS home \gset
DROP SCHEMA qa CASCADE;
SET client_min_messages = error;
DROP DATABASE IF EXISTS regress_sayiir_latin1;
DROP DATABASE IF EXISTS regress_sayiir_ascii;
CREATE DATABASE regress_sayiir_latin1 TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C';
CREATE DATABASE regress_sayiir_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C';
\set hear '\\o |sed "s/ received from server process.*//"'

-- LATIN1; the client speaks UTF-8.
\c regress_sayiir_latin1
\encoding UTF8
\i :qa
CREATE EXTENSION sayiir_pg;
SHOW server_encoding;
SELECT sayiir_task_id('schlüssel'), sayiir_task_id('schlüssel') = sha256(convert_to('schlüssel', 'UTF8'));
SELECT bool_and(sayiir_task_id(repeat('ü', n)) = sha256(convert_to(repeat('ü', n), 'UTF8'))) FROM generate_series(0, 100) n;
-- an id is as long as the database stores it
SELECT qa.sv(repeat('ü', 256));
SELECT qa.try($$SELECT qa.sv(repeat('ü', 257))$$);
-- hints go out in UTF-8, and come back
LISTEN sayiir_task_ready;
:hear
SELECT qa.sv('Größe', p_tags => '{für,ü}');
\o
SELECT qa.hint('Größe', qa.t('a'), qa.t('wf'), '{für,ü}');
SELECT instance_id, tags FROM sayiir_decode_hint(qa.hint('Größe', qa.t('a'), qa.t('wf'), '{für,ü}'));
-- the limit of NOTIFY is on what is sent: 5908 bytes of tag fit, and ü has two
\set hear '\\o |sed -E "s/ received from server process.*//; s/[A-Za-z0-9+/]{60,}/(long)/"'
:hear
SELECT qa.sv('hl', p_tags => ARRAY[repeat('ü', 2954)]);
SELECT qa.sv('hl', p_tags => ARRAY[repeat('ü', 2955)]);
\o
-- a hint with text that this encoding has not (a task named in Cyrillic) cannot be decoded here
SELECT qa.try(format('SELECT instance_id FROM sayiir_decode_hint(%L)', qa.b64('\x02'::bytea || qa.le64(2) || '\xd0ba'::bytea || qa.t('a') || qa.t('wf') || qa.le64(0))));
SELECT qa.try($$SELECT sayiir_load_snapshot('Öl')$$);
SELECT string_agg(i, ' ') FROM sayiir_list_snapshots(after => 'A', max_rows => 2) i;
SELECT qa.unsound();

-- SQL_ASCII: bytes without a meaning.
\c regress_sayiir_ascii
\encoding SQL_ASCII
\i :qa
CREATE EXTENSION sayiir_pg;
SHOW server_encoding;
SELECT sayiir_task_id('plain') = sha256('plain');
-- bytes that are UTF-8 are taken as such
SELECT sayiir_task_id('schlüssel');
\set hear '\\o |sed "s/ received from server process.*//"'
LISTEN sayiir_task_ready;
:hear
SELECT qa.sv('Größe', p_tags => '{für}');
\o
SELECT instance_id, tags FROM sayiir_decode_hint(qa.b64('\x02'::bytea || qa.le64(7) || '\x4772c3b6c39f65'::bytea || qa.t('a') || qa.t('wf') || qa.le64(0)));
-- text that is not wakes nobody, and is saved; one that has no id is refused
:hear
SELECT qa.sv(E'\xff\xfe');
SELECT qa.sv('tags', p_tags => ARRAY[E'\xff']);
SELECT qa.sv('tags', p_data => '\x02', p_tags => '{t}');
\o
SELECT instance_id::bytea, history_version FROM sayiir_workflow_snapshots ORDER BY 1;
SELECT left(qa.try($$SELECT sayiir_task_id(E'\xff')$$), 5);
SELECT history_version FROM sayiir_load_snapshot(E'\xff\xfe');
SELECT sayiir_delete_snapshot(E'\xff\xfe');
SELECT qa.unsound();

\c :home
DROP DATABASE regress_sayiir_latin1;
DROP DATABASE regress_sayiir_ascii;
