#!/usr/bin/python3
"""A worker that sleeps until there is something to do.

Every checkpoint that leaves a task to be run sends a hint on the channel
sayiir_task_ready, and the hint says which instance, which task and which tags.
This worker LISTENs, so it starts on a task the moment the one before it was
committed, without asking the server again and again.

A hint is only a hint. Nobody hears it who is not connected, so the worker looks
through the store once after each connect, and again whenever it has heard
nothing for a while. That order, LISTEN first and look afterwards, leaves no gap.

    listener.py --tags rank          work until it is told to end
"""
import collections
import select
import signal
import sys

import psycopg

from worker import DEFINITION, TASK_BY_ID, Store, Worker, argument_parser, say

QUIET_SECONDS = 60  # after this much silence, look whether a hint was missed


class Listener:
    def __init__(self, name, tags, journal, step):
        self.hints = collections.deque()
        self.must_look = True
        self.heard = self.for_me = self.looks = self.found = 0
        self.store = Store(name, on_connect=self.listen)
        self.worker = Worker(self.store, tags, journal, step)

    def listen(self, connection):
        """Subscribe, on the first connection and on every one after a loss."""
        # psycopg calls the handler whenever it reads from the server, also in
        # the middle of another query; so it only puts the hint aside.
        connection.add_notify_handler(self.hints.append)
        connection.execute("LISTEN sayiir_task_ready")
        self.must_look = True

    def run(self):
        while True:
            if self.must_look:
                self.look()
            elif self.hints:
                self.follow(self.hints.popleft())
            else:
                self.wait()

    def look(self):
        self.must_look = False
        self.looks += 1
        found = self.worker.look_through()
        self.found += found
        say(self.worker.name, "", f"looked through the store: {found} for me; listening")

    def follow(self, notification):
        self.heard += 1
        if notification.pid == self.store.connection.info.backend_pid:
            return  # about our own checkpoint: we went on with that task already
        rows = self.store.query(
            "SELECT instance_id, task_id, definition_hash, tags FROM sayiir_decode_hint(%s)",
            (notification.payload,),
        )
        if not rows:  # a hint too long for NOTIFY comes empty
            self.must_look = True
            return
        [(name, task_id, definition, tags)] = rows
        task = TASK_BY_ID.get(task_id)
        if definition != DEFINITION or task is None or not set(tags) <= set(self.worker.tags):
            return  # for another worker
        self.for_me += 1
        self.worker.work_on(name, f"woken by hint {{{','.join(tags)}}}")

    def wait(self):
        if select.select([self.store.connection], [], [], QUIET_SECONDS)[0]:
            # Let psycopg read what has come. If that was the end of the
            # connection, query() heals it and listen() subscribes again.
            self.store.query("SELECT 1")
        else:
            self.must_look = True


def main():
    arguments = argument_parser(__doc__.split("\n")[0]).parse_args()
    try:
        listener = Listener(arguments.name, arguments.tags.split(","), arguments.journal, arguments.step)
    except psycopg.OperationalError as error:
        sys.exit(f"{arguments.name}: {error}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        listener.run()
    except KeyboardInterrupt:
        pass
    finally:
        say(
            arguments.name,
            "",
            f"{listener.heard} hints heard, {listener.for_me} were for me;"
            f" {listener.looks} looks found {listener.found}",
        )


if __name__ == "__main__":
    main()
