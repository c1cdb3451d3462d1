"""Microseconds to nanoseconds, exactly."""

import warnings
from decimal import Decimal

import numpy as np
import pytest

from paceline.read.kineto_time import (
    EXACT_US,
    LATEST_NS,
    ns_of_doubles,
    ns_of_number,
    ns_of_texts,
    whole_us_ns,
)


def test_doubles_below_the_limit_are_exact():
    rng = np.random.default_rng(3)
    for limit in (10**6, 2**42 * 1000, int(EXACT_US) * 1000):
        ns = rng.integers(limit // 2, limit, 20_000)
        written = np.array([float(f"{n // 1000}.{n % 1000:03d}") for n in ns.tolist()])
        assert (ns_of_doubles(written) == ns).all()


def test_the_limit_is_where_it_must_be():
    # one unit in the last place is 2^-9 µs = 1.95 ns above the limit: neighbors fall together
    ns = [int(EXACT_US) * 1000 + n for n in range(64)]
    assert len({float(f"{n // 1000}.{n % 1000:03d}") for n in ns}) < 64


def test_nan_is_no_time():
    assert ns_of_doubles(np.array([np.nan, 1.5, -2.0])).tolist() == [-1, 1500, -2000]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([b"1706000000000000.123", b"0.001"], [1706000000000000123, 1]),
        ([b"1706000000000000.1234", b"7"], [1706000000000000123, 7000]),
        ([b"6999999999999999.999"], [6999999999999999999]),
        ([b"9999999999999999.999", b"-1.000", b"1e3", b'"12.5"'], [-1, -1, 1000000, -1]),
        ([b"-1"], [-1]),
        ([], []),
    ],
)
def test_texts(texts: list[bytes], expected: list[int]):
    assert ns_of_texts(texts).tolist() == expected


def test_a_number_of_another_kind_does_not_search_for_ever():
    texts = [b"1706000000000000.123"] * 5000 + [b"1706000000000000.12"]
    assert ns_of_texts(texts)[-1] == 1706000000000000120


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5000),
        (Decimal("0.0005"), 0),
        (Decimal("0.0015"), 2),
        ("12.5", 12500),
        (" 3 ", 3000),
        (LATEST_NS // 1000, LATEST_NS),
        (LATEST_NS // 1000 + 1, None),
        (-1, None),
        (Decimal("-0.0"), 0),
        (Decimal("1e999999999"), None),
        (Decimal("NaN"), None),
        ("Infinity", None),
        ("x", None),
        ("1" * 65, None),
        (True, None),
        (None, None),
        (1.5, None),
    ],
)
def test_single_numbers(value: object, expected: int | None):
    assert ns_of_number(value) == expected


def test_whole_microseconds():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = whole_us_ns(np.array([0, 7, -1, LATEST_NS // 1000, 2**62], dtype=np.int64))
    assert found.tolist() == [0, 7000, -1, LATEST_NS, -1]
