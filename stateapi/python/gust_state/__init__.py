# SPDX-License-Identifier: Apache-2.0
"""Keyed state for bolts in Python: for_bolt(conf, context) opens it, README.md tells the rest."""

from .encoding import JSON, Bytes
from .errors import (
    AwayError,
    DeniedError,
    EncoderError,
    FencedError,
    NoRoomError,
    ProtocolError,
    StateError,
    TasksError,
    TooLargeError,
    UnknownPrepareError,
)
from .state import State, for_bolt, open_state

__all__ = [
    "JSON",
    "AwayError",
    "Bytes",
    "DeniedError",
    "EncoderError",
    "FencedError",
    "NoRoomError",
    "ProtocolError",
    "State",
    "StateError",
    "TasksError",
    "TooLargeError",
    "UnknownPrepareError",
    "for_bolt",
    "open_state",
]
