"""Eight real ranks of one host: every collective matched, injected offsets recovered.

All ranks share one clock, so the truth is what is injected; their NCCL kernels end within a few
microseconds of each other.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from paceline import read
from paceline.model import Facts, Trace
from paceline.stitch import match
from paceline.stitch.align import clocks

RANKS = range(8)
CLOSE_NS = 10_000


@pytest.fixture(scope="module")
def traces(shared_data: Path) -> list[Trace]:
    folder = shared_data / "traces" / "dlrm8"
    return [read.trace(folder / f"rank_{rank}.json.gz") for rank in RANKS]


def test_every_collective_is_matched_on_all_ranks(traces: list[Trace]) -> None:
    matches = match.events(traces)
    assert len(matches) == 8  # five all-to-all, three all-reduce
    assert np.bincount(matches.match).tolist() == [8] * 8
    assert matches.complete.tolist() == [1] * 8
    names = {
        tuple(traces[int(t)].event(int(e)).name for t, e in zip(*rows, strict=True))
        for rows in zip(np.split(matches.trace, 8), np.split(matches.event, 8), strict=True)
    }
    assert all(len(set(row)) == 1 for row in names)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("machine", [None, "host"])
def test_injected_offsets_come_back(traces: list[Trace], seed: int, machine: str | None) -> None:
    generator = np.random.default_rng(seed)
    offsets = [0, *generator.integers(-(10**9), 10**9, len(RANKS) - 1)]
    shifted = [
        dataclasses.replace(t, start_ns=t.start_ns + int(offset), facts=Facts(machine=machine))
        for t, offset in zip(traces, offsets, strict=True)
    ]
    found = clocks(shifted, match.events(shifted))
    for alignment, offset in zip(found.alignments, offsets, strict=True):
        error = abs(alignment.offset_ns + int(offset))
        assert alignment.error_ns is not None
        assert error <= min(CLOSE_NS, alignment.error_ns)
        assert alignment.drift_ppm == 0.0  # fifteen milliseconds say nothing about drift


def test_one_host_needs_no_correction(traces: list[Trace]) -> None:
    same = [dataclasses.replace(t, facts=Facts(machine="host")) for t in traces]
    found = clocks(same, match.events(same))
    assert [alignment.offset_ns for alignment in found.alignments] == [0] * 8


@pytest.mark.parametrize("missing", RANKS)
def test_a_missing_rank_leaves_the_others_matched(traces: list[Trace], missing: int) -> None:
    left = [trace for trace in traces if trace.worker != missing]
    matches = match.events(left)
    assert np.bincount(matches.match).tolist() == [7] * 8
    assert matches.complete.tolist() == [0] * 8
