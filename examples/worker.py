#!/usr/bin/python3
"""A small worker for sayiir_pg, meant to be copied.

Its workflow takes a text file through four tasks:

    read -> count -> rank -> report

After each task the worker makes one call, sayiir_save_snapshot. In one commit
it stores the output of the task that is done, the state of the workflow, and
which task comes next: that is the checkpoint. A worker that starts later, on
this machine or another, loads the checkpoint and goes on with the next task.

So there is no clean shutdown to be written. A worker may be killed at any
moment, and so may the server: a task whose checkpoint was acknowledged never
runs again. A task that was interrupted before that does run again, so it must
bear that, as with any store.

    worker.py FILE...                start a workflow for each file
    worker.py --tags text,rank       work until nothing is left to do

The connection is described by PGHOST, PGDATABASE and so on, as for psql.
"""
import argparse
import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import secrets
import sys
import time
import typing

import psycopg

# ---------------------------------------------------------------------------
# The workflow. This is the part to replace by your own.
#
# A task gets the state of the workflow and the outputs of the tasks before it,
# and returns its own output as bytes.
# ---------------------------------------------------------------------------


def read(state, outputs):
    """Take the file into the store; later tasks do not need the file."""
    return pathlib.Path(state["file"]).read_bytes()


def count(state, outputs):
    """Count the words of seven letters and more."""
    text = outputs["read"].decode("utf-8", "replace").lower()
    return json.dumps(collections.Counter(re.findall("[a-z]{7,}", text))).encode()


def rank(state, outputs):
    """Pick the three most frequent words."""
    counts = json.loads(outputs["count"])
    return json.dumps(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]).encode()


def report(state, outputs):
    """Make a line for people."""
    return ", ".join(f"{word} {times}" for word, times in json.loads(outputs["rank"])).encode()


def task_id(name):
    """Return how the store names a task; sayiir_task_id(name) is the same in SQL."""
    return hashlib.sha256(name.encode()).digest()


@dataclasses.dataclass(frozen=True)
class Task:
    name: str
    tag: str  # only a worker with this tag runs the task
    run: typing.Callable[[dict, dict], bytes]

    @property
    def id(self):
        return task_id(self.name)


TASKS = (
    Task("read", "text", read),
    Task("count", "text", count),
    Task("rank", "rank", rank),
    Task("report", "rank", report),
)
TASK_BY_ID = {task.id: task for task in TASKS}
NEXT_TASK = dict(zip(TASKS, TASKS[1:] + (None,)))

# Names this version of the workflow. A worker leaves instances of another
# version alone: their checkpoints may mean something else.
DEFINITION = hashlib.sha256("word report, version 1".encode()).digest()

# ---------------------------------------------------------------------------
# The store: what a worker asks the server, on a connection that heals.
# ---------------------------------------------------------------------------


class VersionConflict(Exception):
    """Somebody else has saved this instance since we loaded it (SQLSTATE SY001)."""


@dataclasses.dataclass
class Instance:
    """A workflow instance as of its last checkpoint."""

    name: str
    status: str
    version: int
    definition: bytes
    task: typing.Optional[Task]  # the one to run next
    state: dict
    outputs: dict  # name of the task: its output


