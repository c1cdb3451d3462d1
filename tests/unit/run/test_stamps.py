"""Stamps of hops: a native trace that can be read at any time."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline import read
from paceline.model import Kind, Phase, RunError
from paceline.run import stamps
from paceline.run.stamps import ISSUE, RECV, SEND, WAIT, Group, Stamp

GROUP = Group("paceline 0", (0, 1), 0, "ring")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    stamps.end()


def hop(kind: int, at: int, sequence: int) -> Stamp:
    return Stamp(kind, at, at + 10, 1, sequence, 2, 3, 4, 500, kind == SEND)


def test_nothing_is_stamped_while_nobody_asks() -> None:
    assert stamps.current() is None


def test_what_is_stamped_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "worker-0" / "hops.jsonl"
    stamps.begin(path)
    own = stamps.current()
    assert own is not None
    group = own.group(GROUP)
    issued = own.add(group, Stamp(ISSUE, 5, 6, 77, -1, 2, -1, -1, -1, 0))
    sent = own.add(group, hop(SEND, 10, 8), [issued])
    got = own.add(group, hop(RECV, 20, 9), [issued])
    own.add(group, Stamp(WAIT, 7, 40, 77, -1, 2, -1, -1, -1, 0), [sent, got])
    stamps.end()
    assert stamps.current() is None
    trace = read.trace(path)
    events = list(trace)
    assert [event.kind for event in events] == [Kind.HOST, Kind.SEND, Kind.RECV, Kind.HOST]
    assert {event.phase for event in events} == {Phase.BACKWARD}
    assert [event.lane for event in events] == ["thread 77", "to 1", "from 1", "thread 77"]
    send = events[1]
    assert (send.name, send.bucket, send.chunk, send.round) == ("reduce", 2, 3, 4)
    assert (send.sequence, send.peer, send.size_bytes) == (8, 1, 500)
    assert (send.start_ns, send.duration_ns) == (10, 10)
    assert trace.groups[0].members == (0, 1)
    assert trace.after_from.tolist() == [0, 0, 1, 2, 4]
    assert trace.after_index.tolist() == [0, 0, 1, 2]


def test_a_killed_worker_leaves_what_was_full(tmp_path: Path) -> None:
    path = tmp_path / "hops.jsonl"
    stamps.begin(path)
    own = stamps.current()
    assert own is not None
    group = own.group(GROUP)
    last = 0
    for at in range(20_000):
        last = own.add(group, hop(SEND, at, at), [last] if at else [])
    assert last == 19_999
    before = read.trace(path)  # nobody has called end
    assert len(before) == 16_384
    stamps.end()
    after = read.trace(path)
    assert len(after) == 20_000
    assert after.after_index[-1] == 19_998


def test_threads_stamp_at_once_and_late_rows_are_dropped(tmp_path: Path) -> None:
    stamps.begin(tmp_path / "hops.jsonl")
    own = stamps.current()
    assert own is not None
    group = own.group(GROUP)

    def many() -> None:
        for at in range(2000):
            own.add(group, hop(SEND, at, at))

    threads = [threading.Thread(target=many) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    stamps.begin(tmp_path / "next.jsonl")  # closes the first
    own.add(group, hop(SEND, 1, 1))
    stamps.end()
    assert len(read.trace(tmp_path / "hops.jsonl")) == 8000


def test_a_folder_that_cannot_be_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        stamps.begin(tmp_path / "taken" / "hops.jsonl")
