# SPDX-License-Identifier: Apache-2.0
"""How keys and values become bytes. An encoder has a name, which the state keeps and checks at every open, and four methods."""

import json


class Bytes:
    """Keys and values are bytes already. A bolt in Go reads the same."""

    name = "bytes"

    def key(self, key):
        return bytes(key)

    def value(self, value):
        return bytes(value)

    def load_key(self, data):
        return data

    def load_value(self, data):
        return data


class JSON:
    """Keys and values are JSON: strings, numbers, booleans, None, lists, dicts with string keys. A tuple comes back as a list, or as a
    tuple where it is a key.

    Two keys are the same if their JSON is: 1 and "1" are two keys, and so are 1 and 1.0. NaN and infinities are refused.
    """

    name = "json"

    def __init__(self):
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False).encode

    def key(self, key):
        return self._encode(key).encode()

    def value(self, value):
        return self._encode(value).encode()

    def load_key(self, data):
        return self._tuples(json.loads(data))

    def load_value(self, data):
        return json.loads(data)

    @classmethod
    def _tuples(cls, key):
        return tuple(cls._tuples(k) for k in key) if isinstance(key, list) else key
