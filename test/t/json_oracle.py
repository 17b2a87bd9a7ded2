#!/usr/bin/python3
"""json_oracle.py CONNINFO SEED COUNT: random JSON snapshots against an edit that is written here anew.

Each snapshot is built of random members in random order with random white space, is saved with one
argument, and then gets results of new and of known tasks. After each call the stored bytes are compared
with what an edit by this file's own scanner allows, and the columns with what Python's json module reads.
Prints TAP; a failure shows the seed, so that it can be run again alone.
"""

import hashlib
import json
import random
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import psycopg

ENVELOPE = b'SYRS\x01\x01'
SPACE = b' \t\n\r'


# --- Where things are in a JSON text: an own scanner, over bytes ---------------------------------

class Node:
    """A value at text[start:end]; of an object its members as (name, name's start, value)."""

    def __init__(self, start):
        self.start = start
        self.end = None
        self.members = None

    def get(self, name):
        for key, _, value in self.members:
            if key == name:
                return value
        return None

    def member_start(self, name):
        for key, start, _ in self.members:
            if key == name:
                return start
        raise KeyError(name)


def skip_space(text, at):
    while text[at:at + 1] and text[at] in SPACE:
        at += 1
    return at


def string_end(text, at):
    at += 1
    while text[at] != 0x22:
        at += 2 if text[at] == 0x5c else 1
    return at + 1


def scan(text, at):
    at = skip_space(text, at)
    node = Node(at)
    first = text[at:at + 1]
    if first == b'{':
        node.members = []
        at = skip_space(text, at + 1)
        while text[at:at + 1] != b'}':
            if text[at:at + 1] == b',':
                at = skip_space(text, at + 1)
            name_start = at
            at = string_end(text, at)
            name = json.loads(text[name_start:at])
            at = skip_space(text, at)
            assert text[at:at + 1] == b':', at
            value = scan(text, at + 1)
            node.members.append((name, name_start, value))
            at = skip_space(text, value.end)
        node.end = at + 1
    elif first == b'[':
        at = skip_space(text, at + 1)
        while text[at:at + 1] != b']':
            if text[at:at + 1] == b',':
                at += 1
            at = skip_space(text, scan(text, at).end)
        node.end = at + 1
    elif first == b'"':
        node.end = string_end(text, at)
    else:
        while text[at:at + 1] and text[at:at + 1] not in b',]}' and text[at] not in SPACE:
            at += 1
        node.end = at
    return node


def body_of(root):
    name, _, body = root.get('state').members[0]
    return name, body


def cut(text, spans):
    """The text without these spans."""
    kept, at = [], 0
    for start, end in sorted(spans):
        kept.append(text[at:start])
        at = end
    return b'\0'.join(kept + [text[at:]])


# --- The two edits ------------------------------------------------------------------------------

def stripped(text):
    """What one argument stores, and the outputs that move: every output that is not empty becomes []."""
    root = scan(text, 0)
    _, body = body_of(root)
    tasks = body.get('completed_tasks')
    outputs, spans = {}, []
    for name, _, entry in tasks.members if tasks else []:
        output = entry.get('output')
        value = bytes(json.loads(text[output.start:output.end]))
        if value:
            outputs[bytes.fromhex(name)] = value
            spans.append((output.start, output.end))
    return cut(text, spans).replace(b'\0', b'[]'), outputs


