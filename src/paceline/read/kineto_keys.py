"""What an entry is, worked out once for all entries that look alike.

Entries look alike if name, phase letter, category, process and thread are equal; a file of
millions has some thousand such looks. All else about them is looked up by position.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paceline.model import I32, U8
from paceline.read.kineto_names import category, role

Thread: TypeAlias = tuple[int | str, int | str]  # process (or device) and thread (or stream)
Look: TypeAlias = tuple[str, str, str, int | str, int | str]


class Keys(dict[Look, int]):
    """Looks with their positions; of each the category, the role, the name and the thread."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, int] = {}
        self.threads: dict[Thread, int] = {}
        self._cat: U8 = np.zeros(256, dtype=np.uint8)
        self._role: U8 = np.zeros(256, dtype=np.uint8)
        self._name: I32 = np.zeros(256, dtype=np.int32)
        self._thread: I32 = np.zeros(256, dtype=np.int32)

    def __missing__(self, look: Look) -> int:
        name, letter, cat, process, thread = look
        at = len(self)
        if at == len(self._cat):
            self._cat, self._role = _doubled(self._cat), _doubled(self._role)
            self._name, self._thread = _doubled(self._name), _doubled(self._thread)
        self._cat[at] = category(letter, cat)
        self._role[at] = role(name)
        self._name[at] = self.names.setdefault(name, len(self.names))
        self._thread[at] = self.threads.setdefault((process, thread), len(self.threads))
        self[look] = at
        return at

    def cat(self, keys: I32) -> U8:
        """What entries with these keys are."""
        return self._cat[keys]

    def role(self, keys: I32) -> U8:
        """What their names say beyond themselves."""
        return self._role[keys]

    def name(self, keys: I32) -> I32:
        """The positions of their names."""
        return self._name[keys]

    def thread(self, keys: I32) -> I32:
        """The positions of their threads."""
        return self._thread[keys]


def _doubled(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.concatenate([column, np.zeros_like(column)])
