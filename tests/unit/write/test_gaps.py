from dataclasses import replace

import numpy as np

from paceline.model import UNKNOWN, Profile, Timeline
from paceline.write.gaps import gaps_ns

MS = 1_000_000


def test_time_in_which_an_op_could_have_started_is_a_gap(profile: Profile) -> None:
    # in step 3 the all-reduce of worker 1 could start at 10 ms and starts at 14 ms; step 4 is tight
    assert gaps_ns(profile).tolist() == [0.0, 2.0 * MS]


def test_what_another_lane_fills_is_no_gap(profile: Profile) -> None:
    busy = timeline([0, 20, 0, 5], [20, 22, 10, 25])
    assert gaps_ns(replace(profile, measured=(busy,))).tolist() == [0.0, 0.0]


def test_waiting_for_something_is_no_gap(profile: Profile) -> None:
    late = timeline([100, 110, 0, 10], [110, 112, 10, 12])
    assert gaps_ns(replace(profile, measured=(late,))).tolist() == [0.0, 0.0]


def test_ops_without_times_are_left_out(profile: Profile) -> None:
    some = Timeline(
        start_ns=np.array([0, 4 * MS, UNKNOWN, UNKNOWN]),
        end_ns=np.array([1 * MS, 5 * MS, UNKNOWN, UNKNOWN]),
        measured=True,
    )
    none = Timeline(start_ns=np.full(4, UNKNOWN), end_ns=np.full(4, UNKNOWN))
    assert gaps_ns(replace(profile, measured=(some, none))).tolist() == [1.5 * MS, 0.0]


def test_a_profile_without_steps_has_no_gaps(profile: Profile) -> None:
    assert gaps_ns(replace(profile, measured=())).tolist() == [0.0, 0.0]


def test_order_of_workers_does_not_matter(profile: Profile) -> None:
    turned = replace(profile, workers=profile.workers[::-1])
    assert gaps_ns(turned).tolist() == [2.0 * MS, 0.0]


def timeline(starts: list[int], ends: list[int]) -> Timeline:
    return Timeline(start_ns=np.array(starts) * MS, end_ns=np.array(ends) * MS, measured=True)
