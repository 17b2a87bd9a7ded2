-- Everything that the catalogs say about the extension, one fact a line: kind | object | fact. Two databases
-- with the same version of it give the same lines, whichever way it came there: CREATE EXTENSION or updates.
WITH extension AS (
	SELECT * FROM pg_extension WHERE extname = 'sayiir_pg'),
-- What belongs to it, and what hangs on that: columns, constraints, indexes, defaults, triggers, rules
member AS (
	SELECT d.classid, d.objid FROM pg_depend d, extension e
	WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
		-- row types of the tables and their arrays: members from 17 on, and nothing by themselves
		AND NOT (d.classid = 'pg_type'::regclass AND EXISTS (SELECT FROM pg_type t LEFT JOIN pg_type a ON a.oid = t.typelem
			WHERE t.oid = d.objid AND (t.typrelid <> 0 OR t.typcategory = 'A')))),
relation AS (
	SELECT c.* FROM pg_class c JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid),
part AS (
	SELECT classid, objid, 0 AS objsubid FROM member
	UNION SELECT 'pg_extension'::regclass, oid, 0 FROM extension
	UNION SELECT 'pg_class'::regclass, a.attrelid, a.attnum FROM pg_attribute a JOIN relation r ON r.oid = a.attrelid
		WHERE a.attnum > 0 AND NOT a.attisdropped
	UNION SELECT 'pg_class'::regclass, i.indexrelid, 0 FROM pg_index i JOIN relation r ON r.oid = i.indrelid
	UNION SELECT 'pg_constraint'::regclass, c.oid, 0 FROM pg_constraint c JOIN relation r ON r.oid = c.conrelid
	UNION SELECT 'pg_trigger'::regclass, t.oid, 0 FROM pg_trigger t JOIN relation r ON r.oid = t.tgrelid
	UNION SELECT 'pg_rewrite'::regclass, w.oid, 0 FROM pg_rewrite w JOIN relation r ON r.oid = w.ev_class
	UNION SELECT 'pg_policy'::regclass, p.oid, 0 FROM pg_policy p JOIN relation r ON r.oid = p.polrelid
	UNION SELECT 'pg_statistic_ext'::regclass, s.oid, 0 FROM pg_statistic_ext s JOIN relation r ON r.oid = s.stxrelid),
acl AS (
	SELECT 'pg_proc'::regclass AS classid, p.oid AS objid, 0 AS objsubid, coalesce(p.proacl, acldefault('f', p.proowner)) AS acl FROM pg_proc p
	UNION ALL SELECT 'pg_class'::regclass, c.oid, 0, coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))
		FROM pg_class c WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
	UNION ALL SELECT 'pg_class'::regclass, a.attrelid, a.attnum, a.attacl FROM pg_attribute a WHERE a.attacl IS NOT NULL
	UNION ALL SELECT 'pg_type'::regclass, t.oid, 0, coalesce(t.typacl, acldefault('T', t.typowner)) FROM pg_type t),
