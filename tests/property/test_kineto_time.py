"""No nanosecond is lost, however a profiler writes its microseconds."""

import json

from hypothesis import given
from hypothesis import strategies as st

from paceline.read.kineto_event import batch_of
from paceline.read.kineto_keys import Keys
from paceline.read.kineto_time import ns_of_doubles

STARTS = st.integers(0, 7 * 10**18)
LENGTHS = st.integers(0, 8 * 10**15)


@given(st.lists(st.tuples(STARTS, LENGTHS), min_size=1, max_size=20), st.data())
def test_starts_and_durations_are_exact(times: list[tuple[int, int]], data: st.DataObject):
    def written(ns: int) -> str:
        if ns % 1000 == 0 and data.draw(st.booleans()):
            return str(ns // 1000)
        return f"{ns // 1000}.{ns % 1000:03d}"

    entries = [f'{{"ts": {written(start)}, "dur": {written(length)}}}' for start, length in times]
    piece = f"[{', '.join(entries)}]".encode()
    assert json.loads(piece)
    for exact in (False, True):
        batch = batch_of(piece, exact, Keys())
        assert batch.start_ns.tolist() == [start for start, _ in times]
        assert ns_of_doubles(batch.duration_us).tolist() == [length for _, length in times]
