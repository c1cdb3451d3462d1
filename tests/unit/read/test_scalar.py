"""Single values of files that people write."""

from collections.abc import Callable

import pytest

from paceline.model import InputError, parse_bytes, parse_duration_s
from paceline.read.scalar import file_name, flag, name, number, positive, quantity, whole
from paceline.read.yaml_text import Value


def plain(content: str) -> Value:
    return Value(1, content, plain=True)


def quoted(content: str) -> Value:
    return Value(1, content, plain=False)


def test_names_stay_as_written():
    for text in ("m0", "007", "1e3", "no", "true", "a b", "größe", "架台", "<b>"):
        assert name(plain(text)) == name(quoted(text)) == text
    assert name(plain("x" * 200)) == "x" * 200
    assert file_name(plain("x/" * 500)) == "x/" * 500


@pytest.mark.parametrize(
    "text", ["", "  ", "a\x1b[31m", "a\nb", "\u202ea", "\0", "\ud800", "x" * 201]
)
def test_names_that_a_terminal_would_obey_are_refused(text: str):
    with pytest.raises(InputError, match="is not a name"):
        name(quoted(text))


@pytest.mark.parametrize("content", [[], {}])
def test_no_structure_is_a_scalar(content: list[Value] | dict[str, Value]):
    for read in (name, flag, whole(0, 9), number("x", positive), quantity(parse_bytes, zero=True)):
        with pytest.raises(InputError, match=r"here is a (list|mapping)"):
            read(Value(1, content))


def test_flags_are_true_and_false():
    assert [flag(plain(word)) for word in ("true", "True", "TRUE")] == [True] * 3
    assert [flag(plain(word)) for word in ("false", "False", "FALSE")] == [False] * 3
    for word in ("yes", "no", "on", "off", "1", "0", "y", ""):
        with pytest.raises(InputError, match="neither true nor false"):
            flag(plain(word))
    with pytest.raises(InputError, match="neither true nor false"):
        flag(quoted("true"))


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("7", 7), ("+7", 7), ("007", 7), ("1e1", 10), ("10.0", 10), ("2.5e1", 25)],
)
def test_whole_numbers(text: str, number: int):
    found = whole(0, 25)(plain(text))
    assert found == number
    assert type(found) is int


@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "26",
        "2.5",
        "1e999",
        "1e-1",
        "0x10",
        "1_0",
        "1:30",
        ".inf",
        "NaN",
        "x",
        "",
        "٣",
        "9" * 65,
    ],
)
def test_what_is_no_whole_number_is_refused(text: str):
    with pytest.raises(InputError):
        whole(0, 25)(plain(text))


def test_numbers_are_finite_and_without_quotes():
    read = number("a number greater than 0", positive)
    assert read(plain("0.1")) == 0.1
    assert read(plain(".5")) == 0.5
    assert read(plain("1e-300")) == 1e-300
    for text in ("0", "-1", "1e999", "inf", ".nan", "nan", "1,5", "1e9999"):
        with pytest.raises(InputError, match="is not a number greater than 0"):
            read(plain(text))
    with pytest.raises(InputError, match="without quotes"):
        read(quoted("0.1"))


@pytest.mark.parametrize("written", [plain, quoted])
def test_quantities_may_stand_in_quotes(written: Callable[[str], Value]):
    assert quantity(parse_bytes, zero=False)(written("16 GiB")) == 16 * 2**30
    assert quantity(parse_duration_s, zero=False)(written("1.5h")) == 5400.0


def test_zero_is_said_to_be_allowed_or_not():
    assert quantity(parse_bytes, zero=True)(plain("0")) == 0
    with pytest.raises(InputError, match="not positive"):
        quantity(parse_bytes, zero=False)(plain("0"))
