"""Who meets whom in a pipeline-ops file: groups, sequences and peers from replicas and stages.

The file names none of them. Places come from its columns, never from a formula for ranks. Whether
the members of a group really met is looked up in the times: nobody leaves a collective before the
last has entered it. What fails that is no collective of the group.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paceline.model import I64, Group, Kind
from paceline.read.pipeline_program import JITTER_NS, SHARE
from paceline.read.pipeline_rows import Rows
from paceline.read.pipeline_works import OTHER, WORKS, Work


@dataclass(frozen=True, kw_only=True)
class Talk:
    """For each work: what it is. For each row: group, sequence and peer, or -1."""

    works: tuple[Work, ...]
    group: I64
    sequence: I64
    peer: I64
    groups: tuple[Group, ...]
    apart: tuple[str, ...]  # collectives whose supposed members did not meet


def talk(rows: Rows, stages: int) -> Talk:
    """Groups, sequences and peers of all operations."""
    works = [WORKS.get(name, OTHER) for name in rows.works]
    table: dict[Group, int] = {}
    group = np.full(len(rows), -1, np.int64)
    apart: list[str] = []
    for at, work in enumerate(tuple(works)):
        own = rows.of(rows.works[at]) if work.among else np.zeros(0, np.int64)
        if not own.size:
            continue
        among, cluster = work.among, _clusters(rows, work.among, stages)
        if work.kind is Kind.COLLECTIVE and not _met(rows, own, cluster[rows.rank[own]]):
            if rows.works[at] == "optimizer-clip-main-grad":
                works[at] = work._replace(kind=Kind.COMPUTE, lane="compute", among="")
                continue
            apart.append(rows.works[at])
            among, cluster = "alone", np.arange(len(rows.ranks))
        numbers = _numbers(rows, among, cluster, table)
        group[own] = numbers[rows.rank[own]]
    return Talk(
        works=tuple(works),
        group=group,
        sequence=np.where(group >= 0, _sequences(rows, works), -1),
        peer=_peers(rows, works, stages),
        groups=tuple(table),
        apart=tuple(apart),
    )


def _clusters(rows: Rows, among: str, stages: int) -> I64:
    """For each rank a number shared by those it meets, -1 if it meets nobody."""
    if among == "all":
        return np.zeros(len(rows.ranks), np.int64)
    parts = int(rows.tensor.max()) + 1
    if among == "data":
        return rows.stage * parts + rows.tensor
    if among == "tensor":
        return rows.replica * stages + rows.stage
    line = rows.replica * parts + rows.tensor
    if among == "embedding":
        return np.where((rows.stage == 0) | (rows.stage == stages - 1), line, -1)
    return line


def _met(rows: Rows, own: I64, cluster: I64) -> bool:
    """True if in nearly all cases everybody entered before anybody left."""
    keys = np.stack((cluster, rows.step[own], rows.sequence[own]))
    order = np.lexsort(keys)
    fresh = np.ones(len(own), np.bool_)
    fresh[1:] = (keys[:, order][:, 1:] != keys[:, order][:, :-1]).any(axis=0)
    first = np.flatnonzero(fresh)
    entered = np.maximum.reduceat(rows.start_ns[own][order], first)
    left = np.minimum.reduceat(rows.end_ns[own][order], first)
    return float(np.mean(entered > left + JITTER_NS)) <= SHARE


def _numbers(rows: Rows, among: str, cluster: I64, table: dict[Group, int]) -> I64:
    """The position of each rank's group in the table, where new ones are added."""
    order = np.lexsort((np.zeros_like(cluster) if among == "all" else rows.stage, cluster))
    out = np.full(len(cluster), -1, np.int64)
    cuts = np.flatnonzero(np.diff(cluster[order])) + 1
    for members in np.split(order, cuts):
        if cluster[members[0]] < 0:
            continue
        name = _named(rows, among, members.tolist())
        group = Group(name=name, members=tuple(rows.ranks[members].tolist()))
        out[members] = table.setdefault(group, len(table))
    return out


def _named(rows: Rows, among: str, members: Sequence[int]) -> str:
    first = members[0]
    part = f" part {rows.tensor[first]}" if rows.tensor.max() else ""
    if among == "all":
        return "all"
    if among == "alone":
        return f"rank {rows.ranks[first]} alone"
    if among == "data":
        return f"data stage {rows.stage[first]}{part}"
    if among == "tensor":
        return f"tensor replica {rows.replica[first]} stage {rows.stage[first]}"
    return f"{among} replica {rows.replica[first]}{part}"


def _sequences(rows: Rows, works: Sequence[Work]) -> I64:
    """Numbers that differ between all meetings of one group, over all steps.

    Both ends of a message count alike, since seq_id numbers the messages of one direction.
    """
    highest = int(rows.sequence.max()) + 1
    code = np.array([0 if work.toward else at for at, work in enumerate(works)])
    return (rows.step * len(works) + code[rows.work]) * highest + rows.sequence


def _peers(rows: Rows, works: Sequence[Work], stages: int) -> I64:
    """The other end of each message; after the last stage the first one comes again."""
    parts = int(rows.tensor.max()) + 1
    place = (rows.replica * stages + rows.stage) * parts + rows.tensor
    order = np.argsort(place)
    toward = np.array([work.toward for work in works])[rows.work]
    stage = (rows.stage[rows.rank] + toward) % stages
    wanted = (rows.replica[rows.rank] * stages + stage) * parts + rows.tensor[rows.rank]
    found = order[np.searchsorted(place, wanted, sorter=order).clip(max=len(order) - 1)]
    there = (toward != 0) & (place[found] == wanted)
    return np.where(there, rows.ranks[found], -1)
