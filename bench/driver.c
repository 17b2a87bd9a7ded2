/*-------------------------------------------------------------------------
 *
 * driver.c
 *		Measures scenarios against each other, in one run.
 *
 * usage: driver [option=value...] scenario[/change]...
 *
 * One cell of a table: the named scenarios take turns in short slices, round
 * after round, each round in another order by chance, so that whatever else
 * the machine does, and what a scenario leaves behind for the next, meets all
 * of them alike.  All statements are prepared and all
 * parameters and results binary.  One process serves all connections, without
 * a thread, through poll().
 *
 * scenario/change measures it on a store of its own to which change.sql has
 * been applied after its set-up.
 *
 * Options
 *	cell			a word that is repeated in the output
 *	conninfo		server, without a database
 *	dir				where client_store.sql is
 *	changes			where change.sql is
 *	size			bytes of a snapshot
 *	connections		how many operations are under way at once
 *	rounds			slices of each scenario
 *	seconds			length of a slice
 *	budget			no more rounds after so many seconds, but three at least
 *	megabytes		a slice ends also when it has saved so much
 *	durable			0: synchronous_commit = off
 *	instances		how many workflow instances there are
 *	compressible	percentage of a snapshot that repeats itself
 *
 * Output, tab-separated: the word below, cell, size, connections, durable,
 * then
 *	slice	scenario, round, operations, seconds, microseconds of CPU used by
 *			the backends, bytes of WAL
 *	latency	scenario, operations, median and 99th percentile in microseconds,
 *			notifications heard
 *	table	store, updates of sayiir_workflow_snapshots, those of them heap-only
 *
 *-------------------------------------------------------------------------
 */
#include "scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_VARIANTS	16
#define BLOBS			16		/* different snapshots that are saved */
#define MIN_ROUNDS		3		/* whatever the budget is */
#define WARM_UP			12		/* operations of a session until its plans are settled */

/* A store that is in use: a database, and the instances in it */
typedef struct Place
{
	const Store *store;
	const char *change;			/* name of its change, or NULL */
	char		name[64];
	PGconn	   *control;		/* for questions about it */
	PGconn	   *listener;		/* hears the wakeups */
	Instance   *instances;
	int64_t		versions;		/* that must be in its history */
} Place;

struct Variant;

typedef struct Session
{
	struct Variant *variant;
	PGconn	   *conn;
	int			pid;
	int			next_instance;
	int			step;			/* round trip under way, -1 when idle */
	bool		unsent;			/* part of the request waits in libpq */
	Job			job;
	double		began;
} Session;

/* A scenario in its place */
typedef struct Variant
{
	const Scenario *scenario;
	Place	   *place;
	char		name[96];
	Session    *sessions;
	uint32_t   *latencies;		/* in microseconds */
	size_t		nlatencies;
	size_t		room;
	int64_t		notified;
} Variant;

static struct
{
	const char *cell;
	const char *conninfo;
	const char *dir;
	const char *changes;
	int			size;
	int			connections;
	int			rounds;
	double		seconds;
	double		budget;
	double		megabytes;
	int			durable;
	int			instances;
	int			compressible;
}			options = {"", "", "bench", ".", 1000, 1, 5, 1, 1e9, 100, 1, 1000, 0};

static Blob blobs[BLOBS];
static Place places[MAX_VARIANTS];
static int	nplaces;
static Variant variants[MAX_VARIANTS];
static int	nvariants;

static void fail(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));

