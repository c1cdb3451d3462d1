"""Edits print and parse back; no text makes parsing slow."""

import time

import numpy as np
import pytest

from paceline.model import Edit, InputError


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("no-communication{}", "no-communication", ()),
        ("typical{worker=3}", "typical", (("worker", 3),)),
        ("fuse-buckets{limit_bytes=26214400}", "fuse-buckets", (("limit_bytes", 26214400),)),
        ("speed{link=A-B,factor=2.5}", "speed", (("link", "A-B"), ("factor", 2.5))),
        ("speed{link=m.0/x:1@z+y}", "speed", (("link", "m.0/x:1@z+y"),)),
        ('speed{layer="a, \\"b\\" {c}",factor=-1}', "speed",
         (("layer", 'a, "b" {c}'), ("factor", -1))),
        ("x{a=true,b=false,c=-0.0,d=1e-300}", "x",
         (("a", True), ("b", False), ("c", -0.0), ("d", 1e-300))),
        ('x{a="true"}', "x", (("a", "true"),)),
        ('x{a=""}', "x", (("a", ""),)),
        ('x{a="1"}', "x", (("a", "1"),)),
        ("x{a=9223372036854775807}", "x", (("a", 2**63 - 1),)),
    ],
)  # fmt: skip
def test_an_edit_prints_as_it_was_written(text: str, name: str, arguments: tuple[object, ...]):
    edit = Edit.parse(text)
    assert (edit.name, edit.arguments) == (name, arguments)
    assert [type(value) for _, value in edit.arguments] == [type(value) for _, value in arguments]
    assert str(edit) == text
    assert edit == Edit(name, arguments)
    assert hash(edit) == hash(Edit(name, arguments))
    assert repr(edit) == f"Edit({text!r})"


def test_blanks_do_not_matter():
    assert Edit.parse(' speed { worker = 3 , factor = 2 , link = "a b" } \n') == Edit.parse(
        'speed{worker=3,factor=2,link="a b"}'
    )
    assert Edit.parse("typical{  }") == Edit("typical")


def test_arguments_are_found_by_key():
    edit = Edit.parse("speed{worker=3,factor=2}")
    assert edit.get("factor") == 2
    assert edit.get("link") is None


def test_edits_differ_in_name_order_and_type():
    assert Edit.parse("a{x=1}") != Edit.parse("b{x=1}")
    assert Edit.parse("a{x=1,y=2}") != Edit.parse("a{y=2,x=1}")
    assert Edit.parse("a{x=1}") != Edit.parse("a{x=1.0}") != Edit.parse("a{x=true}")
    assert Edit.parse("a{}") != "a{}"


def test_numbers_of_numpy_become_plain_ones():
    edit = Edit("x", (("a", np.int32(3)), ("b", np.float64(0.5)), ("c", np.float32(0.5))))
    assert str(edit) == "x{a=3,b=0.5,c=0.5}"
    assert [type(value) for _, value in edit.arguments] == [int, float, float]


@pytest.mark.parametrize(
    "text",
    ["", "speed", "speed{", "speed}", "{}", "Speed{}", "1speed{}", "-x{}", "sp eed{}", "speed{}x",
     "speed{worker}", "speed{worker=}", "speed{=3}", "speed{worker=3,}", "speed{,worker=3}",
     "speed{worker=3 factor=2}", "speed{worker=3,,factor=2}", "speed{Worker=3}", "speed{a-b=3}",
     "speed{a=b c}", "speed{a=ä}", "speed{a={b}}", 'speed{a="b}', 'speed{a="b"c}', 'speed{a=b"c"}',
     'speed{a="\\x"}', 'speed{a="\n"}', "speed{a=1.2.3}", "speed{a=1e999}", "speed{a=--1}",
     "speed{a=0x1}", "speed{a=1_0}", "speed{a=+1}", "speed{a=.5}", "speed{a=$(x)}", "speed{a=%s}",
     "speed{a=9223372036854775808}", "speed{a=" + "9" * 5000 + "}", "speed{a=٣}", "\x1b[31m{}"],
)  # fmt: skip
def test_what_is_no_edit_is_refused(text: str):
    with pytest.raises(InputError, match="is not an edit") as caught:
        Edit.parse(text)
    assert "name{key=value,...}" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_an_argument_is_given_once():
    with pytest.raises(InputError, match="gives 'a' twice"):
        Edit.parse("x{a=1,b=2,a=1}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Bad", ()), ("", ()), ("a{", ()), ("x\n", ()), ("x", (("A", 1),)), ("x", (("", 1),)),
        ("x", (("a", 1), ("a", 2))), ("x", (("a", None),)), ("x", (("a", float("nan")),)),
        ("x", (("a", float("inf")),)), ("x", (("a", 2**63),)), ("x", (("a", [1]),)),
        ("x", (("a", 1j),)), ("x", (("a", b"b"),)),
    ],
)  # fmt: skip
def test_no_edit_is_made_that_could_not_be_parsed_again(name: str, arguments: tuple[object, ...]):
    with pytest.raises(InputError):
        Edit(name, arguments)  # type: ignore[arg-type]


N = 100_000
SLOW = [
    "a{" + " " * N + '"', "a{b=" + " " * N + '"}', "a{b=c" + " " * N + "c}", " " * N + "x",
    "a" * N, "a" * N + "{", "a{" + "b" * N + "}", "a{" + "}" * N + "x", "a{" + "} " * N + "x",
    'a{b="' + "\\" * N + "}", 'a{b="' + '\\"' * N + "}", "a{" + "b=1," * N + "}",
    "a{" + ",".join(f"b{i}=1" for i in range(N // 10)) + ",}", "a{" * N, "a{b=" + "1" * N + "}",
    "a{b=" + "1." * N + "}", "a{b=1" + "e1" * N + "}", "a{b=" + "x" * N + "\u00e9}",
]  # fmt: skip


@pytest.mark.parametrize("text", SLOW, ids=lambda text: f"{text[:8]!r}")
def test_garbage_takes_no_time(text: str):
    start = time.perf_counter()
    with pytest.raises(InputError):
        Edit.parse(text)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("word", ["25MiB", "1.5GB", "0-1"])
def test_sizes_and_links_need_no_quotes(word: str) -> None:
    edit = Edit.parse(f"speed{{link={word}}}")
    assert edit.get("link") == word
    assert str(edit) == f"speed{{link={word}}}"
