"""Native Parquet: the same columns as JSON lines, and files that lie."""

import json

import pytest

from paceline import read
from paceline.model import InputError, Kind, Phase
from paceline.read import Caps
from paceline.read.formats import native_lines, native_parquet
from paceline.read.opened import Opened

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

HEADER = {"paceline_trace": 1, "workers": 4, "source": "my tool"}
COLUMNS = {"worker": [0, 1, 0], "name": ["a", "b", "c"], "kind": ["compute", "send", "host"],
           "start_ns": [5, 6, None]}  # fmt: skip


def written(tmp_path, columns, *head, name="t.parquet", **options):
    path = tmp_path / name
    text = "\n".join(json.dumps(line) for line in head or (HEADER,))
    table = pa.table(columns).replace_schema_metadata({"paceline_trace": text})
    pq.write_table(table, path, **options)
    return path


def refused(path, *words, caps=read.DEFAULT_CAPS):
    with pytest.raises(InputError) as caught:
        read.traces(path, caps=caps)
    for word in (path.name, *words):
        assert word in str(caught.value)


def test_few_columns_are_enough(tmp_path):
    zero, one = read.traces(written(tmp_path, COLUMNS))
    assert [event.name for event in zero] == ["a", "c"]
    assert zero.event(1).start_ns is None
    assert one.event(0).kind is Kind.SEND
    assert one.event(0).lane == "send"
    assert one.event(0).phase is Phase.OTHER
    assert zero.facts.workers == 4
    assert zero.sources[0].tool == "my tool"


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_it_equals_the_same_lines_as_json(tmp_path, rows):
    lines = [
        {"worker": 0, "step": 1, "name": "a", "kind": "compute", "phase": "forward", "lane": "s",
         "start_ns": 1, "duration_ns": 2, "layer": "l", "size_bytes": 3, "group": "g",
         "sequence": 4, "peer": 1, "bucket": 5, "chunk": 6, "round": 7, "algorithm": "ring",
         "record": 8, "after": [[0, 1], [1, 0]]},
        {"worker": 0, "name": "b", "kind": "send", "start_ns": None},
        {"worker": 1, "name": "a", "kind": "load", "start_ns": -4, "after": []},
        {"worker": 0, "name": "c", "kind": "recv", "start_ns": 9, "after": [[1, 0]]},
    ]  # fmt: skip
    head = [HEADER, {"group": "g", "members": [0, 1]}, {"facts": {"machine": "m"}, "worker": 1}]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in [*head, *lines]))
    keys = dict.fromkeys(key for line in lines for key in line)
    columns = {key: pa.array([line.get(key) for line in lines]) for key in keys}
    other = written(tmp_path, columns, *head, row_group_size=rows)
    as_lines, as_parquet = read.traces(path), read.traces(other)
    assert [list(trace) for trace in as_lines] == [list(trace) for trace in as_parquet]
    for one, two in zip(as_lines, as_parquet, strict=True):
        assert (one.groups, one.facts, one.names) == (two.groups, two.facts, two.names)


def test_columns_of_other_widths_and_dictionaries(tmp_path):
    columns = {
        "worker": pa.array([0, 1, 0], pa.uint8()),
        "name": pa.array(["a", "b", "a"]).dictionary_encode(),
        "kind": pa.array(["host"] * 3, pa.large_string()),
        "start_ns": pa.array([1, 2, 3], pa.int16()),
        "step": pa.nulls(3),
        "layer": pa.nulls(3),
        "after": pa.array([None, [[0, 0]], [[1, 0]]], pa.large_list(pa.list_(pa.int32()))),
    }
    zero, one = read.traces(written(tmp_path, columns))
    assert zero.names == ("a",)
    assert zero.event(1).after == ((1, 0),)
    assert one.event(0).after == ((0, 0),)
    assert one.event(0).step is None
    (none,) = read.traces(written(tmp_path, {**COLUMNS, "worker": [0] * 3, "after": pa.nulls(3)}))
    assert none.event(2).after == ()


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ({"start_ns": [1.5, 2.0, 3.0]}, "'start_ns' of type double"),
        ({"start_ns": ["1", "2", "3"]}, "'start_ns' of type string"),
        ({"step": [True, False, True]}, "'step' of type bool"),
        ({"name": [1, 2, 3]}, "'name' of type int64"),
        ({"name": ["a", None, "c"]}, "row 1 has no name"),
        ({"kind": ["compute", "send", None]}, "row 2 has no kind"),
        ({"kind": ["compute", "sent", "host"]}, "'send'"),
        ({"worker": [0, None, 1]}, "row 1 has the worker -1"),
        ({"worker": [0, 4, 1]}, "row 1 has the worker 4"),
        ({"duration_ns": [1, -1, None]}, "row 1 ends before it starts"),
        ({"sequence": pa.array([1, 2**64 - 1, 3], pa.uint64())}, "no Parquet that can be read"),
        ({"durations_ns": [1, 2, 3]}, "'duration_ns'"),
        ({"after": [[[0, 0]], [[1]], []]}, "pairs"),
        ({"after": [[[0, 0]], [[1, None]], []]}, "pairs"),
        ({"after": [[[0, 0]], [None], []]}, "pairs"),
        ({"after": [[0], [1], []]}, "lists of pairs"),
        ({"after": [None, [[0, 2]], None]}, "event 0 of worker 1 comes after event 2 of worker 0"),
    ],
)
def test_a_bad_column_is_named(tmp_path, columns, word):
    refused(written(tmp_path, {**COLUMNS, **columns}), word)


