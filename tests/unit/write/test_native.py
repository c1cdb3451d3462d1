"""Native files: what is written, and what no such file can hold."""

import gzip
import json

import pytest

from paceline import read, write
from paceline.model import Facts, InputError, Kind, ModelError, Note, Ping, TraceBuilder


def trace(worker=0, clock="unix", **options):
    builder = TraceBuilder()
    group = builder.group("dp", (0, 1))
    builder.add("a", Kind.COMPUTE, "s", 5, 6, layer="l")
    builder.add(
        "b", Kind.COLLECTIVE, "c", 7, group=group, sequence=1, after=[(0, 0)] * (worker == 0)
    )
    return builder.trace(worker, clock=clock, **options)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_unknown_fields_are_left_out(tmp_path):
    path = tmp_path / "t.jsonl"
    write.traces([trace(1)], path)
    assert lines(path) == [
        {"paceline_trace": 1, "source": "paceline"},
        {"group": "dp", "members": [0, 1]},
        {"worker": 1, "name": "a", "kind": "compute", "lane": "s", "start_ns": 5,
         "duration_ns": 6, "layer": "l"},
        {"worker": 1, "name": "b", "kind": "collective", "lane": "c", "start_ns": 7,
         "group": "dp", "sequence": 1},
    ]  # fmt: skip


def test_what_all_workers_share_is_said_once(tmp_path):
    path = tmp_path / "t.jsonl"
    write.traces([trace(at, facts=Facts(workers=2)) for at in (0, 1)], path)
    head = [line for line in lines(path) if "name" not in line]
    assert head == [
        {"paceline_trace": 1, "workers": 2, "source": "paceline"},
        {"group": "dp", "members": [0, 1]},
    ]


@pytest.mark.parametrize("workers", [(2, 3), (2, None), (1, 1)])
def test_a_count_of_workers_that_not_all_share_or_that_ranks_deny_is_a_fact(tmp_path, workers):
    path = tmp_path / "t.jsonl"
    write.traces([trace(at, facts=Facts(workers=own)) for at, own in enumerate(workers)], path)
    assert "workers" not in lines(path)[0]
    assert tuple(one.facts.workers for one in read.traces(path)) == workers


def test_lines_about_a_worker(tmp_path):
    path = tmp_path / "t.jsonl"
    ping = Ping(peer=1, sent_ns=1, peer_ns=2, received_ns=3)
    write.traces([trace(0, pings=(ping,), notes=(Note(code="c", text="t"),))], path)
    (one,) = read.traces(path)
    assert one.pings == (ping,)
    assert one.notes == (Note(code="c", text="t"),)


def test_equal_traces_give_equal_files(tmp_path):
    for name in ("t.jsonl.gz", "t.parquet"):
        one, two = tmp_path / name, tmp_path / f"other.{name}"
        for path in (one, two):
            write.traces([trace()], path)
        assert one.read_bytes() == two.read_bytes()
    assert gzip.decompress((tmp_path / "t.jsonl.gz").read_bytes()).startswith(b'{"paceline_trace"')


def test_many_events_cross_the_chunks(tmp_path):
    builder = TraceBuilder()
    for at in range(20_000):
        builder.add(f"n{at % 7}", Kind.HOST, "s", at, 1, after=[(0, at - 1)] if at % 3 == 1 else ())
    whole = builder.trace(0, clock="unix")
    for name in ("t.jsonl", "t.parquet"):
        write.traces([whole], tmp_path / name)
        (again,) = read.traces(tmp_path / name)
        assert list(again) == list(whole)


def test_a_flipped_bit_of_parquet_is_noticed(tmp_path):
    path = tmp_path / "t.parquet"
    write.traces([trace()], path)
    whole = path.read_bytes()
    noticed = 0
    for at in range(4, 240):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        try:
            assert list(read.traces(path)[0]) == list(trace())
        except InputError:
            noticed += 1
    assert noticed


@pytest.mark.parametrize(
    ("traces", "word"),
    [
        ((), "no trace"),
        ((trace(), trace()), "two traces of one worker"),
        ((trace(0), trace(1, clock="tsc")), "different clocks"),
    ],
)
def test_what_one_file_cannot_hold(tmp_path, traces, word):
    with pytest.raises(ModelError, match=word):
        write.traces(traces, tmp_path / "t.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_the_ending_tells_the_format(tmp_path):
    with pytest.raises(InputError, match="parquet"):
        write.traces([trace()], tmp_path / "t.csv")


def test_what_was_there_stays_if_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    path.write_text("old")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match="pip install"):
        write.traces([trace()], path)
    assert path.read_text() == "old"
    with pytest.raises(InputError, match="cannot be written"):
        write.traces([trace()], tmp_path / "nowhere" / "t.jsonl")
