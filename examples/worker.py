#!/usr/bin/python3
"""A worker for sayiir_pg, meant to be copied.

Its workflow takes a text file through four tasks:

    read -> count -> rank -> report

Any number of these workers, on any number of machines, share all workflows. Each
asks the server for something to do and gets it under a claim, which nobody else
gets as long as the worker lives. After each task it makes one call,
sayiir_advance: in one commit the output of the task, the new state of the workflow
and its next task are stored, and the claim goes on for that next task.

A worker may be killed at any moment, and so may the server. The claim then
expires, another worker takes over, and no task whose step was committed runs
again. A worker that was only slow finds its late step refused.

    worker.py                        work until told to stop (SIGTERM or Ctrl-C)
    worker.py --tags text            only on tasks with this tag
    client.py start FILE...          start a workflow for each file

The connection is described by PGHOST, PGDATABASE and so on, as for psql.
"""
import argparse
import collections
import dataclasses
import datetime
import hashlib
import json
import os
import pathlib
import re
import secrets
import select
import signal
import sys
import threading
import time
import typing
import uuid

import psycopg

# ---------------------------------------------------------------------------
# The workflow. This is the part to replace by your own.
#
# A task gets what is claimed: the state of the workflow (claim.state) and the
# outputs of the tasks before it (claim.outputs). It returns its own output as
# bytes. One that takes long calls claim.check() now and then.
# ---------------------------------------------------------------------------


def read(claim):
    """Take the file into the store; later tasks do not need the file."""
    return pathlib.Path(claim.state["file"]).read_bytes()


def count(claim):
    """Count the words of seven letters and more."""
    text = claim.outputs["read"].decode("utf-8", "replace").lower()
    return json.dumps(collections.Counter(re.findall("[a-z]{7,}", text))).encode()


def rank(claim):
    """Pick the three most frequent words."""
    counts = json.loads(claim.outputs["count"])
    return json.dumps(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]).encode()


def report(claim):
    """Make a line for people."""
    ranking = json.loads(claim.outputs["rank"])
    return ", ".join(f"{word} {times}" for word, times in ranking).encode()


def record(connection, claim, task, worker_name):
    """Do what a task does to tables of your own: here, write a receipt.

    This runs in the transaction of the step. So it is done exactly when the step
    is: not when the step is refused, and not twice, whatever dies.
    """
    connection.execute(
        # The key is the step. It makes a step that is sent again harmless.
        "INSERT INTO receipt (instance_id, from_version, task, worker) VALUES (%s, %s, %s, %s)"
        "  ON CONFLICT (instance_id, from_version) DO NOTHING",
        (claim.name, claim.version, task.name, worker_name),
    )


def task_id(name):
    """Return how the store names a task; sayiir_task_id(name) is the same in SQL."""
    return hashlib.sha256(name.encode()).digest()


@dataclasses.dataclass(frozen=True)
class Task:
    name: str
    tag: str  # only a worker with this tag runs the task
    run: typing.Callable[["Claim"], bytes]

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
# version alone: their states may mean something else.
DEFINITION = hashlib.sha256("word report, version 1".encode()).digest()

ATTEMPTS = 3  # a task that fails this often fails the workflow
FIRST_RETRY = datetime.timedelta(seconds=1)  # doubled with each further one

# ---------------------------------------------------------------------------
# What a worker holds, and how that can end.
# ---------------------------------------------------------------------------


class ClaimLost(Exception):
    """The claim is not ours any more: whatever we still do for it is in vain."""


class Interrupted(Exception):
    """The worker is to stop at once."""


@dataclasses.dataclass
class Claim:
    """A workflow instance at a task that only we may run."""

    name: str
    token: uuid.UUID  # what the server knows us by, also in later calls
    version: int  # of the state that we have
    task: typing.Optional[Task]  # the one to run
    state: dict
    outputs: dict  # name of the task: its output
    lost: bool = False  # set by the heartbeat
    interrupted: bool = False  # set by a signal

    def check(self):
        """Leave the task when there is no point in going on with it."""
        if self.lost:
            raise ClaimLost("found by the heartbeat")
        if self.interrupted:
            raise Interrupted


# ---------------------------------------------------------------------------
# The store: what a worker asks the server, on a connection that heals.
# ---------------------------------------------------------------------------

