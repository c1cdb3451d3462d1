"""Clocks whose truth is known by construction: tiny jobs, one idea each."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from paceline.model import UNKNOWN, Alignment, Facts, Kind, Ping, Trace, TraceBuilder
from paceline.stitch import match
from paceline.stitch.align import clocks
from paceline.stitch.alignments import Alignments, aligned_end_ns, aligned_ns, ends_of, mapped_ns

Clock = Callable[[int], int]
MS = 1_000_000
EPOCH = 1_700_000_000_000_000_000


def shifted(offset_ns: int, ppm: float = 0.0, since: int = 0) -> Clock:
    """A clock that shows the true time plus an offset, and runs fast by ppm."""
    return lambda true: true + offset_ns + round(ppm * 1e-6 * (true - since))


class Recorder:
    """One worker with a clock of its own; events are given in true time."""

    def __init__(self, worker: int, clock: Clock = int, **facts: object) -> None:
        self.worker, self.clock, self.builder = worker, clock, TraceBuilder()
        self.facts = Facts(**facts)  # type: ignore[arg-type]
        self.pings: list[Ping] = []

    def add(self, kind: Kind, start: int, end: int, **more: object) -> None:
        name = more.pop("group", None)
        if isinstance(name, str):
            more["group"] = self.builder.group(name)
        own, last = self.clock(start), self.clock(end)
        self.builder.add("talk", kind, "lane", own, last - own, **more)  # type: ignore[arg-type]

    def trace(self, clock: str | None = "unix") -> Trace:
        return self.builder.trace(
            self.worker, clock=clock, facts=self.facts, pings=tuple(self.pings)
        )


def collectives(
    workers: Sequence[Recorder],
    ends: Sequence[int],
    group: str = "dp",
    late: int = 0,
    noise: int = 0,
) -> None:
    """Collectives that end everywhere at once, but for what is said; the last to arrive changes."""
    generator = np.random.default_rng(1)
    for sequence, end in enumerate(ends):
        for index, worker in enumerate(workers):
            start = end - 20_000 - 30_000 * ((sequence + index) % len(workers))
            later = late * index + int(generator.uniform(0, noise))
            worker.add(Kind.COLLECTIVE, start, end + later, group=group, sequence=sequence)


def message(sender: Recorder, receiver: Recorder, sent: int, received: int, key: int) -> None:
    sender.add(Kind.SEND, sent, sent + 10_000, peer=receiver.worker, sequence=key)
    receiver.add(Kind.RECV, sent - 50_000, received, peer=sender.worker, sequence=key)


def aligned(*workers: Recorder) -> tuple[list[Trace], Alignments]:
    traces = [worker.trace() for worker in workers]
    return traces, clocks(traces, match.events(traces))


def test_the_first_clock_is_the_measure() -> None:
    workers = [Recorder(0), Recorder(1, shifted(5 * MS))]
    collectives(workers, range(MS, 20 * MS, MS))
    _, found = aligned(*workers)
    first, second = found.alignments
    assert (first.worker, first.offset_ns, first.drift_ppm, first.error_ns) == (0, 0, 0.0, 0.0)
    assert abs(second.offset_ns + 5 * MS) <= 1
    assert found.residual_ns is not None
    assert found.residual_ns <= 1
    assert found.notes == ()


def test_offsets_as_long_as_the_age_of_the_epoch_lose_no_nanosecond() -> None:
    """One worker counts from 1970, the other from its boot."""
    workers = [Recorder(0, shifted(EPOCH)), Recorder(1, shifted(123_456_789))]
    collectives(workers, range(MS, 200 * MS, MS))
    traces, found = aligned(*workers)
    ends = [aligned_end_ns(t, a) for t, a in zip(traces, found.alignments, strict=True)]
    assert abs(found.alignments[1].offset_ns - (EPOCH - 123_456_789)) <= 1
    assert np.abs(ends[0] - ends[1]).max() <= 1


def test_drift_is_recovered_where_the_recording_is_long_enough() -> None:
    workers = [Recorder(0, shifted(EPOCH)), Recorder(1, shifted(EPOCH + 7 * MS, 100.0))]
    collectives(workers, range(MS, 30_000 * MS, 100 * MS))
    traces, found = aligned(*workers)
    second = found.alignments[1]
    assert second.drift_ppm == pytest.approx(-100 / 1.0001, abs=0.01)
    ends = [aligned_end_ns(t, a) for t, a in zip(traces, found.alignments, strict=True)]
    assert np.abs(ends[0] - ends[1]).max() <= 3
    assert second.drift_error_ppm is not None
    assert second.drift_error_ppm < 0.1


def test_one_step_says_nothing_about_drift() -> None:
    generator = np.random.default_rng(3)
    workers = [Recorder(0), Recorder(1, shifted(3 * MS, 40.0)), Recorder(2, shifted(-MS))]
    for sequence in range(8):
        end = 2 * MS * sequence + 15_000
        for worker in workers:
            noise = int(generator.normal(0, 2000))
            worker.add(Kind.COLLECTIVE, end - 9000, end + noise, group="dp", sequence=sequence)
    _, found = aligned(*workers)
    assert [a.drift_ppm for a in found.alignments] == [0.0, 0.0, 0.0]
    for alignment, true in zip(found.alignments[1:], (-3 * MS, MS), strict=True):
        assert alignment.error_ns is not None
        assert 500 < alignment.error_ns < 20_000
        assert abs(alignment.offset_ns - true) <= alignment.error_ns


def test_a_few_late_threads_do_not_move_a_clock() -> None:
    workers = [Recorder(0), Recorder(1, shifted(-2 * MS))]
    for sequence in range(60):
        end = MS * (sequence + 1)
        for index, worker in enumerate(workers):
            late = 300_000 if index and sequence % 7 == 3 else 0
            worker.add(Kind.COLLECTIVE, end - 500_000, end + late, group="g", sequence=sequence)
    _, found = aligned(*workers)
    assert abs(found.alignments[1].offset_ns - 2 * MS) < 10_000


def test_messages_both_ways_put_a_clock_in_the_middle_of_its_bounds() -> None:
    workers = [Recorder(0), Recorder(1, shifted(900 * MS))]
    for k in range(20):
        message(workers[0], workers[1], 2 * MS * k, 2 * MS * k + 40_003, 2 * k)
        message(workers[1], workers[0], 2 * MS * k + MS, 2 * MS * k + MS + 60_000, 2 * k + 1)
    _, found = aligned(*workers)
    second = found.alignments[1]
    assert second.offset_ns == pytest.approx(-900 * MS + 10_000, abs=5)
    assert second.error_ns is not None
    assert 10_000 <= second.error_ns <= 60_000  # half of the round trip, and unknown drift
    assert found.residual_ns is None


def test_pings_are_bounds_like_messages() -> None:
    workers = [Recorder(0), Recorder(1, shifted(-4 * MS))]
    for k in range(1, 200):
        at = 100 * MS * k
        workers[1].pings.append(
            Ping(peer=0, sent_ns=at - 4 * MS, peer_ns=at + 800, received_ns=at - 4 * MS + 2000)
        )
        workers[1].pings.append(Ping(peer=9, sent_ns=0, peer_ns=0, received_ns=1))  # not recorded
    _, found = aligned(*workers)
    assert found.alignments[1].error_ns is not None
    assert found.alignments[1].error_ns <= 3000
    assert abs(found.alignments[1].offset_ns - 4 * MS) <= 1000


def test_nothing_is_received_before_it_was_sent() -> None:
    """Ends of collectives are late on worker 1 every time; messages prove it."""
    workers = [Recorder(0), Recorder(1, shifted(50 * MS))]
    generator = np.random.default_rng(7)
    for k in range(40):
        end = 5 * MS * (k + 1)
        for index, worker in enumerate(workers):
            noise = 30_000 * index + int(generator.exponential(60_000))
            worker.add(Kind.COLLECTIVE, end - MS, end + noise, group="g", sequence=k)
        message(workers[0], workers[1], end + MS, end + MS + 5000, k)
    traces, found = aligned(*workers)
    one, two = (aligned_ns(t, a) for t, a in zip(traces, found.alignments, strict=True))
    ended = aligned_end_ns(traces[1], found.alignments[1])
    sent = one[traces[0].kind == Kind.SEND]
    assert (ended[traces[1].kind == Kind.RECV] >= sent).all()
    assert len(two) == 80
    assert found.alignments[1].offset_ns == pytest.approx(-50 * MS, abs=40_000)
    assert found.notes == ()


def test_contradictions_are_reported_and_no_obstacle() -> None:
    workers = [Recorder(0), Recorder(1)]
    collectives(workers, range(MS, 40 * MS, MS))
    for k in range(5):  # received 3 ms before they were sent, in both directions
        message(workers[0], workers[1], 10 * MS * k + 5 * MS, 10 * MS * k + 2 * MS, 2 * k)
        message(workers[1], workers[0], 10 * MS * k + 5 * MS, 10 * MS * k + 2 * MS, 2 * k + 1)
    _, found = aligned(*workers)
    assert [note.code for note in found.notes] == ["too-early"]
    assert found.notes[0].count == 10
    assert abs(found.alignments[1].offset_ns) < 1000


def test_one_way_messages_tie_a_clock_for_want_of_better() -> None:
    workers = [Recorder(0), Recorder(1, shifted(-700 * MS))]
    for k in range(30):
        message(workers[0], workers[1], MS * k, MS * k + 11_000, k)
    _, found = aligned(*workers)
    assert found.alignments[1].offset_ns == pytest.approx(700 * MS, abs=12_000)


def test_a_clock_that_nothing_ties_stays_and_says_so() -> None:
    workers = [Recorder(0), Recorder(1, shifted(MS)), Recorder(2), Recorder(3, shifted(2 * MS))]
    collectives(workers[:2], range(MS, 9 * MS, MS))
    collectives(workers[2:], range(MS, 9 * MS, MS), group="apart")
    _, found = aligned(*workers)
    assert [a.error_ns is None for a in found.alignments] == [False, False, True, True]
    assert [a.offset_ns for a in found.alignments[2:]] == [0, 0]
    assert [(n.code, n.worker) for n in found.notes] == [("clock-untied", 2), ("clock-untied", 3)]


def test_groups_that_share_a_worker_form_a_chain() -> None:
    offsets = (0, 30 * MS, -80 * MS, 5 * MS)
    workers = [Recorder(w, shifted(offset)) for w, offset in enumerate(offsets)]
    for first in range(3):
        collectives(workers[first : first + 2], range(MS, 50 * MS, MS), group=f"pair {first}")
    _, found = aligned(*workers)
    assert [a.offset_ns for a in found.alignments] == pytest.approx([-o for o in offsets], abs=5)
    bars = [a.error_ns or 0 for a in found.alignments]
    assert bars == sorted(bars)


def test_workers_of_one_machine_share_its_clock() -> None:
    workers = [Recorder(w, machine="m0" if w < 3 else "m1") for w in range(5)]
    collectives(workers, range(MS, 30 * MS, MS), late=100, noise=900)
    _, found = aligned(*workers)
    offsets = [a.offset_ns for a in found.alignments]
    assert offsets[:3] == [0, 0, 0]
    assert offsets[3] == offsets[4] != 0
    assert all(a.error_ns is not None for a in found.alignments)


def test_a_machine_does_not_overrule_what_was_recorded() -> None:
    workers = [Recorder(w, shifted(40 * MS if w == 2 else 0), machine="m0") for w in range(3)]
    collectives(workers, range(MS, 30 * MS, MS))
    _, found = aligned(*workers)
    assert [a.offset_ns for a in found.alignments] == pytest.approx([0, 0, -40 * MS], abs=2)


def test_a_jump_of_a_clock_is_found_and_widens_the_error() -> None:
    jump = 25 * MS

    def stepped(true: int) -> int:
        return true + 3 * MS + (jump if true > 20_000 * MS else 0)

    workers = [Recorder(0), Recorder(1), Recorder(2, stepped)]
    generator = np.random.default_rng(11)
    for k in range(300):
        end = 100 * MS * (k + 1)
        for worker in workers:
            noise = int(generator.normal(0, 20_000))
            worker.add(Kind.COLLECTIVE, end - MS, end + noise, group="g", sequence=k, step=k // 10)
    _, found = aligned(*workers)
    (note,) = found.notes
    assert (note.code, note.worker) == ("clock-jump", 2)
    assert "25" in note.text
    assert "in step 19" in note.text or "in step 20" in note.text
    third = found.alignments[2]
    assert abs(third.offset_ns + 3 * MS) < 50_000  # the longer part decides
    assert third.error_ns is not None
    assert third.error_ns >= 0.9 * jump


@pytest.mark.parametrize("at", [6, 12, 17])
def test_a_large_jump_shows_in_few_collectives(at: int) -> None:
    def stepped(true: int) -> int:
        return true + (5_000 * MS if true > 100 * MS * at else 0)

    workers = [Recorder(0), Recorder(1), Recorder(2, stepped)]
    generator = np.random.default_rng(11)
    for k in range(24):
        end = 100 * MS * (k + 1)
        for worker in workers:
            late = 60 * MS if (k, worker.worker) == (20, 1) else int(generator.normal(0, 200_000))
            worker.add(Kind.COLLECTIVE, end - MS, end + late, group="g", sequence=k, step=k // 3)
    _, found = aligned(*workers)
    (note,) = found.notes
    assert (note.code, note.worker) == ("clock-jump", 2)
    (lost,) = found.lost
    assert lost.trace == 2
    assert found.alignments[2].offset_ns == pytest.approx(-5_000 * MS if at <= 12 else 0, abs=MS)


def test_a_few_late_ends_are_no_jump() -> None:
    workers = [Recorder(0), Recorder(1), Recorder(2)]
    generator = np.random.default_rng(11)
    for k in range(24):
        end = 100 * MS * (k + 1)
        for worker in workers:
            late = 60 * MS if k > 20 and worker.worker == 2 else int(generator.normal(0, 200_000))
            worker.add(Kind.COLLECTIVE, end - MS, end + late, group="g", sequence=k, step=k // 3)
    _, found = aligned(*workers)
    assert found.lost == ()


def test_traces_without_times_are_left_alone() -> None:
    builder = TraceBuilder()
    builder.add("all_reduce", Kind.COLLECTIVE, "lane", group=builder.group("g"), sequence=1)
    untimed = builder.trace(1, clock=None)
    worker = Recorder(0)
    worker.add(Kind.COLLECTIVE, 0, 10, group="g", sequence=1)
    found = clocks([worker.trace(), untimed], match.events([worker.trace(), untimed]))
    assert found.alignments[1].offset_ns == 0
    assert found.alignments[1].error_ns is None
    assert clocks([], match.events([])) == Alignments(alignments=(), residual_ns=None)


def test_mapping_keeps_order_unknown_and_every_nanosecond() -> None:
    builder = TraceBuilder()
    for start in (EPOCH, EPOCH + 1, EPOCH + 10**10):
        builder.add("a", Kind.COMPUTE, "lane", start, 7)
    builder.add("b", Kind.COMPUTE, "lane")
    builder.add("c", Kind.COMPUTE, "lane", EPOCH + 5)
    trace = builder.trace(0, clock="unix")
    alignment = Alignment(worker=0, offset_ns=-EPOCH + 3, drift_ppm=50.0, raw_start_ns=EPOCH)
    assert aligned_ns(trace, alignment).tolist() == [3, 4, 10**10 + 500_003, UNKNOWN, 8]
    assert aligned_end_ns(trace, alignment)[3:].tolist() == [UNKNOWN, UNKNOWN]
    assert ends_of(trace)[:2].tolist() == [EPOCH + 7, EPOCH + 8]
    raw = np.arange(EPOCH, EPOCH + 1000)
    assert (np.diff(mapped_ns(raw, alignment)) >= 0).all()
