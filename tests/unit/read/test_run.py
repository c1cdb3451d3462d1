"""Files and folders to traces: ranks, order, what is skipped, what is twice."""

import json
import os
from pathlib import Path

import pytest

from paceline import read
from paceline.model import Facts, InputError, Trace
from paceline.read import folder as folders
from paceline.read.opened import Caps
from paceline.read.rank import rank_by_name, ranks_by_position


def kineto(
    path: Path, rank: int | None = None, start: int = 1, name: str = "a", **head: object
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    info = {} if rank is None else {"distributedInfo": {"rank": rank}}
    span = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": 9}
    path.write_text(json.dumps({"schemaVersion": 1, **info, **head, "traceEvents": [span]}))
    return path


def native(path: Path, *workers: int) -> Path:
    lines = [json.dumps({"paceline_trace": 1})]
    for worker in workers:
        event = {"worker": worker, "name": "x", "kind": "compute", "lane": "l"}
        lines.append(json.dumps({**event, "start_ns": 5, "duration_ns": 1}))
    path.write_text("\n".join(lines) + "\n")
    return path


def ranks(traces: tuple[Trace, ...]) -> list[int]:
    return [trace.worker for trace in traces]


def codes(traces: tuple[Trace, ...]) -> list[str]:
    return [note.code for trace in traces for note in trace.notes]


def test_a_folder_of_rank_files_in_order_of_rank(tmp_path: Path):
    for rank in (10, 2, 0):
        kineto(tmp_path / f"rank_{rank}.json", name=f"of {rank}")
    traces = read.traces(tmp_path)
    assert ranks(traces) == [0, 2, 10]
    assert [trace.event(0).name for trace in traces] == ["of 0", "of 2", "of 10"]
    assert codes(traces) == []


def test_the_content_says_the_rank_before_the_name_does(tmp_path: Path):
    assert read.trace(kineto(tmp_path / "rank_5.json", rank=3)).worker == 3


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank_3.json", 3),
        ("rank3.json", 3),
        ("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34),
        ("RANK 7.json", 7),
        ("worker0_step_12.1694128201545.pt.trace.json", 0),
        ("host_12.3.pt.trace.json", 3),
        ("host_12.1694128201545.pt.trace.json", None),
        ("worker3_rank5.json", 5),
        ("frank_3.json", None),
        ("local_rank_3.json", None),
        ("rank_12345678.json", None),
        ("trace.json", None),
        ("rank_3/trace.json", 3),
        ("worker-4/a/trace.json", 4),
        ("rank_3/worker_9/trace.json", 9),
    ],
)
def test_ranks_by_name(name: str, rank: int | None):
    root = Path("/runs/rank_77_run")
    assert rank_by_name(root / name, root) == rank


def test_ranks_by_position():
    assert ranks_by_position(3, [0, 2]) == [1, 3, 4]
    assert ranks_by_position(0, [5]) == []


def test_of_one_file_the_folder_may_name_the_rank(tmp_path: Path):
    assert read.trace(kineto(tmp_path / "rank_4" / "t.json")).worker == 4


def test_what_nothing_names_is_numbered_by_position_with_a_note(tmp_path: Path):
    kineto(tmp_path / "b.json", start=1)
    kineto(tmp_path / "a.json", start=2)
    kineto(tmp_path / "rank_0.json", start=3)
    traces = read.traces(tmp_path)
    assert [(trace.worker, int(trace.start_ns[0])) for trace in traces] == [
        (0, 3000), (1, 2000), (2, 1000),
    ]  # fmt: skip
    assert codes(traces) == ["rank-guessed", "rank-guessed"]
    assert traces[1].notes[0].worker == 1


def test_dependencies_move_with_their_worker(tmp_path: Path):
    path = kineto(tmp_path / "rank_6.json")
    document = json.loads(path.read_text())
    call = {**document["traceEvents"][0], "cat": "cuda_runtime", "args": {"correlation": 3}}
    kernel = {**call, "cat": "kernel", "pid": 0, "tid": 7, "ts": 20}
    document["traceEvents"] = [call, kernel]
    path.write_text(json.dumps(document))
    assert read.trace(path).event(1).after == ((6, 0),)


