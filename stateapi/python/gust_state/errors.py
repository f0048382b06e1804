# SPDX-License-Identifier: Apache-2.0
"""What can go wrong. Each has the state's name in its text."""


class StateError(Exception):
    """Whatever a state raises."""


class FencedError(StateError):
    """A newer session has opened this state: this process was replaced, and should end."""


class UnknownPrepareError(StateError):
    """Nothing was prepared under this txid."""


class EncoderError(StateError):
    """The state was written with another encoder."""


class TasksError(StateError):
    """The state was written by another number of tasks."""


class NoRoomError(StateError):
    """The machine has no room for more state."""


class DeniedError(StateError):
    """The state belongs to somebody else."""


class TooLargeError(StateError):
    """A key, a value or all changes since the last commit are too large."""


class AwayError(StateError):
    """The state server did not answer for as long as calls wait for it."""


class ProtocolError(StateError):
    """Server and client do not understand each other."""


class NotReady(StateError):
    """The server is there and its state is not complete yet; calls wait for it as for a server that is away."""


BY_CODE = {
    1: FencedError,
    2: UnknownPrepareError,
    3: EncoderError,
    4: TasksError,
    5: NoRoomError,
    6: NotReady,
    7: DeniedError,
    8: TooLargeError,
    9: ProtocolError,
    10: ProtocolError,
}
