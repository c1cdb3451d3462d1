"""Senders that never exceed their rate, on a clock of the test's own."""

import pytest

from paceline.model import InputError
from paceline.run.pacing import VARIABLE, Pace, told

RATE = 10_000_000


@pytest.mark.parametrize("tick_ns", [10_000, 1_000_000, 50_000_000])
def test_what_goes_never_exceeds_the_rate_and_hardly_falls_short(tick_ns: int) -> None:
    pace, now, sent = Pace(RATE), 0, 0
    while now < 2_000_000_000:
        size = pace.allowed(now, 256 * 1024)
        assert size == 0 or size >= 16 * 1024
        pace.spent(size)
        sent += size
        assert sent <= RATE * now / 1e9 + pace.burst
        now += max(int(pace.wait_s(256 * 1024) * 1e9), 1000) if tick_ns < 1_000_000 else 1_000_000
    assert sent >= 0.97 * 2 * RATE


def test_a_pause_earns_no_more_than_a_burst() -> None:
    pace = Pace(RATE)
    pace.spent(pace.allowed(0, RATE))
    assert pace.allowed(3_600_000_000_000, RATE) == int(pace.burst)


def test_after_the_wait_something_may_go() -> None:
    pace = Pace(RATE)
    pace.spent(pace.allowed(0, RATE) + 100_000)
    assert pace.allowed(1000, 500) == 0
    wait_s = pace.wait_s(500)
    assert 0 < wait_s < 0.02
    assert pace.allowed(int((wait_s + 1e-4) * 1e9), 500) == 500


def test_the_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert told(None) is None
    monkeypatch.setenv(VARIABLE, "100Mbit")
    environment, argument = told(None), told("1MB/s")
    assert environment is not None
    assert environment.rate == 12_500_000
    assert argument is not None
    assert argument.rate == 1_000_000


@pytest.mark.parametrize("wrong", ["fast", "0", "-3"])
def test_what_is_no_pace_is_refused(wrong: str) -> None:
    with pytest.raises(InputError):
        told(wrong)
