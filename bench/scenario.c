/*-------------------------------------------------------------------------
 *
 * scenario.c
 *		The table of what can be measured.
 *
 * The workload: each instance is a workflow under way.  A save moves it from
 * task n to task n + 1, and brings the output of task n, as a worker does
 * between two tasks.  A task result stores the output of one more task.
 *
 *-------------------------------------------------------------------------
 */
#include "scenario.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOOL	16
#define BYTEA	17
#define INT2	21
#define INT4	23
#define TEXT	25
#define TEXTARRAY	1009
#define TIMESTAMPTZ	1184
#define BYTEAARRAY	1001
#define INT4ARRAY	1007
#define TIMESTAMPTZARRAY	1185

#define CHANNEL			"sayiir_task_ready"
#define TRACE_PARENT	"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define DEFINITION		(-1)	/* number that gives the definition hash */

/*
 * random_next is splitmix64: the next of a reproducible sequence.
 */
uint64_t
random_next(uint64_t *state)
{
	uint64_t	z = (*state += 0x9E3779B97F4A7C15ULL);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return z ^ (z >> 31);
}

static void
put(Params *p, const char *bytes, int len)
{
	p->values[p->n] = bytes;
	p->lengths[p->n] = len;
	p->n++;
}

static void
put_null(Params *p)
{
	put(p, NULL, 0);
}

static void
put_text(Params *p, const char *s)
{
	put(p, s, (int) strlen(s));
}

/* Memory that lives as long as the parameters */
static char *
scratch(Params *p, size_t len)
{
	char	   *bytes = p->scratch + p->used;

	p->used += len;
	if (p->used > p->room)
		abort();
	return bytes;
}

static void
put_int4(Params *p, int value)
{
	uint32_t	net = htonl((uint32_t) value);

	put(p, memcpy(scratch(p, 4), &net, 4), 4);
}

static void
put_int2(Params *p, int value)
{
	uint16_t	net = htons((uint16_t) value);

	put(p, memcpy(scratch(p, 2), &net, 2), 2);
}

static void
put_bool(Params *p, bool value)
{
	char	   *byte = scratch(p, 1);

	*byte = value;
	put(p, byte, 1);
}

static void
put_no_tags(Params *p)
{
	uint32_t	header[3] = {0, 0, htonl(TEXT)};

	put(p, memcpy(scratch(p, 12), header, 12), 12);
}

/* The hash that names task number n; what is hashed does not matter here */
static char *
task_id(Params *p, int n)
{
	uint64_t	state = (uint64_t) n;
	uint64_t	words[HASH_BYTES / 8];
	int			i;

	for (i = 0; i < HASH_BYTES / 8; i++)
		words[i] = random_next(&state);
	return memcpy(scratch(p, HASH_BYTES), words, HASH_BYTES);
}

static void
put_hash(Params *p, int n)
{
	put(p, task_id(p, n), HASH_BYTES);
}

/* The output of a task, different for each instance and task */
static void
fill_output(char *bytes, const Instance *instance, int n)
{
	uint64_t	state = (uint64_t) n << 32 ^ (uint64_t) (uintptr_t) instance;

	for (int i = 0; i < OUTPUT_BYTES; i++)
		bytes[i] = (char) (' ' + random_next(&state) % 95);
}

static void
put_output(Params *p, const Job *job, int n)
{
	char	   *bytes = scratch(p, OUTPUT_BYTES);

	fill_output(bytes, job->instances[0], n);
	put(p, bytes, OUTPUT_BYTES);
}

