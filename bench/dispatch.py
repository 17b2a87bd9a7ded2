#!/usr/bin/python3
"""What a claim costs beside many instances.

Fills a store with N instances in progress (claimed, delayed, tagged and free ones, of three definitions and
five priorities) and as many that have ended, and prints the CPU time of the backend for a claim of one
task, in a session whose plans were made on the empty store and in a new one, while another session saves.
"""

import os
import statistics
import sys
import threading

import psycopg

FILL = """
INSERT INTO sayiir_workflow_snapshots (instance_id, status, definition_hash, current_task_id, task_priority,
  task_tags, data_hash, waiting_since, delay_wake_at)
 SELECT 'i' || g, 'InProgress', sha256(('wf' || mod(g, 3))::bytea), sha256('t1'), 1 + mod(g, 5),
  CASE mod(g, 4) WHEN 0 THEN ARRAY['gpu'] WHEN 1 THEN ARRAY['eu'] ELSE '{}' END, sha256('x'),
  now() - random() * interval '1000 s', CASE WHEN mod(g, 10) = 0 THEN now() + interval '1 day' END
 FROM generate_series(1, %(n)s) AS g;
INSERT INTO sayiir_workflow_snapshots (instance_id, status, definition_hash, data_hash, completed_at)
 SELECT 'z' || g, 'Completed', sha256('wf'), sha256('x'), now() FROM generate_series(1, %(n)s) AS g;
INSERT INTO sayiir_workflow_versions (instance_id, version, status, current_task_id, data, data_hash)
 SELECT instance_id, 1, status, current_task_id, 'x', sha256('x') FROM sayiir_workflow_snapshots;
INSERT INTO sayiir_workflow_claims
 SELECT instance_id, current_task_id, 'w', gen_random_uuid(), now(), now() + interval '1 day'
 FROM sayiir_workflow_snapshots WHERE status = 'InProgress' AND instance_id LIKE '%%7';
INSERT INTO sayiir_workflow_ready (instance_id, kind, definition_hash, task_tags, task_priority, ready_at)
 SELECT s.instance_id, hashtextextended(encode(s.definition_hash, 'hex'),
   hash_array_extended(s.task_tags COLLATE "C", 0) # s.task_priority::bigint),
  s.definition_hash, s.task_tags, s.task_priority, greatest(s.waiting_since, s.delay_wake_at)
 FROM sayiir_workflow_snapshots AS s WHERE s.status = 'InProgress'
  AND NOT EXISTS (SELECT FROM sayiir_workflow_claims AS c WHERE c.instance_id = s.instance_id)"""


def claim(db, count):
    """The CPU time in microseconds of each of this many claims."""
    times = []
    path = f"/proc/{db.info.backend_pid}/schedstat"
    for _ in range(count):
        before = int(open(path).read().split()[0])
        rows = db.execute("SELECT instance_id FROM sayiir_claim_tasks('w')", prepare=True).fetchall()
        times.append((int(open(path).read().split()[0]) - before) / 1000)
        assert len(rows) == 1
    return times


def save_all_the_time(conninfo, stop):
    with psycopg.connect(conninfo, autocommit=True) as db:
        while not stop.is_set():
            db.execute("SELECT sayiir_save_snapshot(%s, 'busy' || (random() * 100)::integer, 'InProgress',"
                       " sha256('wf'), sha256('t1'), task_tags => '{busy}')", (os.urandom(1000),))


def main():
    conninfo, sizes = sys.argv[1], [int(n) for n in sys.argv[2:]] or [1000, 100000, 1000000]
    print("| in progress, and as many ended | plans made on | CPU µs of a claim, median | p90 |")
    print("|---|---|---|---|")
    for size in sizes:
        with psycopg.connect(conninfo, autocommit=True) as db:
            db.execute("DROP EXTENSION sayiir_pg")
            db.execute("CREATE EXTENSION sayiir_pg")
            old = psycopg.connect(conninfo, autocommit=True)
            old.execute("SET search_path = public")
            old.execute("SELECT * FROM sayiir_claim_tasks('w')")
            for statement in FILL.split(";\n"):
                db.execute(statement, {"n": size}, prepare=False)
            db.execute("VACUUM ANALYZE")
        stop = threading.Event()
        busy = threading.Thread(target=save_all_the_time, args=(conninfo, stop))
        busy.start()
        try:
            new = psycopg.connect(conninfo, autocommit=True)
            for name, session in (("the empty store", old), ("the full one", new)):
                claim(session, 20)
                times = sorted(claim(session, 200))
                print(f"| {size} | {name} | {statistics.median(times):.0f} | {times[180]:.0f} |", flush=True)
                session.close()
        finally:
            stop.set()
            busy.join()


if __name__ == "__main__":
    main()
