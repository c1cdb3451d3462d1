"""Which events meet: tiny jobs whose answer is plain."""

from collections.abc import Sequence

import numpy as np
import pytest

from paceline.model import Facts, Kind, Trace, TraceBuilder
from paceline.stitch import match
from paceline.stitch.matches import Matches

Row = dict[str, object]
COLLECTIVE, SEND, RECV = Kind.COLLECTIVE, Kind.SEND, Kind.RECV


def trace(worker: int, rows: Sequence[Row], facts: Facts | None = None) -> Trace:
    """A trace of rows given as keywords of the builder; times default to 1000 ns apart."""
    builder = TraceBuilder()
    for index, given in enumerate(rows):
        row = dict(given)
        name = str(row.pop("name", "all_reduce"))
        kind = row.pop("kind", COLLECTIVE)
        assert isinstance(kind, Kind)
        start = row.pop("start_ns", 1000 * index)
        group = row.pop("group", None)
        if isinstance(group, str):
            row["group"] = builder.group(group)
        elif isinstance(group, tuple):
            row["group"] = builder.group(group[0], group[1])
        if start is None:
            builder.add(name, kind, "lane", **row)  # type: ignore[arg-type]
        else:
            builder.add(name, kind, "lane", start, 500, **row)  # type: ignore[arg-type]
    return builder.trace(worker, clock="unix", facts=facts)


def found(matches: Matches) -> list[list[tuple[int, int]]]:
    """Each match as (trace, event) pairs."""
    out: list[list[tuple[int, int]]] = [[] for _ in range(len(matches))]
    rows = zip(matches.match, matches.trace, matches.event, strict=True)
    for number, position, event in rows:
        out[int(number)].append((int(position), int(event)))
    return out


def test_group_and_sequence_meet_whatever_the_order() -> None:
    one = trace(0, [{"group": "dp", "sequence": 7}, {"group": "dp", "sequence": 8}])
    two = trace(1, [{"group": "dp", "sequence": 8}, {"group": "dp", "sequence": 9}])
    matches = match.events([one, two])
    assert found(matches) == [[(0, 1), (1, 0)]]
    assert matches.keyed.tolist() == [1]
    assert matches.complete.tolist() == [1]
    assert matches.groups[int(matches.group[0])].name == "dp"


def test_equal_names_of_different_members_are_different_groups() -> None:
    traces = [
        trace(rank, [{"group": ("tp", members), "sequence": 1}])
        for rank, members in ((0, (0, 1)), (1, (0, 1)), (2, (2, 3)), (3, (2, 3)))
    ]
    matches = match.events(traces)
    assert sorted(found(matches)) == [[(0, 0), (1, 0)], [(2, 0), (3, 0)]]
    assert {group.members for group in matches.groups} == {(0, 1), (2, 3)}


def test_a_worker_that_does_not_tell_the_members_joins_the_group_that_lists_it() -> None:
    traces = [
        trace(0, [{"group": ("tp", (0, 1)), "sequence": 1}]),
        trace(2, [{"group": ("tp", (2, 3)), "sequence": 1}]),
        trace(3, [{"group": "tp", "sequence": 1}]),
    ]
    assert found(match.events(traces)) == [[(1, 0), (2, 0)]]


def test_one_group_under_two_names_is_one_group() -> None:
    traces = [
        trace(0, [{"group": ("2", (0, 1)), "sequence": 1}]),
        trace(1, [{"group": ("1", (0, 1)), "sequence": 1}]),
    ]
    assert found(match.events(traces)) == [[(0, 0), (1, 0)]]


def test_groups_of_equal_members_that_a_worker_tells_apart_stay_apart() -> None:
    rows = [{"group": ("0", (0, 1)), "sequence": 1}, {"group": ("1", (0, 1)), "sequence": 1}]
    matches = match.events([trace(0, rows), trace(1, rows[::-1])])
    assert sorted(found(matches)) == [[(0, 0), (1, 1)], [(0, 1), (1, 0)]]


def test_a_missing_member_leaves_the_match_incomplete() -> None:
    rows = [{"group": ("dp", (0, 1, 2)), "sequence": 1}]
    matches = match.events([trace(0, rows), trace(2, rows)])
    assert found(matches) == [[(0, 0), (1, 0)]]
    assert matches.complete.tolist() == [0]


def test_a_group_of_one_needs_nobody() -> None:
    matches = match.events([trace(3, [{"group": ("solo", (3,)), "sequence": 1}])])
    assert found(matches) == [[(0, 0)]]
    assert matches.complete.tolist() == [1]


def test_a_repeated_key_meets_in_order_of_occurrence() -> None:
    rows = [{"group": "dp", "sequence": n} for n in (1, 2, 1, 2)]
    matches = match.events([trace(0, rows), trace(1, rows)])
    assert sorted(found(matches)) == [[(0, i), (1, i)] for i in range(4)]


