"""Saved nouns: how they look, and that nobody ever sees half of one."""

import errno
import gzip
import json
import os
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from paceline.model import (
    UNKNOWN,
    Bill,
    Cluster,
    Edit,
    InputError,
    Machine,
    ModelError,
    Plan,
    Report,
    Timeline,
    digest,
    dumped,
    load,
    replacing,
    save,
)
from paceline.model import file as file_module

CLUSTER = Cluster(machines=(Machine(name="m0"), Machine(name="m1")))


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_says_its_schema_and_noun_first_and_diffs_by_line(tmp_path: Path):
    save(CLUSTER, tmp_path / "c.json")
    lines = (tmp_path / "c.json").read_text().splitlines()
    assert lines[:3] == ["{", ' "schema": 1,', ' "noun": "cluster",']
    assert [line[:14] for line in lines if '"name":"m' in line] == [
        '  {"name":"m0"',
        '  {"name":"m1"',
    ]
    assert json.loads("".join(lines))["machines"][1]["name"] == "m1"


def test_edits_stand_in_files_as_they_print(tmp_path: Path):
    plan = Plan(edits=(Edit.parse("typical{worker=3}"), Edit.parse('speed{link="a b"}')))
    assert json.loads(dumped(plan))["edits"] == ["typical{worker=3}", 'speed{link="a b"}']
    save(plan, tmp_path / "plan.json")
    assert load(tmp_path / "plan.json", Plan) == plan


@pytest.mark.parametrize("count", [3, 5000])
def test_columns_come_back_short_and_long(tmp_path: Path, count: int):
    start = np.arange(count) * 2**40
    start[0] = UNKNOWN
    end = start + 1
    end[0] = UNKNOWN
    line = Timeline(start_ns=start, end_ns=end, step=1)
    save(line, tmp_path / "t.json.gz")
    assert load(tmp_path / "t.json.gz", Timeline) == line


def test_packed_files_are_equal_for_equal_nouns(tmp_path: Path):
    save(CLUSTER, tmp_path / "a.json.gz")
    save(CLUSTER, tmp_path / "b.json.gz")
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
    assert digest(tmp_path / "a.json.gz") == digest(tmp_path / "b.json.gz")
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == dumped(CLUSTER)


def test_a_digest_is_that_of_the_stored_bytes(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"abc")
    assert digest(tmp_path / "x") == (
        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_a_file_is_unpacked_by_content_and_not_by_name(tmp_path: Path):
    (tmp_path / "c.json").write_bytes(gzip.compress(dumped(CLUSTER)))
    (tmp_path / "c.json.gz").write_bytes(dumped(CLUSTER))
    assert load(tmp_path / "c.json", Cluster) == load(str(tmp_path / "c.json.gz"), Cluster)


def test_saving_replaces_what_was_there_and_leaves_nothing_else(tmp_path: Path):
    save(CLUSTER, tmp_path / "c.json")
    save(Cluster(), tmp_path / "c.json")
    assert load(tmp_path / "c.json", Cluster) == Cluster()
    assert left(tmp_path) == ["c.json"]


@pytest.mark.parametrize("when", ["write", "sync", "rename"])
def test_half_a_file_is_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str):
    path = tmp_path / "c.json"
    save(Cluster(), path)
    before = path.read_bytes()

    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    def half(self: Path, body: bytes) -> NoReturn:
        with self.open("wb") as file:
            file.write(body[:7])
        full()

    if when == "write":
        monkeypatch.setattr(Path, "write_bytes", half)
    elif when == "sync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="cannot be written") as caught:
        save(CLUSTER, path)
    assert "No space left" in str(caught.value)
    assert path.read_bytes() == before
    assert left(tmp_path) == ["c.json"]


def test_an_interruption_leaves_what_was_there(tmp_path: Path):
    path = tmp_path / "note.txt"
    path.write_text("old")

    def interrupted() -> NoReturn:
        with replacing(path) as part:
            part.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert left(tmp_path) == ["note.txt"]


@pytest.mark.parametrize("where", ["missing/c.json", ".", "c" * 300])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, where: str):
    with pytest.raises(InputError, match="cannot be written"):
        save(CLUSTER, tmp_path / where)


def test_only_nouns_of_files_are_saved(tmp_path: Path):
    with pytest.raises(TypeError, match="machine is not a noun"):
        save(Machine(name="m0"), tmp_path / "m.json")
    assert left(tmp_path) == []


def test_a_text_that_is_no_unicode_is_refused(tmp_path: Path):
    with pytest.raises(ModelError, match="no Unicode"):
        save(Cluster(machines=(Machine(name="m\ud800"),)), tmp_path / "c.json")
    assert left(tmp_path) == []


