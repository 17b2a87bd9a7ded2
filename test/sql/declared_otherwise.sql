-- CASES B15: the library meets declarations of its functions by the SQL of another version, with fewer
-- arguments or more, with other columns, as a set or not. Each such call is refused with the way out,
-- whatever it passes; nothing that was not passed is read.
\getenv suite PG_ABS_SRCDIR
\set qa :suite /sql/include/qa.sql
\i :qa
CREATE EXTENSION sayiir_pg;

-- Every C function of the extension: symbol, types, and how it returns.
CREATE VIEW qa.functions AS
	SELECT p.proname AS name, p.probin, p.prosrc, p.proretset AS is_set,
		ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS x(t, n) ORDER BY n) AS types,
		CASE WHEN 't' = ANY (p.proargmodes) THEN
			ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proallargtypes, p.proargmodes) WITH ORDINALITY AS x(t, m, n)
				WHERE m = 't' ORDER BY n) END AS columns,
		format_type(p.prorettype, NULL) AS returns
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'sayiir_pg'
	JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'c';

CREATE FUNCTION qa.columns(columns text[]) RETURNS text LANGUAGE sql AS $$
	SELECT 'TABLE (' || string_agg(format('c%s %s', n, c), ', ' ORDER BY n) || ')' FROM unnest(columns) WITH ORDINALITY AS x(c, n) $$;

-- What another version could declare in place of a function; `types` and `returns` as CREATE FUNCTION takes them.
CREATE VIEW qa.otherwise AS
	WITH f AS (SELECT *, CASE WHEN columns IS NOT NULL THEN qa.columns(columns) WHEN is_set THEN 'SETOF ' || returns ELSE returns END AS result
		FROM qa.functions)
	SELECT name, probin, prosrc, 'fewer arguments' AS difference, types[:cardinality(types) - 1] AS types, result FROM f WHERE types <> '{}'
	UNION ALL SELECT name, probin, prosrc, 'no argument', '{}', result FROM f WHERE cardinality(types) > 1
	UNION ALL SELECT name, probin, prosrc, 'more arguments', types || 'text'::text, result FROM f
	UNION ALL SELECT name, probin, prosrc, 'a set', types, 'SETOF ' || returns FROM f WHERE NOT is_set
	UNION ALL SELECT name, probin, prosrc, 'rows', types, 'TABLE (a integer, b text)' FROM f WHERE NOT is_set
	UNION ALL SELECT name, probin, prosrc, 'no set', types, 'text' FROM f WHERE is_set
	UNION ALL SELECT name, probin, prosrc, 'one row', types, 'qa.a_row' FROM f WHERE is_set
	UNION ALL SELECT name, probin, prosrc, 'a set of values', types, 'SETOF integer' FROM f WHERE is_set
	UNION ALL SELECT name, probin, prosrc, 'a set of records', types, 'SETOF record' FROM f WHERE is_set
	UNION ALL SELECT name, probin, prosrc, 'fewer columns', types, qa.columns(columns[:cardinality(columns) - 1]) FROM f WHERE columns IS NOT NULL
	UNION ALL SELECT name, probin, prosrc, 'more columns', types, qa.columns(coalesce(columns, ARRAY[returns]) || 'text'::text) FROM f WHERE is_set
	UNION ALL SELECT name, probin, prosrc, 'another column', types, qa.columns('boolean'::text || columns[2:]) FROM f WHERE columns IS NOT NULL
	UNION ALL SELECT name, probin, prosrc, 'columns in another order', types, qa.columns(columns[cardinality(columns):] || columns[:cardinality(columns) - 1])
		FROM f WHERE columns[1] <> columns[cardinality(columns)];
CREATE TYPE qa.a_row AS (a integer, b text);

-- Declares each, calls it with NULLs and with values, in FROM and in SELECT, and gives what was answered.
CREATE FUNCTION qa.refused() RETURNS TABLE (name name, prosrc text, difference text, answer text) LANGUAGE plpgsql AS $$
DECLARE
	o record;
	arguments text;
	call text;
	columns text;
BEGIN
	FOR o IN SELECT * FROM qa.otherwise LOOP
		EXECUTE format('CREATE FUNCTION qa.other(%s) RETURNS %s LANGUAGE C AS %L, %L',
			array_to_string(o.types, ', '), o.result, o.probin, o.prosrc);
		columns := CASE WHEN o.result = 'SETOF record' THEN ' AS r (a integer, b text)' ELSE '' END;
		FOREACH arguments IN ARRAY ARRAY[
			(SELECT coalesce(string_agg('NULL::' || t, ', '), '') FROM unnest(o.types) t),
			(SELECT coalesce(string_agg(CASE WHEN t LIKE '%[]' THEN '''{}''' ELSE CASE t WHEN 'text' THEN '''x''' WHEN 'bytea' THEN '''\x01'''
				WHEN 'uuid' THEN '''00000000-0000-0000-0000-000000000000''' WHEN 'interval' THEN '''1 s'''
				WHEN 'timestamp with time zone' THEN '''now'''
				ELSE '1' END END || '::' || t, ', ') , '') FROM unnest(o.types) t)]
		LOOP
			FOREACH call IN ARRAY ARRAY['SELECT * FROM qa.other(%s)' || columns, 'SELECT qa.other(%s)'] LOOP
				name := o.name;
				prosrc := o.prosrc;
				difference := o.difference;
				answer := qa.try(format(call, arguments));
				RETURN NEXT;
			END LOOP;
		END LOOP;
		DROP FUNCTION qa.other;
	END LOOP;
END $$;
CREATE TABLE qa.answers AS SELECT * FROM qa.refused();

-- All that is not refused as it should be: nothing.
SELECT name, difference, answer FROM qa.answers
WHERE answer NOT LIKE '55000: function other does not fit the loaded library of sayiir\_pg%';
-- Every function was tried, each in several ways.
SELECT (SELECT count(*) FROM qa.functions) > 30, (SELECT count(*) FROM qa.functions) = (SELECT count(DISTINCT prosrc) FROM qa.answers),
	(SELECT count(*) FROM qa.functions WHERE is_set) = count(DISTINCT prosrc) FILTER (WHERE difference = 'more columns') FROM qa.answers;
SELECT difference, min(answer) FROM qa.answers WHERE prosrc = 'sayiir_claim_task' GROUP BY 1 ORDER BY 1;
SELECT difference, min(answer) FROM qa.answers WHERE prosrc = 'sayiir_fork' GROUP BY 1 ORDER BY 1;

-- As after an upgrade of the library alone: the declaration of the extension itself is an older one. The
-- constraints of the tables call theirs, too; nothing is written.
SELECT qa.sv('i');
CREATE FUNCTION qa.replace_is_snapshot(arguments text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE sayiir_workflow_snapshots DROP CONSTRAINT sayiir_workflow_snapshots_check;
	EXECUTE format('CREATE FUNCTION qa.is_snapshot(%s) RETURNS boolean IMMUTABLE LANGUAGE C AS ''$libdir/sayiir_pg'', ''sayiir_is_snapshot''', arguments);
	ALTER TABLE sayiir_workflow_snapshots ADD CONSTRAINT sayiir_workflow_snapshots_check CHECK (qa.is_snapshot(status)) NOT VALID;
END $$;
SELECT qa.replace_is_snapshot('text');
SELECT qa.try($$SELECT qa.sv('i')$$);
SELECT qa.try($$SELECT qa.sv('j')$$);
SELECT qa.show('i');

DROP EXTENSION sayiir_pg CASCADE;
DROP SCHEMA qa CASCADE;
