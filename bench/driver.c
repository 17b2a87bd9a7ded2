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
 *	delay			microseconds that a network would add to each round trip
 *	samples			instead of slices: measure so many times how long after its
 *					operation a hint is heard, with nothing else going on
 *	scale			percentage of what a store wants to be aged and filled
 *
 * Output, tab-separated: the word below, cell, size, connections, durable,
 * then
 *	slice	scenario, round, saves, seconds, microseconds of CPU used by
 *			the backends, bytes of WAL
 *	latency	scenario, calls, median and 99th percentile in microseconds,
 *			notifications heard
 *	hint	the same of hints: from the answer until the hint is heard
 *	table	store, updates of sayiir_workflow_snapshots, those of them heap-only
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE				/* ppoll */
#include "driver.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_VARIANTS	16
#define MIN_ROUNDS		3		/* whatever the budget is */
#define WARM_UP			12		/* operations of a session until its plans are settled */

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
	double		began;			/* the operation */
	double		due;			/* when an answer that has come counts as arrived, or 0 */
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

Options		options = {"", "", "bench", ".", 1000, 1, 5, 1, 1e9, 100, 1, 1000, 0, 0, 0, 100};

static Variant variants[MAX_VARIANTS];
static int	nvariants;

void
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

void *
must(void *allocated)
{
	if (allocated == NULL)
		fail("out of memory");
	return allocated;
}

