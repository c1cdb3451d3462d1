"""no-communication and perfect-overlap: what stays in order and what does not wait any more."""

import pytest
from small_jobs import Small, replayed, star, step_ns

from paceline import rewrite
from paceline.model import Edit, InputError, verify


def edited(small: Small, text: str, **more: object) -> rewrite.Rewritten:
    out = rewrite.edited(
        small.graph, small.times, [Edit.parse(text)], profile=small.profile, **more
    )  # type: ignore[arg-type]
    verify(out.graph)
    return out


def starts(out: rewrite.Rewritten) -> list[int]:
    return replayed(out.graph, out.times).start_ns.tolist()


def overlapped() -> Small:
    """One worker slower than the other, an all-reduce between backward and update."""
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 100 + 60 * w, lead=5) for w in (0, 1)}
    meet = small.reduce("a", 500, 8, first, lead=7)
    for worker in (0, 1):
        small.add(worker, "host", "host", 10, meet[worker])
    return small


def test_without_communication_nobody_waits_for_others():
    out = edited(overlapped(), "no-communication{}")
    assert starts(out) == [5, 5, 105, 165, 105, 165]
    assert out.times.duration_ns.tolist() == [100, 160, 0, 0, 10, 10]
    assert (out.graph.match == -1).all()
    assert out.origin.tolist() == [0, 1, 2, 3, 4, 5]


def test_with_perfect_overlap_the_longer_part_is_the_step():
    small = overlapped()
    assert step_ns(small.graph, small.times) == 160 + 7 + 500 + 10
    out = edited(small, "perfect-overlap{}")
    assert starts(out) == [5, 5, 5, 5, 105, 165]
    assert step_ns(out.graph, out.times) == 500


def test_chains_of_communication_are_seen_through():
    """recv -> all-reduce -> send of one worker: who waits for the last waits for what began it."""
    small = Small(2)
    small.group("dp")
    other = small.add(1, "gpu", "compute", 900)
    small.add(1, "p2p", "send", 50, other, match="m")
    mine = small.add(0, "gpu", "compute", 40)
    got = small.add(0, "p2p", "recv", 50, mine, match="m")
    meet = small.reduce("c", 70, 8, {0: got, 1: other})
    more = small.add(0, "comm2", "send", 5, meet[0])
    small.add(0, "host", "host", 1, more)
    for text in ("no-communication{}", "perfect-overlap{}"):
        out = edited(small, text)
        assert out.graph.after(7).tolist() == [mine]
        assert starts(out)[7] == 40


def test_the_order_of_a_communication_lane_holds_up_nobody():
    """The second message is ready at once; in the lane it lies behind one that is ready late."""
    small = Small(1)
    late = small.add(0, "gpu", "compute", 100)
    soon = small.add(0, "cpu", "host", 10)
    small.add(0, "comm", "send", 5, late)
    second = small.add(0, "comm", "send", 5, soon)
    small.add(0, "disk", "load", 1, second)
    assert starts(edited(small, "no-communication{}"))[4] == 10
    assert replayed(small.graph, small.times).start_ns[4] == 110


def test_other_dependencies_between_workers_stay():
    small = Small(2)
    first = small.add(0, "gpu", "compute", 100)
    small.add(1, "gpu", "compute", 10, first)
    sent = small.add(0, "p2p", "send", 30, first)
    small.add(1, "p2p", "recv", 30, sent)
    out = edited(small, "no-communication{}")
    assert starts(out) == [0, 100, 100, 0]
    assert out.graph.after(3).tolist() == []


def blocking() -> Small:
    """Communication on the main lane, waiting for another lane's work."""
    small = Small(1)
    small.add(0, "main", "compute", 10)
    copied = small.add(0, "copies", "copy", 70)
    small.add(0, "main", "send", 200, copied)
    small.add(0, "main", "send", 100)
    small.add(0, "main", "compute", 20)
    small.add(0, "main", "send", 40)
    return small


def test_communication_on_the_main_lane_gets_a_lane_of_its_own():
    out = edited(blocking(), "perfect-overlap{}")
    assert out.graph.lanes == ("main", "copies", "main communication", "copies communication")
    assert [out.graph.op(at).lane for at in range(6)] == [
        "main", "copies", "main communication", "main communication", "main", "main communication",
    ]  # fmt: skip
    assert starts(out) == [0, 0, 0, 200, 70, 300]
    assert step_ns(out.graph, out.times) == 340


def test_both_bounds_leave_the_rest_the_same_order():
    small = blocking()
    bare = edited(small, "no-communication{}")
    assert starts(bare)[4] == 70
    assert step_ns(bare.graph, bare.times) == 90


def test_a_collective_takes_in_overlap_what_its_slowest_member_takes():
    small = Small(2)
    small.group("dp")
    for worker, ns in ((0, 30), (1, 50)):
        small.add(worker, "comm", "collective", ns, match="c", group="dp", size=8)
    out = edited(small, "perfect-overlap{}")
    assert out.times.duration_ns.tolist() == [50, 50]


def test_overlap_needs_the_times_of_transfers():
    small = overlapped()
    edits = [Edit.parse("collective{algorithm=tree}"), Edit.parse("perfect-overlap{}")]
    with pytest.raises(InputError, match="follows from links only"):
        rewrite.edited(
            small.graph, small.times, edits, profile=small.profile, cluster=star(("m0", "m1"))
        )


def test_nothing_begins_before_the_step_did():
    """A receive that waits for nothing, and what waited only for it, would else begin at 0."""
    small = Small(2)
    first = small.add(0, "gpu", "compute", 100, lead=40)
    small.add(0, "p2p", "send", 5, first, match="m")
    got = small.add(1, "p2p", "recv", 5, lead=60, match="m")
    small.add(1, "gpu", "compute", 7, got, lead=3)
    for text in ("no-communication{}", "perfect-overlap{}"):
        out = edited(small, text)
        assert starts(out)[2:] == [40, 43]
        assert step_ns(out.graph, out.times) == 100


def test_a_job_without_communication_stays():
    small = Small(1)
    small.add(0, "gpu", "compute", 10)
    for text in ("no-communication{}", "perfect-overlap{}"):
        out = edited(small, text)
        assert (out.graph, out.times) == (small.graph, small.times)
