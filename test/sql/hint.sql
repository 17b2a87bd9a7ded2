-- The wakeup payload: what saves send, and sayiir_decode_hint.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- A vector made by hand: version 2, "order-7", task 00 01 02 .. 1f, definition ff fe .. e0, tags gpu and "eu west".
SELECT 'AgcAAAAAAAAAb3JkZXItNwABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eACAAAAAAAAAAMAAAAAAAAAZ3B1BwAAAAAAAABldSB3ZXN0' AS vector \gset
SELECT * FROM sayiir_decode_hint(:'vector');
-- which is what the description, followed in SQL, gives as well
SELECT qa.hint('order-7', decode('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 'hex'),
	decode('fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0', 'hex'), '{gpu,"eu west"}') = :'vector';
SELECT instance_id, qa.nm(task_id), qa.nm(definition_hash), tags FROM sayiir_decode_hint(payload => qa.hint('i', qa.t('a'), qa.t('wf'), '{}'));
-- text of all kinds, lengths of all remainders of three
SELECT count(*), bool_and((h.instance_id, h.task_id, h.definition_hash, h.tags) = (p.id, qa.t('a'), qa.t('wf'), p.tags))
FROM (SELECT repeat('i', n) AS id, ARRAY['', 'ü', E'a\nb', 'a"b', '{}', 'NULL', repeat('t', n)] AS tags FROM generate_series(1, 256) n) p,
	LATERAL sayiir_decode_hint(qa.hint(p.id, qa.t('a'), qa.t('wf'), p.tags)) h;
SELECT instance_id, tags FROM sayiir_decode_hint(qa.hint('Größe 🔑', qa.t('a'), qa.t('wf'), '{ключ}'));
-- of a parked place: 32 zero bytes
SELECT task_id FROM sayiir_decode_hint(qa.hint('i', decode(repeat('00', 32), 'hex'), qa.t('wf'), '{}'));
-- An empty payload says nothing: no row.
SELECT * FROM sayiir_decode_hint('');
SELECT count(*) FROM sayiir_decode_hint('');

-- What a save sends. psql shows what this session hears; its process id is cut off.
LISTEN sayiir_task_ready;
\set hear '\\o |sed "s/ received from server process.*//"'
:hear
SELECT sayiir_save_snapshot('\x01', 'order-7', 'InProgress', decode('fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0', 'hex'),
	decode('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 'hex'), task_tags => '{gpu,"eu west"}');
\o
:hear
SELECT qa.sv('no tags');
\o
SELECT qa.hint('no tags', qa.t('a'), qa.t('wf'), '{}');
:hear
SELECT qa.sv('Größe 🔑', p_tags => ARRAY['ключ', '', 'NULL', 'a"b']);
\o
SELECT qa.hint('Größe 🔑', qa.t('a'), qa.t('wf'), ARRAY['ключ', '', 'NULL', 'a"b']);
-- another lower bound is the same list
:hear
SELECT qa.sv('bounds', p_tags => '[5:6]={x,y}');
\o
SELECT qa.hint('bounds', qa.t('a'), qa.t('wf'), '{x,y}');
-- The longest that NOTIFY takes is sent whole; one byte more is sent empty, and saved all the same.
\set hear '\\o |sed -E "s/ received from server process.*//; s/[A-Za-z0-9+/]{60,}/(long)/"'
:hear
SELECT qa.sv('hl', p_tags => ARRAY[repeat('t', 5908)]);
SELECT qa.sv('hl', p_tags => ARRAY[repeat('t', 5909)]);
SELECT qa.sv('hl', p_tags => array_fill('tag'::text, ARRAY[10000]));
SELECT qa.sv('hl', p_tags => ARRAY[repeat('t', 1000000)]);
-- long tags that do not compress
SELECT qa.sv('hl', p_tags => ARRAY[left(string_agg(md5(i::text), ''), 5000)]) FROM generate_series(1, 200) i;
SELECT qa.sv('hl', p_tags => ARRAY[string_agg(md5(i::text), '')]) FROM generate_series(1, 2000) i;
\o
SELECT length(qa.hint('hl', qa.t('a'), qa.t('wf'), ARRAY[repeat('t', 5908)]));
SELECT history_version, length(task_tags[1]) FROM sayiir_workflow_snapshots WHERE instance_id = 'hl';
UNLISTEN *;

-- Whatever is no such payload is 22P03, and never more than that.
CREATE TABLE qa.bad (n integer GENERATED ALWAYS AS IDENTITY, what text, payload text);
INSERT INTO qa.bad (what, payload) VALUES
	('not base64', 'this is not base64!'),
	('a character of another alphabet', translate(:'vector', '/', '_')),
	('a character of another alphabet', translate(:'vector', '/', '-')),
	('padded', qa.hint('i', qa.t('a'), qa.t('wf'), '{}') || '='),
	('padded', qa.hint('ii', qa.t('a'), qa.t('wf'), '{}') || '=='),
	('only padding', '===='),
	('one character', 'A'),
	('a length of 4n+1', left(qa.hint('i', qa.t('a'), qa.t('wf'), '{}'), 109)),
	('bits left over', left(qa.hint('i', qa.t('a'), qa.t('wf'), '{}'), -1) || 'B'),
	('a space at the end', :'vector' || ' '),
	('a space before it', ' ' || :'vector'),
	('a newline within', left(:'vector', 76) || E'\n' || substr(:'vector', 77)),
	('letters outside ASCII', 'ü' || :'vector'),
	('a single space', ' '),
	('version 1', qa.b64('\x01'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(0))),
	('version 3', qa.b64('\x03'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(0))),
	('version 2 alone', qa.b64('\x02')),
	('a byte too many', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(0) || '\x00'::bytea)),
	('no count of tags', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf'))),
	('no definition', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a'))),
	('an id longer than the rest', qa.b64('\x02'::bytea || qa.le64(1000) || qa.t('a') || qa.t('wf') || qa.le64(0))),
	('an id of 2^63 bytes', qa.b64('\x02'::bytea || '\x0000000000000080'::bytea || qa.t('a') || qa.t('wf') || qa.le64(0))),
	('an id of 2^64-1 bytes', qa.b64('\x02'::bytea || qa.le64(-1) || qa.t('a') || qa.t('wf') || qa.le64(0))),
	('an id of 2^32+1 bytes', qa.b64('\x02'::bytea || qa.le64(4294967297) || 'i'::bytea || qa.t('a') || qa.t('wf') || qa.le64(0))),
	('one tag announced, none there', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(1))),
	('2^64-1 tags', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(-1))),
	('2^61 tags', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || '\x0000000000000020'::bytea)),
	('a million tags', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(1000000) || decode(repeat('00', 80), 'hex'))),
	('two tags announced, one there', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(2) || qa.str('x'))),
	('a tag longer than the rest', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(1) || qa.le64(2) || 'x'::bytea)),
	('a tag of 2^64-8 bytes', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(1) || qa.le64(-8) || 'x'::bytea)),
	('an id that is not UTF-8', qa.b64('\x02'::bytea || qa.le64(2) || '\xc328'::bytea || qa.t('a') || qa.t('wf') || qa.le64(0))),
	('a tag that is not UTF-8', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(1) || qa.le64(1) || '\xff'::bytea)),
	('a zero byte in the id', qa.b64('\x02'::bytea || qa.le64(3) || '\x610062'::bytea || qa.t('a') || qa.t('wf') || qa.le64(0))),
	('a zero byte in a tag', qa.b64('\x02'::bytea || qa.str('i') || qa.t('a') || qa.t('wf') || qa.le64(1) || qa.le64(1) || '\x00'::bytea)),
	('a megabyte of nothing', repeat('A', 1000000));
SELECT what || ': ' || qa.try(format('SELECT instance_id || tags::text FROM sayiir_decode_hint(%L)', payload)) FROM qa.bad ORDER BY n;
SELECT qa.try('SELECT sayiir_decode_hint(NULL)');
-- cut off anywhere, it is never taken for whole
SELECT count(*) FROM generate_series(1, length(:'vector') - 1) n
WHERE qa.try(format('SELECT instance_id FROM sayiir_decode_hint(%L)', left(:'vector', n))) !~ '^22P03';
-- every byte changed in turn: decoded otherwise, or refused, and nothing else
SELECT count(*), count(*) FILTER (WHERE answer !~ '^(22P03|ok)') FROM (
	SELECT qa.try(format($$SELECT 'ok ' || h.instance_id FROM sayiir_decode_hint(%L) h$$,
		qa.b64(set_byte(v, i, (get_byte(v, i) + change) % 256)))) AS answer
	FROM (SELECT decode(:'vector', 'base64') AS v) x, generate_series(0, length(v) - 1) i, unnest('{1,127,128,255}'::integer[]) change) y;

SELECT qa.unsound();
DROP SCHEMA qa CASCADE;
DROP EXTENSION sayiir_pg;
