/*-------------------------------------------------------------------------
 *
 * place.c
 *		Where the driver measures: databases with a store each, what is in
 *		them, and questions to the server.
 *
 *-------------------------------------------------------------------------
 */
#include "driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLACES	16

Blob		blobs[BLOBS];
static Place places[MAX_PLACES];
static int	nplaces;

/* --- Snapshots -------------------------------------------------------- */

/*
 * make_blobs makes snapshots that look like JSON: short random strings under
 * names that differ, and of the wanted part the same string again and again.
 */
void
make_blobs(void)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint64_t	state = 1;
	int			b;

	for (b = 0; b < BLOBS; b++)
	{
		Blob	   *blob = &blobs[b];
		int			i;

		blob->len = options.size;
		blob->bytes = must(malloc((size_t) blob->len + 64));
		for (i = 0; i < blob->len;)
		{
			bool		repeat = (int) (random_next(&state) % 100) < options.compressible;
			int			c;

			for (c = 0; c < 4; c++)
				blob->bytes[i + c] = alphabet[random_next(&state) % 64];
			memcpy(blob->bytes + i + 4, "\":\"", 3);
			for (c = 7; c < 53; c++)
				blob->bytes[i + c] = alphabet[repeat ? c : (int) (random_next(&state) % 64)];
			memcpy(blob->bytes + i + 53, "\",\"", 3);
			i += 56;
		}
		blob->bytes[0] = '{';
		blob->bytes[1] = '"';
		blob->bytes[blob->len - 1] = '}';
		for (i = 0; i < HASH_BYTES; i++)
			blob->hash[i] = (char) random_next(&state);
	}
}

/* --- Questions to the server ------------------------------------------ */

PGconn *
connect_to(const char *database)
{
	char		conninfo[1024];
	PGconn	   *conn;

	snprintf(conninfo, sizeof(conninfo), "%s dbname=%s application_name=bench",
			 options.conninfo, database);
	conn = PQconnectdb(conninfo);
	if (PQstatus(conn) != CONNECTION_OK)
		fail("%s", PQerrorMessage(conn));
	return conn;
}

void
run_sql(PGconn *conn, const char *sql)
{
	PGresult   *result = PQexec(conn, sql);

	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		fail("%s%s", PQerrorMessage(conn), sql);
	PQclear(result);
}

static int64_t
ask(PGconn *conn, const char *sql, int column)
{
	PGresult   *result = PQexec(conn, sql);
	int64_t		value;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail("%s%s", PQerrorMessage(conn), sql);
	value = PQntuples(result) == 0 ? -1 : strtoll(PQgetvalue(result, 0, column), NULL, 10);
	PQclear(result);
	return value;
}

static void
run_file(PGconn *conn, const char *dir, const char *name, const char *suffix)
{
	char		path[1024];
	char	   *sql;
	FILE	   *file;
	long		len;

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
	file = fopen(path, "r");
	if (file == NULL)
		fail("%s: %s", path, strerror(errno));
	fseek(file, 0, SEEK_END);
	len = ftell(file);
	rewind(file);
	sql = must(calloc(1, (size_t) len + 1));
	if (fread(sql, 1, (size_t) len, file) != (size_t) len)
		fail("%s: cannot be read", path);
	fclose(file);
	run_sql(conn, sql);
	free(sql);
}

int64_t
wal_position(Place *place)
{
	return ask(place->control,
			   "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')", 0);
}

/* --- Scenarios -------------------------------------------------------- */

const Scenario *
find_scenario(const char *name)
{
	const Scenario *s;

	for (s = scenarios; s->name != NULL; s++)
		if (strcmp(s->name, name) == 0)
			return s;
	fail("there is no scenario %s", name);
}

void
prepare(PGconn *conn, const Scenario *scenario)
{
	int			i;

	for (i = 0; i < MAX_STEPS && scenario->steps[i].sql != NULL; i++)
	{
		const Step *step = &scenario->steps[i];
		char		name[8];
		PGresult   *result;

		if (step->nparams == 0)
			continue;
		snprintf(name, sizeof(name), "s%d", i);
		result = PQprepare(conn, name, step->sql, step->nparams, step->types);
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			fail("%s%s", PQerrorMessage(conn), step->sql);
		PQclear(result);
	}
}

/*
 * send_prepared sends a statement of a scenario, the number-th of its steps,
 * with the parameters of a job. Returns false when libpq does.
 */
