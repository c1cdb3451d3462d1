"""The tree of a YAML file: text with lines, and what is refused."""

from pathlib import Path

import pytest

from paceline.model import InputError
from paceline.read import yaml_text
from paceline.read.opened import Opened
from paceline.read.yaml_text import Value, parsed, text_of

HERE = Path("some.yaml")


def tree(value: Value) -> object:
    if isinstance(value.content, list):
        return [tree(item) for item in value.content]
    if isinstance(value.content, dict):
        return {key: tree(item) for key, item in value.content.items()}
    return value.content


def test_scalars_stay_text():
    text = "a: 1:30\nb: no\nc: 007\nd: 2024-01-31\ne: 0x10\nf: 1_000\nyes: on\n12: x"
    assert tree(parsed(text, HERE)) == {
        "a": "1:30", "b": "no", "c": "007", "d": "2024-01-31", "e": "0x10", "f": "1_000",
        "yes": "on", "12": "x",
    }  # fmt: skip


def test_plain_and_quoted_are_told_apart():
    (plain,), (quoted,), (empty,) = (
        parsed(f"[{word}]", HERE).content for word in ("null", "'null'", "~")
    )
    assert plain.absent
    assert empty.absent
    assert not quoted.absent
    assert quoted.content == "null"


def test_lines_are_those_of_the_keys():
    value = parsed("a:\n  b:\n    - c\n    - {d: 1,\n       e: 2}\n", HERE)
    a = value.content["a"]
    assert a.line == 1
    assert a.content["b"].line == 2
    assert [item.line for item in a.content["b"].content] == [3, 4]
    assert a.content["b"].content[1].content["e"].line == 5


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment\n", "---\n", "--- ~\n...\n", "null"]
)
def test_nothing_is_an_empty_mapping(text: str):
    assert parsed(text, HERE) == Value(1, {})


def test_json_is_read_too():
    text = '{"a":[1,\t-2.5e3],"b":{"c":"x\\/\\u00e9"},"d":null}'
    assert tree(parsed(text, HERE)) == {"a": ["1", "-2.5e3"], "b": {"c": "x/é"}, "d": "null"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: *x", "alias"),
        ("a: &x 1\nb: {<<: *x}", "line 2: the alias"),
        ("a: !!int 1", "tag"),
        ("a: ! 1", "the tag !"),
        ("a: !!set {b}", "tag"),
        ("!!map {a: 1}", "tag"),
        ("a: 1\nb: 2\na: 3", "line 3: 'a' is given again; line 1 has it too"),
        ('{"a": 1, "a": 1}', "given again"),
        ("{a: 1, 'a': 1}", "given again"),
        ("[a]: 1", "a key is a list"),
        ("{a: 1}: 1", "a key is a list"),
        ("a: 1\n---\nb: 1", "a second document"),
        ("\n---\n---\nb: 1", "a second document"),
        ("a: 'x", "not YAML"),
        ("a: b: c", "not YAML"),
        ("%YAML 3.0\n---\na: 1", "not YAML"),
        ("a: \x07", "control character"),
    ],
)
def test_what_is_dangerous_or_ambiguous_is_refused(text: str, words: str):
    with pytest.raises(InputError) as caught:
        parsed(text, HERE)
    assert words in str(caught.value)
    assert str(caught.value).startswith("some.yaml: ")


@pytest.mark.parametrize(
    "bomb",
    ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000,
     "\n".join(" " * depth + "a:" for depth in range(1000))],
)  # fmt: skip
def test_depth_bombs_are_refused(bomb: str):
    with pytest.raises(InputError, match="nested more than 128 deep"):
        parsed(bomb, HERE)


def test_the_deepest_that_is_allowed_is_read():
    assert parsed("[" * 128 + "]" * 128, HERE)
    with pytest.raises(InputError):
        parsed("[" * 129 + "]" * 129, HERE)


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(yaml_text, "MOST", 10)
    assert parsed("[" + "1," * 9 + "]", HERE)
    with pytest.raises(InputError, match="CSV"):
        parsed("[" + "1," * 10 + "]", HERE)


def test_a_file_is_utf8_with_or_without_mark(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_bytes("\ufeffa: ü".encode())
    assert text_of(Opened(path)) == "a: ü"
    path.write_bytes(b"a: 1\nb: \xfc")
    with pytest.raises(InputError, match="line 2: this is not UTF-8"):
        text_of(Opened(path))
    path.write_bytes("a: 1".encode("utf-16"))
    with pytest.raises(InputError, match="line 1: this is not UTF-8"):
        text_of(Opened(path))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.yaml"
    path.write_text("# " + "x" * 100)
    monkeypatch.setattr(yaml_text, "LARGEST", 101)
    with pytest.raises(InputError, match="larger"):
        text_of(Opened(path))