def test_a_run_folder_with_a_cover_sheet(tmp_path: Path):
    kineto(tmp_path / "b" / "t.json")
    kineto(tmp_path / "a" / "x" / "t.json")
    workers = [
        {"rank": 7, "folder": "a", "machine": "m1", "device": "cpu"},
        {"rank": 9, "folder": "b", "machine": "m2"},
    ]
    pings = [{"worker": 7, "peer": 9, "sent_ns": 1, "peer_ns": 2, "received_ns": 3}]
    sheet = {"schema": 1, "workers": workers, "pings": pings, "command": ["x"]}
    (tmp_path / "run.json").write_text(json.dumps(sheet))
    traces = read.traces(tmp_path)
    assert ranks(traces) == [7, 9]
    assert traces[0].facts == Facts(machine="m1", device="cpu", workers=2)
    assert [ping.peer for ping in traces[0].pings] == [9]
    assert traces[1].pings == ()
    assert codes(traces) == []


def test_pings_belong_to_the_first_trace_of_a_worker(tmp_path: Path):
    kineto(tmp_path / "rank_0.json", start=1)
    kineto(tmp_path / "rank_0_later.json", start=100)
    ping = {"worker": 0, "peer": 1, "sent_ns": 1, "peer_ns": 2, "received_ns": 3}
    (tmp_path / "run.json").write_text(json.dumps({"pings": [ping]}))
    assert [len(trace.pings) for trace in read.traces(tmp_path)] == [1, 0]


@pytest.mark.parametrize(
    ("sheet", "message"),
    [("{", "not the cover sheet"), ('{"workers": 3}', "not the cover sheet"),
     ('{"schema": 2}', "has schema 2"), ('{"workers": [{}]}', "not the cover sheet"),
     ("[" * 100_000, "not the cover sheet")],
)  # fmt: skip
def test_a_cover_sheet_that_is_none(tmp_path: Path, sheet: str, message: str):
    kineto(tmp_path / "rank_0.json")
    (tmp_path / "run.json").write_text(sheet)
    with pytest.raises(InputError, match=message):
        read.traces(tmp_path)


def test_several_traces_of_one_worker_by_path(tmp_path: Path):
    kineto(tmp_path / "worker_1" / "z.json")
    native(tmp_path / "worker_1" / "hops.jsonl", 1)
    kineto(tmp_path / "worker_0" / "z.json")
    traces = read.traces(tmp_path)
    assert ranks(traces) == [0, 1, 1]
    assert [Path(trace.sources[0].path).name for trace in traces[1:]] == ["hops.jsonl", "z.json"]


def test_a_list_of_files_and_folders_each_once(tmp_path: Path):
    one = kineto(tmp_path / "rank_0.json")
    kineto(tmp_path / "more" / "rank_1.json")
    assert ranks(read.traces([one, tmp_path / "more", one])) == [0, 1]
    assert ranks(read.traces(str(one))) == [0]


def test_what_looks_like_a_trace_and_is_none_is_named(tmp_path: Path):
    kineto(tmp_path / "rank_0.json")
    for name in ("odd.json", "odd.jsonl", "odd.json.gz", "x.parquet"):
        (tmp_path / name).write_text("{}")
    for name in ("plan.json", "readme.txt", "job.profile", "cluster.yaml", ".hidden.json"):
        (tmp_path / name).write_text("{}")
    traces = read.traces(tmp_path)
    assert codes(traces) == ["skipped"] * 4
    assert "odd.json" in " ".join(note.text for note in traces[0].notes)


def test_a_named_file_that_is_no_trace_is_always_named(tmp_path: Path):
    (tmp_path / "readme.txt").write_text("hello")
    traces = read.traces([kineto(tmp_path / "rank_0.json"), tmp_path / "readme.txt"])
    assert codes(traces) == ["skipped"]


def test_a_file_that_cannot_be_read_leaves_the_others(tmp_path: Path):
    kineto(tmp_path / "rank_0.json")
    broken = kineto(tmp_path / "rank_1.json")
    broken.write_text(broken.read_text().replace('"dur": 9', '"dur": -9'))
    (trace,) = read.traces(tmp_path)
    (note,) = trace.notes
    assert note.code == "unreadable"
    assert "rank_1.json" in note.text
    assert "ends before it starts" in note.text
    assert "\n" not in note.text


