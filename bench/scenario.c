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
scratch(Params *p, int len)
{
	char	   *bytes = p->scratch + p->used;

	p->used += len;
	if (p->used > (int) sizeof(p->scratch))
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
put_output(Params *p, const Job *job, int n)
{
	uint64_t	state = (uint64_t) n << 32 ^ (uint64_t) (uintptr_t) job->instance;
	char	   *bytes = scratch(p, OUTPUT_BYTES);
	int			i;

	for (i = 0; i < OUTPUT_BYTES; i++)
		bytes[i] = (char) (' ' + random_next(&state) % 95);
	put(p, bytes, OUTPUT_BYTES);
}

/* The wakeup payload, which a client-side store makes itself */
static void
put_hint(Params *p, const Job *job, int task)
{
	static const char base64[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char raw[1 + 8 + 32 + 2 * HASH_BYTES + 8 + 2] = {2};
	Params		ids = {0};
	size_t		id_len = strlen(job->instance->id);
	size_t		len = 1;
	char	   *text;
	int			n = 0;
	size_t		i;

	raw[len] = (unsigned char) id_len;
	memcpy(raw + len + 8, job->instance->id, id_len);
	len += 8 + id_len;
	memcpy(raw + len, task_id(&ids, task), HASH_BYTES);
	memcpy(raw + len + HASH_BYTES, task_id(&ids, DEFINITION), HASH_BYTES);
	len += 2 * HASH_BYTES + 8;

	text = scratch(p, (int) (len * 4 / 3 + 4));
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
	int			task = job->instance->task;

	put(p, job->blob->bytes, job->blob->len);
	put_text(p, job->instance->id);
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
	int			task = job->instance->task;

	put_text(p, job->instance->id);
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
	put(p, job->blob->hash, HASH_BYTES);
	put_bool(p, false);
	put(p, job->blob->bytes, job->blob->len);
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

/* --- Task results ----------------------------------------------------- */

static void
bind_extension_result(const Job *job, Params *p)
{
	put_text(p, job->instance->id);
	put_hash(p, job->instance->task);
	put_output(p, job, job->instance->task);
}

static void
bind_extension_result_data(const Job *job, Params *p)
{
	bind_extension_result(job, p);
	put(p, job->blob->bytes, job->blob->len);
}

static void
bind_instance(const Job *job, Params *p)
{
	put_text(p, job->instance->id);
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
	put_text(p, job->instance->id);
	put_int4(p, job->version);
}

/* A client decodes the snapshot, adds the task and encodes it again */
static void
bind_client_result(const Job *job, Params *p)
{
	put_text(p, job->instance->id);
	put_text(p, "InProgress");
	put_hash(p, 0);
	put_int4(p, job->instance->task);
	put_int4(p, job->version + 1);
	put(p, job->blob->hash, HASH_BYTES);
	put(p, job->blob->bytes, job->blob->len);
	put_hash(p, job->instance->task);
	put_output(p, job, job->instance->task);
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
	put_text(p, job->instance->id);
}

/* --- The table -------------------------------------------------------- */

#define ANALYZE \
	"VACUUM ANALYZE sayiir_workflow_snapshots, sayiir_workflow_snapshot_history, sayiir_workflow_tasks"

const Store stores[] = {
	{
		.name = "extension",
		.setup = "DROP EXTENSION IF EXISTS sayiir_pg; CREATE EXTENSION sayiir_pg;",
		.populate = "extension",
		.analyze = ANALYZE,
		.history_count = "SELECT count(*) FROM sayiir_workflow_snapshot_history",
	},
	{
		.name = "client",
		.setup_file = "client_store.sql",
		.populate = "client",
		.analyze = ANALYZE,
		.history_count = "SELECT count(*) FROM sayiir_workflow_snapshot_history",
	},
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
