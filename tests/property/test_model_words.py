"""Laws of printed forms: edits, quantities and messages."""

import unicodedata
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import edits, figures

from paceline.model import (
    Edit,
    InputError,
    parse_bytes,
    parse_bytes_per_s,
    parse_duration_ns,
    parse_duration_s,
    show_bit_per_s,
    show_bytes,
    show_ns,
    shown,
)

HARMLESS = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
            "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs"}  # fmt: skip

# what a figure of three digits may be off by, and a whole number beyond
DIGITS = 0.0051


@given(edits())
@example(Edit("x", (("a", "true"), ("b", ""), ("c", '"{,}\\'), ("d", "\n\0\ud800"))))
@example(Edit("x", (("a", 1e-300), ("b", -0.0), ("c", 5e-324), ("d", 1.7976931348623157e308))))
@example(Edit("x", (("a", "nan"), ("b", "1e5"), ("c", "-"), ("d", "é😀"), ("e", "a b"))))
def test_an_edit_parses_from_its_printed_form(edit: Edit):
    again = Edit.parse(str(edit))
    assert again == edit
    assert again.arguments == edit.arguments
    assert [type(v) for _, v in again.arguments] == [type(v) for _, v in edit.arguments]
    assert str(again) == str(edit)
    assert shown(str(edit), 10**6) == str(edit)  # any terminal may see it


@given(st.text('ab{}=,"\\ \n1.-e', max_size=20))
def test_any_text_is_an_edit_that_prints_stably_or_an_error(text: str):
    try:
        edit = Edit.parse(text)
    except InputError:
        return
    assert Edit.parse(str(edit)) == edit


@given(st.integers(0, 2**62))
def test_plain_numbers_are_read_exactly(number: int):
    assert parse_bytes(number) == parse_bytes(str(number)) == number
    assert parse_bytes_per_s(str(number)) == number
    assert parse_duration_ns(f"{number}ns") == number
    assert parse_bytes_per_s(f"{number} bit") == round(Fraction(number, 8))


@given(st.integers(0, 10**12), st.sampled_from(["ns", "us", "µs", "ms", "s", "m", "min", "h", "d"]))
def test_times_are_whole_multiples_of_their_unit(count: int, unit: str):
    assume(count < 10**4 or unit in {"ns", "us", "µs", "ms"})
    assert parse_duration_ns(f"{count}{unit}") == count * parse_duration_ns(f"1{unit}")
    assert parse_duration_s(f"{count} {unit}") == pytest.approx(
        count * parse_duration_s(f"1{unit}")
    )


@given(st.decimals(0, 10**6, places=9))
def test_decimal_seconds_lose_no_nanosecond(seconds: object):
    assert parse_duration_ns(f"{seconds}s") == int(seconds * 10**9)  # type: ignore[operator]


@given(st.integers(0, 3_000_000_000_000_000))
def test_a_time_shown_is_read_again_within_its_digits(ns: int):
    again = parse_duration_ns(show_ns(ns))
    assert again == pytest.approx(ns, rel=DIGITS)


@given(st.integers(0, 999 * 10**12))
def test_a_size_shown_is_read_again_within_its_digits(size: int):
    assert parse_bytes(show_bytes(size)) == pytest.approx(size, rel=DIGITS)
    rate = size / 8  # is read as whole bytes per second
    assert abs(parse_bytes_per_s(show_bit_per_s(rate)) - rate) <= DIGITS * rate + 0.5


@given(figures)
def test_any_figure_can_be_shown(figure: float):
    for show in (show_ns, show_bytes, show_bit_per_s):
        assume(abs(figure) < 1e300)
        assert show(figure).isprintable()
        assert show(-abs(figure)) in (f"-{show(abs(figure))}", show(abs(figure)))


@given(st.text(alphabet=st.characters()), st.integers(1, 50))
def test_whatever_is_shown_is_harmless_and_shown_again_the_same(text: str, longest: int):
    once = shown(text, longest)
    assert {unicodedata.category(mark) for mark in once} <= HARMLESS
    assert shown(once, 10**6) == once


@given(st.one_of(st.text(max_size=30), st.integers(), st.floats(), st.none(), st.booleans()))
def test_any_value_is_a_quantity_or_an_error(value: object):
    for parse in (parse_bytes, parse_bytes_per_s, parse_duration_ns, parse_duration_s):
        try:
            assert 0 <= parse(value) <= 2**62
        except InputError as error:
            assert str(error).replace("\n", "").isprintable()  # noqa: PT017
