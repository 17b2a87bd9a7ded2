#!/usr/bin/python3
"""What stands around the workers: start workflows, look at them, cancel and pause.

    client.py setup                  make the table that the workers write to
    client.py start FILE...          start a workflow for each file
    client.py list                   what there is, who holds it, what it waits for
    client.py cancel|pause|unpause ID

The connection is described by PGHOST, PGDATABASE and so on, as for psql.
"""
import argparse
import getpass
import pathlib
import sys

import psycopg

from worker import STATE_ARGUMENTS, TASK_BY_ID, TASKS, Claim, Store, say, state_arguments

NAME = "client"
WIDTH = 80  # of what is listed

# The worker's own table; see record() in worker.py.
RECEIPT = """
    CREATE TABLE IF NOT EXISTS receipt (
        instance_id text COLLATE "C",
        from_version integer,
        task text NOT NULL,
        worker text NOT NULL,
        written_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (instance_id, from_version))
"""


def setup(store):
    store.run(lambda connection: connection.execute(RECEIPT))


def start(store, path):
    """Save a first state: nothing is done, the first task is next. Its hint wakes a worker."""
    path = pathlib.Path(path).absolute()
    state = {"file": str(path), "done": []}
    # Version 0: it must not exist yet. Two who start it at once make one.
    new = Claim(path.name, token=None, version=0, task=TASKS[0], state=state, outputs={})
    try:
        [(version,)] = store.query(
            f"SELECT sayiir_save_snapshot({STATE_ARGUMENTS})",
            state_arguments(new, "InProgress", new.task, state),
        )
    except psycopg.Error as error:
        if error.sqlstate != "SY001":
            raise
        version = None
    if version is None:
        say(NAME, new.name, "exists already; left alone")
    else:
        say(NAME, new.name, f"new, saved as version {version}; next {new.task.name}")


def cancel(store, name):
    """Cancelled; or Pending while a worker holds it, whose next step then ends it."""
    [(status,)] = store.query("SELECT sayiir_cancel(%s, 'asked for', %s)", (name, getpass.getuser()))
    say(NAME, name, f"cancel: {status}")


def pause(store, name):
    """Paused; or Pending while a worker holds it, until its next step."""
    [(status,)] = store.query("SELECT sayiir_pause(%s, 'asked for', %s)", (name, getpass.getuser()))
    say(NAME, name, f"pause: {status}")


def unpause(store, name):
    [(version,)] = store.query("SELECT sayiir_unpause(%s)", (name,))
    say(NAME, name, f"unpause: InProgress again, version {version}")


def show(store):
    """Print a line for each workflow. Needs the right to read the view."""
    rows = store.query(
        "SELECT instance_id, status, decode(current_task_id, 'hex'), held_by,"
        "       extract(epoch FROM held_until - clock_timestamp()),"
        "       COALESCE(pending_signals[1] || ' pending', error, waiting_for, '')"
        "  FROM sayiir_workflows ORDER BY started_at, instance_id"
    )
    line = "  {:<12} {:<10} {:<6} {:<22} {}"
    print(line.format("workflow", "status", "task", "held by", "waiting for"))
    for name, status, current, held_by, left, why in rows:
        task = TASK_BY_ID.get(current)
        held = ""
        if held_by:
            held = f"{held_by}, {left:.0f} s left" if left > 0 else f"{held_by}, expired"
        text = line.format(name, status, task.name if task else "", held, why).rstrip()
        print(text if len(text) <= WIDTH else text[: WIDTH - 3] + "...")


COMMANDS = {
    "setup": setup,
    "start": start,
    "list": show,
    "cancel": cancel,
    "pause": pause,
    "unpause": unpause,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("names", nargs="*", metavar="FILE|ID")
    arguments = parser.parse_args()
    command = COMMANDS[arguments.command]
    if (not arguments.names) != (command in (setup, show)):
        parser.error(f"{arguments.command}: {'takes no name' if arguments.names else 'which one?'}")
    try:
        store = Store(NAME)
        for name in arguments.names:
            command(store, name)
        if not arguments.names:
            command(store)
    except psycopg.Error as error:
        sys.exit(f"{NAME}: {error}")


if __name__ == "__main__":
    main()
