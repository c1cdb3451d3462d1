"""Machines and links of a job whose links are known."""

import dataclasses
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pytest
from made_traces import MS, US, Made

from paceline.model import Kind, Link, Profile
from paceline.stitch import cluster, profile

SEND, RECV, COLLECTIVE = Kind.SEND, Kind.RECV, Kind.COLLECTIVE
SIZES = (4_096, 65_536, 1 << 20, 1 << 22)
Time = Callable[[int, int], float]  # of a message of so many bytes from a worker, in ns


def carried(rate: float, latency_ns: float = 30 * US) -> Time:
    return lambda size, worker: latency_ns + size / rate * 1e9


def talked(
    time: Time, *, sizes: Sequence[int | None] = SIZES, steps: int = 20, scatter: float = 0.02,
    both: bool = True, eager: bool = False, machines: tuple[str | None, str | None] = ("a", "b"),
) -> Profile:  # fmt: skip
    """Two workers that send each other messages; now one, now the other side waits for long."""
    generator = np.random.default_rng(7)
    made = [Made(0), Made(1)]
    for step in range(steps):
        now = 1000 * MS * step
        for worker in (0, 1):
            made[worker].add("work", now, now + MS, kind=Kind.COMPUTE, step=step)
            over = now + 2 * MS + int(generator.integers(2 * US))
            made[worker].add("sum", now + MS, over, lane="comm", step=step,
                             kind=COLLECTIVE, group="all", sequence=step)  # fmt: skip
        for number, size in enumerate(sizes):
            for source in (0, 1) if both else (0,):
                now += 50 * MS
                took = time(size or 0, source) * (1 + scatter * generator.standard_normal())
                waits = int(generator.integers(1, 20) * MS)  # for the sender, or for the receiver
                sent, came = (now, now + waits) if generator.random() < 0.5 else (now + waits, now)
                over = max(sent, came) + round(took)
                left = sent + 5 * US if eager else over
                more = {"step": step, "lane": "p2p", "sequence": step * 100 + number,
                        "size_bytes": -1 if size is None else size}  # fmt: skip
                made[source].add("send", sent, left, kind=SEND, peer=1 - source, **more)  # type: ignore[arg-type]
                made[1 - source].add("recv", came, over, kind=RECV, peer=source, **more)  # type: ignore[arg-type]
    return profile(
        [own.trace(machine=machine) for own, machine in zip(made, machines, strict=True)]
    )


def known(found: Profile, error_ns: float | None) -> Profile:
    """The profile, its second clock known to so much."""
    first, second = found.alignment
    return dataclasses.replace(
        found, alignment=(first, msgspec.structs.replace(second, error_ns=error_ns))
    )


def link(found: Profile) -> Link:
    (only,) = cluster(found).links
    return only


def inside(value: float, interval: tuple[float, float] | None) -> bool:
    return interval is not None and interval[0] <= value <= interval[1]


def test_machines_have_a_slot_for_each_worker() -> None:
    traces = []
    for worker, (machine, device) in enumerate([("a", "V100"), ("a", "V100"), ("b", "A100")]):
        made = Made(worker)
        made.add("work", 0, MS)
        traces.append(made.trace(machine=machine, device=device))
    found = cluster(profile(traces))
    assert [kind.name for kind in found.kinds] == ["V100", "A100"]
    assert [(m.name, m.kind, m.slots) for m in found.machines] == [
        ("a", "V100", 2),
        ("b", "A100", 1),
    ]
    assert found.links == ()


def test_workers_of_one_machine_have_no_link() -> None:
    assert cluster(talked(carried(1e9), machines=("a", "a"))).links == ()


def test_workers_without_a_machine_are_on_machines_of_their_own() -> None:
    found = cluster(talked(carried(1e9), machines=(None, None)))
    assert [machine.name for machine in found.machines] == ["worker-0", "worker-1"]
    assert {found.links[0].a, found.links[0].b} == {"worker-0", "worker-1"}


def test_rates_of_both_ways_and_the_latency_are_recovered() -> None:
    def time(size: int, worker: int) -> float:
        return 30 * US + size / (1.25e9 if worker == 0 else 0.5e9) * 1e9

    own = link(talked(time))
    assert (own.a, own.b) == ("a", "b")
    assert own.bytes_per_s == pytest.approx(1.25e9, rel=0.02)
    assert own.back_bytes_per_s == pytest.approx(0.5e9, rel=0.02)
    assert inside(1.25e9, own.interval_bytes_per_s)
    assert inside(0.5e9, own.back_interval_bytes_per_s)
    assert inside(30 * US, own.interval_latency_ns)
    assert not inside(40 * US, own.interval_latency_ns)


def test_a_tenth_of_all_held_up_changes_little() -> None:
    generator = np.random.default_rng(3)

    def time(size: int, worker: int) -> float:
        return 30 * US + size + (generator.random() < 0.1) * 50 * MS

    own = link(talked(time))
    assert own.bytes_per_s == pytest.approx(1e9, rel=0.02)
    assert inside(1e9, own.interval_bytes_per_s)


@pytest.mark.parametrize("seed", range(20))
def test_rates_lie_in_their_intervals(seed: int) -> None:
    rate = 10 ** (8 + seed / 8)
    own = link(talked(carried(rate, 10 * US + seed * US), scatter=0.01 + seed / 200))
    assert own.interval_bytes_per_s is not None
    low, high = own.interval_bytes_per_s
    wide = (high - low) / 2  # 1 in 20 may miss a 95 % interval, none by as much again
    assert low - wide <= rate <= high + wide
    assert wide < 0.2 * rate


