"""Checked rows of a native trace, gathered as columns, whatever file they came from.

JSON lines and Parquet both bring blocks of the same columns here: int64 arrays for numbers,
positions in a table for texts. What the specification demands of one event is checked here.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, KINDS, PHASES, UNKNOWN, InputError, Phase, show_ns
from paceline.read.native_line import ABSENT, Header
from paceline.read.nearest import nearest

_TOP = 2**62  # so that start + duration stays within 64 bits
_INT32 = 2**31
# Lowest value, and the first that is too high; -1 in a number that counts means "not known".
NUMBERS: dict[str, tuple[int, int]] = {
    "worker": (0, 10**6), "step": (-1, _TOP), "start_ns": (-_TOP, _TOP), "duration_ns": (0, _TOP),
    "size_bytes": (-1, _TOP), "sequence": (-1, _TOP), "peer": (-1, 10**6), "bucket": (-1, _INT32),
    "chunk": (-1, _INT32), "round": (-1, _INT32), "record": (-1, _TOP),
}  # fmt: skip
TEXTS = ("name", "kind", "phase", "lane", "layer", "group", "algorithm")
TIMES = ("start_ns", "duration_ns")
STORED: dict[str, Any] = (
    dict.fromkeys(NUMBERS, np.int64)
    | dict.fromkeys(("worker", "peer", "bucket", "chunk", "round", *TEXTS), np.int32)
    | {"kind": np.uint8, "phase": np.uint8, "algorithm": np.int16}
)

Label: TypeAlias = Callable[[int], str]
Bad: TypeAlias = npt.NDArray[np.bool_]


class Texts(dict[str | None, int]):
    """Positions of texts, new ones added as they are asked for; None is -1."""

    def __init__(self) -> None:
        super().__init__({None: -1})

    def __missing__(self, text: str | None) -> int:
        self[text] = at = len(self) - 1
        return at

    def listed(self) -> list[str]:
        """All texts in order of position."""
        return [text for text in self if text is not None]


class After(NamedTuple):
    """Dependencies of a block: how many each event has, and all their workers and indices."""

    lengths: I64
    workers: I64
    indices: I64


def no_after(count: int) -> After:
    """The dependencies of so many events that have none."""
    none = np.zeros(0, np.int64)
    return After(np.zeros(count, np.int64), none, none)


class Rows:
    """All events of a file so far, checked one by one but not yet against each other."""

    def __init__(self, header: Header, where: object) -> None:
        self.header, self.where = header, where
        self.tables = {name: Texts() for name in TEXTS}
        self.blocks: dict[str, list[npt.NDArray[Any]]] = {n: [] for n in (*NUMBERS, *TEXTS)}
        self.after: list[After] = [no_after(0)]
        self.cut = False  # the file breaks off

    def add(
        self,
        numbers: Mapping[str, I64],
        texts: Mapping[str, I32],
        after: After | None,
        label: Label,
    ) -> None:
        """Takes a block of events; InputError names the first bad one by its `label`."""
        for name in ("name", "kind"):
            self._refuse(texts[name] < 0, label, f"has no {name}", "Every event has one.")
        starts = self._starts(numbers["start_ns"], numbers["duration_ns"], label)
        self._check_numbers(numbers, label)
        codes = {
            "kind": self._coded("kind", texts["kind"], KINDS, label),
            "phase": self._coded("phase", texts["phase"], PHASES, label),
        }
        lanes = {"lane": self._lanes(texts["lane"], texts["kind"])}
        if len(self.tables["algorithm"]) > np.iinfo(np.int16).max:
            raise self.wrong(label(0), "brings too many different algorithms", "Use few names.")
        for name, own in {**numbers, "start_ns": starts, **texts, **codes, **lanes}.items():
            self.blocks[name].append(own.astype(STORED[name]))
        self.after.append(after or no_after(len(starts)))
        if after:
            self._check_after(after, label)

    def last_worker(self) -> int | None:
        """The worker of the event read last."""
        blocks = self.blocks["worker"]
        return int(blocks[-1][-1]) if blocks else None

    def _starts(self, starts: I64, durations: I64, label: Label) -> I64:
        if self.header.clock is None:
            given = (starts != ABSENT) & (starts != UNKNOWN)
            self._refuse(given, label, "has a start_ns", "The header's clock is null: no times.")
        else:
            says = "Each event has one; null says that it is not known."
            self._refuse(starts == ABSENT, label, "has no start_ns", says)
        starts = np.where(starts == ABSENT, UNKNOWN, starts)
        alone = (starts == UNKNOWN) & (durations != UNKNOWN)
        self._refuse(alone, label, "has a duration_ns but no start_ns", "Give both or neither.")
        ends = np.flatnonzero((durations != UNKNOWN) & (durations < 0))
        if ends.size:
            short = show_ns(int(durations[ends[0]]))
            says = "A duration_ns is 0 or more; leave it out if the event never ended."
            raise self.wrong(label(int(ends[0])), f"ends before it starts ({short})", says)
        return starts

    def _check_numbers(self, numbers: Mapping[str, I64], label: Label) -> None:
        for name, (low, high) in NUMBERS.items():
            own = numbers[name]
            top = self.header.workers if name in ("worker", "peer") else None
            bad = (own < low) | (own >= (high if top is None else top))
            if name in TIMES:
                bad &= (own != UNKNOWN) & (own != ABSENT)
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                says = f"The lowest is {low}, the highest {(high if top is None else top) - 1}."
                raise self.wrong(label(at), f"has the {name} {own[at]}", says)

    def _check_after(self, after: After, label: Label) -> None:
        bad = (after.workers < 0) | (after.indices < 0) | (after.workers >= 10**6)
        owners = np.repeat(np.arange(len(after.lengths)), after.lengths)
        mask = np.isin(np.arange(len(after.lengths)), owners[bad])
        says = "It holds pairs of a worker and the index of one of its events."
        self._refuse(mask, label, "has an after that names no event", says)

    def _coded(self, name: str, column: I32, known: Mapping[str, int], label: Label) -> I32:
        """Positions in the table of texts turned into codes; -1 into OTHER, the last phase."""
        texts = self.tables[name].listed()
        codes = np.array([known.get(text, -1) for text in texts] + [Phase.OTHER], np.int32)
        out = codes[column]
        if (out < 0).any():
            at = int(np.flatnonzero(out < 0)[0])
            word = texts[int(column[at])]
            like = nearest(word, known)
            meant = f" The nearest is {like!r}." if like else ""
            listed = f"It is one of {', '.join(known)}.{meant}"
            raise self.wrong(label(at), f"has the {name} {word!r}", listed)
        return out

    def _lanes(self, lanes: I32, kinds: I32) -> I32:
        """An event without lane gets that of its kind: computation and each sort of talking
        may overlap, but none overlaps itself.
        """
        none = lanes < 0
        if not none.any():
            return lanes
        table = self.tables["lane"]
        texts = self.tables["kind"].listed()
        lanes = lanes.copy()
        for kind in np.unique(kinds[none]):
            lanes[none & (kinds == kind)] = table[texts[int(kind)]]
        return lanes

    def _refuse(self, bad: Bad, label: Label, found: str, expected: str) -> None:
        if bad.any():
            raise self.wrong(label(int(np.flatnonzero(bad)[0])), found, expected)

    def wrong(self, label: str, found: str, expected: str) -> InputError:
        """The error about one event."""
        return InputError(
            f"{label} {found}.",
            where=self.where,
            expected=expected,
            cure="Correct it, or record again.",
        )