int
send_prepared(PGconn *conn, const Step *step, int number, const Job *job)
{
	static int	formats[MAX_PARAMS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	static Params params;
	char		name[8];

	if (params.scratch == NULL)
	{
		params.room = (size_t) MAX_BATCH * ((size_t) options.size + 1024);
		params.scratch = must(malloc(params.room));
	}
	params.n = 0;
	params.used = 0;
	step->bind(job, &params);
	if (params.n != step->nparams)
		fail("%d parameters bound of: %s", params.n, step->sql);
	snprintf(name, sizeof(name), "s%d", number);
	return PQsendQueryPrepared(conn, name, params.n, params.values, params.lengths, formats, 1);
}

/* --- Set-up ----------------------------------------------------------- */

/*
 * populate makes the instances that are measured, by the store's own scenario.
 */
static void
populate(Place *place)
{
	const Scenario *scenario = place->store->populate == NULL ? NULL :
		find_scenario(place->store->populate);
	int			n = place->store->instances > 0 ? place->store->instances : options.instances;
	int			i;

	place->ninstances = n;
	place->instances = must(calloc((size_t) n, sizeof(Instance)));
	for (i = 0; i < n; i++)
		snprintf(place->instances[i].id, sizeof(place->instances[i].id), "workflow-%06d",
				 (int) ((int64_t) i * 7919 % n));
	if (scenario == NULL)
		return;

	prepare(place->control, scenario);
	for (i = 0; i < n; i++)
	{
		Job			job = {.instances = {&place->instances[i]}, .blobs = {&blobs[i % BLOBS]}, .n = 1};
		PGresult   *result;

		if (!send_prepared(place->control, &scenario->steps[0], 0, &job))
			fail("%s", PQerrorMessage(place->control));
		while ((result = PQgetResult(place->control)) != NULL)
		{
			if (PQresultStatus(result) != PGRES_TUPLES_OK)
				fail("%s", PQerrorMessage(place->control));
			PQclear(result);
		}
	}
	place->versions = n;
}

/*
 * fill adds what else is in the store: instances that are not measured.
 */
static void
fill(Place *place)
{
	char		sql[1024];
	int			n = (int) ((int64_t) place->store->filled * options.scale / 100);

	if (place->store->fill == NULL)
		return;
	snprintf(sql, sizeof(sql), place->store->fill, n);
	run_sql(place->control, sql);
	place->versions += n;
}

/*
 * place_for returns the place of a store with a change, making it anew at the
 * first call.
 */
Place *
place_for(const char *store, const char *change)
{
	char		name[64];
	char		database[128];
	char		sql[256];
	const Store *st;
	PGconn	   *postgres;
	Place	   *place;
	int			i;

	snprintf(name, sizeof(name), "%s%s%s", store, change ? "/" : "", change ? change : "");
	for (i = 0; i < nplaces; i++)
		if (strcmp(places[i].name, name) == 0)
			return &places[i];
	for (st = stores; st->name != NULL && strcmp(st->name, store) != 0; st++)
		;
	if (st->name == NULL)
		fail("there is no store %s", store);

	if (nplaces == MAX_PLACES)
		fail("too many stores");
	place = &places[nplaces++];
	place->store = st;
	place->change = change;
	strcpy(place->name, name);

	snprintf(database, sizeof(database), "bench_%s%s%s", store, change ? "_" : "", change ? change : "");
	postgres = connect_to("postgres");
	snprintf(sql, sizeof(sql), "SELECT 1 FROM pg_database WHERE datname = '%s'", database);
	if (ask(postgres, sql, 0) != 1)
	{
		snprintf(sql, sizeof(sql), "CREATE DATABASE \"%s\"", database);
		run_sql(postgres, sql);
	}
	PQfinish(postgres);

	place->control = connect_to(database);
	run_sql(place->control, "SET client_min_messages = warning; SET synchronous_commit = off");
	if (st->setup != NULL)
		run_sql(place->control, st->setup);
	if (st->setup_file != NULL)
		run_file(place->control, options.dir, st->setup_file, "");
	if (change != NULL)
		run_file(place->control, options.changes, change, ".sql");
	populate(place);
	fill(place);
	place->age = (int) ((int64_t) st->age * place->ninstances * options.scale / 100);
	run_sql(place->control, st->analyze);
	if (st->held)
	{
		place->holder = connect_to(database);
		run_sql(place->holder, "BEGIN ISOLATION LEVEL REPEATABLE READ");
		ask(place->holder, "SELECT count(*) FROM sayiir_workflow_snapshots", 0);
	}
	place->listener = connect_to(database);
	run_sql(place->listener, "LISTEN sayiir_task_ready");
	return place;
}

static void
report_place(Place *place)
{
	static const char updates[] =
		"SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_all_tables"
		" WHERE relid = 'sayiir_workflow_snapshots'::regclass";

	if (place->store->history_count == NULL)
		return;
	if (ask(place->control, place->store->history_count, 0) != place->versions)
		fail("%s: history has not the %" PRId64 " versions that were saved", place->name,
			 place->versions);
	begin_line("table");
	printf("\t%s\t%" PRId64, place->name, ask(place->control, updates, 0));
	printf("\t%" PRId64 "\n", ask(place->control, updates, 1));
}

void
report_places(void)
{
	int			i;

	for (i = 0; i < nplaces; i++)
		report_place(&places[i]);
}

/*
 * first_control returns a connection for what concerns the whole server.
 */
PGconn *
first_control(void)
{
	return places[0].control;
}
