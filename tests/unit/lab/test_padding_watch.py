"""The watch: compute and waiting for a core count, sleeping does not."""

import time

from paceline.lab.padding_watch import Watch


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_compute_counts_and_sleep_does_not() -> None:
    watch = Watch()
    if not watch.exact:
        return  # a kernel that does not tell: the other test holds
    burn(0.02)
    time.sleep(0.05)
    lap = watch.lap()
    assert lap.wall >= 70e6
    assert 20e6 <= lap.own <= lap.wall - 45e6
    assert 20e6 <= lap.cpu < 30e6


def test_a_lap_without_sleep_is_all_own() -> None:
    watch = Watch()
    burn(0.005)
    lap = watch.lap()
    assert lap.own == lap.wall or watch.exact


def test_where_the_kernel_does_not_tell_all_time_within_modules_counts() -> None:
    watch = Watch(exact=False)
    time.sleep(0.01)
    watch.between()
    time.sleep(0.02)
    lap = watch.lap()
    assert 20e6 <= lap.own == lap.wall
    assert lap.cpu < 20e6


def test_laps_begin_where_the_last_one_ended() -> None:
    watch = Watch()
    burn(0.01)
    watch.between()  # exact: nothing is lost
    first = watch.lap()
    assert first.cpu >= 10e6 or not watch.exact
    assert watch.lap().cpu < 5e6
