"""Dumps of the flight recorder: names, groups, sequences, sizes, times; JSON and pickle alike."""

import copy
import json
import pickle

import pytest

from paceline import read
from paceline.model import Facts, Group, InputError, Kind
from paceline.read.formats import flight_recorder
from paceline.read.opened import Opened

T = 1_700_000_000_000_000_000
ENTRY = {
    "record_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 7,
    "p2p_seq_id": 0, "op_id": 8, "profiling_name": "nccl:all_reduce", "time_created_ns": T,
    "input_sizes": [[3, 4]], "input_dtypes": ["Float"], "output_sizes": [[3, 4]],
    "output_dtypes": ["Float"], "state": "completed", "time_discovered_started_ns": T + 5,
    "time_discovered_completed_ns": T + 900, "retired": True, "timeout_ms": 600000,
    "is_p2p": False,
}  # fmt: skip
CONFIG = {
    "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
    "5": {"name": "5", "desc": "tp", "ranks": "[3, 1]"},
}


def dump(*entries, **other):
    return {"version": "2.9", "pg_config": CONFIG, "rank": 3, "entries": list(entries), **other}


def written(tmp_path, content, form="json"):
    path = tmp_path / ("fr.json" if form == "json" else "nccl_trace_rank_3")
    path.write_bytes(json.dumps(content).encode() if form == "json" else pickle.dumps(content, 2))
    return path


@pytest.fixture(params=["json", "pickle"])
def got(request, tmp_path):
    """A function from a dump to its trace, by either way."""

    def trace(*entries, **other):
        content = dump(*entries, **other)
        (found,) = read.traces(written(tmp_path, copy.deepcopy(content), request.param))
        return found

    return trace


def test_a_call_with_everything(got):
    trace = got(ENTRY)
    assert trace.worker == 3
    assert trace.clock == "unix"
    assert trace.groups == (Group(name="0", members=(0, 1, 2, 3)),)
    assert trace.facts == Facts(backend="nccl", workers=4)
    event = trace.event(0)
    assert (event.name, event.kind, event.lane) == (
        "all_reduce", Kind.COLLECTIVE, "flight recorder",
    )  # fmt: skip
    assert (event.group, event.sequence, event.size_bytes) == ("0", 7, 48)
    assert (event.start_ns, event.duration_ns) == (T, 900)
    assert event.record is None
    assert [note.code for note in trace.notes] == ["ends-noticed"]


def test_time_on_the_device_outweighs_what_was_noticed(got):
    trace = got({**ENTRY, "duration_ms": 0.25})
    assert trace.event(0).duration_ns == 250_000
    assert trace.notes == ()


def test_calls_that_had_not_ended(got):
    started = {**ENTRY, "state": "started", "retired": False, "time_discovered_completed_ns": None}
    scheduled = {**started, "state": "scheduled", "time_discovered_started_ns": None}
    gloo = {**scheduled, "retired": True, "profiling_name": "gloo:all_reduce"}
    trace = got(started, scheduled, scheduled, gloo)
    assert [event.duration_ns for event in trace] == [None] * 4
    (note,) = trace.notes
    assert (note.code, note.count) == ("unfinished", 3)
    assert "1 started, 2 scheduled" in note.text


def test_zero_is_how_json_says_unknown(tmp_path):
    entry = {**ENTRY, "time_discovered_completed_ns": 0, "time_created_ns": T}
    (trace,) = read.traces(written(tmp_path, dump(entry)))
    assert trace.event(0).duration_ns is None
    (trace,) = read.traces(written(tmp_path, dump({**entry, "time_created_ns": 0})))
    assert trace.event(0).start_ns is None


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("nccl:all_reduce", "all_reduce"),
        ("gloo:allreduce", "all_reduce"),
        ("nccl:_all_gather_base", "all_gather"),
        ("nccl:all_gather_single", "all_gather"),
        ("nccl:ALLGATHER_coalesced", "all_gather"),
        ("nccl:all_gather_into_tensor_coalesced", "all_gather"),
        ("nccl:_reduce_scatter_base", "reduce_scatter"),
        ("nccl:reduce_scatter_tensor_coalesced", "reduce_scatter"),
        ("nccl:all_to_all_v_single", "all_to_all"),
        ("nccl:_broadcast_oop", "broadcast"),
        ("nccl:_reduce_oop", "reduce"),
        ("nccl:all_reduce_barrier", "barrier"),
        ("gloo:barrier", "barrier"),
        ("gloo:scatter", "scatter"),
        ("xccl:gossip", "gossip"),
    ],
)
def test_names_are_those_of_every_reader(tmp_path, name, word):
    (trace,) = read.traces(written(tmp_path, dump({**ENTRY, "profiling_name": name})))
    assert trace.event(0).name == word
    assert trace.event(0).kind is Kind.COLLECTIVE


def test_messages_name_their_other_end_by_its_place_in_the_group(got):
    message = {**ENTRY, "is_p2p": True, "p2p_seq_id": 2, "process_group": ["5", "tp"]}
    send = {**message, "profiling_name": "nccl:send 0->1"}
    receive = {**message, "profiling_name": "nccl:recv 0<-1", "input_sizes": [],
               "input_dtypes": [], "output_sizes": [[5]], "output_dtypes": ["Half"]}  # fmt: skip
    one, two = got(send, receive)
    assert (one.kind, one.peer, one.sequence, one.size_bytes) == (Kind.SEND, 1, 2, 48)
    assert (two.kind, two.peer, two.sequence, two.size_bytes) == (Kind.RECV, 1, 2, 10)


