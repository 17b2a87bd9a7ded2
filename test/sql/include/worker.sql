\set ECHO none
-- What the files about workers share, on top of qa.sql: claims whose tokens are kept under a name and never shown,
-- saves with the later arguments, Sayiir's own snapshots, and all about an instance in few lines. To be included
-- before the extension is created.

-- The tokens that claims gave, by a name that the test chooses.
CREATE TABLE qa.token (label text PRIMARY KEY, token uuid, instance_id text);
CREATE FUNCTION qa.k(p_label text) RETURNS uuid LANGUAGE sql VOLATILE AS $$
	SELECT coalesce((SELECT token FROM qa.token WHERE label = $1), '00000000-0000-0000-0000-000000000000') $$;
CREATE FUNCTION qa.keep(p_label text, p_token uuid, p_id text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO qa.token VALUES ($1, $2, $3) ON CONFLICT (label) DO UPDATE SET token = $2, instance_id = $3 $$;

-- How long a claim lasts, told without its instants.
CREATE FUNCTION qa.lasts(claimed timestamptz, expires timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN $2 IS NULL THEN 'until released'
		WHEN $2 <= clock_timestamp() THEN 'expired'
		WHEN $2 - clock_timestamp() > '1 hour' THEN 'for long'
		WHEN $2 - clock_timestamp() > '5 minutes' THEN 'for minutes'
		ELSE 'for seconds' END $$;

-- sayiir_claim_task; its row is compared with the table's.
CREATE FUNCTION qa.claim(p_id text, p_task bytea DEFAULT qa.t('a'), p_worker text DEFAULT 'w', p_ttl interval DEFAULT '20 minutes',
	p_label text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c record;
	row record;
	n integer := 0;
	before timestamptz := clock_timestamp();
BEGIN
	FOR row IN SELECT * FROM sayiir_claim_task(p_id, p_task, p_worker, p_ttl) LOOP
		n := n + 1;
		c := row;
	END LOOP;
	IF n = 0 THEN RETURN 'none'; END IF;
	IF n > 1 THEN RETURN 'SEVERAL ROWS'; END IF;
	SELECT * INTO STRICT row FROM sayiir_workflow_claims WHERE instance_id = p_id;
	IF (c.claim_token, c.claimed_at, c.expires_at) IS DISTINCT FROM (row.claim_token, row.claimed_at, row.expires_at)
		OR (row.worker_id, row.task_id) IS DISTINCT FROM (p_worker, p_task) THEN RETURN 'NOT WHAT IS STORED'; END IF;
	IF c.claimed_at NOT BETWEEN before AND clock_timestamp() THEN RETURN 'NOT NOW'; END IF;
	IF c.expires_at IS DISTINCT FROM c.claimed_at + p_ttl THEN RETURN 'NOT TTL LATER'; END IF;
	IF EXISTS (SELECT FROM qa.token WHERE token = c.claim_token) THEN RETURN 'AN OLD TOKEN'; END IF;
	PERFORM qa.keep(coalesce(p_label, p_id), c.claim_token, p_id);
	RETURN 'claimed ' || qa.lasts(c.claimed_at, c.expires_at);
END $$;

-- A claim that has run out, without waiting for it.
CREATE FUNCTION qa.expire(p_id text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE sayiir_workflow_claims SET expires_at = clock_timestamp() - interval '1 second' WHERE instance_id = p_id;
END $$;

-- sayiir_extend_claim, its answer compared with the claim: now + ttl, nothing added up.
CREATE FUNCTION qa.extend(p_label text, p_ttl interval) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	id text := (SELECT instance_id FROM qa.token WHERE label = p_label);
	before timestamptz := clock_timestamp();
	answer timestamptz;
	was record;
	c record;
BEGIN
	SELECT * INTO was FROM sayiir_workflow_claims WHERE instance_id = id;
	answer := sayiir_extend_claim(id, qa.k(p_label), p_ttl);
	SELECT * INTO STRICT c FROM sayiir_workflow_claims WHERE instance_id = id;
	IF (c.task_id, c.worker_id, c.claim_token, c.claimed_at) IS DISTINCT FROM (was.task_id, was.worker_id, was.claim_token, was.claimed_at)
		THEN RETURN 'MORE CHANGED THAN THE EXPIRY'; END IF;
	IF answer IS DISTINCT FROM c.expires_at THEN RETURN 'NOT WHAT IS STORED'; END IF;
	IF answer IS NULL THEN RETURN 'NULL'; END IF;
	RETURN CASE WHEN answer BETWEEN before + p_ttl AND clock_timestamp() + p_ttl THEN 'ttl from now' ELSE 'ANOTHER INSTANT' END;
END $$;

-- One save with the arguments that workers need; parked at b means p_cur NULL.
CREATE FUNCTION qa.ws(p_id text, p_status text DEFAULT 'InProgress', p_data bytea DEFAULT '\x01', p_cur bytea DEFAULT qa.t('a'),
	p_kind text DEFAULT NULL, p_wake timestamptz DEFAULT NULL, p_awaits text DEFAULT NULL, p_token uuid DEFAULT NULL,
	p_ev integer DEFAULT NULL, p_prio integer DEFAULT 3, p_tags text[] DEFAULT '{}', p_def bytea DEFAULT qa.t('wf'),
	p_lc bytea DEFAULT NULL, p_out bytea DEFAULT NULL, p_err text DEFAULT NULL, p_trace text DEFAULT NULL)
RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	RETURN sayiir_save_snapshot(data => p_data, instance_id => p_id, status => p_status, definition_hash => p_def,
		current_task_id => p_cur, position_kind => p_kind, delay_wake_at => p_wake, awaited_signal => p_awaits,
		claim_token => p_token, expected_version => p_ev, task_priority => p_prio, task_tags => p_tags,
		last_completed_task_id => p_lc, last_completed_output => p_out, error => p_err, trace_parent => p_trace);
END $$;

-- sayiir_advance in its explicit form, the answer in a line.
CREATE FUNCTION qa.adv(p_id text, p_status text DEFAULT 'InProgress', p_data bytea DEFAULT '\x02', p_cur bytea DEFAULT qa.t('b'),
	p_kind text DEFAULT NULL, p_wake timestamptz DEFAULT NULL, p_awaits text DEFAULT NULL, p_token uuid DEFAULT NULL,
	p_ev integer DEFAULT NULL, p_lc bytea DEFAULT NULL, p_out bytea DEFAULT NULL, p_ttl interval DEFAULT NULL, p_err text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO STRICT r FROM sayiir_advance(data => p_data, claim_token => coalesce(p_token, qa.k(p_id)), instance_id => p_id, status => p_status,
		definition_hash => qa.t('wf'), current_task_id => p_cur, position_kind => p_kind, delay_wake_at => p_wake, awaited_signal => p_awaits,
		expected_version => p_ev, last_completed_task_id => p_lc, last_completed_output => p_out, next_claim_ttl => p_ttl, error => p_err);
	RETURN format('%s %s %s', coalesce('v' || r.history_version, 'NULL'), coalesce(r.status, 'NULL'),
		CASE WHEN r.expires_at IS DISTINCT FROM (SELECT c.expires_at FROM sayiir_workflow_claims c
				WHERE c.instance_id = p_id AND c.claim_token = coalesce(p_token, qa.k(p_id))) THEN 'ANOTHER EXPIRY THAN THE CLAIM'
			WHEN r.expires_at IS NULL THEN 'no expiry' ELSE qa.lasts(NULL, r.expires_at) END);
END $$;
-- The same in the short form.
CREATE FUNCTION qa.jadv(p_data bytea, p_label text, p_ttl interval DEFAULT NULL, p_ev integer DEFAULT NULL, p_trace text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO STRICT r FROM sayiir_advance(p_data, qa.k(p_label), next_claim_ttl => p_ttl, expected_version => p_ev, trace_parent => p_trace);
	RETURN format('%s %s %s', coalesce('v' || r.history_version, 'NULL'), coalesce(r.status, 'NULL'),
		CASE WHEN r.expires_at IS DISTINCT FROM (SELECT c.expires_at FROM sayiir_workflow_claims c WHERE c.claim_token = qa.k(p_label))
				THEN 'ANOTHER EXPIRY THAN THE CLAIM'
			WHEN r.expires_at IS NULL THEN 'no expiry' ELSE qa.lasts(NULL, r.expires_at) END);
END $$;

-- Instants of the tests lie in the past, or years ahead; one that the server made of the present is told as such.
CREATE FUNCTION qa.instant(t timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN $1 IS NULL THEN '-' WHEN NOT isfinite($1) THEN $1::text
		WHEN $1 BETWEEN clock_timestamp() - interval '1 day' AND clock_timestamp() THEN 'just past'
		WHEN $1 BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 day' THEN 'soon'
		ELSE to_char($1 AT TIME ZONE 'UTC', 'YYYY-MM-DD') END $$;

-- All that is worth saying about an instance in its place, in one line; empty for an unknown one.
CREATE FUNCTION qa.place(p_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	SELECT format('%s v%s at %s%s%s%s, count %s', s.status, s.history_version, coalesce(qa.nm(s.current_task_id), '-'),
			coalesce(' ' || s.position_kind, ''), CASE WHEN s.delay_wake_at IS NULL THEN '' ELSE ' until ' || qa.instant(s.delay_wake_at) END,
			coalesce(' for event ' || s.awaited_signal, ''), s.completed_task_count)
		INTO r FROM sayiir_workflow_snapshots s WHERE s.instance_id = p_id;
	r := coalesce(r, 'no snapshot') || coalesce((SELECT format(' | claim of %s by %s %s%s', coalesce(qa.nm(c.task_id), '-'), c.worker_id,
			qa.lasts(c.claimed_at, c.expires_at),
			coalesce((SELECT ' (token ' || string_agg(k.label, ',') || ')' FROM qa.token k WHERE k.token = c.claim_token), ''))
		FROM sayiir_workflow_claims c WHERE c.instance_id = p_id), '');
	r := r || coalesce((SELECT ' | signals ' || string_agg(g.kind || coalesce(' because ' || g.reason, '') || coalesce(' by ' || g.requested_by, ''), ', ' ORDER BY g.kind)
		FROM sayiir_workflow_signals g WHERE g.instance_id = p_id), '');
	r := r || coalesce((SELECT ' | events ' || string_agg(e.signal_name || ' ' || e.payload::text, ', ' ORDER BY e.signal_name, e.id)
		FROM sayiir_workflow_events e WHERE e.instance_id = p_id), '');
	r := r || coalesce((SELECT ' | tasks ' || string_agg(qa.nm(k.task_id) || ' ' || k.status || coalesce(' ' || k.output::text, '')
			|| coalesce(' by ' || k.worker_id, ''), ', ' ORDER BY qa.nm(k.task_id) COLLATE "C")
		FROM sayiir_workflow_tasks k WHERE k.instance_id = p_id), '');
	RETURN r;
END $$;

-- Ids in the payloads: @a is the 64 digits of task a's.
CREATE FUNCTION qa.ids(payload text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	n text;
BEGIN
	FOREACH n IN ARRAY '{wf2,wf,a,b,c,d,e,f,g,x,y,z}'::text[] LOOP
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
-- The state InProgress at a position, with completed tasks.
CREATE FUNCTION qa.jp(p_id text, pos text, tasks text DEFAULT '{}', last text DEFAULT 'null', more text DEFAULT '') RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT qa.js($1, '{"InProgress":{"position":' || $2 || ',"completed_tasks":' || $3 || ',"last_completed_task_id":' || $4 || '}}', $5) $$;

-- A stored payload, ids by name again, the version's transaction time as NOW, also where it is written as RFC 3339.
CREATE FUNCTION qa.payload(p_id text, p_version integer DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	h record;
	n text;
	p text;
	m text[];
BEGIN
	SELECT * INTO STRICT h FROM sayiir_workflow_snapshot_history WHERE instance_id = p_id
		AND (version = p_version OR p_version IS NULL) ORDER BY version DESC LIMIT 1;
	IF substr(h.data, 1, 6) <> '\x535952530101' THEN RETURN h.data::text; END IF;
	p := convert_from(substr(h.data, 7), 'UTF8');
	FOREACH n IN ARRAY '{wf2,wf,a,b,c,d,e,f,g,x,y,z}'::text[] LOOP
		p := replace(p, encode(qa.t(n), 'hex'), '@' || n);
	END LOOP;
	p := replace(p, floor(extract(epoch FROM h.created_at))::bigint::text, 'NOW');
	m := regexp_match(p, '"(?:cancelled_at|paused_at)":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"');
	IF m IS NOT NULL AND abs(extract(epoch FROM m[1]::timestamptz - h.created_at)) < 1 THEN
		p := replace(p, m[1], 'NOW');
	END IF;
	RETURN p;
END $$;

-- sayiir_claim_tasks, a line each in the order of the answer; what it says is compared with the tables.
CREATE FUNCTION qa.claims(p_worker text DEFAULT 'w', p_max integer DEFAULT 1, p_ttl interval DEFAULT '20 minutes', p_tags text[] DEFAULT '{}',
	p_aging interval DEFAULT '1 minute', p_defs bytea[] DEFAULT NULL, p_prefix text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	c record;
	s record;
	l record;
	wrong text;
BEGIN
	FOR r IN SELECT * FROM sayiir_claim_tasks(p_worker, p_max, p_ttl, p_tags, p_aging, p_defs) LOOP
		wrong := '';
		SELECT * INTO c FROM sayiir_workflow_claims WHERE instance_id = r.instance_id;
		IF c IS NULL OR (c.task_id, c.claim_token, c.expires_at, c.worker_id) IS DISTINCT FROM (r.task_id, r.claim_token, r.expires_at, p_worker)
			OR c.expires_at IS DISTINCT FROM c.claimed_at + coalesce(p_ttl, '30 seconds') THEN wrong := wrong || ' CLAIM'; END IF;
		SELECT * INTO s FROM sayiir_workflow_snapshots WHERE instance_id = r.instance_id;
		IF s IS NULL OR (s.current_task_id, s.position_kind, s.history_version, s.definition_hash, s.trace_parent)
			IS DISTINCT FROM (r.task_id, r.position_kind, r.history_version, r.definition_hash, r.trace_parent) THEN wrong := wrong || ' SNAPSHOT'; END IF;
		SELECT * INTO l FROM sayiir_load_snapshot(r.instance_id);
		IF l.data IS DISTINCT FROM r.data THEN wrong := wrong || ' DATA'; END IF;
		IF (SELECT array_agg(u ORDER BY u) FROM unnest(l.task_ids, l.outputs) u) IS DISTINCT FROM (SELECT array_agg(u ORDER BY u) FROM unnest(r.task_ids, r.outputs) u)
			OR (l.task_ids IS NULL) <> (r.task_ids IS NULL) OR (l.outputs IS NULL) <> (r.outputs IS NULL) THEN wrong := wrong || ' OUTPUTS'; END IF;
		IF EXISTS (SELECT FROM qa.token WHERE token = r.claim_token) THEN wrong := wrong || ' OLD TOKEN'; END IF;
		PERFORM qa.keep(p_prefix || r.instance_id, r.claim_token, r.instance_id);
		RETURN NEXT r.instance_id || ' at ' || coalesce(qa.nm(r.task_id), '-') || coalesce(' ' || r.position_kind, '') || ' v' || r.history_version
			|| CASE WHEN wrong = '' THEN '' ELSE ' WRONG' || wrong END;
	END LOOP;
END $$;

-- Empties the store by its own functions, or gives every claim back; says how many.
CREATE FUNCTION qa.wipe() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	ids text[] := (SELECT array_agg(i) FROM sayiir_list_snapshots() i);
BEGIN
	PERFORM sayiir_delete_snapshot(i) FROM unnest(ids) i;
	RETURN coalesce(cardinality(ids), 0);
END $$;
CREATE FUNCTION qa.release_all() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	n integer;
BEGIN
	PERFORM sayiir_release_claim(instance_id, claim_token) FROM sayiir_workflow_claims WHERE expires_at > clock_timestamp() OR expires_at IS NULL;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;

\set ECHO all
