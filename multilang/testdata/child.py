# SPDX-License-Identifier: Apache-2.0
"""A child that speaks the protocol by itself and misbehaves in the way that its first argument names."""

import json
import os
import signal
import subprocess
import sys
import time

stdin, stdout = sys.stdin.buffer, sys.stdout.buffer


def read():
    text = b""
    while True:
        line = stdin.readline()
        if not line:
            sys.exit(0)
        if line == b"end\n":
            return json.loads(text)
        text += line


def write(text):
    stdout.write(text.encode() if isinstance(text, str) else text)
    stdout.flush()


def send(message):
    write(json.dumps(message) + "\nend\n")


def hello():
    setup = read()
    open(os.path.join(setup["pidDir"], str(os.getpid())), "w").close()
    send({"pid": os.getpid()})
    return setup


def tuples():
    """The tuples, with heartbeats answered; lists of task ids are left out."""
    while True:
        message = read()
        if isinstance(message, list):
            continue
        if message.get("stream") == "__heartbeat":
            send({"command": "sync"})
        else:
            yield message


def ack(tup):
    send({"command": "ack", "id": tup["id"]})


def emit(values, **more):
    send({"command": "emit", "tuple": values, "need_task_ids": False, **more})


def stderr_flood():
    sys.stderr.write("before the handshake " * 50000 + "\n")
    hello()
    for tup in tuples():
        for i in range(2000):
            sys.stderr.write("line %d of %s %s\n" % (i, tup["tuple"][0], "x" * 100))
        sys.stderr.flush()
        ack(tup)


def stray():
    hello()
    for tup in tuples():
        write("progress: %s\n" % tup["tuple"][0])
        ack(tup)


def stray_glued():
    hello()
    for tup in tuples():
        write("dots... {not json} ")
        ack(tup)


def no_command():
    hello()
    for tup in tuples():
        send({"cmd": "ack", "id": tup["id"]})


def message():
    """Sends what the tuple holds, as bytes, and acks."""
    hello()
    for tup in tuples():
        write(tup["tuple"][0].replace("ID", tup["id"]).encode("utf-8", "surrogateescape") + b"\nend\n")
        ack(tup)


def bad_bytes():
    """Emits text that is no UTF-8, then something good, anchored on the same tuple."""
    hello()
    for tup in tuples():
        if tup["tuple"][0] == "bad":
            write(b'{"command": "emit", "anchors": ["%s"], "tuple": ["caf\xe9"]}\nend\n' % tup["id"].encode())
        emit(["good"], anchors=[tup["id"]])
        ack(tup)


def busy():
    """Works long on each tuple and says nothing before it has a hundred."""
    hello()
    held = []
    for tup in tuples():
        time.sleep(0.1)
        held.append(tup)
        if len(held) == 100:
            for t in held:
                ack(t)


def slow_start():
    hello()
    time.sleep(float(sys.argv[2]))
    for tup in tuples():
        ack(tup)


def slow_handshake():
    time.sleep(float(sys.argv[2]))
    hello()
    for tup in tuples():
        ack(tup)


def deaf():
    """Answers heartbeats and acks until it is told to stop listening."""
    hello()
    for tup in tuples():
        if tup["tuple"][0] == "stop":
            time.sleep(1000)
        ack(tup)


def echo():
    """Emits what it is given, keys in another order."""
    hello()
    for tup in tuples():
        send({"tuple": tup["tuple"], "need_task_ids": False, "stream": tup["stream"], "anchors": tup["id"], "command": "emit"})
        send({"id": tup["id"], "command": "ack"})


def partial():
    hello()
    for tup in tuples():
        ack(tup)
        write('{"command": "emit", "tuple": ["half')
        sys.exit(4)


def never_reads_ids():
    hello()
    next(tuples())
    while True:
        write(b'{"command": "emit", "tuple": ["x"]}\nend\n' * 1000)


def exits():
    hello()
    for tup in tuples():
        sys.stderr.write("first words\nlast words of %s\n" % tup["tuple"][0])
        sys.stderr.flush()
        ack(tup)
        os._exit(3)


def exits_at_start():
    sys.stderr.write("cannot find my config\n")
    sys.exit(7)


def forks():
    """Starts one process in its group, one in a group of its own and one in a session of its own, names them and waits."""
    hello()
    sleepers = [
        subprocess.Popen(["sleep", "1000"]),
        subprocess.Popen(["sleep", "1000"], process_group=0) if sys.version_info >= (3, 11) else subprocess.Popen(["sleep", "1000"]),
        subprocess.Popen(["sleep", "1000"], start_new_session=True),
    ]
    for tup in tuples():
        emit([" ".join(str(p.pid) for p in sleepers)])
        ack(tup)
        if tup["tuple"][0] == "exit":
            os._exit(0)


def ignores_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hello()
    for tup in tuples():
        ack(tup)


def ends_well():
    def on_term(*_):
        open("ended-well", "w").close()
        os._exit(0)

    signal.signal(signal.SIGTERM, on_term)
    hello()
    for tup in tuples():
        ack(tup)


def eats_memory():
    hello()
    held = []
    for tup in tuples():
        held.append(b"x" * (200 << 20))
        ack(tup)


def closes_stdout():
    hello()
    os.close(1)
    time.sleep(1000)


def environment():
    setup = hello()
    for tup in tuples():
        emit([{"cwd": os.getcwd(), "env": dict(os.environ), "argv": sys.argv[1:], "setup": setup}])
        ack(tup)


def counts():
    """Emits many tuples and asks for the task ids of each; gives back the ids in the order in which they came."""
    hello()
    waiting = []
    for tup in tuples():
        got = []
        for i in range(tup["tuple"][0]):
            send({"command": "emit", "tuple": [i], "anchors": [tup["id"]]})
            answer = read()
            while not isinstance(answer, list):
                waiting.append(answer)
                answer = read()
            got.append(answer)
        emit([got])
        ack(tup)
        for message in waiting:
            if message.get("stream") == "__heartbeat":
                send({"command": "sync"})
            else:
                emit([[]])
                ack(message)
        waiting.clear()


def throttled():
    """A spout that says how often it was asked."""
    hello()
    asked = 0
    while True:
        command = read()
        if command["command"] == "next":
            asked += 1
            for i in range(int(sys.argv[2])):
                send({"command": "emit", "tuple": ["%d-%d" % (asked, i)], "id": [asked, "x"][i % 2], "need_task_ids": False})
        else:
            send({"command": "log", "msg": json.dumps(command), "level": 1})
        send({"command": "sync"})


def answers_late():
    """A spout that stops answering."""
    hello()
    read()
    send({"command": "sync"})
    read()
    time.sleep(1000)


def bad_command():
    hello()
    while True:
        read()
        send({"command": "dance"})


globals()[sys.argv[1]]()