/* The wakeup payload, which a client-side store makes itself */
static void
put_hint(Params *p, const Job *job, int task)
{
	static const char base64[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char raw[1 + 8 + 32 + 2 * HASH_BYTES + 8 + 2] = {2};
	char		ids_scratch[2 * HASH_BYTES];
	Params		ids = {.scratch = ids_scratch, .room = sizeof(ids_scratch)};
	size_t		id_len = strlen(job->instances[0]->id);
	size_t		len = 1;
	char	   *text;
	int			n = 0;
	size_t		i;

	raw[len] = (unsigned char) id_len;
	memcpy(raw + len + 8, job->instances[0]->id, id_len);
	len += 8 + id_len;
	memcpy(raw + len, task_id(&ids, task), HASH_BYTES);
	memcpy(raw + len + HASH_BYTES, task_id(&ids, DEFINITION), HASH_BYTES);
	len += 2 * HASH_BYTES + 8;

	text = scratch(p, len * 4 / 3 + 4);
	for (i = 0; i < len; i += 3)
	{
		uint32_t	group = (uint32_t) raw[i] << 16 | (uint32_t) raw[i + 1] << 8 | raw[i + 2];

		text[n++] = base64[group >> 18];
		text[n++] = base64[group >> 12 & 63];
		if (i + 1 < len)
			text[n++] = base64[group >> 6 & 63];
		if (i + 2 < len)
			text[n++] = base64[group & 63];
	}
	put(p, text, n);
}

static int
int4_of(const PGresult *result, int column)
{
	uint32_t	net;

	memcpy(&net, PQgetvalue(result, 0, column), 4);
	return (int) ntohl(net);
}

/* --- Saves ------------------------------------------------------------ */

static void
bind_extension_save(const Job *job, Params *p)
{
	int			task = job->instances[0]->task;

	put(p, job->blobs[0]->bytes, job->blobs[0]->len);
	put_text(p, job->instances[0]->id);
	put_text(p, "InProgress");
	put_hash(p, DEFINITION);
	put_hash(p, task);
	put_int4(p, task);
	put_null(p);
	put_text(p, "AtTask");
	put_null(p);
	put_text(p, TRACE_PARENT);
	put_int4(p, 3);
	put_no_tags(p);
	if (task == 0)
	{
		put_null(p);
		put_null(p);
	}
	else
	{
		put_hash(p, task - 1);
		put_output(p, job, task - 1);
	}
}

#define EXTENSION_SAVE \
	.sql = "SELECT sayiir_save_snapshot($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)", \
	.nparams = 14, \
	.types = {BYTEA, TEXT, TEXT, BYTEA, BYTEA, INT4, TEXT, TEXT, TIMESTAMPTZ, TEXT, INT4, TEXTARRAY, \
		BYTEA, BYTEA}, \
	.bind = bind_extension_save, .take = took_value

static bool
took_value(Job *job, PGresult *result)
{
	(void) job;
	return PQntuples(result) == 1 && !PQgetisnull(result, 0, 0);
}

static bool
took_one_row(Job *job, PGresult *result)
{
	(void) job;
	return PQntuples(result) == 1;
}

/*
 * The whole of a save in one statement.  Its parameters are the columns of
 * the snapshot row in the order of the table from $1 to $12, without those
 * that the server fills in, then: is it the end, the snapshot's bytes, how
 * its active tasks end, channel and payload, the last completed task and its
 * output.
 */
#define CLIENT_SAVE_WRITES \
	"WITH head AS (" \
	" INSERT INTO sayiir_workflow_snapshots AS s" \
	" (instance_id, status, definition_hash, current_task_id, completed_task_count, error," \
	" position_kind, delay_wake_at, trace_parent, task_priority, task_tags, data_hash," \
	" completed_at, updated_at)" \
	" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12," \
	" CASE WHEN $13 THEN now() END, now())" \
	" ON CONFLICT (instance_id) DO UPDATE SET" \
	" status = EXCLUDED.status, definition_hash = EXCLUDED.definition_hash," \
	" current_task_id = EXCLUDED.current_task_id," \
	" completed_task_count = EXCLUDED.completed_task_count, error = EXCLUDED.error," \
	" position_kind = EXCLUDED.position_kind, delay_wake_at = EXCLUDED.delay_wake_at," \
	" trace_parent = EXCLUDED.trace_parent, task_priority = EXCLUDED.task_priority," \
	" task_tags = EXCLUDED.task_tags, data_hash = EXCLUDED.data_hash," \
	" history_version = s.history_version + 1," \
	" completed_at = COALESCE(EXCLUDED.completed_at, s.completed_at), updated_at = now()" \
	" WHERE s.status NOT IN ('Completed', 'Failed', 'Cancelled')" \
	" RETURNING s.history_version), " \
	"version AS (" \
	" INSERT INTO sayiir_workflow_snapshot_history" \
	" (instance_id, version, status, current_task_id, data, data_hash)" \
	" SELECT $1, head.history_version, $2, $4, $14, $12 FROM head" \
	" RETURNING 1), " \
	"begun AS (" \
	" INSERT INTO sayiir_workflow_tasks AS t (instance_id, task_id, status, started_at)" \
	" SELECT $1, $4, 'active', now()" \
	" WHERE NOT $13 AND $4 IS NOT NULL AND $4 IS DISTINCT FROM $18" \
	" ON CONFLICT (instance_id, task_id) DO UPDATE SET" \
	" status = CASE t.status WHEN 'completed' THEN t.status ELSE 'active' END," \
	" started_at = COALESCE(t.started_at, now())" \
	" RETURNING 1), " \
	"closed AS (" \
	" UPDATE sayiir_workflow_tasks SET status = $15, completed_at = now(), error = $6" \
	" WHERE $13 AND instance_id = $1 AND status = 'active'" \
	" RETURNING 1), " \
	"finished AS (" \
	" INSERT INTO sayiir_workflow_tasks AS t (instance_id, task_id, status, completed_at, output)" \
	" SELECT $1, $18, 'completed', now(), $19 WHERE $18 IS NOT NULL" \
	" ON CONFLICT (instance_id, task_id) DO UPDATE SET" \
	" status = 'completed', completed_at = now(), error = NULL, output = EXCLUDED.output" \
	" WHERE t.output IS NULL OR t.output IS DISTINCT FROM EXCLUDED.output" \
	" RETURNING 1) "

#define CLIENT_SAVE_TYPES \
	{TEXT, TEXT, BYTEA, BYTEA, INT4, TEXT, TEXT, TIMESTAMPTZ, TEXT, INT2, TEXTARRAY, BYTEA, \
		BOOL, BYTEA, TEXT, TEXT, TEXT, BYTEA, BYTEA}

#define CLIENT_SAVE \
	.sql = CLIENT_SAVE_WRITES \
		"SELECT history_version, CASE WHEN $17 IS NOT NULL THEN pg_notify($16, $17) END FROM head", \
	.nparams = 19, .types = CLIENT_SAVE_TYPES, .bind = bind_client_save, .take = took_one_row

/* The same without a wakeup at all */
#define CLIENT_SAVE_QUIET \
	.sql = CLIENT_SAVE_WRITES "SELECT history_version FROM head", \
	.nparams = 19, .types = CLIENT_SAVE_TYPES, .bind = bind_client_save, .take = took_one_row

static void
bind_client_save(const Job *job, Params *p)
{
	int			task = job->instances[0]->task;

	put_text(p, job->instances[0]->id);
	put_text(p, "InProgress");
	put_hash(p, DEFINITION);
	put_hash(p, task);
	put_int4(p, task);
	put_null(p);
	put_text(p, "AtTask");
	put_null(p);
	put_text(p, TRACE_PARENT);
	put_int2(p, 3);
	put_no_tags(p);
	put(p, job->blobs[0]->hash, HASH_BYTES);
	put_bool(p, false);
	put(p, job->blobs[0]->bytes, job->blobs[0]->len);
	put_text(p, "completed");
	put_text(p, CHANNEL);
	put_hint(p, job, task);
	if (task == 0)
	{
		put_null(p);
		put_null(p);
	}
	else
	{
		put_hash(p, task - 1);
		put_output(p, job, task - 1);
	}
}

/* --- Batches ---------------------------------------------------------- */

/* An array is written to scratch; begin_array leaves room for what end_array knows */
static char *
begin_array(Params *p)
{
	return scratch(p, 20);
}

static void
add_element(Params *p, const char *bytes, size_t len)
{
	uint32_t	net = htonl((uint32_t) len);

	memcpy(scratch(p, 4), &net, 4);
	memcpy(scratch(p, len), bytes, len);
}

static void
end_array(Params *p, char *begin, Oid type, int n)
{
	uint32_t	header[5] = {htonl(1), 0, htonl(type), htonl((uint32_t) n), htonl(1)};

	memcpy(begin, header, sizeof(header));
	put(p, begin, (int) (p->scratch + p->used - begin));
}

static void
put_texts(Params *p, int n, const char *s)
{
	char	   *array = begin_array(p);

	for (int i = 0; i < n; i++)
		add_element(p, s, strlen(s));
	end_array(p, array, TEXT, n);
}

static void
put_hashes(Params *p, const Job *job, int back)
{
	char	   *array;
	char		hashes[MAX_BATCH][HASH_BYTES];

	for (int i = 0; i < job->n; i++)
		memcpy(hashes[i], task_id(p, back < 0 ? DEFINITION : job->instances[i]->task - back),
			   HASH_BYTES);
	array = begin_array(p);
	for (int i = 0; i < job->n; i++)
		add_element(p, hashes[i], HASH_BYTES);
	end_array(p, array, BYTEA, job->n);
}

/* The same saves as those of bind_extension_save, in one call */
static void
bind_extension_batch(const Job *job, Params *p)
{
	char	   *array;
	char		bytes[OUTPUT_BYTES];

	array = begin_array(p);
	for (int i = 0; i < job->n; i++)
		add_element(p, job->blobs[i]->bytes, (size_t) job->blobs[i]->len);
	end_array(p, array, BYTEA, job->n);
	array = begin_array(p);
	for (int i = 0; i < job->n; i++)
		add_element(p, job->instances[i]->id, strlen(job->instances[i]->id));
	end_array(p, array, TEXT, job->n);
	put_texts(p, job->n, "InProgress");
	put_hashes(p, job, -1);
	put_hashes(p, job, 0);
	array = begin_array(p);
	for (int i = 0; i < job->n; i++)
	{
		uint32_t	net = htonl((uint32_t) job->instances[i]->task);

		add_element(p, (char *) &net, 4);
	}
	end_array(p, array, INT4, job->n);
	put_null(p);
	put_texts(p, job->n, "AtTask");
	put_null(p);
	put_texts(p, job->n, TRACE_PARENT);
	put_null(p);
	put_null(p);
	put_hashes(p, job, 1);
	array = begin_array(p);
	for (int i = 0; i < job->n; i++)
	{
		fill_output(bytes, job->instances[i], job->instances[i]->task - 1);
		add_element(p, bytes, OUTPUT_BYTES);
	}
	end_array(p, array, BYTEA, job->n);
}

/* --- Task results ----------------------------------------------------- */

static void
bind_extension_result(const Job *job, Params *p)
{
	put_text(p, job->instances[0]->id);
	put_hash(p, job->instances[0]->task);
	put_output(p, job, job->instances[0]->task);
}

static void
bind_extension_result_data(const Job *job, Params *p)
{
	bind_extension_result(job, p);
	put(p, job->blobs[0]->bytes, job->blobs[0]->len);
}

static void
bind_instance(const Job *job, Params *p)
{
	put_text(p, job->instances[0]->id);
}

static bool
take_version(Job *job, PGresult *result)
{
	if (PQntuples(result) != 1)
		return false;
	job->version = int4_of(result, 0);
	return true;
}

static void
bind_instance_version(const Job *job, Params *p)
{
	put_text(p, job->instances[0]->id);
	put_int4(p, job->version);
}

/* A client decodes the snapshot, adds the task and encodes it again */
static void
bind_client_result(const Job *job, Params *p)
{
	put_text(p, job->instances[0]->id);
	put_text(p, "InProgress");
	put_hash(p, 0);
	put_int4(p, job->instances[0]->task);
	put_int4(p, job->version + 1);
	put(p, job->blobs[0]->hash, HASH_BYTES);
	put(p, job->blobs[0]->bytes, job->blobs[0]->len);
	put_hash(p, job->instances[0]->task);
	put_output(p, job, job->instances[0]->task);
}

#define CLIENT_RESULT_WRITES \
	"WITH head AS (" \
	" UPDATE sayiir_workflow_snapshots SET status = $2, current_task_id = $3," \
	" completed_task_count = $4, history_version = $5, data_hash = $6, updated_at = now()" \
	" WHERE instance_id = $1 RETURNING 1), " \
	"version AS (" \
	" INSERT INTO sayiir_workflow_snapshot_history" \
	" (instance_id, version, status, current_task_id, data, data_hash)" \
	" VALUES ($1, $5, $2, $3, $7, $6) RETURNING 1), " \
	"finished AS (" \
	" INSERT INTO sayiir_workflow_tasks (instance_id, task_id, status, completed_at, output)" \
	" VALUES ($1, $8, 'completed', now(), $9)" \
	" ON CONFLICT (instance_id, task_id) DO UPDATE SET" \
	" status = 'completed', completed_at = now(), error = NULL, output = EXCLUDED.output" \
	" RETURNING 1) " \
	"SELECT 1 FROM head"

/* --- Floors ----------------------------------------------------------- */

static void
bind_floor_update(const Job *job, Params *p)
{
	put_text(p, job->instances[0]->id);
}

/* --- The table -------------------------------------------------------- */

#define ANALYZE	"VACUUM ANALYZE"

#define HISTORY_COUNT "SELECT count(*) FROM sayiir_workflow_snapshot_history"

#define EXTENSION_STORE \
	.setup = "DROP EXTENSION IF EXISTS sayiir_pg; CREATE EXTENSION sayiir_pg;", \
	.populate = "extension", .analyze = ANALYZE, .history_count = HISTORY_COUNT

#define CLIENT_STORE \
	.setup_file = "client_store.sql", \
	.populate = "client", .analyze = ANALYZE, .history_count = HISTORY_COUNT

const Store stores[] = {
	{.name = "extension", EXTENSION_STORE},
	{.name = "client", CLIENT_STORE},
	/* Growth: long histories, many other instances, an old snapshot that keeps dead rows */
	{.name = "extension-v1000", EXTENSION_STORE, .instances = 100, .age = 1000},
	{.name = "extension-v10000", EXTENSION_STORE, .instances = 20, .age = 10000},
	{
		.name = "extension-million", EXTENSION_STORE, .filled = 1000000,
		.fill = "SELECT count(sayiir_save_snapshot('\\x7b7d', 'other-' || i, 'InProgress',"
		" sha256('other'), sha256('first'), 0, NULL, 'AtTask')) FROM generate_series(1, %d) AS i",
	},
	{.name = "extension-held", EXTENSION_STORE, .instances = 100, .held = true},
	{.name = "client-held", CLIENT_STORE, .instances = 100, .held = true},
	{
		.name = "floor",
		.setup = "DROP EXTENSION IF EXISTS sayiir_pg; CREATE EXTENSION sayiir_pg;"
		"DROP TABLE IF EXISTS one_row;"
		"CREATE TABLE one_row (id text PRIMARY KEY, n integer NOT NULL) WITH (fillfactor = 50);",
		.analyze = "VACUUM ANALYZE one_row",
	},
	{.name = NULL}
};

const Scenario scenarios[] = {
	/* A save: the extension's call, and the client's one statement */
	{
		.name = "extension", .store = "extension", .writes_version = true,
		.steps = {{EXTENSION_SAVE}},
	},
	{
		.name = "client", .store = "client", .writes_version = true,
		.steps = {{CLIENT_SAVE}},
	},
	/* Neither wakes anybody: what NOTIFY costs each of them */
	{
		.name = "extension-quiet", .store = "extension", .writes_version = true,
		.session = "SELECT sayiir_task_id('load'); SET sayiir.notify = 'off'",
		.steps = {{EXTENSION_SAVE}},
	},
	{
		.name = "client-quiet", .store = "client", .writes_version = true,
		.steps = {{CLIENT_SAVE_QUIET}},
	},
	/* A wakeup that another process sends after the commit */
	{
		.name = "extension-deferred", .store = "extension", .writes_version = true,
		.session = "SET sayiir.notify = 'deferred'",
		.steps = {{EXTENSION_SAVE}},
	},
	/* Many saves in one call and one commit */
	{
		.name = "extension-batch", .store = "extension", .writes_version = true, .saves = MAX_BATCH,
		.steps = {{
			.sql = "SELECT sayiir_save_snapshots($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
			.nparams = 14,
			.types = {BYTEAARRAY, TEXTARRAY, TEXTARRAY, BYTEAARRAY, BYTEAARRAY, INT4ARRAY, TEXTARRAY,
				TEXTARRAY, TIMESTAMPTZARRAY, TEXTARRAY, INT4ARRAY, TEXTARRAY, BYTEAARRAY, BYTEAARRAY},
			.bind = bind_extension_batch, .take = took_value,
		}},
	},
	/* The saves of the stores that have grown */
	{.name = "extension-v1000", .store = "extension-v1000", .writes_version = true, .steps = {{EXTENSION_SAVE}}},
	{.name = "extension-v10000", .store = "extension-v10000", .writes_version = true, .steps = {{EXTENSION_SAVE}}},
	{.name = "extension-million", .store = "extension-million", .writes_version = true, .steps = {{EXTENSION_SAVE}}},
	{.name = "extension-held", .store = "extension-held", .writes_version = true, .steps = {{EXTENSION_SAVE}}},
	{.name = "client-held", .store = "client-held", .writes_version = true, .steps = {{CLIENT_SAVE}}},
	/* A task result: one call, and five round trips */
	{
		.name = "extension-result", .store = "extension", .writes_version = true,
		.steps = {{
			.sql = "SELECT sayiir_save_task_result($1, $2, $3)",
			.nparams = 3, .types = {TEXT, BYTEA, BYTEA},
			.bind = bind_extension_result, .take = took_value,
		}},
	},
	{
		.name = "extension-result-data", .store = "extension", .writes_version = true,
		.steps = {{
			.sql = "SELECT sayiir_save_task_result($1, $2, $3, $4)",
			.nparams = 4, .types = {TEXT, BYTEA, BYTEA, BYTEA},
			.bind = bind_extension_result_data, .take = took_value,
		}},
	},
	{
		.name = "client-result", .store = "client", .writes_version = true,
		.steps = {
			{.sql = "BEGIN"},
			{
				.sql = "SELECT history_version, trace_parent FROM sayiir_workflow_snapshots"
				" WHERE instance_id = $1 FOR UPDATE",
				.nparams = 1, .types = {TEXT}, .bind = bind_instance, .take = take_version,
			},
			{
				.sql = "SELECT data FROM sayiir_workflow_snapshot_history"
				" WHERE instance_id = $1 AND version = $2",
				.nparams = 2, .types = {TEXT, INT4}, .bind = bind_instance_version, .take = took_one_row,
			},
			{
				.sql = CLIENT_RESULT_WRITES,
				.nparams = 9, .types = {TEXT, TEXT, BYTEA, INT4, INT4, BYTEA, BYTEA, BYTEA, BYTEA},
				.bind = bind_client_result, .take = took_one_row,
			},
			{.sql = "COMMIT"},
		},
	},
	/* Below these nothing can go: a call into C without a table, and one row by its key */
	{
		.name = "floor-call", .store = "floor",
		.steps = {{
			.sql = "SELECT sayiir_task_id($1)",
			.nparams = 1, .types = {TEXT}, .bind = bind_instance, .take = took_value,
		}},
	},
	{
		.name = "floor-row", .store = "floor",
		.steps = {{
			.sql = "INSERT INTO one_row VALUES ($1, 1)"
			" ON CONFLICT (id) DO UPDATE SET n = one_row.n + 1",
			.nparams = 1, .types = {TEXT}, .bind = bind_floor_update,
		}},
	},
	{.name = NULL}
};
