"""The lag between two clocks, read from sequences of events of which some are missing."""

import numpy as np
import pytest

from paceline.model import UNKNOWN
from paceline.stitch.lag import Line, lag_between
from paceline.stitch.pairing import out_of_step, pairs

LONG = 900  # 900 x 900 events are more pairs than are looked at one by one
AHEAD = 7_654_321_000


def made(seed: int, count: int = LONG) -> Line:
    """Events with uneven gaps and four names, as a training job shows them."""
    draws = np.random.default_rng(seed)
    ends = np.cumsum(draws.integers(20_000, 900_000, count))
    return Line(draws.integers(0, 4, count), np.full(count, 64), ends)


def seen(line: Line, first: int, last: int, *, ahead: int = AHEAD, jitter: int = 2_000) -> Line:
    """What another worker recorded of the same events on its own clock."""
    noise = np.random.default_rng(5).integers(-jitter, jitter + 1, last - first)
    ends = line.end_ns[first:last] + ahead + noise
    return Line(line.name[first:last], line.size_bytes[first:last], ends)


@pytest.mark.parametrize(("first", "last"), [(0, LONG), (37, LONG), (0, 860), (60, 870)])
def test_long_sequences_with_lost_ends_keep_their_lag_and_shift(first: int, last: int) -> None:
    a = made(1)
    found = lag_between(a, seen(a, first, last))
    assert found is not None
    assert found.start_ns == pytest.approx(AHEAD, abs=4_000)
    assert found.shift == first
    assert found.scatter_ns <= 4_000


def test_the_longer_may_be_either() -> None:
    a = made(2)
    found = lag_between(seen(a, 40, LONG), a)
    assert found is not None
    assert found.start_ns == pytest.approx(-AHEAD, abs=4_000)
    assert found.shift == -40


def test_unknown_ends_take_no_part() -> None:
    a = made(3)
    b = seen(a, 10, LONG)
    b.end_ns[::7] = UNKNOWN
    found = lag_between(a, b)
    assert found is not None
    assert found.start_ns == pytest.approx(AHEAD, abs=4_000)


def test_other_names_throughout_tell_nothing() -> None:
    a = made(4)
    other = seen(a, 0, LONG)
    assert lag_between(a, Line(other.name + 10, other.size_bytes, other.end_ns)) is None


def test_short_sequences_without_a_common_name_tell_nothing() -> None:
    a = made(4, 20)
    assert lag_between(a, Line(a.name + 10, a.size_bytes, a.end_ns)) is None


def test_regular_work_agrees_at_many_lags_and_takes_the_one_by_the_clocks() -> None:
    even = np.arange(LONG, dtype=np.int64) * 1_000_000
    a = Line(np.zeros(LONG, np.int64), np.full(LONG, 64), even)
    found = lag_between(a, Line(a.name, a.size_bytes, even + 3_000))
    assert found is not None
    assert found.start_ns == pytest.approx(3_000, abs=1_000)
    assert found.shift == 0


def test_clocks_that_began_hours_apart_go_by_the_order_of_events() -> None:
    even = np.arange(LONG, dtype=np.int64) * 1_000_000
    hours = 5 * 3_600_000_000_000
    a = Line(np.zeros(LONG, np.int64), np.full(LONG, 64), even)
    found = lag_between(a, Line(a.name, a.size_bytes, even + hours))
    assert found is not None
    assert found.shift == 0
    assert found.start_ns == pytest.approx(hours, abs=1_000)


def test_short_work_that_began_hours_apart() -> None:
    hours = 5 * 3_600_000_000_000
    a = made(6, 30)
    found = lag_between(a, seen(a, 0, 30, ahead=hours))
    assert found is not None
    assert found.start_ns == pytest.approx(hours, abs=4_000)


def test_sequences_of_equal_counts_may_still_be_out_of_step() -> None:
    a = made(7)
    a = Line(np.zeros(LONG, np.int64), a.size_bytes, a.end_ns)
    assert not out_of_step(seen(a, 0, 870), seen(a, 0, 870, ahead=0))
    assert out_of_step(seen(a, 0, 870), seen(a, 30, LONG, ahead=0))


def test_few_ends_prove_nothing() -> None:
    a = made(8, 6)
    assert not out_of_step(a, seen(a, 0, 6))
    assert out_of_step(a, Line(a.name + 1, a.size_bytes, a.end_ns))


@pytest.mark.parametrize("from_end", [True, False])
def test_long_sequences_are_paired_event_by_event(from_end: bool) -> None:
    a = made(9)
    b = seen(a, 25, LONG)
    at_a, at_b = pairs(a, b, lag_between(a, b), from_end=from_end)
    assert len(at_a) == len(b)
    assert (at_a - at_b == 25).all()


@pytest.mark.parametrize("from_end", [True, False])
def test_very_long_sequences_are_paired_within_a_band(
    from_end: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline.stitch.pairing._CELLS", 100_000)
    a = made(10, 520)
    b = seen(a, 25, 520)
    at_a, at_b = pairs(a, b, lag_between(a, b), from_end=from_end)
    assert len(at_a) >= len(b) * 0.9
    assert (at_a - at_b == 25).all()
