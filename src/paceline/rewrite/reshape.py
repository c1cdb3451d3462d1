"""Times of collectives when their shape changes: another algorithm, or other members.

The latency part goes with the number of messages in a row, the rest with the bytes that pass the
slowest link, both by the closed forms; which part is which says the law of the transfers.
"""

import dataclasses
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from paceline.model import F64, OPERATIONS, Edit
from paceline.rewrite.closed_form import terms
from paceline.rewrite.laws import Laws
from paceline.rewrite.operation import works_of
from paceline.rewrite.state import State
from paceline.rewrite.transfer_law import assumed, predicted, scaled
from paceline.rewrite.transfers import Transfers


class Shape(NamedTuple):
    """Who does what in a collective, how."""

    operation: int
    algorithm: str | None
    members: int
    machines: int


def shapes(state: State, found: Transfers) -> list[Shape]:
    """The shape of each collective as it is."""
    machine = state.machines
    counted: dict[tuple[int, ...], int] = {}

    def places(at: int) -> int:
        ranks = found.workers_of(state.graph, at)
        if ranks not in counted:
            counted[ranks] = len({machine.get(rank, f"worker {rank}") for rank in ranks})
        return counted[ranks]

    works = works_of(state.graph, found.op)
    return [
        Shape(row % len(OPERATIONS), work.algorithm, members, places(at))
        for at, (row, work, members) in enumerate(
            zip(found.row.tolist(), works, found.counts.tolist(), strict=True)
        )
    ]


def reshaped(
    state: State, edit: Edit, found: Transfers, was: Sequence[Shape], becomes: Sequence[Shape]
) -> State:
    """The state whose collectives take the times of their new shapes; its laws follow."""
    state, laws = assumed(state, found)
    messages, load = _growth(was, becomes)
    same = (messages == 1) & (load == 1)
    fixed = laws.latency_ns[found.row]
    size_part = predicted(laws, found.row, found.size_bytes) - fixed
    time = scaled(
        state, edit, found.duration_ns,
        np.where(same, 1.0, fixed + size_part),
        np.where(same, 1.0, fixed * messages + size_part * load),
    )  # fmt: skip
    duration = state.times.duration_ns.copy()
    changed = found.spread(~same)
    duration[found.members[changed]] = found.spread(time)[changed]
    latency_ns, ns_per_byte = laws.latency_ns.copy(), laws.ns_per_byte.copy()
    row, first = np.unique(found.row, return_index=True)
    latency_ns[row] *= messages[first]
    ns_per_byte[row] *= load[first]
    faster = Laws(latency_ns=latency_ns, ns_per_byte=ns_per_byte)
    return dataclasses.replace(state.timed(duration_ns=duration), laws=faster)


def _growth(was: Sequence[Shape], becomes: Sequence[Shape]) -> tuple[F64, F64]:
    """By what latencies and bytes grow from each shape to the next."""
    formula = cache(terms)
    before = np.array([formula(*shape) for shape in was], dtype=np.float64).reshape(-1, 2)
    behind = np.array([formula(*shape) for shape in becomes], dtype=np.float64).reshape(-1, 2)
    growth = np.where(before > 0, behind / np.where(before > 0, before, 1.0), 1.0)
    return growth[:, 0], growth[:, 1]