def added_differs(before, after, task, now):
    """None when `after` is `before` with this task's result added and not a byte else changed, or why not."""
    old, new = scan(before, 0), scan(after, 0)
    old_state, old_body = body_of(old)
    new_state, new_body = body_of(new)
    if old_state != new_state:
        return 'the state has changed'
    old_spans, new_spans = [], []

    for node, spans in ((old, old_spans), (new, new_spans)):
        value = node.get('updated_at')
        spans.append((value.start, value.end))
    value = new.get('updated_at')
    if after[value.start:value.end] != b'%d' % now:
        return 'updated_at is %r, not %d' % (after[value.start:value.end], now)

    quoted = b'"%s"' % task.hex().encode()
    last = new_body.get('last_completed_task_id')
    if last is None or after[last.start:last.end] != quoted:
        return 'last_completed_task_id is wrong'
    if old_body.get('last_completed_task_id'):
        value = old_body.get('last_completed_task_id')
        old_spans.append((value.start, value.end))
        new_spans.append((last.start, last.end))
        added_last = None
    else:
        added_last = (new_body.member_start('last_completed_task_id'), last.end)

    old_tasks = old_body.get('completed_tasks')
    new_tasks = new_body.get('completed_tasks')
    old_entries = [e for e in old_tasks.members if bytes.fromhex(e[0]) == task]
    new_entries = [e for e in new_tasks.members if bytes.fromhex(e[0]) == task]
    if len(new_entries) != 1:
        return '%d entries of the task' % len(new_entries)
    name, start, entry = new_entries[0]
    if json.loads(after[entry.get('output').start:entry.get('output').end]) != []:
        return 'the output of the entry is not empty'
    added_entry = None
    if old_entries:
        value = old_entries[0][2].get('output')
        old_spans.append((value.start, value.end))
        new_spans.append((entry.get('output').start, entry.get('output').end))
    else:
        if json.loads(after[entry.start:entry.end]) != {'task_id': task.hex(), 'output': []}:
            return 'the new entry is %r' % after[start:entry.end]
        added_entry = (start, entry.end)

    # An added member comes with a comma on one of its sides, unless it is the only one of its object.
    variants = [list(new_spans)]
    for added, alone in ((added_entry, len(new_tasks.members) == 1), (added_last, False)):
        if added is None:
            continue
        start, end = added
        choices = [(start, end)] if alone else []
        if after[start - 1:start] == b',':
            choices.append((start - 1, end))
        if after[end:end + 1] == b',':
            choices.append((start, end + 1))
        variants = [v + [('drop',) + c] for v in variants for c in choices]
    wanted = cut(before, old_spans)
    for variant in variants:
        dropped = sorted((c[1], c[2]) for c in variant if c[0] == 'drop')
        edited = [c for c in variant if c[0] != 'drop']
        # first the replaced values become \0, then the added members go without a trace
        text, at = b'', 0
        for start, end, mark in sorted([(s, e, b'\0') for s, e in edited] + [(s, e, b'') for s, e in dropped]):
            text += after[at:start] + mark
            at = end
        if text + after[at:] == wanted:
            return None
    return 'other bytes have changed'


# --- Random snapshots ---------------------------------------------------------------------------