def test_nothing_readable_is_the_error_itself(tmp_path: Path):
    broken = kineto(tmp_path / "rank_1.json")
    broken.write_text(broken.read_text().replace('"dur": 9', '"dur": -9'))
    with pytest.raises(InputError, match="ends before it starts"):
        read.traces(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        read.traces(tmp_path / "missing")


def test_a_folder_without_traces(tmp_path: Path):
    with pytest.raises(InputError, match=r"holds no trace\."):
        read.traces(tmp_path)
    (tmp_path / "odd.json").write_text("{}")
    with pytest.raises(InputError, match="1 files are of no known format"):
        read.traces(tmp_path)
    with pytest.raises(InputError, match="is no trace that paceline knows"):
        read.traces(tmp_path / "odd.json")
    with pytest.raises(InputError, match="holds no trace"):
        read.traces([])


def test_one_trace_is_of_one_worker(tmp_path: Path):
    with pytest.raises(InputError, match="traces of 2 workers") as caught:
        read.trace(native(tmp_path / "all.jsonl", 0, 1))
    assert "read.traces" in str(caught.value)
    with pytest.raises(InputError, match="is a folder"):
        read.trace(tmp_path)
    (tmp_path / "odd.json").write_text("{}")
    with pytest.raises(InputError, match="kineto") as caught:
        read.trace(tmp_path / "odd.json")
    assert ranks(read.traces(tmp_path / "all.jsonl")) == [0, 1]


def test_windows_of_one_worker_follow_each_other(tmp_path: Path):
    kineto(tmp_path / "rank_0_late.json", start=500)
    kineto(tmp_path / "rank_0_early.json", start=1)
    assert ranks(read.traces(tmp_path)) == [0, 0]


def test_a_worker_that_is_there_twice_is_refused(tmp_path: Path):
    for name in ("rank_0.json", "rank_0_copy.json"):
        path = kineto(tmp_path / name)
        document = json.loads(path.read_text())
        document["traceEvents"].append({**document["traceEvents"][0], "ts": 50})
        path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="worker 0 is here twice") as caught:
        read.traces(tmp_path)
    assert "rank_0.json" in str(caught.value)
    assert "rank_0_copy.json" in str(caught.value)


def test_a_single_event_twice_is_refused(tmp_path: Path):
    kineto(tmp_path / "rank_0.json")
    kineto(tmp_path / "rank_0_copy.json")
    with pytest.raises(InputError, match="worker 0 is here twice"):
        read.traces(tmp_path)


@pytest.mark.timeout(10)
def test_links_pipes_and_devices_do_not_hang(tmp_path: Path):
    kineto(tmp_path / "a" / "rank_0.json")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self.json").symlink_to(tmp_path / "self.json")
    (tmp_path / "null.json").symlink_to("/dev/zero")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere.json")
    assert ranks(read.traces(tmp_path)) == [0]
    with pytest.raises(InputError, match="not a regular file"):
        read.trace(tmp_path / "pipe.json")


def test_folders_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    deep = tmp_path
    for _ in range(folders.DEEPEST + 1):
        deep = deep / "d"
    kineto(deep / "rank_1.json")
    kineto(tmp_path / "rank_0.json")
    assert ranks(read.traces(tmp_path)) == [0]
    monkeypatch.setattr(folders, "MOST_FILES", 1)
    kineto(tmp_path / "rank_2.json")
    with pytest.raises(InputError, match="more than 1 files"):
        read.traces(tmp_path)


def test_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(InputError, match="cannot be listed"):
        read.traces(tmp_path)


def test_caps_hold_for_every_file(tmp_path: Path):
    kineto(tmp_path / "rank_0.json")
    with pytest.raises(InputError, match="taken for a bomb"):
        read.traces(tmp_path, caps=Caps(largest_bytes=10))
    with pytest.raises(InputError, match="taken for a bomb"):
        read.trace(tmp_path / "rank_0.json", caps=Caps(largest_bytes=10))
