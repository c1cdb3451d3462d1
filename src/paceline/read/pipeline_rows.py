"""The operations of a pipeline-ops file as columns, sorted by worker, step and start.

Every step of the file has a clock of its own that starts at 0. The steps are laid one after the
other, by number, `GAP_NS` apart: times within a step are as recorded, those across steps are not.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import F64, I64, InputError
from paceline.read.native_rows import Texts
from paceline.read.opened import Opened
from paceline.read.parquet import ParquetTable
from paceline.read.pipeline_works import WORKS

GAP_NS = 1_000_000
NEEDED = ("rank", "dp_rank", "stage", "step", "optype", "seq_id", "start_ts", "duration")
CHUNKS = ("mc", "gmc", "mb_id")  # -1 where they have no meaning
_MOST = 10**6  # of anything counted but steps
_LAST_STEP = 2**61
_LONGEST_S = 1e6  # of a step; more than eleven days is a broken number


@dataclass(frozen=True, kw_only=True)
class Rows:
    """One operation a row; `rank`, `step` and `work` are positions in tables."""

    rank: I64
    step: I64
    work: I64
    sequence: I64
    micro_batch: I64
    chunk: I64  # inside the stage
    global_chunk: I64
    start_ns: I64
    end_ns: I64
    ranks: I64
    replica: I64  # of each rank
    stage: I64
    tensor: I64  # position among the ranks of one replica and stage
    steps: I64
    works: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rank)

    def of(self, name: str) -> I64:
        """The rows of one kind of operation."""
        at = self.works.index(name) if name in self.works else -1
        return np.flatnonzero(self.work == at)


def rows(opened: Opened) -> Rows:
    """All operations of the file."""
    table = ParquetTable(opened, ("optype",))
    columns, reals, works = _columns(table, opened)
    ranks, rank = np.unique(columns["rank"], return_inverse=True)
    replica, stage = (_by_rank(columns, name, ranks, rank, opened) for name in ("dp_rank", "stage"))
    steps, step = np.unique(columns["step"], return_inverse=True)
    starts, ends = _laid_out(reals["start_ts"], reals["duration"], step, opened)
    order = np.lexsort((columns["optype"], ends, starts, step, rank))
    whole = {
        "rank": rank, "step": step, "work": columns["optype"], "sequence": columns["seq_id"],
        "micro_batch": columns["mb_id"], "chunk": columns["mc"], "global_chunk": columns["gmc"],
        "start_ns": starts, "end_ns": ends,
    }  # fmt: skip
    found = Rows(
        **{name: np.asarray(column, np.int64)[order] for name, column in whole.items()},
        ranks=ranks, replica=replica, stage=stage, tensor=_positions(replica, stage),
        steps=steps, works=works,
    )  # fmt: skip
    _refuse_repeated(found, opened)
    return found


def _columns(
    table: ParquetTable, opened: Opened
) -> tuple[dict[str, I64], dict[str, F64], tuple[str, ...]]:
    for name in NEEDED:
        if name not in table.names:
            raise InputError(
                f"has no column {name!r}.",
                where=opened.path,
                expected=f"A pipeline-ops file has {', '.join(NEEDED)}.",
            )
    works = Texts()
    parts: dict[str, list[npt.NDArray[np.int64]]] = {}
    times: dict[str, list[F64]] = {"start_ts": [], "duration": []}
    optional = [name for name in CHUNKS if name in table.names]
    for first, batch in table.batches([*NEEDED, *optional]):
        for name in ("rank", "dp_rank", "stage", "step", "seq_id", *optional):
            column = table.numbers(batch, name, -1)
            lowest = -1 if name in CHUNKS else 0
            _refuse(
                (column < lowest) | (column >= (_LAST_STEP if name == "step" else _MOST)),
                name,
                column,
                first,
                opened,
            )
            parts.setdefault(name, []).append(column)
        for name, own in times.items():
            column = table.reals(batch, name)
            _refuse(~((column >= 0) & (column <= _LONGEST_S)), name, column, first, opened)
            own.append(column)
        column = table.texts(batch, "optype", works.__getitem__).astype(np.int64)
        _refuse(column < 0, "optype", column, first, opened)
        parts.setdefault("optype", []).append(column)
    if not parts or not sum(map(len, parts["rank"])):
        raise InputError("holds no operation.", where=opened.path)
    whole = {name: np.concatenate(own) for name, own in parts.items()}
    # in an order that does not depend on that of the rows
    order = [*WORKS, *sorted(set(works.listed()) - set(WORKS))]
    places = {name: at for at, name in enumerate(order)}
    whole["optype"] = np.array([places[name] for name in works.listed()])[whole["optype"]]
    for name in CHUNKS:
        whole.setdefault(name, np.full(len(whole["rank"]), -1, np.int64))
    return whole, {name: np.concatenate(own) for name, own in times.items()}, tuple(order)


def _refuse(
    bad: npt.NDArray[np.bool_],
    name: str,
    column: npt.NDArray[np.int64] | F64,
    first: int,
    opened: Opened,
) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"row {first + at} has the {name} {column[at]}.",
            where=opened.path,
            expected="Ranks, steps and times are 0 or more, and none is missing.",
            cure="Correct the row, or drop it.",
        )


def _by_rank(columns: dict[str, I64], name: str, ranks: I64, rank: I64, opened: Opened) -> I64:
    """What a column says of each rank, if it always says the same."""
    out = np.zeros(len(ranks), np.int64)
    out[rank] = columns[name]
    other = np.flatnonzero(out[rank] != columns[name])
    if other.size:
        at = int(other[0])
        raise InputError(
            f"says of rank {ranks[rank[at]]} that its {name} is {columns[name][at]} "
            f"and {out[rank[at]]}.",
            where=opened.path,
            expected="A rank stays in one place of the pipeline.",
        )
    return out


def _positions(replica: I64, stage: I64) -> I64:
    """Where each rank stands among those of the same replica and stage."""
    order = np.lexsort((np.arange(len(stage)), stage, replica))
    pairs = np.stack((replica[order], stage[order]))
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    at = np.arange(len(order))
    out = np.zeros(len(order), np.int64)
    out[order] = at - np.maximum.accumulate(np.where(fresh, at, 0))
    return out


def _laid_out(starts_s: F64, durations_s: F64, step: I64, opened: Opened) -> tuple[I64, I64]:
    starts = np.round(starts_s * 1e9).astype(np.int64)
    ends = starts + np.round(durations_s * 1e9).astype(np.int64)
    lengths = np.zeros(int(step.max()) + 1, np.int64)
    np.maximum.at(lengths, step, ends + GAP_NS)
    if lengths.sum(dtype=np.float64) > 2**61:
        raise InputError(
            "has steps of more than 73 years in all.",
            where=opened.path,
            expected="start_ts and duration are in seconds.",
        )
    origins = (np.cumsum(lengths) - lengths)[step]
    return starts + origins, ends + origins


def _refuse_repeated(found: Rows, opened: Opened) -> None:
    order = np.lexsort((found.sequence, found.work, found.step, found.rank))
    keys = np.stack((found.rank, found.step, found.work, found.sequence))[:, order]
    same = np.flatnonzero((keys[:, 1:] == keys[:, :-1]).all(axis=0))
    if same.size:
        rank, step, work, sequence = keys[:, same[0]].tolist()
        raise InputError(
            f"has {found.works[work]} {sequence} of rank {found.ranks[rank]} in step "
            f"{found.steps[step]} twice.",
            where=opened.path,
            expected="A seq_id counts the operations of one kind, step and rank.",
        )