# How a state of ours is passed to the server. The state itself (data) is our own
# business; what the server is to know stands beside it.
STATE_ARGUMENTS = """
    data => %(data)s, instance_id => %(name)s, status => %(status)s,
    definition_hash => %(definition)s,
    current_task_id => %(task)s, position_kind => %(position)s, task_tags => %(tags)s,
    last_completed_task_id => %(done)s, last_completed_output => %(output)s, error => %(error)s,
    expected_version => %(version)s, claim_token => %(token)s
"""

ADVANCE = f"""
    SELECT history_version, status, expires_at
      FROM sayiir_advance({STATE_ARGUMENTS},
        next_claim_ttl => %(next_claim_ttl)s,
        delay_wake_at => clock_timestamp() + %(retry_after)s::interval)
"""


def state_arguments(claim, status, task, state, done=None, output=None, error=None):
    return {
        "data": json.dumps(state).encode(),
        "name": claim.name,
        "status": status,
        "definition": DEFINITION,
        "task": task and task.id,
        "position": task and "AtTask",
        "tags": [task.tag] if task else [],
        "done": done and done.id,
        "output": output,
        "error": error,
        "version": claim.version,
        "token": claim.token,
    }


def say(who, instance, what):
    # One write for a line: the lines of several processes do not mix.
    print(f"  {who:<8} {instance:<12} {what}".rstrip(), flush=True)


class Store:
    """A connection that heals.

    listen: subscribe to hints. give_up: a function that says whether to stop
    trying while the server is away. quiet: say nothing about it.
    """

    def __init__(self, name, listen=False, give_up=lambda: False, quiet=False):
        self.name = name
        self.listen = listen
        self.give_up = give_up
        self.say = (lambda what: None) if quiet else (lambda what: say(name, "", what))
        self.hints = 0
        # Here an error ends the program: wrong settings are best seen at once.
        self.connection = self.connect()

    def connect(self):
        # autocommit: each call of the extension is a whole unit by itself.
        connection = psycopg.connect(autocommit=True, application_name=self.name)
        if self.listen:
            connection.add_notify_handler(self.count_hint)
            connection.execute("LISTEN sayiir_task_ready")
        return connection

    def count_hint(self, notification=None):
        self.hints += 1

    def take_hints(self):
        """Return how many hints came since the last call, without waiting for one."""
        self.connection.pgconn.consume_input()
        while self.connection.pgconn.notifies():
            self.count_hint()
        hints, self.hints = self.hints, 0
        return hints

    def reconnect(self):
        """Try until the server is back, with growing pauses."""
        self.say("connection lost; trying until the server is back")
        pause = 0.1
        while True:
            try:
                self.connection = self.connect()
                break
            except psycopg.OperationalError:
                if self.give_up():
                    sys.exit(f"{self.name}: told to stop while the server is away")
                time.sleep(pause)
                pause = min(2 * pause, 1)
        self.say("connected again")

    def run(self, unit):
        """Return unit(connection); when the connection breaks, reconnect and do it again.

        To send a step again is safe although nobody knows what became of the
        first try: one that was committed is recognized by the server, which
        answers with its version and writes nothing.
        """
        while True:
            try:
                return unit(self.connection)
            except psycopg.OperationalError as error:
                state = error.sqlstate or ""
                # 57P01..57P05: the server is ending this connection.
                if self.connection.closed or state.startswith("57P"):
                    self.connection.close()
                    self.reconnect()
                elif not state.startswith("40"):  # a deadlock is simply tried again
                    raise

    def query(self, sql, parameters=()):
        return self.run(lambda connection: connection.execute(sql, parameters).fetchall())


class Heartbeat(threading.Thread):
    """Keeps the claim alive while its task runs, on a connection of its own."""

    def __init__(self, name, ttl):
        super().__init__(daemon=True)
        self.store = Store(f"{name} heartbeat", quiet=True)
        self.ttl = ttl
        self.claim = None  # what the worker holds; set by the worker

    def run(self):
        while True:
            time.sleep(self.ttl.total_seconds() / 3)
            claim = self.claim
            if claim is None or claim.lost:
                continue
            try:
                self.store.query(
                    "SELECT sayiir_extend_claim(%s, %s, %s)", (claim.name, claim.token, self.ttl)
                )
            except psycopg.Error as error:
                # The claim may just have ended with the worker's own step; then
                # nobody looks at this any more.
                claim.lost = error.sqlstate in ("SY002", "P0002")


# ---------------------------------------------------------------------------
# The worker.
# ---------------------------------------------------------------------------


