"""The four kinds of error: their words, their order, and that no text can harm a terminal."""

import unicodedata

import pytest

from paceline.model import GoalError, InputError, ModelError, PacelineError, RunError, quoted, shown


def test_a_message_says_where_what_expected_and_cure_in_this_order():
    error = InputError("ends early.", where="a.json", expected="It ends in }.", cure="Copy it.")
    assert str(error) == error.text() == "a.json: ends early.\nIt ends in }. Copy it."


def test_what_is_left_out_leaves_no_gap():
    assert str(ModelError("wrong.")) == "wrong."
    assert str(ModelError("wrong.", cure="Mend it.")) == "wrong.\nMend it."
    assert str(ModelError("wrong.", where=None, expected="Right.")) == "wrong.\nRight."
    assert str(ModelError("wrong.", where="")) == "wrong."


@pytest.mark.parametrize(
    ("kind", "code"), [(InputError, 3), (ModelError, 3), (GoalError, 4), (RunError, 1)]
)
def test_kinds_and_their_exit_codes(kind: type[PacelineError], code: int):
    assert issubclass(kind, PacelineError)
    assert kind("x").exit_code == code


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("plain", "plain"),
        ("größe 架台 é", "größe 架台 é"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\r\tc\0", "a\\x0ab\\x0d\\x09c\\x00"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\x9b31m", "\\x9b31m"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
        ("", ""),
    ],
)
def test_text_is_shown_harmless(text: str, harmless: str):
    assert shown(text) == harmless


def test_nothing_that_is_shown_moves_a_cursor():
    every = "".join(map(chr, range(0x3000)))
    kinds = {unicodedata.category(mark) for mark in shown(every, len(every))}
    assert kinds.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def test_what_is_shown_is_cut():
    assert shown("x" * 200) == "x" * 200
    assert shown("x" * 201) == "x" * 199 + "…"
    assert shown("x" * 10, 4) == "xxx…"
    assert shown(12345, 3) == "12…"


def test_every_part_of_an_error_is_harmless_and_short():
    evil = "\x1b[2J\n" * 1000
    text = str(InputError(evil, where=evil, expected=evil, cure=evil))
    assert text.count("\n") == 1
    assert text.replace("\n", "").isprintable()
    assert len(text) < 8 * 1500


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a\x1bb", "'a\\x1bb'"), ("x" * 10**6, "'" + "x" * 78 + "…"), (-1, "-1"), (None, "None"),
        (0.5, "0.5"), (True, "True"), (2**64, "a huge number"), ([10**5000], "a list"),
        ({"a": 10**5000}, "a mapping"),
    ],
    ids=lambda _: "",
)  # fmt: skip
def test_a_wrong_value_is_quoted_short_and_harmless(value: object, words: str):
    assert quoted(value) == words