def test_row_numbers_hold_beyond_one_row_group(tmp_path):
    many = {name: column * 50 for name, column in COLUMNS.items()}
    many["peer"] = [None] * 149 + [4]
    refused(written(tmp_path, many, row_group_size=7), "row 149 has the peer 4")


@pytest.mark.parametrize("missing", ["worker", "name", "kind", "start_ns"])
def test_needed_columns(tmp_path, missing):
    columns = {name: column for name, column in COLUMNS.items() if name != missing}
    refused(written(tmp_path, columns), f"no column '{missing}'")
    if missing == "start_ns":
        zero, _ = read.traces(written(tmp_path, columns, {**HEADER, "clock": None}))
        assert zero.event(0).start_ns is None


def test_the_head_is_checked_like_lines(tmp_path):
    refused(written(tmp_path, COLUMNS, {**HEADER, "worker": 1}), "'workers'")
    refused(
        written(tmp_path, COLUMNS, HEADER, {"group": "g", "members": [9]}), "line 2", "worker 9"
    )
    event = {"worker": 0, "name": "x", "kind": "host", "start_ns": 1}
    refused(written(tmp_path, COLUMNS, HEADER, event), "events in its metadata")


def test_no_rows(tmp_path):
    none = {name: pa.array([], pa.string()) for name in ("name", "kind")}
    none |= {name: pa.array([], pa.int64()) for name in ("worker", "start_ns")}
    refused(written(tmp_path, none), "no event")
    (trace,) = read.traces(written(tmp_path, none, HEADER, {"facts": {}, "worker": 2}))
    assert trace.worker == 2


def test_two_columns_of_one_name(tmp_path):
    table = pa.table([pa.array([0])] * 5, names=["worker", "step", "step", "name", "kind"])
    path = tmp_path / "t.parquet"
    pq.write_table(table.replace_schema_metadata({"paceline_trace": json.dumps(HEADER)}), path)
    refused(path, "two columns")


def test_a_bomb_is_refused_by_its_footer(tmp_path):
    count = 1_000_000
    columns = {
        "worker": pa.array([0]).take(pa.array([0] * count)),
        "name": pa.array(["a"]).take(pa.array([0] * count)),
        "kind": pa.array(["host"]).take(pa.array([0] * count)),
        "start_ns": pa.array([0]).take(pa.array([0] * count)),
    }
    path = written(tmp_path, columns)
    assert path.stat().st_size < 100_000
    refused(path, "200 to 1", "--max-ratio")
    refused(path, "--max-bytes", caps=Caps(largest_bytes=1000, ratio=10**6))
    (trace,) = read.traces(path, caps=Caps(ratio=10**6))
    assert len(trace) == count


def test_one_long_text_on_many_rows_stays_one(tmp_path):
    count = 200_000
    columns = {
        "worker": list(range(4)) * (count // 4),
        "name": pa.DictionaryArray.from_arrays([0] * count, ["x" * 100_000]),
        "kind": ["host"] * count,
        "start_ns": list(range(count)),
    }
    traces = read.traces(written(tmp_path, columns))  # 20 GB if every row had its own
    assert [len(trace) for trace in traces] == [count // 4] * 4


def test_a_cut_or_overwritten_file_is_refused(tmp_path):
    path = written(tmp_path, COLUMNS)
    whole = path.read_bytes()
    for cut in range(4, len(whole) - 1, 7):
        path.write_bytes(whole[:cut])
        assert not native_parquet.sniff(Opened(path))
        with pytest.raises(InputError):
            native_parquet.read(Opened(path))
    path.write_bytes(whole[:4] + b"\xff" * (len(whole) - 400) + whole[-396:])
    with pytest.raises(InputError):
        native_parquet.read(Opened(path))


def test_only_native_files_are_claimed(tmp_path):
    path = written(tmp_path, COLUMNS)
    assert native_parquet.sniff(Opened(path))
    assert not native_lines.sniff(Opened(path))
    pq.write_table(pa.table(COLUMNS), path)
    assert not native_parquet.sniff(Opened(path))
    path.write_bytes(b"PAR1")
    assert not native_parquet.sniff(Opened(path))
    path.write_text("hello")
    assert not native_parquet.sniff(Opened(path))


def test_without_pyarrow_the_cure_is_named(tmp_path, monkeypatch):
    path = written(tmp_path, COLUMNS)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    refused(path, "pip install 'paceline[parquet]'")