fact AS (
	SELECT 'extension' AS kind, extname::text AS object, format('version %s, relocatable %s', extversion, extrelocatable) AS fact FROM extension
	UNION ALL SELECT 'member', i.identity, i.type FROM member m, pg_identify_object(m.classid, m.objid, 0) i
	UNION ALL SELECT 'part', i.identity, i.type FROM part p, pg_identify_object(p.classid, p.objid, p.objsubid) i
	-- what pg_dump carries
	UNION ALL SELECT 'dumped', c.rel::regclass::text, coalesce('WHERE ' || nullif(c.condition, ''), 'all rows')
		FROM extension, unnest(extconfig, extcondition) AS c (rel, condition)
	UNION ALL SELECT 'needs', extname::text, r.identity FROM extension e JOIN pg_depend d ON d.classid = 'pg_extension'::regclass AND d.objid = e.oid,
		pg_identify_object(d.refclassid, d.refobjid, 0) r
	-- arguments and their defaults, result, volatility, parallel safety, cost, rows, settings, symbol
	UNION ALL SELECT 'function', p.oid::regprocedure::text, CASE WHEN p.prokind IN ('f', 'p', 'w') THEN pg_get_functiondef(p.oid) ELSE 'an aggregate' END
		|| CASE WHEN p.prosupport <> 0 THEN ' support ' || p.prosupport::regprocedure ELSE '' END
		FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
	UNION ALL SELECT 'relation', r.oid::regclass::text, format('kind %s, persistence %s, options %s, access method %s, replica identity %s, row security %s %s, toast %s',
			r.relkind, r.relpersistence, r.reloptions, am.amname, r.relreplident, r.relrowsecurity, r.relforcerowsecurity,
			(SELECT t.reloptions FROM pg_class t WHERE t.oid = r.reltoastrelid))
		FROM relation r LEFT JOIN pg_am am ON am.oid = r.relam
	-- in their order, but for columns that were dropped
	UNION ALL SELECT 'column', format('%s.%s', r.oid::regclass, a.attname), format('number %s, %s%s%s, default %s, identity %s, generated %s, storage %s, compression %s, statistics %s, options %s',
			row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum), format_type(a.atttypid, a.atttypmod),
			CASE WHEN a.attcollation <> 0 THEN ' collate ' || a.attcollation::regcollation ELSE '' END,
			CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, pg_get_expr(d.adbin, d.adrelid),
			a.attidentity, a.attgenerated, a.attstorage, a.attcompression, nullif(a.attstattarget, -1),
			-- the server's own count of changes of the column is none of ours
			(SELECT array_agg(o) FROM unnest(a.attoptions) o WHERE o NOT LIKE 'pg\_%'))
		FROM pg_attribute a JOIN relation r ON r.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attnum > 0 AND NOT a.attisdropped
	UNION ALL SELECT 'constraint', format('%s %s', r.oid::regclass, c.conname), format('%s, validated %s', pg_get_constraintdef(c.oid), c.convalidated)
		FROM pg_constraint c JOIN relation r ON r.oid = c.conrelid
	UNION ALL SELECT 'index', i.indexrelid::regclass::text, format('%s, valid %s, clustered %s, replica identity %s, options %s',
			pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisclustered, i.indisreplident, (SELECT x.reloptions FROM pg_class x WHERE x.oid = i.indexrelid))
		FROM pg_index i JOIN relation r ON r.oid = i.indrelid
	UNION ALL SELECT 'view', r.oid::regclass::text, pg_get_viewdef(r.oid) FROM relation r WHERE r.relkind IN ('v', 'm')
	UNION ALL SELECT 'rule', w.rulename || ' on ' || r.oid::regclass, pg_get_ruledef(w.oid) FROM pg_rewrite w JOIN relation r ON r.oid = w.ev_class WHERE r.relkind <> 'v'
	UNION ALL SELECT 'trigger', t.tgname || ' on ' || r.oid::regclass, format('%s, enabled %s', pg_get_triggerdef(t.oid), t.tgenabled)
		FROM pg_trigger t JOIN relation r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal
	UNION ALL SELECT 'statistics', s.stxname::text, pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext s JOIN relation r ON r.oid = s.stxrelid
	UNION ALL SELECT 'sequence', s.seqrelid::regclass::text, format('%s from %s by %s, %s to %s, cache %s, cycle %s, of %s',
			s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle,
			(SELECT string_agg(pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) || ' ' || d.deptype::text, ', ') FROM pg_depend d
				WHERE d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')))
		FROM pg_sequence s JOIN part p ON p.classid = 'pg_class'::regclass AND p.objid = s.seqrelid
	UNION ALL SELECT 'type', t.oid::regtype::text, format('kind %s, of %s, not null %s, default %s, labels %s', t.typtype, nullif(t.typbasetype, 0)::regtype, t.typnotnull, t.typdefault,
			(SELECT string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid))
		FROM pg_type t JOIN member m ON m.classid = 'pg_type'::regclass AND m.objid = t.oid
	UNION ALL SELECT 'comment', i.identity, i.type || ': ' || d.description
		FROM part p JOIN pg_description d ON (d.classoid, d.objoid, d.objsubid) = (p.classid, p.objid, p.objsubid), pg_identify_object(p.classid, p.objid, p.objsubid) i
	-- who may what, now and, what pg_dump takes for granted, as the extension itself has it
	UNION ALL SELECT 'right', i.identity, format('%s: %s%s', coalesce(g.rolname, 'public'), x.privilege_type, CASE WHEN x.is_grantable THEN ' with grant option' ELSE '' END)
		FROM part p JOIN acl a USING (classid, objid, objsubid), aclexplode(a.acl) x LEFT JOIN pg_roles g ON g.oid = x.grantee,
			pg_identify_object(p.classid, p.objid, p.objsubid) i
	UNION ALL SELECT 'first right', i.identity, format('%s: %s', coalesce(g.rolname, 'public'), x.privilege_type)
		FROM part p JOIN pg_init_privs a ON (a.classoid, a.objoid, a.objsubid) = (p.classid, p.objid, p.objsubid),
			aclexplode(a.initprivs) x LEFT JOIN pg_roles g ON g.oid = x.grantee, pg_identify_object(p.classid, p.objid, p.objsubid) i)
SELECT replace(kind || ' | ' || object || ' | ' || fact, E'\n', ' ') FROM fact ORDER BY kind COLLATE "C", object COLLATE "C", fact COLLATE "C"
