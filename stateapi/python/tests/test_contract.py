# SPDX-License-Identifier: Apache-2.0
"""The contract of ../../statetest on a real server, which GUST names: the program gust. Without it these tests fail."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
import uuid
from pathlib import Path

import gust_state
from gust_state import Bytes

CASES = json.loads((Path(__file__).parents[2] / "statetest/testdata/cases.json").read_text(encoding="utf-8"))["cases"]
ERRORS = {
    "fenced": gust_state.FencedError,
    "unknownPrepare": gust_state.UnknownPrepareError,
    "encoder": gust_state.EncoderError,
    "tasks": gust_state.TasksError,
    "tooLarge": gust_state.TooLargeError,
}


class Server:
    """A server process, and what is needed to start it again."""

    def __init__(self, folder, memory):
        self._command = [os.environ["GUST"], "state", "serve", "--dir", folder, "--memory-dir", memory]
        self.socket = os.path.join(folder, "state.sock")
        self._start()

    def _start(self, *more):
        self._process = subprocess.Popen([*self._command, *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def end(self, how):
        # A server that is not ready yet would not be what the case wants to end.
        if not self._process.stdout.readline().startswith("gust state ready"):
            raise AssertionError("the server did not become ready")
        self._process.send_signal(how)
        self._process.wait()
        self._process.stdout.close()

    def restart(self, how):
        self.end({"stop": signal.SIGTERM}.get(how, signal.SIGKILL))
        self._start(*(["--new-arena"] if how == "retire" else []))


def data(form):
    """The bytes of a key or a value."""
    if isinstance(form, str):
        return form.encode()
    if "hex" in form:
        return bytes.fromhex(form["hex"])
    unit, length = form["repeat"].encode(), form["length"]
    return (unit * (length // len(unit) + 1))[:length]


class Player:
    """Plays one case."""

    def __init__(self, test, server, in_place):
        self.test, self.server, self.in_place = test, server, in_place
        self.open = {}

    def play(self, case):
        topology = "case-%d-%s" % (case["number"], uuid.uuid4())
        try:
            for n, step in enumerate(case["steps"], 1):
                with self.test.subTest(case=case["number"], name=case["name"], step=n, do=step["do"], in_place=self.in_place):
                    if "error" in step:
                        with self.test.assertRaises(ERRORS[step["error"]]):
                            self.step(step, topology)
                    else:
                        self.step(step, topology)
        finally:
            for state in self.open.values():
                state.close()

    def step(self, step, topology):
        do, by = step["do"], step.get("by", "a")
        if do in ("kill", "stop", "retire"):
            self.server.restart(do)
        elif do == "open":
            self.open[by] = self.opening(step, topology)
        elif do == "close":
            self.open.pop(by).close()
        elif do in ("fill", "wipe", "holds", "lacks"):
            self.many(self.open[by], step)
        else:
            self.one(self.open[by], step)

    def opening(self, step, topology):
        encoding = Bytes()
        encoding.name = step.get("encoder", "bytes")
        if "topology" in step:
            topology += "-" + step["topology"]
        where = (topology, step.get("owner", "alice"), step.get("component", "count"), step.get("task", 4), step.get("tasks", 4))
        state = gust_state.open_state(*where, encoding=encoding, socket=self.server.socket, in_place=self.in_place)
        self.test.assertEqual(self.in_place, state._session.reader is not None)
        return state

    def one(self, state, step):
        equal, do = self.test.assertEqual, step["do"]
        if do == "put":
            state.put(data(step["key"]), data(step["value"]))
        elif do == "delete":
            state.delete(data(step["key"]))
        elif do == "get":
            want = step["want"]
            got = state.get(data(step["key"]))
            self.test.assertTrue(got is None if want is None else got == data(want), "get: %.80r, want %.80r" % (got, want))
        elif do == "prepare":
            state.prepare(step["txid"])
        elif do == "commit":
            state.commit(step["txid"])
        elif do == "commitNow":
            state.commit()
        elif do == "rollback":
            state.rollback()
        elif do == "all":
            got = [(bytes(k), bytes(v)) for k, v in state.items()]
            equal(sorted((data(k), data(v)) for k, v in step["want"]), sorted(got))
        elif do == "count":
            keys = [bytes(k) for k, _ in state.items()]
            equal((step["want"], step["want"]), (len(keys), len(set(keys))))
        else:
            raise AssertionError("unknown step " + do)

    def many(self, state, step):
        for n in range(step.get("from", 0), step["to"]):
            key = b"%d" % n
            value = data(step.get("value", "")) + key
            if step["do"] == "fill":
                state.put(key, value)
            elif step["do"] == "wipe":
                state.delete(key)
            else:
                got = state.get(key)
                self.test.assertEqual(value if step["do"] == "holds" else None, got if got is None else bytes(got), key)


class ContractTest(unittest.TestCase):
    def test_long_key(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            server = Server(folder, memory)
            try:
                with gust_state.open_state("long", "alice", "count", 1, 1, encoding=Bytes(), socket=server.socket) as state:
                    with self.assertRaises(gust_state.TooLargeError):
                        state.put(b"k" * ((32 << 10) + 1), b"v")
                    state.delete(b"k" * ((32 << 10) + 1))
                    state.put(b"k" * (32 << 10), b"v")
                    state.commit()
                    self.assertEqual(b"v", state.get(b"k" * (32 << 10)))
            finally:
                server.end(signal.SIGTERM)

    def play(self, in_place):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            server = Server(folder, memory)
            try:
                for case in CASES:
                    Player(self, server, in_place).play(case)
            finally:
                server.end(signal.SIGTERM)

    def test_in_place(self):
        self.play(True)

    def test_through_the_server(self):
        self.play(False)
