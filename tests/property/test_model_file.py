"""Laws of files: what was saved loads equal; what was harmed ends as an error with a cure."""

import gzip
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import NOUNS

from paceline.model import RULES, InputError, ModelError, dumped, load, save, verify

BY_NAME = pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)


def test_every_noun_of_files_has_rules():
    assert set(NOUNS) <= set(RULES)


@BY_NAME
@given(data=st.data())
@settings(max_examples=30)
def test_what_is_drawn_is_valid(noun: type, data: st.DataObject):
    drawn = data.draw(NOUNS[noun])
    assert verify(drawn) is drawn


@BY_NAME
@pytest.mark.parametrize("ending", [".json", ".json.gz"])
@given(data=st.data())
@settings(max_examples=30)
def test_load_of_save_is_equal(noun: type, ending: str, data: st.DataObject):
    drawn = data.draw(NOUNS[noun])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"it{ending}")
        save(drawn, path)
        assert load(path, noun) == drawn
        first = path.read_bytes()
        save(load(path, noun), path)
        assert path.read_bytes() == first


HARMS = (
    b"", b"-1", b"null", b"true", b"1e999", b"9" * 40, b"-" + b"9" * 25, b"[]", b"{}", b'""',
    b"0.5", b'"AAAA"', b'"////////////////"', b"[" * 3000, b"\xff", b"\\ud800",
)  # fmt: skip


def harmed(data: st.DataObject, body: bytes) -> bytes:
    """The body with one token, or any stretch of it, replaced."""
    tokens = [match.span() for match in re.finditer(rb'-?[\d.e+-]+|null|true|"[^"]*"', body)]
    stretch = st.integers(0, len(body) - 1).flatmap(
        lambda at: st.tuples(st.just(at), st.integers(at, len(body)))
    )
    at, until = data.draw(st.sampled_from(tokens) | stretch)
    return body[:at] + data.draw(st.sampled_from(HARMS)) + body[until:]


@BY_NAME
@given(data=st.data())
@settings(max_examples=80)
def test_what_was_harmed_is_an_error_or_still_valid(noun: type, data: st.DataObject):
    body = harmed(data, dumped(data.draw(NOUNS[noun])))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "it.json")
        path.write_bytes(body)
        loaded: Any = None
        try:
            loaded = load(path, noun)
        except (InputError, ModelError) as error:
            assert str(error).startswith(str(path))  # noqa: PT017
        else:
            assert verify(loaded) is loaded


@BY_NAME
@given(data=st.data())
@settings(max_examples=20)
def test_what_was_harmed_after_packing_is_an_error_or_still_valid(noun: type, data: st.DataObject):
    packed = gzip.compress(dumped(data.draw(NOUNS[noun])), mtime=0)
    at = data.draw(st.integers(0, len(packed) - 1))
    body = packed[:at] + data.draw(st.binary(max_size=4)) + packed[at + 2 :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "it.json.gz")
        path.write_bytes(body)
        try:
            verify(load(path, noun))
        except (InputError, ModelError) as error:
            assert str(error).startswith(str(path))  # noqa: PT017
