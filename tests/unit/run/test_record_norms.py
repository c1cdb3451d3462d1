"""When norms are due, by a clock that is given; what they are is checked before real jobs."""

import pytest

from paceline.run import record_norms
from paceline.run.record_norms import SHARE, Norms


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    now = [0]
    monkeypatch.setattr(record_norms.time, "monotonic_ns", lambda: now[0])
    return now


@pytest.mark.parametrize(("step_ms", "norm_ms", "share"), [(50, 0.1, 1.0), (50, 2, 0.125)])
def test_norms_take_no_more_than_their_share(
    clock: list[int], step_ms: float, norm_ms: float, share: float
) -> None:
    norms, taken, steps = Norms(True), 0, 2000
    for _ in range(steps):
        norms.decide()
        if norms.due:
            taken += 1
            norms.spent_ns += round(norm_ms * 1e6)
        clock[0] += round(step_ms * 1e6)
    assert taken / steps == pytest.approx(share, rel=0.05)
    assert norms.spent_ns <= SHARE * (clock[0] + 2e9)


def test_norms_that_nobody_wants_are_never_due(clock: list[int]) -> None:
    norms = Norms(False)
    norms.decide()
    assert not norms.due
