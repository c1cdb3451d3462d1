"""Data out of pickles: only what builds data is done, and bombs do not go off."""

import pickle
import time
from pathlib import Path

import pytest

from paceline.model import InputError
from paceline.read import pickled
from paceline.read.pickled import data_of

HERE = Path("dump")


def data(raw, depth=128):
    return data_of(raw, HERE, depth)


def refused(raw, word, depth=128):
    with pytest.raises(InputError) as caught:
        data(raw, depth)
    assert word in str(caught.value)
    assert "dump" in str(caught.value)


PLAIN = {
    "entries": [{"a": 1, "b": (1, 2.5, None), "c": "größe\x00", "d": [True, False]}],
    "many": list(range(3000)),
    "long": [2**70, -(2**40), 0, 255, 256, 65536],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "text": "x" * 300,
}


@pytest.mark.parametrize("protocol", range(6))
def test_plain_data_of_every_protocol(protocol):
    assert data(pickle.dumps(PLAIN, protocol)) == PLAIN


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_bytes(protocol):
    assert data(pickle.dumps([b"", b"x" * 300], protocol)) == [b"", b"x" * 300]


def test_shared_values_stay_shared():
    inner = [1]
    out = data(pickle.dumps([inner, inner], 2))
    assert out == [[1], [1]]
    assert out[0] is out[1]


def test_instructions_of_old_pickles():
    assert data(b"(lp0\nI1\naL2L\naF2.5\naI01\naNaS'x'\na.") == [1, 2, 2.5, True, None, "x"]
    assert data(b"(I1\nI2\nl.") == [1, 2]
    assert data(b"(S'a'\nI1\nd.") == {"a": 1}
    assert data(b"(lp5\nI1\na.") == [1]
    assert data(b"(dS'a'\nL7L\ns.") == {"a": 7}


class Runs:
    def __reduce__(self):
        return (print, ("it ran",))


class Plain:
    pass


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "value",
    [Runs(), Plain(), {1, 2}, print, 2j],
    ids=["runs", "plain", "set", "print", "2j"],
)
def test_whatever_could_run_is_refused_by_name(capsys, protocol, value):
    with pytest.raises(InputError) as caught:
        data(pickle.dumps({"entries": [value]}, protocol))
    assert any(name in str(caught.value) for name in ("GLOBAL", "REDUCE", "EMPTY_SET"))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "GLOBAL"),
        (b"(S'true'\nios\nsystem\n.", "INST"),
        (b"\x80\x02\x82\x01.", "EXT1"),
        (b"\x80\x02K\x01Q.", "BINPERSID"),
        (b"Pname\n.", "PERSID"),
        (b"\x80\x05\x97.", "NEXT_BUFFER"),
        (b"\x80\x05\x96\x01\0\0\0\0\0\0\0x.", "BYTEARRAY8"),
        (b"\x80\x02]0.", "POP"),
        (b"\x80\x02]2.", "DUP"),
        (b"\x80\x02K\x01b.", "BUILD"),
        (b"\x80\x02(K\x01o.", "OBJ"),
    ],
)
def test_each_dangerous_instruction_is_refused(raw, name):
    refused(raw, name)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\x80", b"\x80\x02", b".", b"\x80\x02].]", b"\x80\x02K\x01K\x02.", b"\x80\x02(.",
        b"\x80\x02a.", b"\x80\x02K\x01a.", b"\x80\x02h\x05.", b"\x80\x02}K\x01s.", b"\x80\x02e.",
        b"\x80\x02}(K\x01u.", b"\x80\x02}K\x01K\x01s.", b"\x80\x02(q\x01.", b"\x80\x02\x85.",
        b"\x80\x02X\xff\xff\xff\x7fab.", b"\x80\x02X\x01\0\0\0\xff.",
        b"\x80\x02\x8b\xff\xff\xff\x7f.",
        b"I1x\n.", b"I" + b"9" * 5000 + b"\n.", b"F1e\n.", b"S'x\n.", b"\xff.", b"q\x01.",
        b"\x80\x02]N(u.", b"\x80\x02(\x85.",
    ],
)  # fmt: skip
def test_broken_pickles_are_refused(raw):
    refused(raw, "broken pickle")


def test_an_unknown_escape_in_an_old_text_warns_nobody():
    assert data(b"S'\\h'\n.") == "\\h"


def test_a_huge_number_is_refused():
    refused(pickle.dumps(2**1000, 2), "too large")


def test_keys_are_texts():
    refused(pickle.dumps({1: 2}, 2), "no text")
    refused(pickle.dumps({(1, 2): 2}, 2), "no text")


def test_depth_has_a_cap():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    raw = b"\x80\x02" + b"]" * 100_001 + b"a" * 100_000 + b"."
    refused(raw, "nests deeper than 128")
    assert data(b"\x80\x02" + b"]" * 128 + b"a" * 127 + b".")
    refused(b"\x80\x02" + b"]" * 128 + b"a" * 127 + b".", "deeper than 100", depth=100)
    while deep:
        deep = deep[0]


def test_a_value_in_itself_is_refused():
    own = []
    own.append(own)
    refused(pickle.dumps(own, 2), "in itself")
    both = {"a": []}
    both["a"].append(both)
    refused(pickle.dumps(both, 4), "in itself")


def test_doubling_through_the_memo_is_refused_at_once():
    value = ["x"] * 10
    for _ in range(60):
        value = [value] * 10
    began = time.perf_counter()
    refused(pickle.dumps(value, 2), "unfolds")
    value = ()
    for _ in range(60):
        value = (value, value, 1)
    refused(pickle.dumps(value, 2), "unfolds")
    assert time.perf_counter() - began < 2


def test_the_number_of_instructions_has_a_cap(monkeypatch):
    monkeypatch.setattr(pickled, "MOST_STEPS", 100)
    refused(pickle.dumps(list(range(300)), 2), "more than 100 instructions")


def test_many_references_to_one_list_are_no_bomb():
    raw = b"\x80\x02](]q\x02" + b"h\x02" * 20_000 + b"e."
    assert len(data(raw)) == 20_001


def test_a_list_that_grows_after_it_was_shared_counts_as_it_ended():
    # ten lists of ten, seven levels, all put together before the innermost is filled
    raw = b"\x80\x02]q\x00" + b"".join(
        b"](" + b"h%c" % at * 30 + b"eq%c" % (at + 1) for at in range(5)
    )
    raw = b"\x80\x02](" + raw[2:] + b"h\x00K\x01ae."
    refused(raw, "unfolds")
