#!/usr/bin/python3
"""What a task costs a store that many workers share, by three protocols.

client   the calls of a client that keeps the store by itself: it looks for a task, claims it, probes
         for signals, saves under its claim in a transaction of its own, probes again, and releases
two      sayiir_claim_tasks and sayiir_advance for each task
one      sayiir_claim_tasks for the first task of a workflow, then sayiir_advance with next_claim_ttl

Each runs the same workflows of five tasks with snapshots of 1 kB, in turns, and the medians of the
turns are printed: calls, commits, WAL and CPU time of the backend for each task.
"""

import hashlib
import os
import statistics
import sys
import uuid

import psycopg

TASKS = 5
TURNS = 7
TTL = "30 seconds"


def digest(name):
    return hashlib.sha256(name.encode()).digest()


STEPS = [digest(f"task {n}") for n in range(TASKS)]
DEFINITION = digest("definition")

# One statement for a save, as such a client sends it: the version, the history, the tasks, the wakeup.
CLIENT_SAVE = """
WITH held AS (
  SELECT FROM claims WHERE instance_id = %(id)s AND task_id = %(done)s AND worker_id = %(worker)s
   AND expires_at > clock_timestamp()),
saved AS (
  UPDATE sayiir_workflow_snapshots SET status = %(status)s, current_task_id = %(next)s,
    completed_task_count = completed_task_count + 1, history_version = history_version + 1,
    data_hash = %(hash)s, updated_at = now(),
    completed_at = CASE WHEN %(status)s = 'Completed' THEN now() END
   WHERE instance_id = %(id)s AND status = 'InProgress' AND EXISTS (SELECT FROM held)
  RETURNING history_version),
kept AS (
  INSERT INTO sayiir_workflow_snapshot_history (instance_id, version, status, current_task_id, data, data_hash)
  SELECT %(id)s, history_version, %(status)s, %(next)s, %(data)s, %(hash)s FROM saved),
done AS (
  INSERT INTO sayiir_workflow_tasks (instance_id, task_id, status, completed_at, output)
  SELECT %(id)s, %(done)s, 'completed', now(), %(output)s FROM saved
  ON CONFLICT (instance_id, task_id) DO UPDATE
   SET status = 'completed', completed_at = now(), output = EXCLUDED.output),
active AS (
  INSERT INTO sayiir_workflow_tasks (instance_id, task_id, status, started_at)
  SELECT %(id)s, %(next)s, 'active', now() FROM saved WHERE %(next)s::bytea IS NOT NULL
  ON CONFLICT DO NOTHING)
SELECT history_version, pg_notify('client_task_ready', %(id)s) FROM saved"""


class Session:
    """A connection that counts its calls."""

    def __init__(self, conninfo, path):
        self.db = psycopg.connect(conninfo, autocommit=True, prepare_threshold=0)
        self.db.execute(f"SET search_path = {path}")
        self.db.execute("SET synchronous_commit = off")
        self.calls = self.commits = 0

    def call(self, query, args=(), commits=1):
        self.calls += 1
        self.commits += commits
        cursor = self.db.execute(query, args)
        return cursor.fetchall() if cursor.description else []

    def cpu(self):
        with open(f"/proc/{self.db.info.backend_pid}/schedstat") as file:
            return int(file.read().split()[0])


def state(workflow, done):
    return (f"{workflow} {done} " + "x" * 64).encode() + os.urandom(900)


def step(workflow, done):
    """What the save after task number "done" says."""
    last = done == TASKS - 1
    data = state(workflow, done)
    return {
        "id": workflow, "data": data, "hash": hashlib.sha256(data).digest(), "done": STEPS[done],
        "output": b"y" * 100, "next": None if last else STEPS[done + 1],
        "status": "Completed" if last else "InProgress", "definition": DEFINITION, "worker": "worker",
    }