double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void
begin_line(const char *word)
{
	printf("%s\t%s\t%d\t%d\t%d", word, options.cell, options.size, options.connections, options.durable);
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

static void
send_step(Session *s)
{
	const Step *step = &s->variant->scenario->steps[s->step];

	if (!(step->nparams == 0 ? PQsendQuery(s->conn, step->sql) :
		  send_prepared(s->conn, step, s->step, &s->job)))
		fail("%s", PQerrorMessage(s->conn));
	s->unsent = PQflush(s->conn) == 1;
}

/* How many saves one operation of a variant makes */
static int
saves_of(const Variant *v)
{
	return v->scenario->saves == 0 ? 1 : v->scenario->saves;
}

/* A session has the instances to itself that are next to its own number */
static void
begin_job(Session *s)
{
	static unsigned int next_blob;
	Place	   *place = s->variant->place;

	s->job.n = saves_of(s->variant);
	for (int i = 0; i < s->job.n; i++)
	{
		s->job.instances[i] = &place->instances[s->next_instance];
		s->job.instances[i]->task++;
		s->next_instance += options.connections;
		if (s->next_instance >= place->ninstances)
			s->next_instance %= options.connections;
		s->job.blobs[i] = &blobs[next_blob++ % BLOBS];
	}
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
		v->place->versions += s->job.n;
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
 * receive takes what has come.  Returns true when the answer is complete.
 */
static bool
receive(Session *s)
{
	const Step *step = &s->variant->scenario->steps[s->step];
	PGresult   *result;

	if (s->unsent)
		s->unsent = PQflush(s->conn) == 1;
	if (!PQconsumeInput(s->conn))
		fail("%s", PQerrorMessage(s->conn));
	while (!PQisBusy(s->conn))
	{
		result = PQgetResult(s->conn);
		if (result == NULL)
			return true;
		if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
			fail("%s: %s", s->variant->name, PQresultErrorMessage(result));
		if (step->take != NULL && !step->take(&s->job, result))
			fail("%s: %s is not at its next version", s->variant->name, s->job.instances[0]->id);
		PQclear(result);
	}
	return false;
}

/*
 * go_on acts upon a complete answer, once the network of the option delay has
 * brought it.  Returns true when the operation is over.
 */
static bool
go_on(Session *s)
{
	const Step *steps = s->variant->scenario->steps;

	s->due = 0;
	if (s->step + 1 == MAX_STEPS || steps[s->step + 1].sql == NULL)
		return true;
	s->step++;
	send_step(s);
	return false;
}

static int
hear(Variant *v, bool record)
{
	PGnotify   *notify;
	int			heard = 0;

	if (!PQconsumeInput(v->place->listener))
		fail("%s", PQerrorMessage(v->place->listener));
	while ((notify = PQnotifies(v->place->listener)) != NULL)
	{
		heard++;
		PQfreemem(notify);
	}
	if (record)
		v->notified += heard;
	return heard;
}

/*
 * await_input waits until something comes for a session of a variant or its
 * listener, or an answer has arrived that was delayed.
 */
static void
await_input(Variant *v, struct pollfd *fds)
{
	double		due = 0;
	double		wait = 10;
	struct timespec limit;

	for (int i = 0; i < options.connections; i++)
	{
		Session    *s = &v->sessions[i];

		fds[i].fd = PQsocket(s->conn);
		fds[i].events = s->unsent ? POLLIN | POLLOUT : POLLIN;
		if (s->due > 0 && (due == 0 || s->due < due))
			due = s->due;
	}
	fds[options.connections].fd = PQsocket(v->place->listener);
	fds[options.connections].events = POLLIN;

	if (due > 0)
	{
		wait = due - now();
		if (wait < 0)
			wait = 0;
	}
	limit.tv_sec = (time_t) wait;
	limit.tv_nsec = (long) ((wait - (double) limit.tv_sec) * 1e9);
	if (ppoll(fds, (nfds_t) options.connections + 1, &limit, NULL) == 0 && due == 0)
		fail("%s: no answer for ten seconds", v->name);
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

	for (int i = 0; i < options.connections && begun < most; i++)
	{
		begin_job(&v->sessions[i]);
		begun++;
		busy++;
	}
	while (busy > 0)
	{
		await_input(v, fds);
		for (int i = 0; i < options.connections; i++)
		{
			Session    *s = &v->sessions[i];

			if (s->step < 0)
				continue;
			if (s->due == 0)
			{
				if (fds[i].revents == 0 || !receive(s))
					continue;
				if (options.delay > 0)
				{
					s->due = now() + options.delay / 1e6;
					continue;
				}
			}
			else if (now() < s->due)
				continue;
			if (!go_on(s))
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

/*
 * hear_one makes one operation on an idle server and waits for its hint.
 * Returns the microseconds from the answer to the operation until the hint
 * was there, 0 when it was there first.
 */
static uint32_t
hear_one(Variant *v)
{
	struct pollfd fds[2];
	Session    *s = &v->sessions[0];
	double		answered = 0;
	double		heard = 0;

	begin_job(s);
	while (answered == 0 || heard == 0)
	{
		await_input(v, fds);
		if (answered == 0 && fds[0].revents != 0 && receive(s))
			answered = now();
		if (fds[1].revents != 0 && hear(v, true) > 0)
			heard = now();
	}
	end_job(s, false);
	return heard < answered ? 0 : (uint32_t) ((heard - answered) * 1e6);
}

/* --- Variants --------------------------------------------------------- */

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
	if (v->place->age > 0)
	{
		run_slice(v, 3600, v->place->age, false);
		v->place->age = 0;
		run_sql(v->place->control, v->place->store->analyze);
	}
	for (i = 0; options.durable && i < options.connections; i++)
		run_sql(v->sessions[i].conn, "SET synchronous_commit = on");
}

/* --- Output ----------------------------------------------------------- */

/*
 * most_operations is where a slice ends before its time.
 */
static int64_t
most_operations(const Variant *v)
{
	int64_t		most = (int64_t) (options.megabytes * 1e6 / options.size / saves_of(v));

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

	done = run_slice(v, options.seconds, most_operations(v), true) * saves_of(v);
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
report_latencies(Variant *v, const char *word)
{
	size_t		n = v->nlatencies;

	qsort(v->latencies, n, sizeof(uint32_t), compare_latencies);
	begin_line(word);
	printf("\t%s\t%zu\t%u\t%u\t%" PRId64 "\n", v->name, n,
		   n == 0 ? 0 : v->latencies[n / 2], n == 0 ? 0 : v->latencies[n * 99 / 100], v->notified);
}

static void
end_variant(Variant *v)
{
	for (int i = 0; i < options.connections; i++)
	{
		PQsetnonblocking(v->sessions[i].conn, 0);
		run_sql(v->sessions[i].conn, "SELECT pg_stat_force_next_flush()");
		PQfinish(v->sessions[i].conn);
	}
}

/*
 * measure_hints measures, by turns, how long after its operation a hint is
 * heard. There is a pause after each, of one to four milliseconds, so that
 * whoever sends them is at rest.
 */
static void
measure_hints(void)
{
	uint64_t	chance = 3;

	if (options.connections != 1 || options.delay != 0)
		fail("samples are taken with one connection and no delay");
	for (int sample = 0; sample < options.samples; sample++)
		for (int i = 0; i < nvariants; i++)
		{
			Variant    *v = &variants[i];

			if (v->latencies == NULL)
				v->latencies = must(malloc((size_t) options.samples * sizeof(uint32_t)));
			v->latencies[v->nlatencies++] = hear_one(v);
			usleep((useconds_t) (1000 + random_next(&chance) % 3000));
		}
	for (int i = 0; i < nvariants; i++)
		report_latencies(&variants[i], "hint");
}

/*
 * measure_slices lets all variants take turns.
 */
static void
measure_slices(void)
{
	uint64_t	chance = 2;
	int			order[MAX_VARIANTS];
	double		started;

	for (int i = 0; i < nvariants; i++)
		run_slice(&variants[i], options.seconds / 4, most_operations(&variants[i]), false);
	for (int i = 0; i < nvariants; i++)
		order[i] = i;
	started = now();
	for (int round = 0; round < options.rounds; round++)
	{
		if (round >= MIN_ROUNDS && now() - started > options.budget)
			break;
		for (int i = nvariants - 1; i > 0; i--)
		{
			int			j = (int) (random_next(&chance) % (uint64_t) (i + 1));
			int			other = order[i];

			order[i] = order[j];
			order[j] = other;
		}
		for (int i = 0; i < nvariants; i++)
			measure(&variants[order[i]], round);
	}
	for (int i = 0; i < nvariants; i++)
		report_latencies(&variants[i], "latency");
}

int
main(int argc, char **argv)
{
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
		else if (strcmp(argv[i], "delay") == 0)
			options.delay = atoi(value);
		else if (strcmp(argv[i], "samples") == 0)
			options.samples = atoi(value);
		else if (strcmp(argv[i], "scale") == 0)
			options.scale = atoi(value);
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
	run_sql(first_control(), "CHECKPOINT");
	if (options.samples > 0)
		measure_hints();
	else
		measure_slices();
	for (i = 0; i < nvariants; i++)
		end_variant(&variants[i]);
	report_places();
	return 0;
}