def test_after_a_restart_seen_by_one_worker_only_time_decides() -> None:
    starts = (0, 1000, 9000, 10_500)
    twice = [
        {"group": "dp", "sequence": n, "start_ns": start}
        for n, start in zip((1, 2, 1, 2), starts, strict=True)
    ]
    matches = match.events([trace(0, twice), trace(1, twice[2:])])
    assert sorted(found(matches)) == [[(0, 2), (1, 0)], [(0, 3), (1, 1)]]


def test_mixed_knowledge_of_keys_falls_back_to_order() -> None:
    one = trace(0, [{"group": "dp", "sequence": n} for n in (1, 2)])
    two = trace(1, [{"group": "dp"}, {"group": "dp"}])
    matches = match.events([one, two])
    assert found(matches) == [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]
    assert matches.keyed.tolist() == [0, 0]


def test_sizes_that_differ_between_workers_do_not_keep_them_apart() -> None:
    names = ["all_to_all", "all_reduce", "all_to_all"]
    traces = [
        trace(w, [{"name": n, "size_bytes": 100 * i + w} for i, n in enumerate(names)])
        for w in range(3)
    ]
    assert sorted(found(match.events(traces))) == [[(w, i) for w in range(3)] for i in range(3)]


def test_sizes_tell_apart_what_two_lanes_started_in_another_order() -> None:
    one = trace(0, [{"size_bytes": 10}, {"size_bytes": 20}])
    two = trace(1, [{"size_bytes": 20}, {"size_bytes": 10}])
    assert sorted(found(match.events([one, two]))) == [[(0, 0), (1, 1)], [(0, 1), (1, 0)]]


@pytest.mark.parametrize("timed", [True, False])
def test_a_first_step_recorded_in_part_is_matched_from_its_end(timed: bool) -> None:
    steps = [0, 0, 0, 1, 1, 1]
    rows: list[Row] = [
        {"step": s, "size_bytes": 8, "start_ns": 1000 * i if timed else None}
        for i, s in enumerate(steps)
    ]
    late = rows[2:]
    matches = match.events([trace(0, rows), trace(1, late), trace(2, rows)])
    expected = [[(0, i), (1, i - 2), (2, i)] for i in range(2, 6)]
    expected += [[(0, i), (2, i)] for i in range(2)]
    assert sorted(found(matches)) == sorted(expected)
    assert sorted(matches.complete.tolist()) == [0, 0, 1, 1, 1, 1]


def test_a_last_step_recorded_in_part_is_matched_from_its_start() -> None:
    rows: list[Row] = [{"step": s, "start_ns": None} for s in (0, 0, 1, 1, 1)]
    matches = match.events([trace(0, rows), trace(1, rows[:-2])])
    assert sorted(found(matches)) == [[(0, i), (1, i)] for i in range(3)]


