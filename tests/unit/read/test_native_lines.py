"""Native JSON lines: what each line means, and what is refused, with its place."""

import gzip
import json

import numpy as np
import pytest

from paceline import read
from paceline.model import Facts, Group, InputError, Kind, Note, Phase, Ping
from paceline.read.formats import native_lines
from paceline.read.opened import Opened

HEADER = {"paceline_trace": 1, "workers": 4, "kind": "gpu", "source": "my tool 1.2"}
EVENT = {"worker": 0, "name": "op", "kind": "compute", "start_ns": 100, "duration_ns": 900}


def written(tmp_path, *lines, end="\n", name="t.jsonl"):
    path = tmp_path / name
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end
    path.write_bytes(text.encode())
    return path


def refused(path, *words):
    with pytest.raises(InputError) as caught:
        read.traces(path)
    text = str(caught.value)
    assert path.name in text
    for word in words:
        assert word in text
    return text


def test_every_field_arrives(tmp_path):
    event = {
        "worker": 2, "step": 3, "name": "grads 0", "kind": "collective", "phase": "backward",
        "lane": "comm", "start_ns": -5, "duration_ns": 0, "layer": "l1", "size_bytes": 2**40,
        "group": "dp0", "sequence": 12, "peer": 1, "bucket": 4, "chunk": 5, "round": 6,
        "algorithm": "ring", "record": 2**61, "after": [[2, 1], [3, 99]],
    }  # fmt: skip
    other = {**EVENT, "worker": 2}
    (trace,) = read.traces(written(tmp_path, HEADER, event, other))
    got = trace.event(0)
    assert (got.kind, got.phase) == (Kind.COLLECTIVE, Phase.BACKWARD)
    assert got.after == ((2, 1), (3, 99))
    for name, value in event.items():
        if name not in ("worker", "kind", "phase", "after"):
            assert getattr(got, name) == value
    assert trace.worker == 2
    assert trace.clock == "unix"
    assert trace.facts == Facts(workers=4, device="gpu")
    assert trace.sources[0].tool == "my tool 1.2"
    assert trace.sources[0].digest


def test_what_is_left_out_is_not_known(tmp_path):
    lone = {"worker": 0, "name": "op", "kind": "compute", "start_ns": 7}
    nulls = {**lone, **dict.fromkeys(("step", "duration_ns", "layer", "peer", "after", "phase"))}
    minus = {**lone, "step": -1, "sequence": -1, "size_bytes": -1}
    (trace,) = read.traces(written(tmp_path, HEADER, lone, nulls, minus))
    for event in trace:
        assert event.start_ns == 7
        assert event.duration_ns is None
        for name in ("step", "layer", "size_bytes", "group", "sequence", "peer", "record"):
            assert getattr(event, name) is None
        assert event.phase is Phase.OTHER
        assert event.after == ()


def test_without_lane_each_kind_has_its_own(tmp_path):
    lines = [{**EVENT, "kind": kind} for kind in ("compute", "collective", "compute")]
    (trace,) = read.traces(written(tmp_path, HEADER, *lines, {**EVENT, "lane": "s"}))
    assert [event.lane for event in trace] == ["compute", "collective", "compute", "s"]


def test_workers_are_split_in_file_order_and_tables_are_their_own(tmp_path):
    lines = [
        {**EVENT, "worker": worker, "name": f"{worker}.{at}", "layer": f"l{at}", "start_ns": at}
        for at in range(3)
        for worker in (3, 0)
    ]
    lines[4]["after"] = [[3, 0], [0, 1]]
    zero, three = read.traces(written(tmp_path, HEADER, *lines))
    assert (zero.worker, three.worker) == (0, 3)
    assert [event.name for event in zero] == ["0.0", "0.1", "0.2"]
    assert three.names == ("3.0", "3.1", "3.2")
    assert three.layers == ("l0", "l1", "l2")
    assert three.event(2).after == ((3, 0), (0, 1))
    assert zero.after_index.size == 0


