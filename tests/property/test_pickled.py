"""Pickles of plain data: read equal to what was written, and equal to what pickle itself reads."""

import contextlib
import pickle
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from paceline.model import InputError
from paceline.read.pickled import data_of

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**127), 2**127)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(VALUES, st.integers(0, 5))
def test_data_is_read_as_it_was_pickled(value, protocol):
    read = data_of(pickle.dumps(value, protocol), Path("x"), 128)
    assert read == value
    assert repr(read) == repr(value)


@given(VALUES, st.integers(0, 5), st.data())
def test_damage_ends_as_data_or_as_our_error(value, protocol, draw):
    raw = bytearray(pickle.dumps(value, protocol))
    for _ in range(draw.draw(st.integers(1, 3))):
        raw[draw.draw(st.integers(0, len(raw) - 1))] = draw.draw(st.integers(0, 255))
    with contextlib.suppress(InputError):
        data_of(bytes(raw), Path("x"), 128)
