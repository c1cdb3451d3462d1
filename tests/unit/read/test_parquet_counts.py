"""The footer of a Parquet file, walked without the library."""

import random
from pathlib import Path

import pytest

from paceline.read.opened import Opened
from paceline.read.parquet import footer
from paceline.read.parquet_counts import values_promised

HERE = Path(__file__).parent
GOLDEN = sorted((HERE.parent.parent / "golden").glob("*/*.parquet"))


def struct(*fields: tuple[int, bytes]) -> bytes:
    """A Thrift struct; each field is its kind and its encoded value, ids count from 1."""
    return b"".join(bytes([0x10 | kind]) + value for kind, value in fields) + b"\0"


def listed(kind: int, *values: bytes) -> bytes:
    head = (
        bytes([len(values) << 4 | kind]) if len(values) < 15 else bytes([0xF0 | kind, len(values)])
    )
    return head + b"".join(values)


def chunk(count: int) -> bytes:
    """A column of `count` values (up to 63), with a text, a fraction, flags and a map before."""
    facts = struct((8, b"\x02ab"), (7, b"\0" * 8), (1, b""), (11, b"\x01\x58\x02\x01x"),
                   (6, bytes([count * 2])))  # fmt: skip
    return struct((8, b"\0"), (6, b"\0"), (12, facts))


def whole(*groups: bytes) -> bytes:
    return struct((5, b"\x02"), (9, listed(12)), (6, b"\0"), (9, listed(12, *groups)))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_it_counts_what_the_library_counts(path: Path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    meta = parquet.read_metadata(path)
    groups = [meta.row_group(at) for at in range(meta.num_row_groups)]
    counts = [group.column(at).num_values for group in groups for at in range(group.num_columns)]
    assert values_promised(footer(Opened(path))) == sum(counts)


def test_it_adds_up_groups_and_columns():
    groups = [
        struct((9, listed(12, chunk(3), chunk(4)))),
        struct((9, listed(12, *[chunk(1)] * 20))),
    ]
    assert values_promised(whole(*groups)) == 27
    assert values_promised(whole()) == 0


def test_a_field_may_name_its_id_in_full():
    far = b"\x0c\x08" + listed(12)[:0] + struct()  # kind 12, id 4, not by a step from the last id
    assert values_promised(far + b"\0") == 0


@pytest.mark.parametrize(
    "footer",
    [b"", b"\x15", b"\x18\x7f", b"\x1e", b"\x19\x1e", b"\x16" + b"\xff" * 20, b"\x1c" * 50,
     whole(struct((9, listed(12, struct((12, struct())))))),
     whole(struct((9, listed(12, struct((8, b"\0"), (6, b"\0"), (12, struct())))))),
     whole(struct((9, listed(12, chunk(3)[:-3]))))],
    ids=repr,
)  # fmt: skip
def test_what_does_not_parse_is_a_value_error(footer: bytes):
    with pytest.raises(ValueError):
        values_promised(footer)


@pytest.mark.parametrize("seed", range(300))
def test_noise_is_a_number_or_a_value_error(seed: int):
    rng = random.Random(seed)
    body = bytearray(whole(struct((9, listed(12, *[chunk(7)] * 3)))))
    for _ in range(rng.randint(1, 6)):
        body[rng.randrange(len(body))] = rng.randrange(256)
    try:
        assert values_promised(bytes(body)) >= 0
    except ValueError:
        return
