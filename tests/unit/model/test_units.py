"""Sizes, rates and times as people write and read them."""

import pytest

from paceline.model import (
    InputError,
    parse_bytes,
    parse_bytes_per_s,
    parse_duration_ns,
    parse_duration_s,
    show_bit_per_s,
    show_bytes,
    show_ns,
)

PARSERS = (parse_bytes, parse_bytes_per_s, parse_duration_ns, parse_duration_s)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("400MB", 400_000_000), ("16GiB", 16 * 2**30), ("1kB", 1000), ("1KB", 1000),
        ("1KiB", 1024), ("2 MiB", 2 * 2**20), ("3TB", 3 * 10**12), ("3TiB", 3 * 2**40),
        ("1PB", 10**15), ("1PiB", 2**50), ("5B", 5), ("17", 17), (17, 17), (1e3, 1000),
        ("1e3", 1000), (".5kB", 500), ("5.kB", 5000), ("+5", 5), (" 5 B ", 5), (0, 0), ("0.4", 0),
        (0.1, 0), (2**62, 2**62), ("1.5e-3MB", 1500),
    ],
)  # fmt: skip
def test_sizes(written: object, size: int):
    assert parse_bytes(written) == size
    assert type(parse_bytes(written)) is int


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("10Gbit", 1_250_000_000), ("10Gbit/s", 1_250_000_000), ("10Gbitps", 1_250_000_000),
        ("1.2GB/s", 1_200_000_000), ("8bit", 1), ("1Mibit/s", 2**17), ("1GiB/s", 2**30),
        ("100", 100), (100, 100), ("25Tbit", 25 * 10**12 // 8), ("4bit", 0), ("12bit", 2),
    ],
)  # fmt: skip
def test_rates(written: object, rate: int):
    assert parse_bytes_per_s(written) == rate


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ("0.1s", 100_000_000), (0.1, 100_000_000), ("0.3", 300_000_000), ("1ns", 1),
        ("250us", 250_000), ("250µs", 250_000), ("250μs", 250_000), ("7ms", 7_000_000),
        ("90m", 5400 * 10**9), ("90min", 5400 * 10**9), ("48h", 172_800 * 10**9),
        ("2d", 172_800 * 10**9), ("1.5h", 5400 * 10**9), (60, 60 * 10**9), ("0", 0),
        ("1e-9", 1), (1e-9, 1), ("0.000000001s", 1), ("1.123456789s", 1_123_456_789),
    ],
)  # fmt: skip
def test_times_are_exact(written: object, ns: int):
    assert parse_duration_ns(written) == ns
    assert parse_duration_s(written) == ns / 1e9


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "written",
    ["", " ", "x", "B", "s", "1 2", "1,000", "1_000", "0x10", "--1", "1e", "1ee3", "1 furlong",
     "10gbit", "10 mb", "1e1000", "٣", "1" * 65, "nan", "inf", "-inf", "\x1b[31m", "1\n2",
     None, True, False, [], {}, b"1", float("nan"), float("inf"), -float("inf"), 1j],
)  # fmt: skip
def test_what_is_no_quantity_is_refused(parse: object, written: object):
    with pytest.raises(InputError, match="Write it like") as caught:
        parse(written)  # type: ignore[operator]
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("written", ["-1", -1, -0.5, "-1e9"])
def test_less_than_nothing_is_refused(parse: object, written: object):
    with pytest.raises(InputError, match="is negative"):
        parse(written)  # type: ignore[operator]


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "written", ["1e999", 10**30, 1e300, 10**5000, -(10**5000), 2**63], ids=lambda _: ""
)
def test_endless_quantities_are_refused(parse: object, written: object):
    with pytest.raises(InputError, match=r"too large|negative"):
        parse(written)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("parse", "unit"),
    [(parse_bytes, "10Gbit"), (parse_bytes, "1s"), (parse_bytes_per_s, "1GB"),
     (parse_bytes_per_s, "1s"), (parse_duration_ns, "1GB"), (parse_duration_ns, "1S")],
)  # fmt: skip
def test_the_unit_of_another_quantity_is_refused(parse: object, unit: str):
    with pytest.raises(InputError):
        parse(unit)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (0, "0 ns"), (1, "1 ns"), (999, "999 ns"), (1000, "1 µs"), (1234, "1.23 µs"),
        (12_345, "12.3 µs"), (123_456, "123 µs"), (999_600, "1.00 ms"), (2_500_000, "2.50 ms"),
        (10**9, "1 s"), (59.94e9, "59.9 s"), (600e9, "10 min"), (5400e9, "90 min"),
        (7200e9, "2 h"), (60 * 86400e9, "1,440 h"), (-1500, "-1.50 µs"), (0.25, "0.250 ns"),
    ],
)  # fmt: skip
def test_times_are_shown_with_three_digits(ns: float, shown: str):
    assert show_ns(ns) == shown


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (999, "999 B"), (26_214_400, "26.2 MB"), (999_999, "1.00 MB"),
     (4e8, "400 MB"), (10**12, "1 TB"), (1.5e15, "1,500 TB")],
)  # fmt: skip
def test_sizes_are_shown_in_decimal_units(size: float, shown: str):
    assert show_bytes(size) == shown


def test_rates_are_shown_in_bits():
    assert show_bit_per_s(1_250_000_000) == "10 Gbit/s"
    assert show_bit_per_s(119_500_000) == "956 Mbit/s"
