"""Schedules of faults: a printed one is read again equal, whatever it holds."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from paceline import read
from paceline.model import (
    Cut,
    FaultPhase,
    Faults,
    Freeze,
    Hang,
    Heal,
    Limit,
    Lose,
    ModelError,
    Rejoin,
    Slow,
)

steps = st.integers(0, 40)
untils = st.none() | st.integers(41, 99)
ranks = st.integers(0, 5)
names = st.sampled_from(
    ["m0", "null", "7", "no", "a: b", "x y", "1:30", "ä", '"', "it's", "#", "-"]
)
wheres = st.none() | st.sampled_from(["load", "forward", "backward", "update"])
times_ns = st.integers(1, 10**13)
reached = st.sampled_from(["first", "last"])
subjects = st.one_of(
    ranks.map(lambda rank: {"worker": rank}), names.map(lambda name: {"machine": name})
)
links = st.tuples(names, names).map(lambda ends: {"a": ends[0], "b": ends[1]})
figures = st.floats(1e-6, 1e6)


def made(
    kind: type, about: st.SearchStrategy[dict], **fields: st.SearchStrategy
) -> st.SearchStrategy:
    rest = st.fixed_dictionaries(fields)
    return st.tuples(about, rest).map(lambda both: kind(**both[0], **both[1]))


faults = st.one_of(
    made(Slow, subjects, step=steps, until=untils, where=wheres, by_ns=times_ns,
         how=st.sampled_from(["stall", "host", "compute"])),
    made(Slow, subjects, step=steps, until=untils, factor=figures),
    made(Slow, subjects, step=steps, until=untils, cpu=figures),
    made(Lose, subjects, step=steps, where=wheres),
    made(Rejoin, subjects, after_ns=times_ns),
    made(Freeze, subjects, step=steps, where=wheres, for_ns=times_ns),
    made(Hang, ranks.map(lambda rank: {"worker": rank}), step=steps, where=wheres,
         for_ns=st.none() | times_ns),
    made(Cut, links, step=steps, until=untils, reached=reached),
    made(Heal, links, step=steps, reached=reached),
    made(Limit, links, step=steps, until=untils, reached=reached, loss=st.floats(0, 0.9),
         bytes_per_s=st.none() | st.integers(1, 10**12), latency_ns=st.none() | times_ns),
)  # fmt: skip


@st.composite
def schedules(draw: st.DrawFn) -> Faults:
    found = Faults()
    for fault in draw(st.lists(faults, max_size=5)):
        try:
            found = found.plus(fault).verify()
        except ModelError:
            continue
    begin, phases = 0, []
    for at, length in enumerate(draw(st.lists(st.integers(1, 50), max_size=3))):
        phases.append(FaultPhase(name=f"{draw(names)} {at}", step=begin, until=begin + length))
        begin += length
    return Faults(faults=found.faults, phases=tuple(phases))


@given(schedules())
def test_a_printed_schedule_is_read_again_equal(schedule: Faults) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "faults.yaml"
        path.write_text(str(schedule))
        assert read.faults(path) == schedule
