from dataclasses import replace

import pytest

from paceline.model import Cluster, Profile, Trace
from paceline.write.inspection import LaneFound, inspected


def test_workers_sum_their_traces(
    traces: tuple[Trace, ...], profile: Profile, cluster: Cluster
) -> None:
    first, second = inspected(traces, profile, cluster).workers
    assert (first.rank, first.machine, first.device, first.events, first.lanes) == (
        0, "m0", "a100", 4, 2,
    )  # fmt: skip
    assert (second.device, second.events) == ("v100", 5)


def test_steps_lanes_and_times(
    traces: tuple[Trace, ...], profile: Profile, cluster: Cluster
) -> None:
    view = inspected(traces, profile, cluster)
    assert view.missing_workers == (2,)
    assert view.steps == (3, 4)
    assert view.step_ms is not None
    assert view.step_ms.median == pytest.approx(14.0)
    assert view.lanes == (
        LaneFound(name="main", workers=2, ops=2),
        LaneFound(name="comm", workers=2, ops=2),
    )


def test_matches_are_summed_by_key(
    traces: tuple[Trace, ...], profile: Profile, cluster: Cluster
) -> None:
    view = inspected(traces, profile, cluster)
    assert (view.collectives.matched, view.collectives.unmatched) == (6, 1)
    assert view.collectives.by_key == {"group and sequence": 4, "order": 2}
    assert (view.messages.matched, view.messages.unmatched, view.messages.by_key) == (0, 3, {})


def test_units(traces: tuple[Trace, ...], profile: Profile, cluster: Cluster) -> None:
    view = inspected(traces, profile, cluster)
    assert view.alignment[1].offset_us == 1500.0
    assert view.alignment[1].error_us is None
    assert view.alignment_residual_us == pytest.approx(12.3)
    assert view.links[0].gbit_per_s == pytest.approx(10.0)
    assert view.links[0].interval_gbit_per_s == pytest.approx((8.0, 12.0))
    assert view.links[0].latency_us == 5.0
    assert view.links[1].gbit_per_s is None
    assert view.gaps[1].ms_per_step == 2.0


def test_a_profile_without_times(
    traces: tuple[Trace, ...], profile: Profile, cluster: Cluster
) -> None:
    view = inspected(traces, replace(profile, measured=(), residual_ns=None), cluster)
    assert view.step_ms is None
    assert view.alignment_residual_us is None
