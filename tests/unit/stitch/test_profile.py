"""From traces to a Profile, whole."""

import dataclasses
import sys

import msgspec
import numpy as np
import pytest
from made_traces import MS, US, Made, medians, recorded, replayed

from paceline.model import Job, Kind, ModelError, Profile, Trace, dumped
from paceline.stitch import profile

COLLECTIVE, COMPUTE = Kind.COLLECTIVE, Kind.COMPUTE


def job(
    workers: int = 2,
    steps: int = 4,
    *,
    missing: tuple[int, ...] = (),
    late_us: int = 400,
    **facts: object,
) -> list[Trace]:
    """Forward, backward with a launch, a kernel, an all-reduce and an update on every worker."""
    traces = []
    for worker in range(workers):
        made = Made(worker)
        for step in range(steps):
            now = 10 * MS * step
            late = worker * late_us * US
            made.add("ProfilerStep", now, now + 9 * MS, lane=f"thread {40 + worker}", step=step)
            at = [now + share * US for share in (100, 900, 1200, 1300)]
            main = {"lane": f"thread {40 + worker}", "step": step}
            made.add("forward", at[0], at[1], **main)
            made.add("backward", at[1], at[3] + 100 * US, **main)
            launch = made.add("launch", at[2], at[3], **main)
            kernel = made.add("gemm", at[3] + 5 * US, at[3] + 2 * MS + late, lane="stream 7",
                              kind=COMPUTE, step=step, after=(launch,))  # fmt: skip
            arrive = at[3] + 2 * MS + late + 10 * US
            leave = now + 1_300 * US + 2 * MS + (workers - 1) * late_us * US + 500 * US
            made.add("reduce", arrive, leave, lane="stream 9", kind=COLLECTIVE, step=step,
                     after=(kernel,), group=("dp", tuple(range(workers))), sequence=step,
                     size_bytes=1 << 20)  # fmt: skip
            made.add("update", leave + 20 * US, leave + MS, **main, after=(len(made.builder) - 1,))
        if worker not in missing:
            traces.append(made.trace(machine=f"m{worker}", device="V100", workers=workers, **facts))
    return traces


def by_name(found: Profile, name: str) -> list[float]:
    """The median own work of each work of that name."""
    graph = found.graph
    works = [k for k, work in enumerate(graph.works) if work.name == name]
    return [found.durations.of(k, 0).median_ns for k in works]  # type: ignore[union-attr]


def test_a_job_whole() -> None:
    found = profile(job())
    assert [worker.machine for worker in found.workers] == ["m0", "m1"]
    assert found.kinds == ("V100",)
    assert found.missing_workers == ()
    assert found.events == 2 * 4 * 7
    assert [line.step for line in found.measured] == [0, 1, 2, 3]
    assert all(line.measured for line in found.measured)
    assert set(found.graph.lanes) == {"main", "stream 7", "stream 9"}
    assert found.job == Job()
    assert dumped(found)


def test_transfer_and_wait_are_apart() -> None:
    found = profile(job(workers=3))
    assert by_name(found, "reduce") == [490 * US]
    gemm = by_name(found, "gemm")[0]
    assert gemm == pytest.approx(2 * MS + 400 * US - 5 * US)


def test_each_step_replays_as_it_was() -> None:
    found = profile(job(workers=3))
    for line in found.measured:
        ends = replayed(found.graph, *recorded(found.graph, line))
        assert max(ends) == line.end_ns.max()


def test_one_worker_alone() -> None:
    found = profile(job(workers=1))
    assert len(found.workers) == 1
    assert found.residual_ns is None
    assert max(replayed(found.graph, *medians(found))) == found.measured[0].end_ns.max()


def test_the_job_that_is_given_is_kept() -> None:
    assert profile(job(), job=Job(name="resnet")).job.name == "resnet"


def test_missing_workers_do_not_stop_the_rest() -> None:
    found = profile(job(workers=4, missing=(1, 3)))
    assert [worker.rank for worker in found.workers] == [0, 2]
    assert found.missing_workers == (1, 3)
    assert len(found.measured) == 4


def test_renumbering_workers_changes_nothing() -> None:
    traces = job(workers=3)
    one, other = profile(traces), profile(traces[::-1])
    assert dumped(one) == dumped(other)


def test_of_very_many_steps_some_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["paceline.stitch.profile"], "_MEASURED", 5)
    found = profile(job(steps=12))
    assert [line.step for line in found.measured] == [0, 3, 6, 8, 11]
    assert [note.count for note in found.notes if note.code == "steps-not-kept"] == [7]
    assert found.durations.count.max() == 2 * 12


def test_a_dump_alone_gives_a_profile() -> None:
    traces = []
    for worker in range(2):
        made = Made(worker)
        for turn in range(6):
            made.add("gloo:all_reduce", 5 * MS * turn + worker * US, None, kind=COLLECTIVE, step=-1,
                     lane="flight recorder", group=("dp", (0, 1)), sequence=turn)  # fmt: skip
        traces.append(made.trace(tool="flight recorder"))
    found = profile(traces)
    assert len(found.graph) == 12
    assert found.matching[0].matched == 12
    assert {note.code for note in found.notes} >= {"no-end", "no-steps"}


def test_workers_on_other_kinds_of_machine_have_spreads_of_their_own() -> None:
    one, two = job(workers=2)
    two = dataclasses.replace(two, facts=msgspec.structs.replace(two.facts, device="A100"))
    found = profile([one, two])
    assert found.kinds == ("V100", "A100")
    assert np.unique(found.durations.kind).tolist() == [0, 1]


def test_steps_without_a_common_op_are_refused() -> None:
    made = Made()
    for step in range(3):
        made.add(f"only in {step}", 100 * step, 100 * step + 50, step=step)
    with pytest.raises(ModelError, match="steady training"):
        profile([made.trace()])


def test_no_trace_at_all_is_refused() -> None:
    with pytest.raises(ModelError, match="Record a few training steps"):
        profile([])


def test_steps_on_the_far_side_of_a_jump_are_left_out() -> None:
    def shown(trace: Trace, since: int) -> Trace:
        late = np.where(trace.step >= since, 3_000 * MS, 0)
        return dataclasses.replace(trace, start_ns=trace.start_ns + late)

    traces = job(3, 16, late_us=20)
    found = profile([traces[0], shown(traces[1], 10), traces[2]])
    codes = [note.code for note in found.notes]
    assert "clock-jump" in codes
    assert "jumped-steps" in codes
    kept = [line.step for line in found.measured]
    assert kept
    assert set(kept) <= set(range(10))
    assert max(line.step_ns for line in found.measured) < 100 * MS