def test_places_in_a_group_of_unknown_members_tell_nothing(got):
    send = {**ENTRY, "is_p2p": True, "p2p_seq_id": 2, "profiling_name": "nccl:send 3->1"}
    assert got(send, pg_config={}).event(0).peer == 1
    other = {**send, "process_group": ["9", "x"]}
    assert got(other, pg_config={}).event(0).peer is None
    beyond = {**send, "profiling_name": "nccl:send 3->7"}
    assert got(beyond).event(0).peer is None


def test_bookkeeping_is_left_out(got):
    others = [{**ENTRY, "profiling_name": f"nccl:{name}"} for name in ("coalesced", "split")]
    assert len(got(ENTRY, *others)) == 1
    empty = got(*others)
    assert [note.code for note in empty.notes] == ["empty"]


@pytest.mark.parametrize(
    ("ranks", "members"),
    [
        ("[0, 1]", (0, 1)), ("[1]", (1,)), ([4, 2], (4, 2)), ("[]", None), ("0,1", None),
        ("[0, 0]", None), (None, None), ("[1, 99999999]", None), ([-1], None),
    ],
)  # fmt: skip
def test_members_of_a_group(got, ranks, members):
    trace = got(ENTRY, pg_config={"0": {"name": "0", "ranks": ranks}})
    assert trace.groups == (Group(name="0", members=members),)


def test_sizes_that_cannot_be_known(got):
    unknown = [
        {"input_sizes": [], "input_dtypes": []},
        {"input_dtypes": ["Mystery"]},
        {"input_sizes": [[-1]]},
        {"input_sizes": [[2**40, 2**40]]},
        {"input_sizes": [[1] * 65]},
        {"input_sizes": [[1], [2]]},
    ]
    for own in unknown:
        assert got({**ENTRY, **own}).event(0).size_bytes is None
    several = {"input_sizes": [[2], [], [0]], "input_dtypes": ["Half", "Double", "Long"]}
    assert got({**ENTRY, **several}).event(0).size_bytes == 12


def test_dumps_of_the_first_version(got):
    old = {"pg_id": 1, "seq_id": 4, "profiling_name": "nccl:all_reduce", "time_created_ns": T}
    trace = got(old, version="1.0", rank=None)
    assert (trace.event(0).group, trace.event(0).sequence) == ("1", 4)


def test_the_rank_may_stand_in_the_name(tmp_path):
    content = {**dump(ENTRY), "rank": None}
    (trace,) = read.traces(written(tmp_path, content, "pickle"))
    assert trace.worker == 3


def test_json_that_breaks_off_is_read_as_far_as_it_goes(tmp_path):
    path = written(tmp_path, {"pg_config": CONFIG, "rank": 3, "entries": [ENTRY] * 3})
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b'"op_id"')])
    (trace,) = read.traces(path)
    assert len(trace) == 2
    assert trace.notes[0].code == "truncated"
    assert "2 calls" in trace.notes[0].text


def test_a_key_given_twice_counts_as_its_last_value(tmp_path):
    path = tmp_path / "fr.json"
    one, two = (json.dumps([{**ENTRY, "collective_seq_id": seq}]) for seq in (1, 2))
    path.write_text(f'{{"rank": 0, "entries": {one}, "entries": {two}}}')
    (trace,) = read.traces(path)
    assert [event.sequence for event in trace] == [2]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ({"comm_lib_version": "", "version": "2"}, "without entries"),
        (dump({**ENTRY, "input_sizes": "x"}), "entry 0 cannot be used"),
        (dump(ENTRY, {**ENTRY, "profiling_name": None}), "entry 1 cannot be used"),
        (dump(ENTRY, pg_config=[1]), "no flight recorder's dump"),
        (dump(ENTRY, rank="x"), "no flight recorder's dump"),
        (dump({**ENTRY, "frames": 7}, {**ENTRY, "state": 3}), "entry 1"),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path, content, word):
    with pytest.raises(InputError) as caught:
        read.traces(written(tmp_path, content))
    assert word in str(caught.value)
    pickled = written(tmp_path, content, "pickle")
    with pytest.raises(InputError) as caught:
        read.traces(pickled)
    assert pickled.name in str(caught.value)


def test_numbers_out_of_range_are_not_known(got):
    trace = got({**ENTRY, "collective_seq_id": -1, "time_discovered_completed_ns": T - 9}, rank=-1)
    assert trace.event(0).sequence is None
    assert trace.event(0).duration_ns is None


def test_only_dumps_are_claimed(tmp_path):
    assert flight_recorder.sniff(Opened(written(tmp_path, dump(ENTRY))))
    assert flight_recorder.sniff(Opened(written(tmp_path, dump(ENTRY), "pickle")))
    path = tmp_path / "other"
    for other in (
        b"", b"{}", b"\x80\x02]q\x00.", b'{"traceEvents": [], "x": {"profiling_name": 1}}',
        b'[{"profiling_name": 1}]', b"\x80\x09pg_config",
    ):  # fmt: skip
        path.write_bytes(other)
        assert not flight_recorder.sniff(Opened(path))