class Shape:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tight = self.random.random() < 0.3
        # what the columns must say
        self.wake = None
        self.priority = None
        self.tags = []

    def chance(self, p):
        return self.random.random() < p

    def space(self):
        if self.tight or self.chance(0.6):
            return ''
        return ''.join(self.random.choice(' \t\n\r') for _ in range(self.random.randint(1, 4)))

    def string(self, text):
        """Text as a JSON string, some characters escaped in one of the ways there are."""
        result = ''
        for c in text:
            short = {'"': '\\"', '\\': '\\\\', '/': '\\/', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t'}
            must = ord(c) < 32 or c in '"\\'
            if must and c in short and self.chance(0.7) or c == '/' and self.chance(0.5):
                result += short[c]
            elif must or self.chance(0.05):
                units = c.encode('utf-16-be')
                digits = ''.join('\\u%04x' % int.from_bytes(units[i:i + 2], 'big') for i in range(0, len(units), 2))
                result += ''.join(d.upper() if d in 'abcdef' and self.chance(0.5) else d for d in digits)
            else:
                result += c
        return '"' + result + '"'

    def text(self):
        alphabet = 'abcXYZ019 _-.:,{}[]"\\/\b\f\n\r\t\x01\x1f\x7fäßéЖ漢字\u2028\ufeff\U0001f600\U0010ffff'
        return ''.join(self.random.choice(alphabet) for _ in range(self.random.choice([0, 1, 3, 10, 40])))

    def number(self):
        return self.random.choice(['0', '-0', '2.0', '1e3', '1E+3', '-1.50e-07', '9223372036854775807', '-9223372036854775808',
                                   '18446744073709551615', '123456789012345678901234567890', '1e400', '0.1', '0.10', '3.0000000000000000001'])

    def value(self, depth=0):
        kind = self.random.randint(0, 5 if depth < 4 else 3)
        if kind == 0:
            return self.number()
        if kind == 1:
            return self.string(self.text())
        if kind == 2:
            return self.random.choice(['true', 'false', 'null'])
        if kind == 3:
            return self.random.choice(['[]', '{}', '[ ]', '{\n}'])
        if kind == 4:
            return self.array(self.value(depth + 1) for _ in range(self.random.randint(0, 4)))
        return self.object([(n, self.value(depth + 1)) for n in self.names(self.random.randint(0, 4))])

    def names(self, count):
        known = ['completed_tasks', 'updated_at', 'last_completed_task_id', 'output', 'task_id', 'state', 'InProgress', 'position', '']
        return list(dict.fromkeys(self.random.choice(known) if self.chance(0.3) else self.text() for _ in range(count)))

    def array(self, items):
        return '[' + self.space() + ','.join(self.space() + i + self.space() for i in items) + ']'

    def object(self, members, shuffle=True):
        """An object of (name, JSON text); the optional ones are simply left out by the caller."""
        members = list(members)
        if shuffle:
            self.random.shuffle(members)
        return '{' + self.space() + ','.join(
            self.space() + self.string(n) + self.space() + ':' + self.space() + v + self.space() for n, v in members) + '}'

    def known(self, *members):
        """An object with members that have a meaning and perhaps some that have none."""
        members = list(members)
        taken = {n for n, _ in members}
        if self.chance(0.3):
            # not one that is known somewhere in the format: it could be known here
            members += [('x-' + n, self.value()) for n in self.names(self.random.randint(1, 3)) if 'x-' + n not in taken]
        return self.object(members)

    def id(self):
        return hashlib.sha256(self.random.randbytes(8)).digest()

    def hex(self, task):
        digits = task.hex()
        if self.chance(0.1):
            digits = digits.upper()
        return digits

    def bytes(self, data):
        return self.array(str(b) for b in data)

    def time(self):
        """RFC 3339 and the instant, half a microsecond rounded up."""
        at = datetime(2000, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=self.random.randint(-10**9, 4 * 10**9))
        digits = self.random.randint(0, 9)
        fraction = ''.join(self.random.choice('0123456789') for _ in range(digits))
        nanos = int((fraction + '000000000')[:9])
        minutes = self.random.choice([None, 0, 60, -60, 330, -210, 14 * 60, -12 * 60])
        local = at + timedelta(minutes=minutes or 0)
        offset = 'Z' if minutes is None else '%s%02d:%02d' % ('-' if minutes < 0 else '+', abs(minutes) // 60, abs(minutes) % 60)
        written = local.strftime('%Y-%m-%dT%H:%M:%S') + ('.' + fraction if digits else '') + offset
        return self.string(written), at + timedelta(microseconds=(nanos + 500) // 1000)

    def position(self):
        place = self.id()
        name = self.random.choice(['NotStarted', 'AtTask', 'AtFork', 'AtJoin', 'AtDelay', 'AtSignal', 'InLoop'])
        self.kind = name
        self.current = None
        members = []
        if name == 'NotStarted':
            return self.string(name)
        if name == 'AtTask':
            self.current = place
            members = [('task_id', self.string(self.hex(place)))]
        if name in ('AtFork', 'AtJoin'):
            branches = [self.id() for _ in range(self.random.randint(0, 3))]
            members = [('fork_id' if name == 'AtFork' else 'join_id', self.string(self.hex(place))),
                       ('completed_branches', self.object([(b.hex(), self.known(('task_id', self.string(b.hex())),
                                                           ('output', self.bytes(self.random.randbytes(self.random.randint(0, 4))))))
                                                           for b in branches]))]
        if name in ('AtDelay', 'AtSignal', 'InLoop'):
            members = [({'AtDelay': 'delay_id', 'AtSignal': 'signal_id', 'InLoop': 'loop_id'}[name], self.string(self.hex(place)))]
            if name == 'AtDelay':
                members.append(('entered_at', self.time()[0]))
            if name == 'AtSignal':
                # 1 to 256 bytes, as whoever sends it has to give it
                members.append(('signal_name', self.string('n' + self.text()[:60])))
            if name == 'InLoop':
                members.append(('iteration', str(self.random.randint(0, 2**32 - 1))))
            if self.chance(0.7):
                members.append(('next_task_id', self.random.choice(['null', self.string(self.id().hex())])))
        if name == 'AtDelay' or name in ('AtFork', 'AtSignal') and self.chance(0.5):
            written, self.wake = self.time()
            members.append(('wake_at', written))
        elif name in ('AtFork', 'AtSignal') and self.chance(0.5):
            members.append(('wake_at', 'null'))
        return self.object([(name, self.known(*members))])

    def build(self, instance_id):
        self.status = self.random.choice(['InProgress', 'Paused'])
        self.definition = self.id()
        position = self.position()
        self.tasks = {self.id(): self.random.randbytes(self.random.choice([0, 0, 1, 3, 20, 300])) for _ in range(self.random.choice([0, 0, 1, 2, 5, 12]))}
        self.last = self.random.choice(list(self.tasks)) if self.tasks and self.chance(0.7) else None
        entries = [(self.hex(t), self.known(('task_id', self.string(self.hex(t))), ('output', self.bytes(o)))) for t, o in self.tasks.items()]
        body = [('position', position), ('completed_tasks', self.object(entries))]
        if self.last:
            body.append(('last_completed_task_id', self.string(self.hex(self.last))))
        elif self.chance(0.5):
            body.append(('last_completed_task_id', 'null'))
        if self.status == 'Paused':
            body.append(('paused_at', self.time()[0]))
            body += [(n, self.random.choice(['null', self.string(self.text())])) for n in ('reason', 'paused_by') if self.chance(0.7)]

        members = [('instance_id', self.string(instance_id)), ('definition_hash', self.string(self.hex(self.definition))),
                   ('state', self.object([(self.status, self.known(*body))])),
                   ('created_at', str(self.random.randint(0, 2**64 - 1))), ('updated_at', str(self.random.randint(0, 2**64 - 1)))]
        if self.chance(0.4):
            members.append(('initial_input', self.random.choice(['null', self.bytes(self.random.randbytes(self.random.randint(0, 50)))])))
        if self.chance(0.4):
            self.priority = self.random.choice([None, 1, 2, 3, 4, 5])
            members.append(('task_priority', 'null' if self.priority is None else str(self.priority)))
        if self.chance(0.4):
            self.tags = [self.text() for _ in range(self.random.randint(0, 3))]
            members.append(('task_tags', self.array(self.string(t) for t in self.tags)))
        if self.chance(0.4):
            retries = {self.id(): None for _ in range(self.random.randint(0, 2))}
            if self.current and self.chance(0.8):
                retries[self.current] = None
            for task in retries:
                retry = [('attempts', str(self.random.randint(0, 2**32 - 1))), ('policy', self.object([(n, self.value()) for n in self.names(2)])),
                         ('last_error', self.string(self.text())), ('last_failed_worker', self.random.choice(['null', self.string(self.text())]))]
                if self.chance(0.8):
                    written, at = self.time()
                    retry.append(('next_retry_at', written))
                    if task == self.current and self.status == 'InProgress':
                        self.wake = at
                retries[task] = self.known(*retry)
            members.append(('task_retries', self.object([(self.hex(t), r) for t, r in retries.items()])))
        if self.chance(0.3):
            members.append(('loop_iterations', self.object([(self.id().hex(), str(self.random.randint(0, 2**32 - 1)))])))
        return (self.space() + self.known(*members) + self.space()).encode()


# --- The comparison -----------------------------------------------------------------------------

class Check:
    def __init__(self, connection, seed, number):
        self.connection = connection
        self.shape = Shape('%s/%d' % (seed, number))
        self.id = 'r%d/%s' % (number, self.shape.text())
        self.text = self.shape.build(self.id)
        self.version = 0
        self.count = len(self.shape.tasks)
        self.outputs = {}

    def query(self, sql, *args):
        return self.connection.execute(sql, args, binary=True).fetchall()

    def expect(self, what, found, wanted):
        if found != wanted:
            raise AssertionError('%s: found %r, not %r' % (what, found, wanted))

    def stored(self):
        self.version += 1
        (status, version, current, data, sound, now), = self.query(
            'SELECT h.status, h.version, h.current_task_id, h.data, h.data_hash = sha256(h.data), floor(extract(epoch FROM h.created_at))::bigint'
            ' FROM sayiir_workflow_snapshot_history h WHERE h.instance_id = %s ORDER BY h.version DESC LIMIT 1', self.id)
        shape = self.shape
        current_wanted = shape.current if shape.status == 'InProgress' else None
        self.expect('history', (status, version, current, sound, data[:6]), (shape.status, self.version, current_wanted, True, ENVELOPE))
        self.expect('snapshot row', self.query(
            'SELECT status, definition_hash, current_task_id, completed_task_count, error, position_kind, delay_wake_at, trace_parent,'
            ' task_priority, task_tags, history_version, data_hash, completed_at FROM sayiir_workflow_snapshots WHERE instance_id = %s', self.id)[0],
            (shape.status, shape.definition, current_wanted, self.count, None, shape.kind, shape.wake, 'tp', shape.priority or 3, shape.tags,
             self.version, hashlib.sha256(data).digest(), None))
        self.expect('outputs', {bytes(t): None if o is None else bytes(o) for t, o in self.query(
            "SELECT task_id, output FROM sayiir_workflow_tasks WHERE instance_id = %s AND status = 'completed'", self.id)}, self.outputs)
        return data[6:], now

    def tamper(self, before, after, task, now):
        """The comparison itself must see a single blank too many, wherever it is."""
        tasks = body_of(scan(after, 0))[1].get('completed_tasks')
        for at in (0, len(after), tasks.start, tasks.start + 1, tasks.end - 1, tasks.end):
            if added_differs(before, after[:at] + b' ' + after[at:], task, now) is None:
                raise AssertionError('a blank at %d of %r goes unnoticed' % (at, after))

    def run(self):
        shape = self.shape
        self.expect('version', self.query('SELECT sayiir_save_snapshot(%s::bytea, %s)', ENVELOPE + self.text, 'tp')[0][0], 1)
        wanted, self.outputs = stripped(self.text)
        self.expect('outputs that move', self.outputs, {t: o for t, o in shape.tasks.items() if o})
        if shape.last:
            self.outputs.setdefault(shape.last, None)
        text, _ = self.stored()
        self.expect('stored bytes', text, wanted)

        known = list(shape.tasks)
        for _ in range(shape.random.randint(1, 6)):
            new = not known or shape.chance(0.6)
            task = shape.id() if new else shape.random.choice(known)
            output = shape.random.randbytes(shape.random.randint(0, 20))
            if self.outputs.get(task) == output:
                output += b'x'
            self.expect('version', self.query('SELECT sayiir_save_task_result(%s, %s, %s)', self.id, task, output)[0][0], self.version + 1)
            if task not in known:
                known.append(task)
                self.count += 1
            self.outputs[task] = output
            after, now = self.stored()
            problem = added_differs(text, after, task, now)
            if problem:
                raise AssertionError('%s\nbefore: %r\nafter:  %r' % (problem, text, after))
            # and as values, numbers by their spelling
            self.expect('values', load(after), edited(text, task, now))
            self.tamper(text, after, task, now)
            text = after
        # what is stored can be saved again, and stays as it is
        self.query('SELECT sayiir_save_snapshot(%s::bytea, %s)', ENVELOPE + text, 'tp')
        shape.last = None
        self.expect('stored bytes of the second save', self.stored()[0], text)


def load(text):
    return json.loads(text, parse_int=Decimal, parse_float=lambda s: ('float', s))


def edited(text, task, now):
    """The edit in one more way: on values, not on bytes."""
    root = load(text)
    root['updated_at'] = Decimal(now)
    body, = root['state'].values()
    for name in body['completed_tasks']:
        if bytes.fromhex(name) == task:
            body['completed_tasks'][name]['output'] = []
            break
    else:
        body['completed_tasks'][task.hex()] = {'task_id': task.hex(), 'output': []}
    body['last_completed_task_id'] = task.hex()
    return root


def main():
    conninfo, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    failed = calls = 0
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for number in range(count):
            check = Check(connection, seed, number)
            try:
                check.run()
            except (AssertionError, psycopg.Error) as problem:
                failed += 1
                for line in ('seed %s, number %d, instance %r: %s' % (seed, number, check.id, problem)).split('\n'):
                    print('# ' + line)
                print('# ' + repr(check.text))
            calls += check.version
    print('1..3')
    print('%s 1 - %d of %d random snapshots are stored as the oracle says' % ('not ok' if failed else 'ok', count - failed, count))
    print('%s 2 - at least 200 shapes' % ('ok' if count >= 200 else 'not ok'))
    print('%s 3 - several versions of each' % ('ok' if calls > 3 * count else 'not ok'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