class Worker:
    def __init__(self, name, tags, ttl, poll, journal=None, step=False):
        self.name = name
        self.tags = tags
        self.ttl = ttl
        self.poll = poll
        self.journal = journal and os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        self.step = step
        # Goes into each state that this process saves. The server takes a save of
        # the same bytes at the same place for a repeat whose answer was lost; two
        # processes that did the same task must not look like that.
        self.signature = f"{name} {secrets.token_hex(4)}"
        self.claim = None  # what we hold
        self.stops = 0  # how often we were told to stop
        self.woken = ""
        self.alarm, self.alarm_in = os.pipe()  # ends the sleep of wait()
        self.store = Store(name, listen=True, give_up=lambda: self.stops > (self.claim is not None))
        self.heartbeat = Heartbeat(name, ttl)

    def stop(self, *_):
        """Finish the task and stop; told a second time, give the task back and stop."""
        self.stops += 1
        if self.stops > 1 and self.claim:
            self.claim.interrupted = True
        os.write(self.alarm_in, b".")

    def run(self):
        signal.signal(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGINT, self.stop)
        self.heartbeat.start()
        say(self.name, "", f"listening, for tasks with the tags {','.join(self.tags)}")
        while not self.stops:
            self.claim = self.claim_task()
            if self.claim is None:
                self.wait()
                continue
            self.heartbeat.claim = self.claim
            try:
                self.work_on(self.claim)
            finally:
                self.claim = self.heartbeat.claim = None
        say(self.name, "", "stopped, as told")

    def wait(self):
        """Sleep until there may be something to do.

        A hint comes with the commit that leaves a task to be run. Nobody hears
        it who is not connected, and none is sent when a claim expires or the
        time of a retry comes; so ask now and then without one.
        """
        try:
            if not self.store.take_hints():
                select.select([self.store.connection, self.alarm], [], [], self.poll)
                self.woken = " (woken by a hint)" if self.store.take_hints() else ""
        except psycopg.OperationalError:
            pass  # the connection is gone; the next query heals it

    def claim_task(self):
        """Return what is most urgent for us, or None: found, claimed and loaded in one call."""
        rows = self.store.query(
            "SELECT instance_id, claim_token, history_version, task_id, data, task_ids, outputs"
            "  FROM sayiir_claim_tasks(%s, ttl => %s, worker_tags => %s, definition_hashes => %s)",
            (self.name, self.ttl, self.tags, [DEFINITION]),
        )
        if not rows:
            return None
        [(name, token, version, current, data, task_ids, outputs)] = rows
        if task_ids is None:  # too much for one row: fetch them singly
            task_ids = [task.id for task in TASKS]
            outputs = [self.load_output(name, id) for id in task_ids]
        stored = dict(zip(task_ids, outputs))
        outputs = {task.name: stored[task.id] for task in TASKS if stored.get(task.id) is not None}
        claim = Claim(name, token, version, TASK_BY_ID[current], json.loads(data), outputs)
        say(self.name, name, f"claimed at version {version}; {claim.task.name} is next{self.woken}")
        self.woken = ""
        return claim

    def load_output(self, name, id):
        [(output,)] = self.store.query("SELECT sayiir_load_task_result(%s, %s)", (name, id))
        return output

    def work_on(self, claim):
        """Run one task of the workflow after the other, as long as it is ours."""
        try:
            while claim.task:
                self.run_task(claim)
        except ClaimLost as problem:
            # Somebody else works on it by now. Nothing of ours was written.
            say(self.name, claim.name, f"claim lost: {problem}")
        except Interrupted:
            self.give_back(claim)
            say(self.name, claim.name, "given back, as told")

    def run_task(self, claim):
        """Run the task of the claim and make the step."""
        task = claim.task
        try:
            output = claim.outputs.get(task.name)
            if output is None:
                self.note("started", claim, task)
                if self.step:
                    self.wait_for_line(claim)
                output = task.run(claim)
                self.note("finished", claim, task)
            # Else somebody stored the output and came no further.
            self.advance(claim, task, output)
        except (ClaimLost, Interrupted):
            raise
        except Exception as error:
            self.fail(claim, task, error)

    def advance(self, claim, task, output):
        """Make the step: the task is done, the next one is ours too if we may run it."""
        following = NEXT_TASK[task]
        state = {
            "file": claim.state["file"],
            "done": claim.state["done"] + [task.name],
            "saved_by": self.signature,
        }
        go_on = following is not None and following.tag in self.tags and not self.stops
        version, status, expires_at = self.send_step(
            claim,
            state_arguments(
                claim, "InProgress" if following else "Completed", following, state, task, output
            ),
            done=task,
            next_claim_ttl=self.ttl if go_on else None,
        )
        if version is None:
            claim.task = None
            say(self.name, claim.name, f"{task.name:<7} dropped: the workflow is {status} already")
            return
        self.note("acknowledged", claim, task, claim.version + 1)
        after = f"next {following.name}" if status == "InProgress" else status
        step = claim.version + 1  # a cancel or a pause makes one more version
        say(self.name, claim.name, f"{task.name:<7} done, saved as version {step}; {after}")
        claim.outputs[task.name] = output
        claim.state = state
        claim.version = version
        # Without an expiry it is for others now: cancelled, paused, ended, not for
        # our tags, or we are to stop.
        claim.task = following if expires_at else None

    def fail(self, claim, task, error):
        """Let the task be tried again after a while, or let the workflow fail."""
        failures = claim.state.get("failures", 0) + 1
        state = {**claim.state, "failures": failures, "saved_by": self.signature}
        if failures < ATTEMPTS:
            # A step as well: counted for whoever tries next, and not due before its time.
            pause = FIRST_RETRY * 2 ** (failures - 1)
            step = state_arguments(claim, "InProgress", task, state)
            what = f"again in {pause.total_seconds():.0f} s"
        else:
            pause = None
            step = state_arguments(claim, "Failed", None, state, error=f"{task.name}: {error}")
            what = "no more attempts"
        _, status, _ = self.send_step(claim, step, retry_after=pause)
        if status != step["status"]:  # cancelled or paused meanwhile, or ended by somebody else
            what = status
        claim.task = None
        say(self.name, claim.name, f"{task.name:<7} failed: {error.__class__.__name__}; {what}")

    def send_step(self, claim, arguments, done=None, next_claim_ttl=None, retry_after=None):
        """Call sayiir_advance; a task that is done is recorded in the same transaction.

        Return the version, None when the workflow has ended already; its status,
        which a cancel or a pause may have changed; and until when we hold the next
        task. Raise ClaimLost when the server refuses the step.
        """
        arguments = {**arguments, "next_claim_ttl": next_claim_ttl, "retry_after": retry_after}

        def step(connection):
            with connection.transaction():
                row = connection.execute(ADVANCE, arguments).fetchone()
                if done and row[0] is not None:
                    record(connection, claim, done, self.name)
                return row

        try:
            return self.store.run(step)
        except psycopg.Error as error:
            if error.sqlstate == "SY001":
                # Somebody without a claim saved beside us. Whoever claims it next
                # loads that.
                self.give_back(claim)
            if error.sqlstate in ("SY001", "SY002", "SY003", "P0002"):
                raise ClaimLost(f"step refused by the server, {error.sqlstate}") from error
            raise

    def give_back(self, claim):
        """Let others have the task at once. A pending cancel or pause is applied here too."""
        try:
            self.store.query("SELECT sayiir_release_claim(%s, %s)", (claim.name, claim.token))
        except psycopg.Error as error:
            if error.sqlstate != "SY002":  # it is not ours any more: as good
                raise

    # For an audit and for demonstrations; a worker of your own needs neither.

    def note(self, event, claim, task, version=""):
        """Write down what really happened, outside of the database."""
        if self.journal is not None:
            line = "\t".join((event, self.name, claim.name, task.name, str(version)))
            os.write(self.journal, f"{line}\n".encode())
            os.fsync(self.journal)

    def wait_for_line(self, claim):
        """Wait for a line on stdin, or its end, like a task that takes long."""
        while True:
            # Looked at first, so that a line that is there counts.
            problem = claim.lost or claim.interrupted
            if select.select([sys.stdin], [], [], 0.1)[0]:
                os.read(sys.stdin.fileno(), 1)
                return
            if problem:
                claim.check()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    option = parser.add_argument
    option("--name", default=f"worker-{os.getpid()}", help="how this worker is called")
    option("--tags", default="text,rank", help="whose tasks it runs, separated by commas")
    option("--ttl", type=float, default=30, help="how long a claim outlives its worker, in seconds")
    option("--poll", type=float, default=30, help="how often to ask without a hint, in seconds")
    option("--journal", help="write down here when a task starts, ends and is acknowledged")
    option("--step", action="store_true", help="wait for a line on stdin inside each task")
    given = parser.parse_args()
    ttl = datetime.timedelta(seconds=given.ttl)
    try:
        worker = Worker(
            given.name, given.tags.split(","), ttl, given.poll, given.journal, given.step
        )
    except psycopg.OperationalError as error:
        sys.exit(f"{given.name}: {error}")
    worker.run()


if __name__ == "__main__":
    main()
