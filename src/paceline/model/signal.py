"""What a running session hears (signals) and what it answers (actions): data without sockets.

A session is a pure step function from signals to actions; the shell that carries messages is thin.
"""

import msgspec


class Arrived(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A worker delivered the sum of some chunks."""

    worker: int
    step: int
    chunks: tuple[int, ...]
    at_ns: int


class Late(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A worker did not deliver in time."""

    worker: int
    step: int
    at_ns: int


class Lost(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A worker is gone."""

    worker: int
    at_ns: int


class Joined(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A worker came or came back."""

    worker: int
    at_ns: int


class Tick(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Time passed."""

    at_ns: int


class Send(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ask a worker for the sum of some chunks."""

    worker: int
    step: int
    chunks: tuple[int, ...]


class Decode(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Combine what arrived, with these coefficients by worker."""

    step: int
    coefficients: tuple[tuple[int, float], ...]


class Proceed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The step is complete."""

    step: int


class Reassign(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Chunks move from one worker to another."""

    source: int
    target: int
    chunks: tuple[int, ...]


class Save(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Write a checkpoint now."""

    step: int


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """End the run, and why."""

    why: str


Signal = Arrived | Late | Lost | Joined | Tick
Action = Send | Decode | Proceed | Reassign | Save | Stop
