# SPDX-License-Identifier: Apache-2.0
"""The protocol of the state server: frames, their fields, batches. One request at a time on a connection."""

import socket
import struct

from .errors import BY_CODE, ProtocolError, StateError, TooLargeError

HELLO, OPEN, PREPARE, COMMIT, WRITE, ROLLBACK, GET, ITERATE, DROP = range(1, 10)
ANSWER = 128
ERROR = 255
MAGIC = 0x54535547
VERSION = 1
MAX_FRAME = 256 << 20
PUT, DELETE = 1, 2

_HEADER = struct.Struct("<IBI")


def uvarint(n):
    """A number in LEB128."""
    if n < 0x80:
        return bytes((n,))
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def sized(data):
    """A byte string as a field: its length, then itself."""
    return uvarint(len(data)) + data


def text(s):
    """A string as a field."""
    return sized(s.encode())


class Fields:
    """Reads the fields of a body; what is not there is a ProtocolError."""

    def __init__(self, body):
        self._body = body
        self._at = 0

    def number(self, form):
        """A number of fixed size, in struct's letters."""
        try:
            (n,) = struct.unpack_from("<" + form, self._body, self._at)
        except struct.error:
            raise ProtocolError("a message of the state server ends too early") from None
        self._at += struct.calcsize("<" + form)
        return n

    def uvarint(self):
        n = shift = 0
        while True:
            if self._at >= len(self._body) or shift > 63:
                raise ProtocolError("a message of the state server has no whole number where one belongs")
            byte = self._body[self._at]
            self._at += 1
            n |= (byte & 0x7F) << shift
            if byte < 0x80:
                return n
            shift += 7

    def bytes(self):
        return self.raw(self.uvarint())

    def raw(self, n):
        """The next n bytes."""
        if n > len(self._body) - self._at:
            raise ProtocolError("a message of the state server names more bytes than it has")
        out = bytes(self._body[self._at : self._at + n])
        self._at += n
        return out

    def text(self):
        return self.bytes().decode()


def batch(changes):
    """The batch of changes: a mapping from keys to values, None where the key is deleted."""
    parts = [struct.pack("<I", len(changes))]
    for key, value in changes.items():
        if value is None:
            parts += (b"\x02", uvarint(len(key)), key)
        else:
            parts += (b"\x01", uvarint(len(key)), uvarint(len(value)), key, value)
    return b"".join(parts)


def changes(encoded):
    """The changes of a batch, the last one of each key."""
    fields, out = Fields(encoded), {}
    for _ in range(fields.number("I")):
        op = fields.number("B")
        if op not in (PUT, DELETE):
            raise ProtocolError("a batch of the state server has the unknown operation %d" % op)
        length = fields.uvarint()
        value_length = fields.uvarint() if op == PUT else 0
        key = fields.raw(length)
        out[key] = fields.raw(value_length) if op == PUT else None
    return out


class Connection:
    """One connection, greeted. OSError and EOFError mean that the server is away."""

    def __init__(self, path, timeout):
        self._request = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(path)
            version = self.call(HELLO, struct.pack("<IH", MAGIC, VERSION), timeout).number("H")
            if version != VERSION:
                raise ProtocolError("the state server speaks version %d of its protocol, this client %d" % (version, VERSION))
        except BaseException:
            self._socket.close()
            raise

    def call(self, kind, body, timeout):
        """Sends a request and returns the fields of its answer."""
        if len(body) + 5 > MAX_FRAME:
            raise TooLargeError("a message of %d bytes to the state server; at most %d" % (len(body), MAX_FRAME - 5))
        self._request = (self._request + 1) & 0xFFFFFFFF
        self._socket.settimeout(max(timeout, 0.001))
        self._socket.sendall(_HEADER.pack(len(body) + 5, kind, self._request) + body)
        length, answer, request = _HEADER.unpack(self._read(_HEADER.size))
        if not 5 <= length <= MAX_FRAME:
            raise ProtocolError("the state server announces a message of %d bytes" % length)
        fields = Fields(self._read(length - 5))
        if request != self._request:
            raise ProtocolError("the state server answers request %d, not %d" % (request, self._request))
        if answer == ERROR:
            code, message = fields.number("H"), fields.text()
            raise BY_CODE.get(code, StateError)(message)
        if answer != ANSWER + kind:
            raise ProtocolError("the state server answers request %d with a message of type %d" % (kind, answer))
        return fields

    def _read(self, n):
        data = bytearray(n)
        view = memoryview(data)
        at = 0
        while at < n:
            got = self._socket.recv_into(view[at:])
            if got == 0:
                raise EOFError("the state server closed the connection")
            at += got
        return data

    def close(self):
        self._socket.close()