def run_client(session, count):
    for _ in range(count * TASKS):
        (workflow, task), = session.call("""
            SELECT s.instance_id, s.current_task_id FROM sayiir_workflow_snapshots AS s
             WHERE s.status = 'InProgress' AND s.current_task_id IS NOT NULL AND s.task_tags <@ '{}'
              AND (s.delay_wake_at IS NULL OR s.delay_wake_at <= now())
              AND NOT EXISTS (SELECT FROM claims AS c WHERE c.instance_id = s.instance_id
                AND c.expires_at > clock_timestamp())
             ORDER BY s.task_priority, s.updated_at LIMIT 1""")
        session.call("""INSERT INTO claims VALUES (%s, %s, 'worker', now(), now() + %s::interval)
            ON CONFLICT (instance_id, task_id) DO UPDATE SET worker_id = EXCLUDED.worker_id,
             claimed_at = now(), expires_at = EXCLUDED.expires_at WHERE claims.expires_at <= now()""",
                     (workflow, task, TTL))
        session.call("SELECT data FROM sayiir_workflow_snapshot_history WHERE instance_id = %s"
                     " ORDER BY version DESC LIMIT 1", (workflow,))
        session.call("SELECT kind FROM signals WHERE instance_id = %s", (workflow,))
        session.call("BEGIN", commits=0)
        session.call("SELECT FROM claims WHERE instance_id = %s AND task_id = %s FOR UPDATE",
                     (workflow, task), commits=0)
        session.call(CLIENT_SAVE, step(workflow, STEPS.index(task)), commits=0)
        session.call("COMMIT")
        session.call("SELECT kind FROM signals WHERE instance_id = %s", (workflow,))
        session.call("DELETE FROM claims WHERE instance_id = %s AND task_id = %s", (workflow, task))


CLAIM = "SELECT instance_id, task_id, claim_token FROM sayiir_claim_tasks('worker')"
ADVANCE = """SELECT * FROM sayiir_advance(data => %(data)s, claim_token => %(token)s, instance_id => %(id)s,
    status => %(status)s, definition_hash => %(definition)s, current_task_id => %(next)s,
    last_completed_task_id => %(done)s, last_completed_output => %(output)s,
    next_claim_ttl => %(ttl)s::interval)"""


def advance(session, workflow, done, token, ttl):
    session.call(ADVANCE, dict(step(workflow, done), token=token, ttl=ttl))


def run_two(session, count):
    for _ in range(count * TASKS):
        (workflow, task, token), = session.call(CLAIM)
        advance(session, workflow, STEPS.index(task), token, None)


def run_one(session, count):
    for _ in range(count):
        (workflow, task, token), = session.call(CLAIM)
        for done in range(STEPS.index(task), TASKS):
            advance(session, workflow, done, token, TTL)


def start_client(session, names):
    for name in names:
        data = state(name, -1)
        session.db.execute("INSERT INTO sayiir_workflow_snapshots (instance_id, status, definition_hash,"
                           " current_task_id) VALUES (%s, 'InProgress', %s, %s)", (name, DEFINITION, STEPS[0]))
        session.db.execute("INSERT INTO sayiir_workflow_snapshot_history (instance_id, version, status, data)"
                           " VALUES (%s, 1, 'InProgress', %s)", (name, data))


def start_extension(session, names):
    for name in names:
        session.db.execute("SELECT sayiir_save_snapshot(%s, %s, 'InProgress', %s, %s)",
                           (state(name, -1), name, DEFINITION, STEPS[0]))


def main():
    conninfo, count = sys.argv[1], int((sys.argv[2:] or ["100"])[0])
    with psycopg.connect(conninfo, autocommit=True) as db, open("bench/client_store.sql") as store:
        db.execute("CREATE SCHEMA client")
        db.execute("SET search_path = client")
        db.execute(store.read())
        db.execute("CREATE TABLE claims (instance_id text, task_id bytea, worker_id text, claimed_at timestamptz,"
                   " expires_at timestamptz, PRIMARY KEY (instance_id, task_id))")
        db.execute("CREATE TABLE signals (instance_id text, kind text, PRIMARY KEY (instance_id, kind))")

    protocols = {
        "client": (Session(conninfo, "client"), start_client, run_client),
        "two": (Session(conninfo, "public"), start_extension, run_two),
        "one": (Session(conninfo, "public"), start_extension, run_one),
    }
    figures = {name: [] for name in protocols}
    for turn in range(TURNS + 1):
        for name, (session, start, run) in protocols.items():
            start(session, [f"{turn} {uuid.uuid4()}" for _ in range(count)])
            session.calls = session.commits = 0
            cpu = session.cpu()
            wal, = session.db.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
            run(session, count)
            after, = session.db.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
            tasks = count * TASKS
            if turn > 0:  # the first is the warm-up
                figures[name].append((session.calls / tasks, session.commits / tasks,
                                      float(after - wal) / tasks, (session.cpu() - cpu) / tasks / 1000))

    print(f"medians of {TURNS} turns of {count} workflows of {TASKS} tasks, for each task")
    print("| protocol | calls | commits | WAL bytes | CPU µs |")
    print("|---|---|---|---|---|")
    for name, rows in figures.items():
        calls, commits, wal, cpu = (statistics.median(column) for column in zip(*rows))
        print(f"| {name} | {calls:.1f} | {commits:.1f} | {wal:.0f} | {cpu:.0f} |")


if __name__ == "__main__":
    main()