def test_a_collective_lost_in_the_middle_of_a_step_is_found_by_time() -> None:
    rows: list[Row] = [{"step": i // 6, "start_ns": 1000 * i + 137 * (i % 5)} for i in range(18)]
    del_at = 8
    kept = rows[:del_at] + rows[del_at + 1 :]
    shifted: list[Row] = [dict(row, start_ns=int(str(row["start_ns"])) + 10**9) for row in kept]
    matches = match.events([trace(0, rows), trace(1, shifted)])
    expected = [[(0, i), (1, i - (i > del_at))] for i in range(18) if i != del_at]
    assert sorted(found(matches)) == expected


def test_without_steps_a_late_recording_is_shifted_into_place() -> None:
    generator = np.random.default_rng(5)
    starts = np.cumsum(generator.integers(500, 90_000, 400))
    rows: list[Row] = [{"start_ns": int(start)} for start in starts]
    late = [dict(row, start_ns=int(str(row["start_ns"])) - 123_456_789) for row in rows[37:]]
    matches = match.events([trace(0, rows), trace(1, late)])
    assert sorted(found(matches)) == [[(0, i), (1, i - 37)] for i in range(37, 400)]


def test_equally_many_events_of_shifted_windows_are_not_matched_one_by_one() -> None:
    generator = np.random.default_rng(6)
    starts = np.cumsum(generator.integers(500, 90_000, 60))
    rows: list[Row] = [{"start_ns": int(start)} for start in starts]
    matches = match.events([trace(0, rows[:50]), trace(1, rows[10:])])
    assert sorted(found(matches)) == [[(0, i), (1, i - 10)] for i in range(10, 50)]


def test_disjoint_steps_meet_nowhere() -> None:
    one = trace(0, [{"step": s} for s in (0, 1)])
    two = trace(1, [{"step": s} for s in (5, 6)])
    assert len(match.events([one, two])) == 0


def test_groups_nobody_named_are_workers_that_do_the_same() -> None:
    ends = [{"name": "embedding"}, {"name": "gradients"}]
    inner = [{"name": "gradients"}]
    traces = [trace(0, ends), trace(1, inner), trace(2, inner), trace(3, ends)]
    matches = match.events(traces)
    assert sorted(found(matches)) == [[(0, 0), (3, 0)], [(0, 1), (3, 1)], [(1, 0), (2, 0)]]
    assert matches.complete.tolist() == [1, 1, 1]
    assert set(matches.group.tolist()) == {-1}


def test_a_job_that_says_how_many_workers_it_has_shows_who_is_missing() -> None:
    facts = Facts(workers=3)
    traces = [trace(w, [{}], facts) for w in range(2)]
    assert match.events(traces).complete.tolist() == [0]


def message(kind: Kind, peer: int, **more: object) -> Row:
    return {"kind": kind, "peer": peer, **more}


def test_messages_meet_by_pair_and_sequence() -> None:
    one = trace(0, [message(SEND, 1, sequence=5), message(RECV, 1, sequence=5)])
    two = trace(1, [message(RECV, 0, sequence=5), message(SEND, 0, sequence=5)])
    matches = match.events([one, two])
    assert sorted(found(matches)) == [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]
    assert matches.kind.tolist() == [Kind.SEND, Kind.SEND]
    assert matches.keyed.tolist() == [1, 1]


def test_hops_of_one_sequence_meet_by_bucket_chunk_and_round() -> None:
    hops = [{"bucket": b, "chunk": c, "round": r} for b in (0, 1) for c in (0, 1) for r in (0, 1)]
    sends = [message(SEND, 1, sequence=1, **hop) for hop in hops]
    receives = [message(RECV, 0, sequence=1, **hop) for hop in reversed(hops)]
    matches = match.events([trace(0, sends), trace(1, receives)])
    assert sorted(found(matches)) == [[(0, i), (1, 7 - i)] for i in range(8)]


def test_numbers_that_each_worker_counts_for_itself_are_not_keys() -> None:
    """Worker 0 sends to 1 and 2 in turn and counts both; workers 1 and 2 count their own."""
    sends = [message(SEND, 1 + i % 2, sequence=i, size_bytes=100 + i) for i in range(20)]
    receivers = [
        trace(w, [message(RECV, 0, sequence=i, size_bytes=99 + w + 2 * i) for i in range(10)])
        for w in (1, 2)
    ]
    matches = match.events([trace(0, sends), *receivers])
    assert sorted(found(matches)) == [[(0, i), (1 + i % 2, i // 2)] for i in range(20)]
    assert set(matches.keyed.tolist()) == {0}


def test_without_keys_the_kth_send_of_a_size_meets_the_kth_receive() -> None:
    one = trace(0, [message(SEND, 1, size_bytes=s) for s in (10, 20, 10)])
    two = trace(1, [message(RECV, 0, size_bytes=s) for s in (20, 10, 10)])
    matches = match.events([one, two])
    assert sorted(found(matches)) == [[(0, 0), (1, 1)], [(0, 1), (1, 0)], [(0, 2), (1, 2)]]


def test_a_size_that_one_side_does_not_know_is_no_obstacle() -> None:
    one = trace(0, [message(SEND, 1, size_bytes=10), message(SEND, 1, size_bytes=20)])
    two = trace(1, [message(RECV, 0), message(RECV, 0)])
    assert sorted(found(match.events([one, two]))) == [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]


def test_the_peer_is_inferred_only_where_one_worker_can_be_meant() -> None:
    one = trace(0, [message(SEND, 1)])
    two = trace(1, [message(RECV, -1)])
    three = trace(2, [message(RECV, -1)])
    assert found(match.events([one, two, three])) == [[(0, 0), (1, 0)]]
    assert found(match.events([trace(0, [message(SEND, -1)]), two])) == [[(0, 0), (1, 0)]]
    assert found(match.events([trace(0, [message(SEND, -1)]), two, three])) == []


def test_collectives_and_messages_do_not_mix() -> None:
    rows = [{"group": "g", "sequence": 1}, message(SEND, 1, group="g", sequence=1)]
    other = [message(RECV, 0, group="g", sequence=1), {"group": "g", "sequence": 1}]
    matches = match.events([trace(0, rows), trace(1, other)])
    assert sorted(found(matches)) == [[(0, 0), (1, 1)], [(0, 1), (1, 0)]]


def test_huge_numbers_are_keys_like_others() -> None:
    rows = [{"group": "g", "sequence": n, "step": 2**61} for n in (0, 2**62, 2**63 - 1)]
    matches = match.events([trace(0, rows), trace(1, rows)])
    assert sorted(found(matches)) == [[(0, i), (1, i)] for i in range(3)]


def test_nothing_in_nothing_out() -> None:
    assert len(match.events([])) == 0
    assert len(match.events([trace(0, []), trace(1, [])])) == 0
    assert len(match.events([trace(0, [{"kind": Kind.COMPUTE}])])) == 0