HEAD = b'{"schema": 1, "noun": "cluster"'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is not a saved cluster"),
        (b"{", "is not a saved cluster"),
        (b"[]", "is not a saved cluster"),
        (b"{}", "is not a saved cluster"),
        (b"\x00\xff", "is not a saved cluster"),
        (b'{"schema": "1", "noun": "cluster"}', "is not a saved cluster"),
        (b'{"schema": 1, "noun": "\xff"}', "is not a saved cluster"),
        (b'{"schema": 1, "noun": "plan"}', "holds a 'plan'"),
        (b'{"schema": 1, "noun": "Cluster"}', "holds a 'Cluster'"),
        (b'{"schema": 1, "noun": "\\u001b[31m"}', "holds a"),
        (b'{"schema": 2, "noun": "cluster"}', "has schema 2"),
        (b'{"schema": ' + b"9" * 6000 + b', "noun": "cluster"}', "is not a saved cluster"),
        (HEAD + b', "machines": 3}', "is not a saved cluster"),
        (HEAD + b', "machines": [{"name": 3}]}', "$.machines[0].name"),
        (HEAD + b', "machines": [{"name": "m", "slots": true}]}', "$.machines[0].slots"),
        (HEAD + b', "machines": [{"name": "m", "speed": 1e999}]}', "is not a saved cluster"),
        (HEAD + b', "machines": [{"name": "m", "speed": NaN}]}', "is not a saved cluster"),
        (HEAD + b', "x": ' + b"[" * 100_000, "is not a saved cluster"),
        (HEAD + b', "x": ' + b'{"a":' * 100_000, "is not a saved cluster"),
        (HEAD + b', "machines": [{"name": "m"}', "is not a saved cluster"),
        (gzip.compress(dumped(CLUSTER), mtime=0)[:30], "cannot be read"),
        (gzip.compress(dumped(CLUSTER), mtime=0)[:-9] + b"123456789", "cannot be read"),
        (b"\x1f\x8b", "cannot be read"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 50, "cannot be read"),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, bytes) else "",
)
def test_what_is_no_saved_noun_is_an_error(tmp_path: Path, body: bytes, words: str):
    (tmp_path / "c.json").write_bytes(body)
    with pytest.raises(InputError) as caught:
        load(tmp_path / "c.json", Cluster)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "c.json"))
    assert "\x1b" not in str(caught.value)


def test_a_broken_rule_names_the_file(tmp_path: Path):
    body = HEAD + b', "machines": [{"name": "m0"}, {"name": "m0"}]}'
    (tmp_path / "c.json").write_bytes(body)
    with pytest.raises(ModelError, match=r"c\.json: cluster breaks a rule at m0"):
        load(tmp_path / "c.json", Cluster)


@pytest.mark.parametrize("edit", ["5", "null", '"x"', '"Speed{}"', "{}", '"a{b=1,b=2}"'])
def test_an_edit_that_is_none_is_an_error_with_its_place(tmp_path: Path, edit: str):
    (tmp_path / "p.json").write_text(f'{{"schema": 1, "noun": "plan", "edits": [{edit}]}}')
    with pytest.raises(InputError, match=r"p\.json: .*\$\.edits\[0\]|\$\.edits\[\.\.\.\]"):
        load(tmp_path / "p.json", Plan)


@pytest.mark.parametrize(
    "column", ["5", "null", '["x"]', '"####"', '"AAA="', "[9999999999999999999]"]
)
def test_a_column_that_is_none_is_an_error(tmp_path: Path, column: str):
    body = f'{{"schema": 1, "noun": "timeline", "start_ns": {column}, "end_ns": []}}'
    (tmp_path / "t.json").write_text(body)
    with pytest.raises(InputError, match="is not a saved timeline"):
        load(tmp_path / "t.json", Timeline)


@pytest.mark.parametrize("noun", [Cluster, Report, Bill])
def test_a_file_of_another_noun_is_refused(tmp_path: Path, noun: type):
    save(Plan(), tmp_path / "p.json")
    with pytest.raises(InputError, match=f"A {noun.__name__.lower()} is needed"):
        load(tmp_path / "p.json", noun)


def test_what_is_no_file_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")  # reading it would wait for ever
    for place in (".", "pipe"):
        with pytest.raises(InputError, match="is no file"):
            load(tmp_path / place, Cluster)
    with pytest.raises(InputError, match="No such file"):
        load(tmp_path / "missing", Cluster)
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / ("x" * 300), Cluster)


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_module, "_SURELY_FINE", 1000)
    (tmp_path / "fine.gz").write_bytes(gzip.compress(HEAD + b" " * 900 + b"}"))
    assert load(tmp_path / "fine.gz", Cluster) == Cluster()
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(HEAD + b" " * 10**6 + b"}"))
    with pytest.raises(InputError, match="taken for a bomb"):
        load(tmp_path / "bomb.gz", Cluster)
    monkeypatch.setattr(file_module, "LARGEST", 100)
    (tmp_path / "large").write_bytes(HEAD + b" " * 200 + b"}")
    with pytest.raises(InputError, match="holds more than 100 bytes"):
        load(tmp_path / "large", Cluster)
