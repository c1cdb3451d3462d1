"""A large array in pieces: cuts, structure, truncation, caps."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from paceline.model import InputError
from paceline.read import json_cursor, pieces
from paceline.read.opened import Caps, Opened
from paceline.read.pieces import Element, Pieces


class Item(msgspec.Struct):
    n: int


class Numbers:
    """Collects the `n` of each element; remembers which elements came singly."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self.singly: list[Element] = []

    def anew(self) -> None:
        self.found.clear()

    def decode(self, piece: bytes) -> list[int]:
        return [item.n for item in msgspec.json.decode(piece, type=list[Item])]

    def one_by_one(self, elements: list[Element]) -> list[int]:
        self.singly += elements
        found: list[int] = []
        for element in elements:
            try:
                found.append(msgspec.json.decode(element.raw, type=Item).n)
            except msgspec.ValidationError:
                found.append(-1)
            except msgspec.DecodeError as error:
                raise InputError(f"event {element.number} at {element.offset}") from error
        return found


def read(path: Path, text: str | bytes, caps: Caps | None = None) -> tuple[Numbers, Pieces]:
    path = path / "t.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    numbers = Numbers()
    stream = Pieces(Opened(path, caps or Caps()), "items", frozenset({"a", "z"}), numbers)
    for batch in stream:
        numbers.found += batch
    return numbers, stream


@pytest.fixture(params=[64, 1 << 19])
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(json_cursor, "PIECE", request.param)
    monkeypatch.setattr(pieces, "PIECE", request.param)
    return request.param


NASTY = ["}, {", '"}, {"', "\\", '\\"}', "[[[", "]]}", "{", ",", "é\u2028", "},\n  {"]


def nasty(count: int) -> list[dict[str, object]]:
    return [
        {"n": n, NASTY[n % len(NASTY)]: [{"x": NASTY[(n * 7) % len(NASTY)]}, {"y": [n, {}]}]}
        for n in range(count)
    ]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_every_element_once_whatever_lies_around_it(
    tmp_path: Path, piece: int, indent: int | None
) -> None:
    items = nasty(300)
    head = {"a": {"items": [1, 2, "]"]}, "skipped": [[["}"]]], "n": 1.5, "t": "x\\", "u": None}
    text = json.dumps({**head, "items": items, "z": [{"w": "]"}]}, indent=indent)
    numbers, stream = read(tmp_path, text)
    assert numbers.found == list(range(300))
    assert not numbers.singly
    assert json.loads(stream.fields["a"]) == head["a"]
    assert json.loads(stream.fields["z"]) == [{"w": "]"}]
    assert set(stream.fields) == {"a", "z"}
    assert stream.broken_off is None


def test_bare_array_with_byte_order_mark(tmp_path: Path, piece: int) -> None:
    numbers, stream = read(tmp_path, b"\xef\xbb\xbf \n" + json.dumps(nasty(50)).encode() + b" \n")
    assert numbers.found == list(range(50))
    assert stream.broken_off is None


@pytest.mark.parametrize("text", ["[]", '{"items": []}', '{"items":[ ] ,"a":1}', "{}", " [ ] "])
def test_empty(tmp_path: Path, piece: int, text: str) -> None:
    numbers, stream = read(tmp_path, text)
    assert numbers.found == []
    assert stream.broken_off is None


def test_a_bare_array_may_lack_its_end(tmp_path: Path, piece: int) -> None:
    for end in ("", ",", " ,\n"):
        numbers, stream = read(tmp_path, json.dumps(nasty(40))[:-1] + end)
        assert numbers.found == list(range(40))
        assert stream.broken_off is None


def test_of_a_key_that_comes_twice_the_last_counts(tmp_path: Path, piece: int) -> None:
    numbers, stream = read(
        tmp_path, '{"a": 1, "items": [{"n": 1}, {"n": 2}], "a": 2, "items": [{"n": 3, "n": 4}]}'
    )
    assert numbers.found == [4]
    assert stream.fields == {"a": b"2"}


def test_a_key_of_the_array_that_holds_none_is_skipped(tmp_path: Path, piece: int) -> None:
    numbers, _ = read(tmp_path, '{"items": {"n": 1}, "a": 2}')
    assert numbers.found == []


def test_truncation_anywhere_keeps_what_is_whole(tmp_path: Path, piece: int) -> None:
    text = json.dumps({"a": 1, "items": nasty(12), "z": 2}).encode()
    begins = text.index(b"[")
    for cut in range(begins + 1, len(text), 3):
        numbers, stream = read(tmp_path, text[:cut])
        whole = [n for n in range(12) if _end(text, n) <= cut]
        assert numbers.found == whole, cut
        assert stream.broken_off == cut
        assert not numbers.singly


def _end(text: bytes, n: int) -> int:
    following = text.find(b'{"n": %d,' % (n + 1))
    return text.rindex(b"}", 0, following if following > 0 else text.rindex(b"]")) + 1


