"""Damage to files: every operation takes bytes and a source of chance, and returns other bytes.

Deterministic: the same seed file, case number and code give the same damage. What the operations
write in place of numbers and names was chosen because some decoder somewhere fell over it.
"""

import gzip
import random
import re
from collections.abc import Callable

from mutate_table import column_harmed
from mutate_tree import tree_harmed

Operation = Callable[[bytes, random.Random], bytes]

NUMBER = re.compile(rb"(?<![\w\"'.-])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w\"'.])")
LONG_NUMBER = re.compile(rb"(?<![\w\"'.-])\d{5,30}(?:\.\d+)?(?![\w\"'.])")
STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
VALUE = re.compile(rb'(?<=[:,\[ ])(?:"(?:[^"\\\n]|\\.)*"|-?\d[\w.+-]*|true|false|null)')
PAIR = re.compile(rb'"(?:[^"\\\n]|\\.)*"\s*:\s*[^,{}\[\]\n]+,')
GROUP = re.compile(rb"\[[^\[\]{}]*\]|\{[^\[\]{}]*\}")

NUMBERS = (
    b"NaN", b"-NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1e-999", b"-1", b"-0", b"0",
    b"-0.5", b"0.1", b"1.5", b"2147483647", b"2147483648", b"-2147483649", b"4294967296",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808",
    b"-9223372036854775809", b"18446744073709551616", b"1" + b"0" * 25, b"1" + b"0" * 400,
    b"9" * 5000, b"0" * 300 + b"1", b"1.7976931348623157e308", b"5e-324", b"0x10", b"1_000", b"+1",
    b".5", b"1.", b"01",
)  # fmt: skip
VALUES = (
    b"null", b"true", b"false", b'""', b'"x"', b'"1"', b'"-1"', b'"1e999"', b'"NaN"', b"[]", b"{}",
    b"[1]", b'["a"]', b"[[]]", b"[null]", b'{"a":1}', b'{"name":"x","id":1}', b"3.5", b"-7", b"~",
    b"!!python/name:os.system x", b"&a x", b"*a", b"",
)  # fmt: skip
NAMES = (
    b"", b" ", b"\\u0000", b"\\u001b[31mred\\u001b[0m", b"\\u001b]0;title\\u0007", b"\\ud800",
    b"\\udc00\\ud800", b"\\ud83d\\ude00", b"\\u202egnp", b"\\n\\r\\t", b"<script>alert(1)</script>",
    b"[bold red]x[/]", b"../../etc/passwd", b"%s%n", b"{0}", b"\\x", b"\\u12", b"\xff\xfe",
    b"\xed\xa0\x80", b"\xc3\xa9\xe6\x9e\xb6", b"\x00", b"\x1b[2J", b"\x7f", b"a" * 300,
    b"x" * 100_000, b"ncclKernel_AllReduce", b"gloo:all_reduce", b"ProfilerStep#-1",
    b"ProfilerStep#99999999999999999999", b"__proto__", b"null", b"'", b'\\"', b"`id`", b"$(id)",
)  # fmt: skip
LARGEST = 2**20  # bytes that one damage adds at most
SPACES = gzip.compress(b" " * 2**23, 1, mtime=0)  # 8 MiB in 37 KB


def _at(body: bytes, rng: random.Random) -> int:
    return rng.randrange(len(body) + 1)


def _stretch(body: bytes, rng: random.Random, longest: int) -> tuple[int, int]:
    start = _at(body, rng)
    return start, min(len(body), start + rng.randint(1, longest))


def _replaced(
    body: bytes, rng: random.Random, pattern: re.Pattern[bytes], words: tuple[bytes, ...]
) -> bytes:
    """One match of the pattern, or now and then all with equal text, becomes another word."""
    spans = [match.span() for match in pattern.finditer(body)]
    if not spans:
        return bits_flipped(body, rng)
    start, end = rng.choice(spans)
    word = rng.choice(words)
    often = body.count(body[start:end]) if end > start else 0
    if rng.random() < 0.1 and 0 < often * len(word) < LARGEST:
        return body.replace(body[start:end], word, often)
    return body[:start] + word + body[end:]


def cut_off(body: bytes, rng: random.Random) -> bytes:
    """The file ends early."""
    return body[: _at(body, rng)]


def beginning_lost(body: bytes, rng: random.Random) -> bytes:
    """The file begins late."""
    return body[_at(body, rng) :]


