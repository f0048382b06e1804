# SPDX-License-Identifier: Apache-2.0
"""A state's way to its server: connects, opens the state, and comes back to the same session after the server was away."""

import logging
import struct
import time

from . import arena, wire
from .errors import AwayError, DeniedError, NotReady, StateError

log = logging.getLogger("gust_state")

_PAUSE = 0.02  # seconds between two attempts, doubled up to
_LONGEST_PAUSE = 0.5


class Session:
    """One opening of a state. opened() fields: commit, and the batch that was prepared with its txid, or None."""

    def __init__(self, path, definition, wait, in_place):
        self._path = path
        self._definition = definition
        self._wait = wait
        self._in_place = in_place
        self._id = 0
        self._connection = None
        self._view = None
        self.reader = None
        self.commit = 0
        self.prepared = None
        self._until(self._connect)

    def __str__(self):
        d = self._definition
        return "state of task %d of %s in topology %s of %s" % (d.task, d.component, d.topology, d.owner)

    def call(self, kind, body, session=True):
        """Asks the server; waits while it is away."""

        def attempt(left):
            if self._connection is None:
                self._connect(left)
            return self._connection.call(kind, (struct.pack("<Q", self._id) if session else b"") + body, left)

        return self._until(attempt)

    def again(self):
        """Opens anew where the arena was retired."""
        self._drop()
        self._until(self._connect)

    def close(self):
        self._drop()

    def _until(self, attempt):
        """Tries until the server answers, as long as calls may wait."""
        start = time.monotonic()
        pause, told = _PAUSE, False
        while True:
            try:
                result = attempt(start + self._wait - time.monotonic())
            except PermissionError as denied:
                raise DeniedError("%s: %s: %s" % (self, self._path, denied)) from denied
            except (OSError, EOFError, NotReady) as away:
                self._drop()
                left = start + self._wait - time.monotonic()
                if left <= 0:
                    raise AwayError("%s: no answer of the state server at %s within %.0f s: %s" % (self, self._path, self._wait, away)) from away
                if not told and time.monotonic() - start > 0.1:
                    log.warning("%s: waiting for the state server at %s: %s", self, self._path, away)
                    told = True
                time.sleep(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE)
            except StateError as fault:
                if str(self._definition.component) in str(fault):
                    raise
                raise type(fault)("%s: %s" % (self, fault)) from None
            else:
                if told:
                    log.warning("%s: the state server is back after %.1f s", self, time.monotonic() - start)
                return result

    def _connect(self, left):
        d = self._definition
        self._drop()
        connection = wire.Connection(self._path, left)
        try:
            fields = connection.call(
                wire.OPEN,
                b"".join(
                    (
                        wire.text(d.topology),
                        wire.text(d.owner),
                        wire.text(d.component),
                        struct.pack("<III", d.task, d.tasks, d.shards),
                        wire.text(d.encoder),
                        struct.pack("<Q", self._id),
                    )
                ),
                left,
            )
            session, path = fields.number("Q"), fields.text()
            arena_id, descriptor, namespace, self.commit = (fields.number("Q") for _ in range(4))
            self.prepared = (fields.number("q"), wire.changes(fields.bytes())) if fields.number("B") else None
            if self._in_place:
                self._map(path, arena_id, descriptor, namespace)
        except BaseException:
            connection.close()
            raise
        self._id, self._connection = session, connection

    def _map(self, path, arena_id, descriptor, namespace):
        try:
            self._view = arena.View(path, arena_id)
            self.reader = arena.Reader(self._view, descriptor, namespace)
        except FileNotFoundError:
            raise  # the server is being started again
        except (OSError, ValueError) as fault:
            log.warning("%s: reads go through the server, for its arena cannot be read: %s", self, fault)
            self._in_place = False
            self._unmap()

    def _unmap(self):
        self.reader = None
        if self._view is not None:
            self._view.close()
            self._view = None

    def _drop(self):
        self._unmap()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
