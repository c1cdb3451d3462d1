"""Every edit that paceline knows, one a file, in the order in which help lists them.

An edit is a module: NAME, SAYS (one line for help), KEYS, and `apply(state, edit) -> state`.
"""

from typing import Protocol

from paceline.model import Edit
from paceline.rewrite.edits import (
    accumulate,
    collective,
    fuse_buckets,
    no_communication,
    perfect_overlap,
    speed,
    split_buckets,
    typical,
    workers,
)
from paceline.rewrite.key import Key
from paceline.rewrite.state import State


class EditModule(Protocol):
    """What a module of this folder offers."""

    NAME: str
    SAYS: str
    KEYS: tuple[Key, ...]

    def apply(self, state: State, edit: Edit, /) -> State:
        """The state, edited."""
        ...


EDITS: tuple[EditModule, ...] = (
    speed,
    typical,
    no_communication,
    perfect_overlap,
    fuse_buckets,
    split_buckets,
    collective,
    workers,
    accumulate,
)