def bits_flipped(body: bytes, rng: random.Random) -> bytes:
    """Up to eight bits are wrong."""
    out = bytearray(body or b"\0")
    for _ in range(rng.randint(1, 8)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def bytes_lost(body: bytes, rng: random.Random) -> bytes:
    """A stretch is missing."""
    start, end = _stretch(body, rng, 64)
    return body[:start] + body[end:]


def bytes_doubled(body: bytes, rng: random.Random) -> bytes:
    """A stretch stands twice, or many times."""
    start, end = _stretch(body, rng, 256)
    return body[:end] + body[start:end] * rng.choice((1, 1, 1, 20)) + body[end:]


def bytes_added(body: bytes, rng: random.Random) -> bytes:
    """Bytes of chance stand somewhere."""
    at = _at(body, rng)
    return body[:at] + rng.randbytes(rng.randint(1, 16)) + body[at:]


def stretches_swapped(body: bytes, rng: random.Random) -> bytes:
    """Two stretches changed places."""
    a, b, c, d = sorted(_at(body, rng) for _ in range(4))
    return body[:a] + body[c:d] + body[b:c] + body[a:b] + body[d:]


def number_replaced(body: bytes, rng: random.Random) -> bytes:
    """A number is one that decoders stumble over."""
    return _replaced(body, rng, NUMBER, NUMBERS)


def type_swapped(body: bytes, rng: random.Random) -> bytes:
    """A value is of another type."""
    return _replaced(body, rng, VALUE, VALUES)


def name_replaced(body: bytes, rng: random.Random) -> bytes:
    """A text holds escapes, markup, half a character or very much."""
    quoted = tuple(b'"' + name + b'"' for name in NAMES)
    return _replaced(body, rng, STRING, quoted)


def key_doubled(body: bytes, rng: random.Random) -> bytes:
    """A key stands twice, the second time perhaps with another value."""
    spans = [match.span() for match in PAIR.finditer(body)]
    if not spans:
        return line_doubled(body, rng)
    start, end = rng.choice(spans)
    pair = body[start:end]
    other = pair.partition(b":")[0] + b":" + rng.choice(VALUES[:12]) + b","
    return body[:end] + rng.choice((pair, other)) + body[end:]


def depth_bomb(body: bytes, rng: random.Random) -> bytes:
    """A value is nested deeper than any program recurses, closed or not."""
    opens, closes = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"{a: ", b"}"), (b"- ", b"")))
    depth = rng.choice((100, 200, 1000, 10_000))
    bomb = opens * depth + b"1" + closes * depth * rng.randint(0, 1)
    spans = [match.span() for match in VALUE.finditer(body)] or [(0, 0)]
    start, end = rng.choice(spans)
    return body[:start] + bomb + body[end:]


def clock_jumped(body: bytes, rng: random.Random) -> bytes:
    """A large number, as times are, jumps back or ahead."""
    spans = [match.span() for match in LONG_NUMBER.finditer(body)]
    if not spans:
        return number_replaced(body, rng)
    start, end = rng.choice(spans)
    jump = rng.choice((-1, 1)) * 10 ** rng.randint(3, 19)
    whole, dot, rest = body[start:end].partition(b".")
    return body[:start] + str(int(whole) + jump).encode() + dot + rest + body[end:]


def emptied(body: bytes, rng: random.Random) -> bytes:
    """A list or an object is empty."""
    spans = [match.span() for match in GROUP.finditer(body)]
    if not spans:
        return b""
    start, end = rng.choice(spans)
    return body[: start + 1] + body[end - 1 :]


def line_lost(body: bytes, rng: random.Random) -> bytes:
    """A line is missing."""
    lines = body.splitlines(keepends=True)
    if lines:
        del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def line_doubled(body: bytes, rng: random.Random) -> bytes:
    """A line stands twice, here or elsewhere."""
    lines = body.splitlines(keepends=True)
    if lines:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"".join(lines)


def lines_shuffled(body: bytes, rng: random.Random) -> bytes:
    """Lines changed places."""
    lines = body.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


def encoded_otherwise(body: bytes, rng: random.Random) -> bytes:
    """The text is in another encoding, or begins with a mark, or ends in zeros."""
    text = body.decode("latin-1")
    return rng.choice(
        (text.encode("utf-16"), text.encode("utf-32"), b"\xef\xbb\xbf" + body, body + b"\0" * 512,
         body.replace(b"\n", b"\r"), body.replace(b"\n", b"\r\n"), b"\xff\xfe" + body)
    )  # fmt: skip


def packed(body: bytes, rng: random.Random) -> bytes:
    """The file is packed, and the packing is harmed in one of the ways that gzip can be."""
    whole = gzip.compress(body, 6, mtime=0)
    harm = rng.choice((cut_off, bits_flipped, bytes_lost, bytes_added, bytes_doubled, None))
    if harm is not None:
        return harm(whole, rng)
    return rng.choice(
        (whole + b"\0" * 64, whole + b"garbage", whole + whole, whole + SPACES, SPACES + whole,
         gzip.compress(whole, mtime=0), whole[:10], whole[:-4] + b"\0\0\0\0", whole[:-8])
    )  # fmt: skip


def one_byte_often(body: bytes, rng: random.Random) -> bytes:
    """The file is one character again and again: what naive scanners are quadratic in."""
    mark = rng.choice(
        (b"[", b"{", b'"', b"\\", b" ", b"\n", b",", b"- ", b"a: ", b'{"', b"/*", b"#")
    )
    return body[: _at(body, rng)] + mark * rng.choice((100, 10_000, 100_000))


def tree_changed(body: bytes, rng: random.Random) -> bytes:
    """Well-formed JSON says something else; other text has a value of another type."""
    return tree_harmed(body, rng) or type_swapped(body, rng)


OPERATIONS: tuple[Operation, ...] = (
    cut_off, beginning_lost, bits_flipped, bytes_lost, bytes_doubled, bytes_added,
    stretches_swapped, number_replaced, type_swapped, name_replaced, key_doubled, depth_bomb,
    clock_jumped, emptied, line_lost, line_doubled, lines_shuffled, encoded_otherwise, packed,
    one_byte_often, *(tree_changed,) * 12,
)  # fmt: skip


def mutated(body: bytes, case: int, rng: random.Random) -> tuple[bytes, str]:
    """The damaged body of a case, and what was done; every operation has its turn."""
    first = OPERATIONS[case % len(OPERATIONS)]
    done = [first.__name__]
    if body.startswith(b"PAR1") and rng.random() < 0.7:
        return column_harmed(body, rng, first), f"column_harmed ({done[0]})"
    body = first(body, rng)
    while rng.random() < 0.2 and first is not packed:
        again = rng.choice(OPERATIONS)
        done.append(again.__name__)
        body = again(body, rng)
    return body, ", ".join(done)