static void
fail(const char *format,...)
{
	va_list		args;

	fprintf(stderr, "driver: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

static void *
must(void *allocated)
{
	if (allocated == NULL)
		fail("out of memory");
	return allocated;
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* --- Snapshots -------------------------------------------------------- */

/*
 * make_blobs makes snapshots that look like JSON: short random strings under
 * names that differ, and of the wanted part the same string again and again.
 */
static void
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

static PGconn *
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

static void
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

static int64_t
wal_position(Place *place)
{
	return ask(place->control,
			   "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')", 0);
}

/*
 * backend_cpu returns the CPU time of all sessions of a variant so far, in
 * nanoseconds; 0 where the system does not tell.
 */
static int64_t
backend_cpu(const Variant *v)
{
	int64_t		sum = 0;
	int			s;

	for (s = 0; s < options.connections; s++)
	{
		char		path[64];
		FILE	   *file;
		int64_t		ns;

		snprintf(path, sizeof(path), "/proc/%d/schedstat", v->sessions[s].pid);
		file = fopen(path, "r");
		if (file == NULL)
			return 0;
		if (fscanf(file, "%" SCNd64, &ns) == 1)
			sum += ns;
		fclose(file);
	}
	return sum;
}

/* --- Operations ------------------------------------------------------- */

static const Scenario *
find_scenario(const char *name)
{
	const Scenario *s;

	for (s = scenarios; s->name != NULL; s++)
		if (strcmp(s->name, name) == 0)
			return s;
	fail("there is no scenario %s", name);
}

static void
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

static void
send_step(Session *s)
{
	const Step *step = &s->variant->scenario->steps[s->step];
	int			sent;

	if (step->nparams == 0)
		sent = PQsendQuery(s->conn, step->sql);
	else
	{
		static int	formats[MAX_PARAMS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
		Params		params;
		char		name[8];

		params.n = params.used = 0;
		step->bind(&s->job, &params);
		if (params.n != step->nparams)
			fail("%s: %d parameters bound", s->variant->scenario->name, params.n);
		snprintf(name, sizeof(name), "s%d", s->step);
		sent = PQsendQueryPrepared(s->conn, name, params.n, params.values, params.lengths,
								   formats, 1);
	}
	if (!sent)
		fail("%s", PQerrorMessage(s->conn));
	s->unsent = PQflush(s->conn) == 1;
}

/* A session has the instances to itself that are next to its own number */
static void
begin_job(Session *s)
{
	static unsigned int next_blob;
	Place	   *place = s->variant->place;

	s->job.instance = &place->instances[s->next_instance];
	s->job.instance->task++;
	s->next_instance += options.connections;
	if (s->next_instance >= options.instances)
		s->next_instance %= options.connections;
	s->job.blob = &blobs[next_blob++ % BLOBS];
	s->step = 0;
	s->began = now();
	send_step(s);
}

static void
end_job(Session *s, bool record)
{
	Variant    *v = s->variant;

	s->step = -1;
	if (v->scenario->writes_version)
		v->place->versions++;
	if (!record)
		return;
	if (v->nlatencies == v->room)
	{
		v->room = v->room == 0 ? 65536 : v->room * 2;
		v->latencies = must(realloc(v->latencies, v->room * sizeof(uint32_t)));
	}
	v->latencies[v->nlatencies++] = (uint32_t) ((now() - s->began) * 1e6);
}

/*
 * receive takes what has arrived.  Returns true when the operation is over.
 */
static bool
receive(Session *s)
{
	const Step *steps = s->variant->scenario->steps;
	PGresult   *result;

	if (!PQconsumeInput(s->conn))
		fail("%s", PQerrorMessage(s->conn));
	while (!PQisBusy(s->conn))
	{
		result = PQgetResult(s->conn);
		if (result == NULL)
		{
			if (s->step + 1 == MAX_STEPS || steps[s->step + 1].sql == NULL)
				return true;
			s->step++;
			send_step(s);
			return false;
		}
		if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
			fail("%s: %s", s->variant->name, PQresultErrorMessage(result));
		if (steps[s->step].take != NULL && !steps[s->step].take(&s->job, result))
			fail("%s: %s is not at its next version", s->variant->name, s->job.instance->id);
		PQclear(result);
	}
	return false;
}

static void
hear(Variant *v, bool record)
{
	PGnotify   *notify;

	if (!PQconsumeInput(v->place->listener))
		fail("%s", PQerrorMessage(v->place->listener));
	while ((notify = PQnotifies(v->place->listener)) != NULL)
	{
		v->notified += record;
		PQfreemem(notify);
	}
}

/*
 * run_slice keeps all sessions of a variant busy, until the time is over or
 * so many operations have begun, and waits for the last of them.  Returns the
 * number of operations.
 */
static int64_t
run_slice(Variant *v, double seconds, int64_t most, bool record)
{
	struct pollfd *fds = must(calloc((size_t) options.connections + 1, sizeof(struct pollfd)));
	double		deadline = now() + seconds;
	int64_t		begun = 0;
	int			busy = 0;
	int			i;

	for (i = 0; i < options.connections; i++)
	{
		fds[i].fd = PQsocket(v->sessions[i].conn);
		fds[i].events = POLLIN;
		if (begun < most)
		{
			begin_job(&v->sessions[i]);
			begun++;
			busy++;
		}
	}
	fds[options.connections].fd = PQsocket(v->place->listener);
	fds[options.connections].events = POLLIN;

	while (busy > 0)
	{
		for (i = 0; i < options.connections; i++)
			fds[i].events = v->sessions[i].unsent ? POLLIN | POLLOUT : POLLIN;
		if (poll(fds, (nfds_t) options.connections + 1, 10000) == 0)
			fail("%s: no answer for ten seconds", v->name);
		for (i = 0; i < options.connections; i++)
		{
			Session    *s = &v->sessions[i];

			if (fds[i].revents == 0 || s->step < 0)
				continue;
			if (s->unsent)
				s->unsent = PQflush(s->conn) == 1;
			if ((fds[i].revents & ~POLLOUT) == 0 || !receive(s))
				continue;
			end_job(s, record);
			busy--;
			if (begun < most && now() < deadline)
			{
				begin_job(s);
				begun++;
				busy++;
			}
		}
		if (fds[options.connections].revents != 0)
			hear(v, record);
	}
	free(fds);
	return begun;
}

/* --- Set-up ----------------------------------------------------------- */

static void
populate(Place *place)
{
	const Scenario *scenario = place->store->populate == NULL ? NULL :
		find_scenario(place->store->populate);
	int			i;

	place->instances = must(calloc((size_t) options.instances, sizeof(Instance)));
	for (i = 0; i < options.instances; i++)
		snprintf(place->instances[i].id, sizeof(place->instances[i].id), "workflow-%06d",
				 (int) ((int64_t) i * 7919 % options.instances));
	if (scenario == NULL)
		return;

	prepare(place->control, scenario);
	for (i = 0; i < options.instances; i++)
	{
		static int	formats[MAX_PARAMS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
		Job			job = {.instance = &place->instances[i], .blob = &blobs[i % BLOBS]};
		Params		params;
		PGresult   *result;

		params.n = params.used = 0;
		scenario->steps[0].bind(&job, &params);
		result = PQexecPrepared(place->control, "s0", params.n, params.values, params.lengths,
								formats, 1);
		if (PQresultStatus(result) != PGRES_TUPLES_OK)
			fail("%s", PQerrorMessage(place->control));
		PQclear(result);
	}
	place->versions = options.instances;
}

/*
 * place_for returns the place of a store with a change, making it anew at the
 * first call.
 */
static Place *
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
	run_sql(place->control, st->analyze);
	place->listener = connect_to(database);
	run_sql(place->listener, "LISTEN sayiir_task_ready");
	return place;
}

static void
add_variant(char *name)
{
	Variant    *v;
	char	   *change = strchr(name, '/');
	int			i;

	if (nvariants == MAX_VARIANTS)
		fail("too many scenarios");
	v = &variants[nvariants++];
	snprintf(v->name, sizeof(v->name), "%s", name);
	if (change != NULL)
		*change++ = '\0';
	v->scenario = find_scenario(name);
	v->place = place_for(v->scenario->store, change);

	v->sessions = must(calloc((size_t) options.connections, sizeof(Session)));
	for (i = 0; i < options.connections; i++)
	{
		Session    *s = &v->sessions[i];

		s->variant = v;
		s->step = -1;
		s->next_instance = i;
		s->conn = connect_to(PQdb(v->place->control));
		s->pid = PQbackendPID(s->conn);
		if (v->scenario->session != NULL)
			run_sql(s->conn, v->scenario->session);
		prepare(s->conn, v->scenario);
	}
}

/*
 * warm_up lets each session run its statements until their plans are settled.
 */
static void
warm_up(Variant *v)
{
	int			i;

	for (i = 0; i < options.connections; i++)
	{
		run_sql(v->sessions[i].conn, "SET synchronous_commit = off");
		PQsetnonblocking(v->sessions[i].conn, 1);
	}
	run_slice(v, 60, (int64_t) WARM_UP * options.connections, false);
	for (i = 0; options.durable && i < options.connections; i++)
		run_sql(v->sessions[i].conn, "SET synchronous_commit = on");
}

/* --- Output ----------------------------------------------------------- */

static void
begin_line(const char *word)
{
	printf("%s\t%s\t%d\t%d\t%d", word, options.cell, options.size, options.connections, options.durable);
}

/*
 * most_operations is where a slice ends before its time.
 */
static int64_t
most_operations(void)
{
	int64_t		most = (int64_t) (options.megabytes * 1e6 / options.size);

	return most < options.connections ? options.connections : most;
}

static void
measure(Variant *v, int round)
{
	int64_t		wal = wal_position(v->place);
	int64_t		cpu = backend_cpu(v);
	double		began = now();
	int64_t		done;
	double		took;

	done = run_slice(v, options.seconds, most_operations(), true);
	took = now() - began;
	cpu = backend_cpu(v) - cpu;
	wal = wal_position(v->place) - wal;
	begin_line("slice");
	printf("\t%s\t%d\t%" PRId64 "\t%.6f\t%.1f\t%" PRId64 "\n", v->name, round, done, took,
		   cpu / 1e3, wal);
	fflush(stdout);
}

static int
compare_latencies(const void *a, const void *b)
{
	uint32_t	left = *(const uint32_t *) a;
	uint32_t	right = *(const uint32_t *) b;

	return left < right ? -1 : left > right;
}

static void
report_variant(Variant *v)
{
	int			i;

	qsort(v->latencies, v->nlatencies, sizeof(uint32_t), compare_latencies);
	begin_line("latency");
	printf("\t%s\t%zu\t%u\t%u\t%" PRId64 "\n", v->name, v->nlatencies,
		   v->latencies[v->nlatencies / 2], v->latencies[v->nlatencies * 99 / 100], v->notified);
	for (i = 0; i < options.connections; i++)
	{
		PQsetnonblocking(v->sessions[i].conn, 0);
		run_sql(v->sessions[i].conn, "SELECT pg_stat_force_next_flush()");
		PQfinish(v->sessions[i].conn);
	}
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

int
main(int argc, char **argv)
{
	uint64_t	chance = 2;
	int			order[MAX_VARIANTS];
	double		started;
	int			round;
	int			i;

	for (i = 1; i < argc && strchr(argv[i], '=') != NULL; i++)
	{
		char	   *value = strchr(argv[i], '=');

		*value++ = '\0';
		if (strcmp(argv[i], "cell") == 0)
			options.cell = value;
		else if (strcmp(argv[i], "conninfo") == 0)
			options.conninfo = value;
		else if (strcmp(argv[i], "dir") == 0)
			options.dir = value;
		else if (strcmp(argv[i], "changes") == 0)
			options.changes = value;
		else if (strcmp(argv[i], "size") == 0)
			options.size = atoi(value);
		else if (strcmp(argv[i], "connections") == 0)
			options.connections = atoi(value);
		else if (strcmp(argv[i], "rounds") == 0)
			options.rounds = atoi(value);
		else if (strcmp(argv[i], "seconds") == 0)
			options.seconds = atof(value);
		else if (strcmp(argv[i], "budget") == 0)
			options.budget = atof(value);
		else if (strcmp(argv[i], "megabytes") == 0)
			options.megabytes = atof(value);
		else if (strcmp(argv[i], "durable") == 0)
			options.durable = atoi(value);
		else if (strcmp(argv[i], "instances") == 0)
			options.instances = atoi(value);
		else if (strcmp(argv[i], "compressible") == 0)
			options.compressible = atoi(value);
		else
			fail("unknown option %s", argv[i]);
	}
	if (i == argc || options.size < 2 || options.connections < 1 || options.rounds < 1 ||
		options.instances < options.connections)
		fail("usage: driver [option=value...] scenario[/change]...");

	make_blobs();
	for (; i < argc; i++)
		add_variant(argv[i]);

	for (i = 0; i < nvariants; i++)
		warm_up(&variants[i]);
	/* All begin at the same distance from a checkpoint */
	run_sql(places[0].control, "CHECKPOINT");
	for (i = 0; i < nvariants; i++)
		run_slice(&variants[i], options.seconds / 4, most_operations(), false);

	for (i = 0; i < nvariants; i++)
		order[i] = i;
	started = now();
	for (round = 0; round < options.rounds; round++)
	{
		if (round >= MIN_ROUNDS && now() - started > options.budget)
			break;
		for (i = nvariants - 1; i > 0; i--)
		{
			int			j = (int) (random_next(&chance) % (uint64_t) (i + 1));
			int			other = order[i];

			order[i] = order[j];
			order[j] = other;
		}
		for (i = 0; i < nvariants; i++)
			measure(&variants[order[i]], round);
	}

	for (i = 0; i < nvariants; i++)
		report_variant(&variants[i]);
	for (i = 0; i < nplaces; i++)
		report_place(&places[i]);
	return 0;
}
