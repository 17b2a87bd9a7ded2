"""A worker that test/t/041_drain.pl kills: it claims, records each execution, and advances.

Arguments: connection string, name, ttl, seed. It ends by itself when every workflow has ended. Each execution is
recorded in a transaction of its own before the work starts; its number is the output of the task, so that
afterwards every stored output says which execution won. A connection that breaks is made anew, and the call
whose answer was lost is sent again.
"""

import hashlib
import json
import random
import sys
import time
import uuid

import psycopg

CONNINFO, NAME, TTL, SEED = sys.argv[1:5]
TASKS = [hashlib.sha256(b"task %d" % n).digest() for n in range(1, 6)]
DEFINITION = hashlib.sha256(b"drain").digest()
ENDED = "SELECT NOT EXISTS (SELECT FROM sayiir_workflow_snapshots WHERE status = 'InProgress')"


def position(task):
    """The bytes of one of Sayiir's own snapshots begin with its envelope."""
    return TASKS.index(bytes(task))


def json_snapshot(instance, done, output, run):
    """The state after `done` tasks, of which the last one has brought this output.

    The stored copy is without outputs: the number of the execution in it keeps it from being a repeat of another's.
    """
    completed = {TASKS[n].hex(): {"task_id": TASKS[n].hex(), "output": list(output) if n == done - 1 else []}
                 for n in range(done)}
    if done == len(TASKS):
        state = {"Completed": {"final_output": list(output)}}
    else:
        state = {"InProgress": {"position": {"AtTask": {"task_id": TASKS[done].hex()}}, "completed_tasks": completed,
                                "last_completed_task_id": TASKS[done - 1].hex() if done else None}}
    return b"SYRS\x01\x01" + json.dumps({"instance_id": instance, "definition_hash": DEFINITION.hex(), "state": state,
                                         "created_at": 1, "updated_at": 1, "run": str(run)}).encode()


class Worker:
    def __init__(self):
        self.connection = None
        self.random = random.Random(f"{SEED} {NAME}")

    def call(self, sql, *args):
        """One statement, one transaction; again when the connection broke and nobody knows what became of it."""
        while True:
            try:
                if self.connection is None or self.connection.closed:
                    self.connection = psycopg.connect(CONNINFO, autocommit=True, application_name=NAME)
                cursor = self.connection.execute(sql, args)
                return cursor.fetchone() if cursor.description else None
            except psycopg.OperationalError as error:
                # Anything but a broken connection is a fault.
                if self.connection is not None and not self.connection.closed and error.sqlstate:
                    raise
                self.connection = None
                time.sleep(0.01)

    def advance(self, instance, task, token, version, is_json, run):
        """The save after a task; the row of sayiir_advance."""
        done = position(task) + 1
        output = str(run).encode()
        ttl = TTL if self.random.random() < 0.7 else None
        # With the version named, or without.
        version = version if self.random.random() < 0.5 else None
        if is_json:
            if done == len(TASKS):
                # A state that is Completed names no task: its result goes ahead.
                version = self.call("SELECT sayiir_save_task_result(%s, %s, %s, claim_token => %s)",
                                    instance, bytes(task), output, token)[0]
            return self.call("SELECT * FROM sayiir_advance(%s, %s, next_claim_ttl => %s, expected_version => %s)",
                             json_snapshot(instance, done, output, run), token, ttl, version)
        last = done == len(TASKS)
        return self.call("SELECT * FROM sayiir_advance(%s, %s, instance_id => %s, status => %s, definition_hash => %s,"
                         " current_task_id => %s, last_completed_task_id => %s, last_completed_output => %s,"
                         " next_claim_ttl => %s, expected_version => %s)",
                         output, token, instance, "Completed" if last else "InProgress", DEFINITION,
                         None if last else TASKS[done], bytes(task), output, ttl, version)

    def work(self, instance, task, token, version, is_json, stored):
        """Runs tasks of one instance for as long as the claim goes on; one whose output is stored is not run again."""
        while True:
            if self.random.random() < 0.05:
                self.call("SELECT sayiir_release_claim(%s, %s, retry_after => %s)", instance, token,
                          self.random.choice([None, "10 milliseconds"]))
                return
            run = uuid.UUID(int=self.random.getrandbits(128))
            if bytes(task) in stored:
                run = uuid.UUID(stored[bytes(task)].decode())
            else:
                self.call("INSERT INTO test.runs (run, worker, instance_id, task_id) VALUES (%s, %s, %s, %s)"
                          " ON CONFLICT DO NOTHING", run, NAME, instance, bytes(task))
                time.sleep(self.random.random() * 0.004)
            version, status, expires_at = self.advance(instance, task, token, version, is_json, run)
            if expires_at is None:
                return
            task = TASKS[position(task) + 1]

    def run(self):
        while True:
            row = self.call("SELECT instance_id, task_id, claim_token, history_version, data, task_ids, outputs FROM sayiir_claim_tasks(%s, ttl => %s)",
                            NAME, TTL)
            if row is None:
                if self.call(ENDED)[0]:
                    return
                time.sleep(0.02)
                continue
            instance, task, token, version, data, ids, outputs = row
            stored = dict(zip(map(bytes, ids), map(bytes, outputs)))
            try:
                self.work(instance, task, token, version, bytes(data).startswith(b"SYRS"), stored)
            except psycopg.Error as error:
                if error.sqlstate != "SY002":
                    raise
                # Too slow: another one has the task.
                self.call("INSERT INTO test.late VALUES (%s, %s)", NAME, instance)


Worker().run()
