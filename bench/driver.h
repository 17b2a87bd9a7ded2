/*-------------------------------------------------------------------------
 *
 * driver.h
 *		What the parts of the driver share: its options, the places that are
 *		measured, and questions to the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef DRIVER_H
#define DRIVER_H

#include "scenario.h"

#define BLOBS	16				/* different snapshots that are saved */

typedef struct Options
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
	int			delay;
	int			samples;
	int			scale;
} Options;

/* A store that is in use: a database, and the instances in it */
typedef struct Place
{
	const Store *store;
	const char *change;			/* name of its change, or NULL */
	char		name[64];
	PGconn	   *control;		/* for questions about it */
	PGconn	   *listener;		/* hears the wakeups */
	PGconn	   *holder;			/* holds an old snapshot, or NULL */
	Instance   *instances;
	int			ninstances;
	int			age;			/* versions that each instance still has to get first */
	int64_t		versions;		/* that must be in its history */
} Place;

extern Options options;
extern Blob blobs[BLOBS];

extern void fail(const char *format,...) __attribute__((format(printf, 1, 2), noreturn));
extern void *must(void *allocated);
extern double now(void);
extern void begin_line(const char *word);

extern PGconn *connect_to(const char *database);
extern void run_sql(PGconn *conn, const char *sql);
extern const Scenario *find_scenario(const char *name);
extern void prepare(PGconn *conn, const Scenario *scenario);
extern int	send_prepared(PGconn *conn, const Step *step, int number, const Job *job);

extern void make_blobs(void);
extern Place *place_for(const char *store, const char *change);
extern int64_t wal_position(Place *place);
extern void report_places(void);
extern PGconn *first_control(void);

#endif							/* DRIVER_H */