def test_groups_are_declared_for_all_or_for_one(tmp_path):
    lines = [
        {"group": "dp0", "members": [0, 1]},
        {"group": "tp", "members": [0, 1]},
        {"group": "tp", "members": [2, 3], "worker": 2},
        {**EVENT, "group": "tp"},
        {**EVENT, "worker": 2, "group": "tp"},
        {**EVENT, "worker": 3, "group": "dp0"},
        {**EVENT, "worker": 3, "group": "undeclared"},
    ]
    zero, two, three = read.traces(written(tmp_path, HEADER, *lines))
    assert zero.groups == (Group(name="dp0", members=(0, 1)), Group(name="tp", members=(0, 1)))
    assert zero.event(0).group == "tp"
    assert two.groups == (Group(name="tp", members=(2, 3)),)
    assert three.groups == (Group(name="dp0", members=(0, 1)), Group(name="undeclared"))
    assert [event.group for event in three] == ["dp0", "undeclared"]


def test_lines_about_a_worker(tmp_path):
    lines = [
        {"facts": {"machine": "m0", "device": "cuda", "backend": "nccl"}, "worker": 0},
        {"facts": {"peak_bytes": 5, "device_memory_bytes": 9}, "worker": 0},
        {"ping": {"peer": 1, "sent_ns": 1, "peer_ns": 2, "received_ns": 3}, "worker": 0},
        {"norms": {"loss": 0.5, "local": None}, "worker": 0, "step": 3},
        {"note": {"code": "cut", "text": "lost some"}, "worker": 0},
        EVENT,
        {"facts": {}, "worker": 1},
    ]
    zero, one = read.traces(written(tmp_path, HEADER, *lines))
    assert zero.facts == Facts(
        machine="m0", device="cuda", backend="nccl", peak_bytes=5, device_memory_bytes=9, workers=4
    )
    assert zero.pings == (Ping(peer=1, sent_ns=1, peer_ns=2, received_ns=3),)
    assert zero.norms.step.tolist() == [3]
    assert zero.norms.loss.tolist() == [0.5]
    assert np.isnan(zero.norms.local).all()
    assert zero.notes == (Note(code="cut", text="lost some"),)
    assert len(one) == 0
    assert [note.code for note in one.notes] == ["empty"]


def test_another_clock_and_none(tmp_path):
    (own,) = read.traces(written(tmp_path, {**HEADER, "clock": "tsc"}, EVENT))
    assert own.clock == "tsc"
    untimed = {"worker": 0, "name": "op", "kind": "compute"}
    (none,) = read.traces(written(tmp_path, {**HEADER, "clock": None}, untimed, untimed))
    assert none.clock is None
    assert none.event(1).start_ns is None
    refused(written(tmp_path, {**HEADER, "clock": None}, untimed, EVENT), "line 3", "clock is null")


def test_an_unknown_start_is_said_outright(tmp_path):
    said = {"worker": 0, "name": "op", "kind": "compute", "start_ns": None}
    (trace,) = read.traces(written(tmp_path, HEADER, said))
    assert trace.event(0).start_ns is None
    del said["start_ns"]
    refused(written(tmp_path, HEADER, EVENT, said), "line 3", "no start_ns")


def test_blank_lines_crlf_bom_and_gzip(tmp_path):
    text = "\ufeff\r\n" + "\r\n\r\n".join(json.dumps(x) for x in (HEADER, EVENT, EVENT)) + "\r\n \n"
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(text.encode()))
    (trace,) = read.traces(path)
    assert len(trace) == 2
    assert trace.notes == ()


def test_a_last_line_without_line_end_counts(tmp_path):
    (trace,) = read.traces(written(tmp_path, HEADER, EVENT, EVENT, end=""))
    assert len(trace) == 2
    assert trace.notes == ()


