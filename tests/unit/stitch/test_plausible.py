"""Times that no run can have are left out."""

import numpy as np
import pytest
from made_traces import Made

from paceline.model import UNKNOWN, ModelError, verify
from paceline.stitch import flatten
from paceline.stitch.plausible import plausible

NOW = 1_700_000_000_000_000_000
YEAR = 365 * 86_400 * 10**9


def test_usual_times_stay() -> None:
    made = Made()
    made.add("a", NOW, NOW + 5)
    made.add("b", NOW + 86_400 * 10**9, None)
    trace = made.trace()
    assert plausible(trace) == (trace, None)
    assert plausible(Made().trace())[1] is None


@pytest.mark.parametrize("far", [0, NOW - 2 * YEAR, NOW + 2 * YEAR, 2**63 - 1, -(2**63) + 1])
def test_a_time_far_from_the_rest_is_not_known(far: int) -> None:
    made = Made()
    for start in (NOW, far, NOW + 10):
        made.add("a", start, start)
    trace, note = plausible(made.trace())
    assert (verify(trace).start_ns == UNKNOWN).tolist() == [False, True, False]
    assert note is not None
    assert (note.code, note.count) == ("far-times", 1)


def test_a_duration_of_years_is_not_known() -> None:
    made = Made()
    made.add("a", NOW, NOW + 2 * YEAR)
    made.add("b", NOW, NOW + 5)
    trace, note = plausible(made.trace())
    assert trace.duration_ns.tolist() == [UNKNOWN, 5]
    assert note is not None


def test_a_thousand_steps_of_months_are_refused() -> None:
    made = Made()
    for step in range(300):
        made.add("a", 0, YEAR, step=step)
    trace = made.trace()
    with pytest.raises(ModelError, match="unit of the times"):
        flatten.pieces(trace, range(300), np.zeros(300, dtype=np.bool_))
