/*-------------------------------------------------------------------------
 *
 * scenario.h
 *		What is measured: stores, and operations on them.
 *
 * To measure something else, add a row to scenarios[] in scenario.c: its
 * store, what each session runs first, and its statements with their
 * parameters.  driver.c knows none of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#define MAX_PARAMS		20
#define MAX_STEPS		5
#define HASH_BYTES		32
#define MAX_BATCH		100		/* saves of one call */
#define OUTPUT_BYTES	100		/* output of a task */

/* A snapshot to be saved, and its SHA-256 as far as anybody checks */
typedef struct Blob
{
	char	   *bytes;
	int			len;
	char		hash[HASH_BYTES];
} Blob;

/* A workflow instance, as its worker knows it */
typedef struct Instance
{
	char		id[32];
	int			task;			/* number of its current task */
} Instance;

/* The parameters of one statement, in binary format */
typedef struct Params
{
	int			n;
	const char *values[MAX_PARAMS];
	int			lengths[MAX_PARAMS];
	char	   *scratch;		/* memory for values */
	size_t		room;
	size_t		used;
} Params;

/* One operation under way */
typedef struct Job
{
	int			n;				/* instances that it saves */
	Instance   *instances[MAX_BATCH];
	const Blob *blobs[MAX_BATCH];
	int			version;		/* what a statement of it has read */
} Job;

/* One round trip of an operation; without parameters a simple query */
typedef struct Step
{
	const char *sql;
	int			nparams;
	Oid			types[MAX_PARAMS];
	void		(*bind) (const Job *job, Params *params);
	/* looks at the result; false when it is not the one of a normal operation */
	bool		(*take) (Job *job, PGresult *result);
} Step;

/* Where data is: made anew for each cell of the table */
typedef struct Store
{
	const char *name;
	const char *setup;			/* SQL, or NULL */
	const char *setup_file;		/* SQL in a file beside the driver's source, or NULL */
	const char *populate;		/* the scenario that makes an instance */
	int			instances;		/* that are measured, 0 for the option */
	int			age;			/* versions that each of them gets first */
	const char *fill;			/* SQL that adds %d instances beside them, or NULL */
	int			filled;
	bool		held;			/* an old snapshot is held while it is measured */
	const char *analyze;		/* what makes statistics of a populated store */
	const char *history_count;	/* query of the number of versions */
} Store;

typedef struct Scenario
{
	const char *name;
	const char *store;
	const char *session;		/* SQL that each session runs first, or NULL */
	int			saves;			/* that one operation makes, 0 for 1 */
	bool		writes_version; /* each save adds one to history */
	Step		steps[MAX_STEPS];
} Scenario;

extern const Store stores[];
extern const Scenario scenarios[];

extern uint64_t random_next(uint64_t *state);

#endif							/* SCENARIO_H */