def test_a_last_line_that_breaks_off_is_noted_wherever_it_breaks(tmp_path):
    last = json.dumps({**EVENT, "layer": 'größe "x"', "after": [[0, 0]], "step": None},
                      ensure_ascii=False).encode()  # fmt: skip
    for cut in range(1, len(last)):
        path = written(tmp_path, HEADER, {**EVENT, "worker": 2})
        path.write_bytes(path.read_bytes() + last[:cut])
        (trace,) = read.traces(path)
        assert len(trace) == 1
        assert [note.code for note in trace.notes] == ["truncated"]
        assert "Line 3" in trace.notes[0].text
        assert trace.notes[0].worker == 2


def test_garbage_at_the_end_is_no_truncation(tmp_path):
    refused(written(tmp_path, HEADER, EVENT, "garbage", end=""), "line 3")
    refused(
        written(tmp_path, HEADER, EVENT, '{"worker": 0, "nome": 1}', end=""), "line 3", "'name'"
    )


BAD = {
    "not JSON": '{"worker": 0, "name"; "x"}',
    "no object": "[1, 2]",
    "NaN": '{"worker": 0, "name": "x", "kind": "compute", "start_ns": NaN}',
    "Infinity": '{"worker": 0, "name": "x", "kind": "compute", "start_ns": Infinity}',
    "a float": {**EVENT, "start_ns": 1.5},
    "a whole float": '{"worker": 0, "name": "x", "kind": "compute", "start_ns": 1e3}',
    "a text": {**EVENT, "start_ns": "100"},
    "true": {**EVENT, "step": True},
    "beyond 64 bits": {**EVENT, "start_ns": 2**63},
    "beyond 64 bits with nulls": {**EVENT, "start_ns": 2**63, "step": None},
    "thousands of digits": '{"worker": 0, "name": "x", "kind": "compute", "start_ns": 1%s}'
    % ("0" * 5000),
    "beyond 62 bits": {**EVENT, "start_ns": 2**62},
    "negative duration": {**EVENT, "duration_ns": -41},
    "duration without start": {**EVENT, "start_ns": None},
    "negative size": {**EVENT, "size_bytes": -2},
    "worker beyond the header": {**EVENT, "worker": 4},
    "negative worker": {**EVENT, "worker": -1},
    "peer beyond the header": {**EVENT, "peer": 4},
    "bucket beyond 32 bits": {**EVENT, "bucket": 2**31},
    "no name": {"worker": 0, "kind": "compute", "start_ns": 1},
    "no kind": {"worker": 0, "name": "x", "start_ns": 1},
    "null name": {**EVENT, "name": None},
    "unknown kind": {**EVENT, "kind": "computes"},
    "unknown phase": {**EVENT, "phase": "forwards"},
    "after of one": {**EVENT, "after": [[0]]},
    "after of nobody": {**EVENT, "after": [[-1, 0]]},
    "after of a huge index": {**EVENT, "after": [[0, 2**63]]},
    "a lone surrogate": '{"worker": 0, "name": "\\ud800", "kind": "compute", "start_ns": 1}',
    "a deep value": '{"worker": 0, "name": ' + "[" * 100_000 + "}",
    "a deep unknown value": '{"x": ' + "[" * 100_000 + "}",
    "members beyond the header": {"group": "g", "members": [0, 4]},
    "members twice": {"group": "g", "members": [1, 1]},
    "a ping to nobody": {
        "ping": {"peer": 9, "sent_ns": 1, "peer_ns": 2, "received_ns": 3}, "worker": 0
    },
    "half a ping": {"ping": {"peer": 1}, "worker": 0},
    "norms without step": {"norms": {"loss": 1.0}, "worker": 0},
    "facts of nobody": {"facts": {}},
    "negative memory": {"facts": {"peak_bytes": -1}, "worker": 0},
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_line_is_named(tmp_path, bad):
    refused(written(tmp_path, HEADER, EVENT, "", bad, EVENT), "line 4")


def test_a_line_holds_one_record(tmp_path):
    refused(written(tmp_path, HEADER, EVENT, json.dumps(EVENT) * 2), "line 3")
    refused(written(tmp_path, HEADER, EVENT, json.dumps(EVENT, indent=1)), "line 3")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ({**EVENT, "durration_ns": 1}, "'duration_ns'"),
        ({"facts": {"device_memory": 1}, "worker": 0}, "'device_memory_bytes'"),
        ({"norms": {"los": 1}, "worker": 0, "step": 1}, "'loss'"),
        ({**EVENT, "kind": "Compute"}, "'compute'"),
        ({**EVENT, "phase": "backwards"}, "'backward'"),
    ],
)
def test_an_unknown_word_brings_the_nearest_known_one(tmp_path, line, word):
    refused(written(tmp_path, HEADER, line), "line 2", word)


