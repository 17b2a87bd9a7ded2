#!/usr/bin/env python3
"""What the history costs, stored as deltas and whole. See bench/README.md.

bench/history.py CONNECTION [SAVES]    SAVES: checkpoints of one workflow (1000)

The server is to be on this machine, the database to be empty, and nobody else to write to it. Both settings
save the same snapshots, by turns, each into an instance of its own. Times are the CPU time that the backend
took, which other work on the machine changes little; each is a median over all calls, or a mean where
so said.
"""
import hashlib
import json
import random
import statistics
import sys

import psycopg

GROWTH = 200
START = 100_000


def hexid(name):
    return hashlib.sha256(str(name).encode()).hexdigest()


class Json:
    """A snapshot that gains 200 bytes a step in its middle; the position is at the front."""

    def __init__(self, shuffle=False, start=START):
        self.random = random.Random(1)
        self.shuffle = shuffle
        self.tasks = {}
        self.step = 0
        while len(self.snapshot('x')) < start:
            self.grow()

    def grow(self):
        self.step += 1
        task = hexid(self.step)
        entry = {'task_id': task, 'output': []}
        # What a reader does not know it keeps: this brings an entry to its size.
        entry['note'] = ''.join(self.random.choices('abcdefghijklmnop', k=GROWTH - 176))
        self.tasks[task] = entry

    def snapshot(self, instance):
        names = list(self.tasks)
        if self.shuffle:
            self.random.shuffle(names)
        done = {n: self.tasks[n] for n in names}
        body = {'instance_id': instance, 'definition_hash': hexid('definition'), 'state': {'InProgress': {
            'position': {'AtTask': {'task_id': hexid(self.step + 1)}},
            'completed_tasks': done, 'last_completed_task_id': hexid(self.step) if names else None}},
            'initial_input': None, 'created_at': 1700000000, 'updated_at': 1700000000 + self.step}
        return b'SYRS\x01\x01' + json.dumps(body, separators=(',', ':')).encode()


class Opaque:
    """Bytes of which nothing can be said."""

    def __init__(self, size):
        self.random = random.Random(2)
        self.size = size

    def grow(self):
        pass

    def snapshot(self, instance):
        return self.random.randbytes(self.size)


class Clock:
    """The CPU time of a backend, in microseconds."""

    def __init__(self, conn):
        self.file = open(f'/proc/{conn.info.backend_pid}/schedstat')

    def now(self):
        self.file.seek(0)
        return int(self.file.read().split()[0]) / 1000


def measure(conn, clock, name, source, saves):
    is_json = isinstance(source, Json)
    sql = ('SELECT sayiir_save_snapshot(%b)' if is_json else
           "SELECT sayiir_save_snapshot(%b, %s, 'InProgress', sayiir_task_id('definition'))")
    modes = ('full', 'delta')
    took = {m: [] for m in modes}
    wal = {m: 0 for m in modes}
    cur = conn.cursor(binary=True)
    for step in range(saves):
        state = source.random.getstate()
        for mode in modes if step % 2 else modes[::-1]:
            source.random.setstate(state)
            instance = f'{name} {mode}'
            data = source.snapshot(instance)
            cur.execute('SELECT set_config(%s, %s, false)', ('sayiir.history', mode))
            before = cur.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()[0]
            start = clock.now()
            cur.execute(sql, (data,) if is_json else (data, instance))
            took[mode].append(clock.now() - start)
            wal[mode] += cur.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()[0] - before
        source.grow()
    sizes = dict(cur.execute(
        'SELECT instance_id, sum(pg_column_size(data)) FROM sayiir_workflow_versions v'
        " WHERE instance_id LIKE %s GROUP BY 1", (name + ' %',)).fetchall())

    def load(mode, versions):
        result = []
        for version in versions:
            start = clock.now()
            cur.execute('SELECT data FROM sayiir_load_snapshot(%s, %s)', (f'{name} {mode}', version)).fetchone()
            result.append(clock.now() - start)
        return statistics.median(result)

    def row(what, unit, full, delta):
        print(f'{name:26} {what:22} {full:12.1f} {delta:12.1f} {unit:6} {100 * delta / full:7.1f} %', flush=True)

    row('save', 'us', *(statistics.median(took[m]) for m in modes))
    row('save, mean', 'us', *(statistics.fmean(took[m]) for m in modes))
    row('WAL of a save', 'bytes', *(float(wal[m]) / saves for m in modes))
    row('stored of a snapshot', 'bytes', *(float(sizes[f'{name} {m}']) / saves for m in modes))
    newest = [None] * 100
    row('load the newest', 'us', *(load(m, newest) for m in modes))
    some = random.Random(3).choices(range(1, saves + 1), k=200)
    row('load any version', 'us', *(load(m, some) for m in modes))
    rows = cur.execute("""WITH RECURSIVE path AS (
        SELECT version AS leaf, version, base, 1 AS n FROM sayiir_workflow_versions WHERE instance_id = %s
        UNION ALL SELECT p.leaf, v.version, v.base, p.n + 1 FROM path p
        JOIN sayiir_workflow_versions v ON v.instance_id = %s AND v.version = p.base)
        SELECT max(n), avg(n)::float8, (SELECT count(*) FROM sayiir_workflow_versions
        WHERE instance_id = %s AND base IS NULL)::int FROM (SELECT max(n) AS n FROM path GROUP BY leaf) x""",
                       (f'{name} delta',) * 3).fetchone()
    print(f'{name:26} rows of a load: at most {rows[0]}, {rows[1]:.1f} on average; {rows[2]} stored whole')
    cur.execute('SELECT sayiir_delete_snapshot(i) FROM unnest(%s::text[]) i', ([f'{name} {m}' for m in modes],))


def main():
    saves = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with psycopg.connect(sys.argv[1], autocommit=True) as conn:
        conn.prepare_threshold = 0
        print(f'{"":26} {"":22} {"full":>12} {"delta":>12}')
        clock = Clock(conn)
        measure(conn, clock, 'json 100 kB + 200 B', Json(), saves)
        measure(conn, clock, 'json 100 kB, shuffled', Json(shuffle=True), saves)
        for size in (100_000, 10_000):
            measure(conn, clock, f'random {size // 1000} kB', Opaque(size), saves)
        for size in (500, 1500, 2000, 3000, 4000, 8000, 16000):
            measure(conn, clock, f'json {size} B + 200 B', Json(start=size), min(saves, 50))


if __name__ == '__main__':
    main()