def test_a_gzip_stream_that_breaks_off_is_a_truncated_document(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps({"items": nasty(4000)}).encode())
    numbers, stream = read(tmp_path, whole[: len(whole) // 2])
    assert numbers.found == list(range(len(numbers.found)))
    assert 1000 < len(numbers.found) < 4000
    assert stream.broken_off is not None


def test_wrong_gzip_data_is_an_error(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(json.dumps({"items": nasty(4000)}).encode()))
    whole[-6] ^= 0x10
    with pytest.raises(InputError, match="broken gzip data"):
        read(tmp_path, bytes(whole))


def test_an_element_that_does_not_decode_is_named(tmp_path: Path, piece: int) -> None:
    text = json.dumps({"a": 1, "items": nasty(200)}).encode()
    at = text.index(b'{"n": 77,')
    for wrong in (
        b'{"n":-77,',
        b'{"n": 7e,',
        b'("n": 77,',
        b'{"n"; 77,',
        b'{"n": 77;',
        b'{,n": 77,',
    ):
        broken = text[:at] + wrong + text[at + 9 :]
        if wrong == b'{"n":-77,':
            assert -77 in read(tmp_path, broken)[0].found
            continue
        with pytest.raises(InputError, match=f"event 7[67] at {at}|byte"):
            read(tmp_path, broken)


def test_elements_of_a_wrong_type_come_singly_with_number_and_place(
    tmp_path: Path, piece: int
) -> None:
    text = '{"items": [ {"n": 1},\n {"n": "x"}, 5, {"n": 2} ]}'
    numbers, _ = read(tmp_path, text)
    assert numbers.found == [1, -1, -1, 2]
    named = {element.number: element for element in numbers.singly}
    assert named[1].offset == text.index('{"n": "x"}')
    assert named[2] == Element(b"5", 2, text.index("5"))


def test_an_unclosed_array_may_end_in_an_element_of_a_wrong_type(tmp_path: Path) -> None:
    numbers, stream = read(tmp_path, '{"items": [{"n": 1}, {"n": "x"}')
    assert numbers.found == [1, -1]
    assert stream.broken_off is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.json"),
        ("nonsense", "not JSON"),
        ('{"items": [{"n": 1}]} {"more": 1}', "goes on after its end"),
        ('{"items": [{"n": 1}] "a": 1}', "comma or a closing brace"),
        ("{1: 2}", "key in quotes"),
        ('{"a" 2}', "colon"),
        ('{"a": }', "value is needed"),
        (b'{"\xff": 1}', "key that is no text"),
        ('{"\\q": 1}', "key that is no text"),
    ],
)
def test_what_is_no_document(tmp_path: Path, text: str | bytes, message: str) -> None:
    if text:
        with pytest.raises(InputError, match=message):
            read(tmp_path, text)
    else:
        assert read(tmp_path, text)[1].broken_off == 0


@pytest.mark.parametrize("where", ["element", "value", "array"])
def test_nesting_is_capped(tmp_path: Path, piece: int, where: str) -> None:
    def text(depth: int) -> str:
        bomb = "[" * depth + "]" * depth
        if where == "element":
            return '{"items": [{"n": 1}, {"n": 2, "x": ' + bomb + "}, {}]}"
        if where == "value":
            return '{"a": ' + bomb + "}"
        return '[{"n": 2, "x": ' + bomb + "}]"

    own = {"element": 3, "value": 1, "array": 2}[where]
    caps = Caps(depth=20)
    read(tmp_path, text(20 - own), caps)
    with pytest.raises(InputError, match="deeper than 20 levels"):
        read(tmp_path, text(20 - own + 1), caps)
    with pytest.raises(InputError, match="deeper than 128 levels"):
        read(tmp_path, text(100_000))


def test_brackets_inside_strings_do_not_hide_depth(tmp_path: Path) -> None:
    bomb = '["}}",' * 200 + "1" + "]" * 200
    with pytest.raises(InputError, match="deeper than 128"):
        read(tmp_path, '{"items": [{"n": 1, "x": ' + bomb + "}]}")
    many = '{"n": 1, "x": "{{{[[["},' * 500
    assert len(read(tmp_path, '{"items": [' + many + '{"n": 1}]}')[0].found) == 501


def test_one_endless_value_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_cursor, "LONGEST", 1 << 20)
    for text in ('{"a": "' + "x" * (3 << 20), '{"items": [{"n": "' + "x" * (3 << 20) + '"}]}'):
        with pytest.raises(InputError, match="one value of more than"):
            read(tmp_path, text)
    many = ",".join(f'"a": "{"x" * 1000}"' for _ in range(3000))
    read(tmp_path, "{" + many + "}")  # the last one wins, so they do not add up


def test_nesting_that_is_allowed_and_still_too_deep_for_the_decoder(tmp_path: Path) -> None:
    bomb = "[" * 50_000 + "]" * 50_000
    with pytest.raises(InputError, match="deeper than 1000000 levels"):
        read(tmp_path, '{"items": [{"n": 1, "x": ' + bomb + "}]}", Caps(depth=1_000_000))


def test_an_array_in_which_nothing_looks_like_a_cut(tmp_path: Path, piece: int) -> None:
    inner = ",".join(f'{{"y": {n}}}' for n in range(200))  # braces that begin no element
    text = '{"items": [' + ",".join(f'{{"n": {n}, "x": [0, {inner}]}}' for n in range(9)) + "]}"
    assert read(tmp_path, text.replace("}, {", "} , {"))[0].found == list(range(9))
    numbers = '{"items": [' + ",".join(["5"] * 3000) + "]}"
    assert read(tmp_path, numbers)[0].found == [-1] * 3000