def test_an_after_must_name_an_event_that_exists(tmp_path):
    refused(written(tmp_path, HEADER, EVENT, {**EVENT, "after": [[0, 2]]}), "event 1 of worker 0")
    refused(written(tmp_path, HEADER, EVENT, {**EVENT, "after": [[0, 1]]}), "itself")
    lines = [{**EVENT, "worker": 1}, EVENT, {**EVENT, "after": [[1, 1]]}]
    refused(
        written(tmp_path, HEADER, *lines), "event 1 of worker 0 comes after event 1 of worker 1"
    )
    refused(
        written(tmp_path, HEADER, {"facts": {}, "worker": 1}, {**EVENT, "after": [[1, 0]]}), "has 0"
    )


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ({**HEADER, "paceline_trace": 2}, "native format 2"),
        ({**HEADER, "worker": 4}, "'workers'"),
        ({**HEADER, "workers": 0}, "line 1"),
        ({**HEADER, "workers": 10**9}, "line 1"),
        ('{"paceline_trace": 1, "workers": ', "line 1"),
    ],
)
def test_a_bad_header_is_named(tmp_path, header, word):
    refused(written(tmp_path, header, EVENT), word)


@pytest.mark.parametrize("lines", [(HEADER,), (HEADER, "", '{"worker": 0')])
def test_a_file_without_events_says_so(tmp_path, lines):
    for end in ("", "\n"):
        if len(lines) == 1 or end == "":
            refused(written(tmp_path, *lines, end=end), "no event")


def test_groups_may_not_contradict_each_other(tmp_path):
    lines = [{"group": "g", "members": [0, 1]}, {"group": "g", "members": [0, 2]}, EVENT]
    refused(written(tmp_path, HEADER, *lines), "line 3", "other members")


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("paceline.read.lines.LONGEST", 1 << 18)
    path = written(tmp_path, HEADER, {**EVENT, "name": "x" * (1 << 20)})
    refused(path, "line 2", "longer")


def test_too_many_algorithms_are_refused(tmp_path):
    lines = [{**EVENT, "algorithm": f"a{at}"} for at in range(40_000)]
    refused(written(tmp_path, HEADER, *lines), "algorithms")


def test_line_numbers_hold_beyond_one_piece(tmp_path):
    lines = [{**EVENT, "name": "x" * 100}] * 5000
    text = refused(written(tmp_path, HEADER, *lines, {**EVENT, "duration_ns": -1}, *lines))
    assert "line 5002 " in text


def test_the_last_of_two_equal_keys_counts(tmp_path):
    line = '{"worker": 0, "name": "a", "name": "b", "kind": "compute", "start_ns": 1}'
    (trace,) = read.traces(written(tmp_path, HEADER, line))
    assert trace.event(0).name == "b"


def test_only_native_files_are_claimed(tmp_path):
    assert native_lines.sniff(Opened(written(tmp_path, HEADER, EVENT)))
    for other in (
        "",
        "\n",
        '{"traceEvents": []}',
        '["paceline_trace"]',
        '{}\n{"paceline_trace": 1}',
    ):
        assert not native_lines.sniff(Opened(written(tmp_path, other)))
