"""Views of timelines, spreads and the other small columns."""

import numpy as np

from paceline.model import DECILES, UNKNOWN, Noise, Spread, Spreads, Timeline, Times


def test_a_step_lasts_from_the_first_start_to_the_last_end():
    line = Timeline(start_ns=[7, UNKNOWN, 5], end_ns=[8, UNKNOWN, 20])
    assert line.step_ns == 15
    assert len(line) == 3


def test_a_step_without_known_ops_takes_no_time():
    assert Timeline(start_ns=[], end_ns=[]).step_ns == 0
    assert Timeline(start_ns=[UNKNOWN], end_ns=[UNKNOWN]).step_ns == 0


def test_the_spread_of_a_work_on_a_kind_of_machine():
    deciles = np.arange(2 * DECILES, dtype=float)
    spreads = Spreads(
        work=[4, 4], kind=[0, 1], count=[3, 1], mean_ns=[5.5, 16.0], deciles_ns=deciles
    )
    assert len(spreads) == 2
    assert spreads.of(4, 1) == Spread(
        count=1, mean_ns=16.0, deciles_ns=tuple(float(x) for x in range(11, 22))
    )
    assert spreads.of(4, 0) == spreads.row(0)
    assert spreads.of(4, 2) is spreads.of(3, 0) is None
    assert spreads.row(1).median_ns == 16.0


def test_lengths():
    assert len(Times(duration_ns=[1, -1], lead_ns=[0, 0])) == 2
    assert len(Noise(worker=[0], step=[0], loss=[1.0], local=[1.0], average=[1.0])) == 1
