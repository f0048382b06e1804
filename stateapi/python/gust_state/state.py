# SPDX-License-Identifier: Apache-2.0
"""The state of one task."""

import os
import struct
import time
from dataclasses import dataclass

from . import arena, wire
from .encoding import JSON
from .errors import AwayError, StateError, TooLargeError
from .session import Session
from .xxh64 import xxh64

MAX_KEY = 32 << 10
MAX_VALUE = 64 << 20
_PAGE = 1 << 20  # bytes of entries that an iteration asks for at a time
_NONE = object()


@dataclass(frozen=True)
class Definition:
    """Whose state it is, and what must stay the same from one opening to the next."""

    topology: str
    owner: str
    component: str
    task: int
    tasks: int  # of the component
    encoder: str
    shards: int = 32


class State:
    """A task's keyed state. It is used by one thread; a newer opening of the same state, in whatever process, ends this one's right to write.

    Changes collect here. They are safe when prepare or commit has returned, and seen by get and items at once. What is not committed when
    the process ends is lost, but for what is prepared: the next opening has that.
    """

    def __init__(self, socket, definition, encoding, wait=20.0, in_place=None):
        self._encoding = encoding
        self._dirty = {}
        self._prepared = None  # the changes under _txid
        self._txid = None
        self._committed = []  # (commit number, changes) that the table may not show yet, oldest first
        self._session = Session(socket, definition, wait, arena.suits() if in_place is None else in_place)
        try:
            self._settle(wait)
        except BaseException:
            self._session.close()
            raise
        if self._session.prepared is not None:
            self._txid, self._prepared = self._session.prepared

    def _settle(self, wait):
        """Waits until the table shows what the session before committed."""
        deadline = time.monotonic() + wait
        commit = self._session.commit
        while self._session.reader is not None:
            try:
                if self._session.reader.applied() >= commit:
                    return
            except arena.Retired:
                self._session.again()
            if time.monotonic() > deadline:
                raise AwayError("%s: commit %d did not come into the table within %.0f s" % (self._session, commit, wait))
            time.sleep(0.001)

    def get(self, key, default=None):
        """The value of key, or default."""
        found = self._get(self._encoding.key(key))
        return default if found is None else self._encoding.load_value(found)

    def put(self, key, value):
        """Sets key to value. Both are encoded here and now: a later change of a list that was put needs a put of its own."""
        key, value = self._encoding.key(key), self._encoding.value(value)
        if len(key) > MAX_KEY or len(value) > MAX_VALUE:
            raise TooLargeError(
                "%s: key of %d and value of %d bytes; at most %d and %d" % (self._session, len(key), len(value), MAX_KEY, MAX_VALUE)
            )
        self._dirty[key] = value

    def delete(self, key):
        """Removes key, if it is there."""
        key = self._encoding.key(key)
        if len(key) <= MAX_KEY:  # a longer one is not there
            self._dirty[key] = None

    def items(self):
        """Every key with its value, in no useful order. No changes while it runs."""
        for key, value in self._items():
            yield self._encoding.load_key(key), self._encoding.load_value(value)

    def prepare(self, txid):
        """Makes the changes safe under a number, not yet for good, with what was prepared before."""
        changes = {**(self._prepared or {}), **self._dirty}
        self._session.call(wire.PREPARE, struct.pack("<q", txid) + wire.sized(wire.batch(changes)))
        self._prepared, self._txid, self._dirty = changes, txid, {}

    def commit(self, txid=None):
        """Without a number: makes the changes safe, for good. With one: makes what was prepared under it for good."""
        if txid is None:
            number = self._session.call(wire.WRITE, wire.sized(wire.batch(self._dirty))).number("Q")
            self._keep(number, self._dirty)
            self._dirty = {}
            return
        number = self._session.call(wire.COMMIT, struct.pack("<q", txid)).number("Q")
        if self._prepared is not None and self._txid == txid:
            self._keep(number, self._prepared)
            self._prepared = None

    def rollback(self):
        """Drops what is prepared and what is not yet prepared."""
        self._session.call(wire.ROLLBACK, b"")
        self._dirty, self._prepared = {}, None

    def close(self):
        """Ends the session. What was not committed is dropped, but for what is prepared."""
        self._session.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _keep(self, number, changes):
        if changes and self._session.reader is not None:
            self._committed.append((number, changes))

    def _get(self, key):
        value = self._dirty.get(key, _NONE)
        if value is not _NONE:
            return value
        if self._prepared:
            value = self._prepared.get(key, _NONE)
            if value is not _NONE:
                return value
        while self._session.reader is not None:
            try:
                if self._committed:
                    self._forget()
                    for _, changes in reversed(self._committed):
                        value = changes.get(key, _NONE)
                        if value is not _NONE:
                            return value
                return self._session.reader.get(key, xxh64(key))
            except arena.Retired:
                self._session.again()
            except arena.Busy:
                break
        fields = self._session.call(wire.GET, wire.sized(key))
        found = fields.number("B")
        value = fields.bytes()
        return value if found else None

    def _forget(self):
        """Drops the changes that the table has by now."""
        applied = self._session.reader.applied()
        while self._committed and self._committed[0][0] <= applied:
            del self._committed[0]

    def _items(self):
        over = {}
        for _, changes in self._committed:
            over.update(changes)
        over.update(self._prepared or {})
        over.update(self._dirty)
        cursor = 0
        while True:
            fields = self._session.call(wire.ITERATE, struct.pack("<QI", cursor, _PAGE))
            cursor = fields.number("Q")
            for _ in range(fields.number("I")):
                key = fields.bytes()
                value = fields.bytes()
                if key not in over:
                    yield key, value
            if cursor == 0:
                break
        for key, value in over.items():
            if value is not None:
                yield key, value


def open_state(topology, owner, component, task, tasks, encoding=None, socket=None, shards=32, wait=20.0, in_place=None):
    """Opens the state of a task. socket is the server's, else that of GUST_STATE_SOCKET; calls wait for an absent server for wait seconds."""
    socket = socket or os.environ.get("GUST_STATE_SOCKET")
    if not socket:
        raise StateError("GUST_STATE_SOCKET is not set: this process is no child of a gust worker, or its supervisor keeps no state")
    encoding = encoding or JSON()
    return State(socket, Definition(topology, owner, component, task, tasks, encoding.name, shards), encoding, wait, in_place)


def for_bolt(storm_conf, context, encoding=None, **options):
    """Opens the state of the bolt that got this conf and this context in its handshake, as initialize of storm.py and pystorm has them."""
    task = context["taskid"]
    tasks = context["task->component"]
    component = context.get("componentid") or tasks[str(task)]
    options.setdefault("shards", int(storm_conf.get("gust.state.shards") or 32))
    return open_state(
        storm_conf["topology.name"],
        storm_conf.get("topology.submitter.user") or "",
        component,
        task,
        sum(1 for c in tasks.values() if c == component),
        encoding,
        **options,
    )
