"""Strategies for small jobs that play: lanes, collectives, messages, flows, and stars to fly over.

Say `from drawn_jobs import lane_jobs, flow_jobs`. Dependencies point to earlier ops only and
collectives come in the same order everywhere, so no op waits for itself.
"""

from hypothesis import strategies as st
from small_jobs import Small, star

from paceline.model import Cluster, Link, Machine

DURATIONS = st.integers(0, 1000)


@st.composite
def lane_jobs(draw: st.DrawFn, workers: int = 3, ops: int = 14, posted: bool = False) -> Small:
    """Ops of known durations, some of which meet; with `posted` a send takes no time."""
    small = Small(workers)
    small.group("all")
    for number in range(draw(st.integers(0, ops))):
        kind = draw(st.sampled_from(["compute", "compute", "load", "message", "meeting"]))
        after = (
            draw(st.lists(st.integers(0, len(small.rows) - 1), max_size=2)) if small.rows else []
        )
        lead, ns = draw(st.integers(0, 50)), draw(DURATIONS)
        if kind in {"compute", "load"}:
            worker = draw(st.integers(0, workers - 1))
            lane = draw(st.sampled_from(["a", "b"]))
            small.add(worker, lane, "compute", ns, *after, lead=lead)
        elif kind == "message":
            source, target = draw(st.permutations(range(workers)))[:2]
            small.add(
                source, "out", "send", 0 if posted else ns, *after, match=f"m{number}", lead=lead
            )
            small.add(target, "in", "recv", draw(DURATIONS), match=f"m{number}")
        else:
            members = draw(st.sets(st.integers(0, workers - 1), min_size=1))
            for at, worker in enumerate(sorted(members)):
                own = after if at == 0 else ()
                small.add(
                    worker, "comm", "collective", ns + at, *own, match=f"c{number}", lead=lead
                )
    return small


@st.composite
def stars(draw: st.DrawFn, machines: int) -> Cluster:
    """A star of uneven links, each direction with a rate of its own."""
    rate = st.sampled_from([1e8, 1e9, 1e9, 1e9, 3e9])
    names = [f"m{at}" for at in range(machines)]
    return Cluster(
        machines=tuple(Machine(name=name) for name in names),
        links=tuple(
            Link(
                a=name, b="switch", bytes_per_s=draw(rate), back_bytes_per_s=draw(rate),
                latency_ns=draw(st.integers(0, 2000)),
            )
            for name in names
        ),
    )  # fmt: skip


@st.composite
def flow_jobs(draw: st.DrawFn, workers: int = 4, messages: int = 10) -> tuple[Small, Cluster]:
    """Computation and messages whose transfers follow from their size, on an uneven star."""
    small = Small(workers)
    for number in range(draw(st.integers(1, messages))):
        after = (
            draw(st.lists(st.integers(0, len(small.rows) - 1), max_size=2)) if small.rows else []
        )
        source, target = draw(st.permutations(range(workers)))[:2]
        if draw(st.booleans()):
            lane = draw(st.sampled_from(["a", "b"]))
            small.add(source, lane, "compute", draw(st.integers(0, 30_000)), *after)
            after = [len(small.rows) - 1]
        size = draw(st.integers(0, 100_000))
        posted = draw(st.sampled_from([-1, -1, 500]))
        lanes = draw(st.tuples(st.integers(0, 1), st.integers(0, 2)))
        small.add(source, f"out{lanes[0]}", "send", posted, *after, match=f"m{number}", size=size)
        small.add(target, f"in{lanes[1]}", "recv", -1, match=f"m{number}", size=size)
    return small, draw(stars(workers))


__all__ = ["flow_jobs", "lane_jobs", "star", "stars"]