class Store:
    def __init__(self, worker_name, on_connect=None):
        """Connect. on_connect is called with each new connection, also after a loss."""
        self.worker_name = worker_name
        self.on_connect = on_connect
        # Goes into each state that this process saves. The server takes a save
        # of the same bytes at the same place for a repeat whose answer was
        # lost; two processes that did the same task must not look like that.
        self.signature = f"{worker_name} {secrets.token_hex(4)}"
        # Here an error ends the program: wrong settings are best seen at once.
        self.connection = self.connect()

    def connect(self):
        # autocommit: every call of the extension is a whole unit by itself.
        connection = psycopg.connect(autocommit=True, application_name=self.worker_name)
        if self.on_connect:
            self.on_connect(connection)
        return connection

    def reconnect(self):
        """Try until the server is back, with growing pauses."""
        say(self.worker_name, "", "connection lost; trying until the server is back")
        pause = 0.1
        while True:
            try:
                self.connection = self.connect()
                say(self.worker_name, "", "connected again")
                return
            except psycopg.OperationalError:
                time.sleep(pause)
                pause = min(2 * pause, 5)

    def query(self, sql, parameters=()):
        """Return the rows; when the connection breaks, reconnect and ask again.

        To ask again is safe although nobody knows what became of the first
        try: loads only read, and a save with expected_version that was
        committed in the first try is recognized by the server, which answers
        with its version and writes nothing.
        """
        while True:
            try:
                return self.connection.execute(sql, parameters).fetchall()
            except psycopg.OperationalError as error:
                # 57P01..57P05: the server is ending this connection.
                if not (self.connection.closed or (error.sqlstate or "").startswith("57P")):
                    raise
                self.connection.close()
                self.reconnect()

    def in_progress(self):
        """Yield the name of every instance that is not ended, a page at a time."""
        last = None
        while True:
            page = self.query(
                "SELECT id FROM sayiir_list_snapshots('InProgress', after => %s, max_rows => 100) AS id",
                (last,),
            )
            yield from (name for (name,) in page)
            if not page:
                return
            [last] = page[-1]

    def load(self, name):
        """Return the instance as of its last checkpoint, or None if there is none."""
        try:
            [row] = self.query(
                "SELECT status, history_version, definition_hash, current_task_id, data, task_ids, outputs"
                "  FROM sayiir_load_snapshot(%s)",
                (name,),
            )
        except psycopg.Error as error:
            if error.sqlstate == "P0002":  # deleted in the meantime
                return None
            raise
        status, version, definition, current, data, task_ids, outputs = row
        instance = Instance(name, status, version, definition, None, {}, {})
        if definition == DEFINITION:
            instance.task = TASK_BY_ID.get(current)
            instance.state = json.loads(data)
            if task_ids is None:  # too much for one row: fetch what we need singly
                task_ids = [task.id for task in TASKS]
                outputs = [self.load_output(name, id) for id in task_ids]
            instance.outputs = {
                TASK_BY_ID[id].name: output for id, output in zip(task_ids, outputs) if output is not None
            }
        return instance

    def load_output(self, name, id):
        [(output,)] = self.query("SELECT sayiir_load_task_result(%s, %s)", (name, id))
        return output

    def save(self, instance, done=None, output=None, error=None):
        """Store a checkpoint and return its version; None when the instance has ended.

        instance says where the workflow stands now, and in instance.version
        which checkpoint that is based on.
        """
        task = instance.task
        try:
            [(version,)] = self.query(
                """
                SELECT sayiir_save_snapshot(
                    data => %(data)s, instance_id => %(name)s, status => %(status)s,
                    definition_hash => %(definition)s,
                    current_task_id => %(current)s, position_kind => %(position)s, task_tags => %(tags)s,
                    last_completed_task_id => %(done)s, last_completed_output => %(output)s,
                    error => %(error)s, expected_version => %(version)s)
                """,
                {
                    "data": json.dumps({**instance.state, "saved_by": self.signature}).encode(),
                    "name": instance.name,
                    "status": instance.status,
                    "definition": instance.definition,
                    "current": task and task.id,
                    "position": task and "AtTask",
                    "tags": [task.tag] if task else [],
                    "done": done and done.id,
                    "output": output,
                    "error": error,
                    "version": instance.version,
                },
            )
        except psycopg.Error as problem:
            if problem.sqlstate == "SY001":
                raise VersionConflict(instance.name) from problem
            raise
        return version


# ---------------------------------------------------------------------------
# The worker: runs tasks and makes a checkpoint after each.
# ---------------------------------------------------------------------------


def say(who, instance, what):
    # One write for a line: the lines of several processes do not mix.
    print(f"  {who:<8} {instance:<12} {what}".rstrip(), flush=True)