def test_one_way_tells_the_rate_of_that_way() -> None:
    own = link(talked(carried(1e9), both=False))
    assert (own.a, own.b, own.back_bytes_per_s) == ("a", "b", None)
    assert inside(1e9, own.interval_bytes_per_s)
    assert inside(30 * US, own.interval_latency_ns)


def test_the_way_that_tells_comes_first() -> None:
    def time(size: int, worker: int) -> float:
        return size + 30 * US if worker == 1 else 100 * US

    own = link(talked(time, sizes=(1 << 20, 1 << 22), steps=3, scatter=0.3))
    assert own.a in {"a", "b"}
    swapped = link(talked(carried(1e9), both=False, machines=("b", "a")))
    assert (swapped.a, swapped.b) == ("b", "a")


def test_of_one_size_the_latency_is_not_known() -> None:
    own = link(talked(carried(1e9), sizes=(1 << 20,) * 3))
    assert own.latency_ns is None
    assert own.bytes_per_s == pytest.approx((1 << 20) / ((1 << 20) + 30 * US) * 1e9, rel=0.01)


def test_sizes_too_near_to_tell_apart_count_as_one() -> None:
    own = link(talked(carried(1e9), sizes=(1 << 20, (1 << 20) + 64)))
    assert own.latency_ns is None
    assert own.bytes_per_s == pytest.approx(1e9, rel=0.05)


def test_times_that_do_not_grow_with_size_tell_a_latency_only() -> None:
    own = link(talked(carried(1e12, 200 * US), sizes=(8, 64, 512, 4096)))
    assert own.bytes_per_s is None
    assert inside(200 * US, own.interval_latency_ns)


def test_a_clock_error_longer_than_the_transfers_leaves_all_unknown() -> None:
    found = talked(carried(1e9), sizes=(4_096, 8_192))
    assert link(known(found, 1 * US)).bytes_per_s is not None
    for error in (60 * US, None):
        own = link(known(found, error))
        assert (own.bytes_per_s, own.back_bytes_per_s, own.latency_ns) == (None, None, None)


def test_a_clock_error_widens_the_interval() -> None:
    found = talked(carried(1e9), sizes=(1 << 20,) * 3)
    near, far = (link(known(found, error)).interval_bytes_per_s for error in (0, 100 * US))
    assert near is not None
    assert far is not None
    assert far[0] < near[0] < near[1] < far[1]


def test_messages_handed_over_before_their_receiver_came_tell_nothing() -> None:
    """Some waited in a buffer; the others, whose receiver waited, are enough."""
    own = link(talked(carried(1e9), eager=True))
    assert own.bytes_per_s == pytest.approx(1e9, rel=0.02)
    assert inside(1e9, own.interval_bytes_per_s)
    assert inside(30 * US, own.interval_latency_ns)


def test_messages_without_size_show_a_link_and_no_more() -> None:
    own = link(talked(carried(1e9), sizes=(None,) * 4))
    assert {own.a, own.b} == {"a", "b"}
    assert own.bytes_per_s is None


def test_too_few_messages_tell_nothing() -> None:
    assert link(talked(carried(1e9), sizes=(1 << 20,), steps=1)).bytes_per_s is None


def reduced(
    rate: float, *, sizes: Sequence[int] = SIZES, workers: int = 4, steps: int = 5,
    algorithm: str | None = None, name: str = "all_reduce", slow: int = -1, per_machine: int = 1,
) -> Profile:  # fmt: skip
    """Workers that reduce in a ring; one of them always comes late."""
    made = [Made(worker) for worker in range(workers)]
    generator = np.random.default_rng(5)
    for step in range(steps):
        now = 1000 * MS * step
        for number, size in enumerate(sizes):
            now += 50 * MS
            moved = size * 2 * (workers - 1) / workers
            took = (100 * US + moved / rate * 1e9) * (1 + 0.02 * generator.standard_normal())
            over = now + 10 * MS + round(took)
            for worker, own in enumerate(made):
                begun = now + (10 * MS if worker == 1 else worker * MS // 2)
                own.add(name, begun, over + worker * 100, lane="comm", kind=COLLECTIVE, step=step,
                        group=("all", tuple(range(workers))), sequence=step * 100 + number,
                        size_bytes=size, algorithm=algorithm)  # fmt: skip
    return profile([own.trace(machine=f"m{at // per_machine}") for at, own in enumerate(made)])


@pytest.mark.parametrize("algorithm", [None, "ring"])
@pytest.mark.parametrize("per_machine", [1, 2])
def test_all_reduces_tell_the_rate_of_the_slowest(algorithm: str | None, per_machine: int) -> None:
    found = cluster(reduced(2e9, algorithm=algorithm, per_machine=per_machine))
    assert [own.a for own in found.links] == [f"m{at}" for at in range(4 // per_machine)]
    assert {own.b for own in found.links} == {"switch"}
    for own in found.links:
        assert own.bytes_per_s == pytest.approx(2e9, rel=0.03)
        assert inside(2e9, own.interval_bytes_per_s)
        assert own.latency_ns is None


@pytest.mark.parametrize(
    ("name", "algorithm"), [("all_reduce", "tree"), ("all_gather", None), ("broadcast", "ring")]
)
def test_other_collectives_tell_no_link(name: str, algorithm: str | None) -> None:
    assert cluster(reduced(2e9, name=name, algorithm=algorithm)).links == ()


def test_collectives_of_one_machine_tell_no_link() -> None:
    assert cluster(reduced(2e9, per_machine=4)).links == ()