class Worker:
    def __init__(self, store, tags, journal=None, step=False):
        self.store = store
        self.name = store.worker_name
        self.tags = tags
        self.journal = journal and os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        self.step = step

    def note(self, event, instance, task, version=""):
        """Write down what really happened, outside of the database (for an audit afterwards)."""
        if self.journal is not None:
            line = "\t".join((event, self.name, instance.name, task.name, str(version)))
            os.write(self.journal, f"{line}\n".encode())
            os.fsync(self.journal)

    def is_mine(self, instance):
        return (
            instance is not None
            and instance.status == "InProgress"
            and instance.definition == DEFINITION
            and instance.task is not None
            and instance.task.tag in self.tags
        )

    def look_through(self):
        """Work on everything in the store that is for us, and return how much that was."""
        return sum(self.work_on(name, "found unfinished") for name in self.store.in_progress())

    def work_on(self, name, why):
        """Go on with an instance until it is somebody else's turn; False if it never was ours."""
        instance = self.store.load(name)
        if not self.is_mine(instance):
            return False
        if instance.outputs:
            say(self.name, name, f"{why}; from version {instance.version} on, next {instance.task.name}")
        try:
            while self.is_mine(instance):
                self.run_task(instance)
        except VersionConflict:
            # Another worker was faster, and its checkpoint counts. Our result
            # is dropped; nothing was written.
            say(self.name, name, "saved by somebody else meanwhile; leaving it")
        return True

    def run_task(self, instance):
        """Run the current task of the instance to its end, then make the checkpoint."""
        task = instance.task
        self.note("started", instance, task)
        if self.step:
            sys.stdin.readline()
        try:
            output = task.run(instance.state, instance.outputs)
        except Exception as error:
            # The workflow ends here; its checkpoints stay and tell how far it came.
            instance.status = "Failed"
            instance.version = self.store.save(instance, error=f"{task.name}: {error!r}")
            say(self.name, instance.name, f"{task.name:<7} failed: {error!r}")
            return
        self.note("finished", instance, task)

        instance.outputs[task.name] = output
        instance.state["done"].append(task.name)
        instance.task = NEXT_TASK[task]
        if instance.task is None:
            instance.status = "Completed"
        instance.version = self.store.save(instance, done=task, output=output)
        if instance.version is None:
            instance.status = "ended"
            say(self.name, instance.name, "was ended by somebody else; result dropped")
            return
        self.note("acknowledged", instance, task, instance.version)
        after = f"next {instance.task.name}" if instance.task else instance.status
        say(self.name, instance.name, f"{task.name:<7} done, saved as version {instance.version}; {after}")


def start_workflow(store, path):
    """Make the first checkpoint: nothing is done, the first task is next."""
    name = pathlib.Path(path).name
    state = {"file": str(path), "done": []}
    # Version 0: it must not exist yet. Two who start it at once make one.
    instance = Instance(name, "InProgress", 0, DEFINITION, TASKS[0], state, {})
    try:
        version = store.save(instance)
    except VersionConflict:
        version = None
    if version is None:
        say(store.worker_name, name, "exists already; leaving it")
    else:
        say(store.worker_name, name, f"new, saved as version {version}; next {TASKS[0].name}")


def argument_parser(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--name", help="how this worker is called", default=f"worker-{os.getpid()}")
    parser.add_argument("--tags", help="whose tasks it runs, separated by commas", default="text,rank")
    parser.add_argument("--journal", help="write down here when a task starts, ends and is acknowledged")
    parser.add_argument("--step", action="store_true", help="wait for a line on stdin inside each task")
    return parser


def main():
    parser = argument_parser(__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="start a workflow for this file")
    arguments = parser.parse_args()
    try:
        store = Store(arguments.name)
    except psycopg.OperationalError as error:
        sys.exit(f"{arguments.name}: {error}")
    if arguments.files:
        for path in arguments.files:
            start_workflow(store, os.path.abspath(path))
    else:
        Worker(store, arguments.tags.split(","), arguments.journal, arguments.step).look_through()
        say(arguments.name, "", "nothing left to do")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass  # nothing to save: the last checkpoint is where the next worker goes on
