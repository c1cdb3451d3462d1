"""Whole profiler files: what is claimed, kept, repaired and refused."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from made_kineto import ENGINE, Made

from paceline import read
from paceline.model import InputError, Trace
from paceline.read.formats import kineto
from paceline.read.opened import Opened


def text(*entries: str, head: str = "") -> str:
    return '{"schemaVersion": 1, %s"traceEvents": [%s]}' % (head, ",\n".join(entries))  # noqa: UP031


def op(name: str = "a", ts: str = "1", dur: str = "2", more: str = "") -> str:
    times = f'"ts": {ts}, "dur": {dur}' if dur else f'"ts": {ts}'
    return f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, {times}{more}}}'


def parsed(folder: Path, content: str | bytes, name: str = "rank_0.json") -> Trace:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read.trace(path)


def refused(folder: Path, content: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        parsed(folder, content)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "claimed"),
    [
        ('{"schemaVersion": 1, "traceEvents": []}', True),
        ('\ufeff {"traceEvents": [{"ph": "X", "cat": "cpu_op"}]}', True),
        ('[{"ph": "X", "cat": "cpu_op"}]', True),
        ('{"traceEvents": [{"ph": "X", "cat": "Kernel"}]}', True),
        ('{"deviceProperties": [], ', True),
        ('{"traceEvents": [{"ph": "B", "name": "NEGOTIATE"}]}', False),
        ('[{"name": "process_name", "ph": "M"}', False),
        ('{"paceline_trace": 1, "schemaVersion": 1}', False),
        ("", False),
        ("schemaVersion: 1", False),
    ],
)
def test_sniff(tmp_path: Path, content: str, claimed: bool):
    (tmp_path / "x.json").write_text(content)
    assert kineto.sniff(Opened(tmp_path / "x.json")) is claimed


def test_plain_and_gzipped_are_the_same(tmp_path: Path):
    made = Made(tmp_path).op("a", 1, 2).kernel("k", 3, 4, 1)
    plain = made.trace()
    path = tmp_path / "rank_0.json.gz"
    path.write_bytes(gzip.compress(made.path.read_bytes()))
    assert list(read.trace(path)) == list(plain)


def test_a_bare_array_of_events_is_a_file_too(tmp_path: Path):
    assert [event.name for event in parsed(tmp_path, f"[{op('a')}, {op('b')}]")] == ["a", "b"]


def test_keys_may_come_after_the_events(tmp_path: Path):
    tail = ', "baseTimeNanoseconds": 5000, "distributedInfo": {"rank": 7}}'
    trace = parsed(tmp_path, text(op())[:-1] + tail)
    assert trace.worker == 7
    assert trace.start_ns.tolist() == [6000]
    assert trace.clock == "unix"


def test_times_without_a_date_are_on_a_clock_of_their_own(tmp_path: Path):
    assert parsed(tmp_path, text(op())).clock == "own"
    assert parsed(tmp_path, text(op(ts="1700000000000000"))).clock == "unix"


def test_of_events_that_come_twice_the_last_count(tmp_path: Path):
    twice = text(op("a"), op("b"))[:-1] + f', "traceEvents": [{op("c")}]}}'
    trace = parsed(tmp_path, twice)
    assert [event.name for event in trace] == ["c"]
    assert trace.lanes == ("thread 1",)


def test_a_file_that_breaks_off_keeps_what_came_before(tmp_path: Path):
    whole = text(op("a"), op("b"), op("c"))
    trace = parsed(tmp_path, whole[: whole.index('"c"') + 9])
    assert [event.name for event in trace] == ["a", "b"]
    (note,) = trace.notes
    assert note.code == "truncated"
    assert re.search(r"breaks off at byte \d+; 2 entries were kept", note.text)


def test_a_gzip_stream_that_breaks_off_keeps_what_came_before(tmp_path: Path):
    whole = gzip.compress(text(*(op(f"op {n}", ts=str(n)) for n in range(9000))).encode())
    trace = parsed(tmp_path, whole[: len(whole) // 2])
    assert 1000 < len(trace) < 9000
    assert [note.code for note in trace.notes] == ["truncated"]


def test_nothing_before_the_break_is_an_error(tmp_path: Path):
    message = refused(tmp_path, text(op())[:60])
    assert "breaks off at byte 60" in message


def test_no_events_is_an_error(tmp_path: Path):
    assert "holds no events that can be used (0 entries)" in refused(tmp_path, text())
    meta = '{"ph": "M", "name": "process_name", "pid": 1, "tid": 0}'
    assert "(1 entries)" in refused(tmp_path, text(meta))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (op("x", dur="-41"), 'event 1 "x" (byte {at}) ends before it starts (-41 µs).'),
        (op("x", dur=""), 'event 1 "x" (byte {at}) has no duration.'),
        (op("x", dur='"long"'), 'event 1 "x" (byte {at}) lasts long µs.'),
        (op("x", dur="1e300"), 'event 1 "x" (byte {at}) lasts 1E+300 µs.'),
        (op("x", dur="9" * 30), 'event 1 "x" (byte {at}) lasts ' + "9" * 30),
        (op("x", dur="9" * 400), 'event 1 "x" (byte {at}) lasts ' + "9" * 30),
        (op("x", dur="9000000000000"), 'event 1 "x" (byte {at}) lasts 9000000000000 µs.'),
        (op("x", dur="NaN"), 'event 1 "x" (byte {at}) lasts nan µs.'),
        (op("x", ts="-5"), 'event 1 "x" (byte {at}) starts at -5 µs.'),
        (op("x", ts="-1e300"), 'event 1 "x" (byte {at}) starts at -1E+300 µs.'),
        (op("x", ts="Infinity"), 'event 1 "x" (byte {at}) starts at inf µs.'),
        (op("x", ts="1e17"), 'event 1 "x" (byte {at}) starts at 1E+17 µs.'),
        (op("x", ts="null"), 'event 1 "x" (byte {at}) has no start time.'),
        (op("x", ts="[1]"), 'event 1 "x" (byte {at}) starts at [1] µs.'),
        ('{"ph": "f", "cat": "fwdbwd", "id": 3}', "event 1 (byte {at}) has no start time."),
        ("7", "event 1 (byte {at}) is not an object."),
        ('{"ph": "X" "cat": 1}', "event 1 (byte {at}) is not JSON"),
        ('{"ph": "X", "ts": ' + "9" * 5000 + "}", "event 1 (byte {at}) is not JSON"),
    ],
)
def test_an_event_that_cannot_be_used_is_named(tmp_path: Path, entry: str, message: str):
    content = text(op("a"), entry, op("z"))
    place = len(content[: content.index(entry)].encode())
    found = refused(tmp_path, content)
    assert message.format(at=place) in found
    assert "rank_0.json" in found
    assert "Record it again." in found


@pytest.mark.parametrize(
    ("more", "note"),
    [
        (', "args": {"External id": "12", "stream": [1], "correlation": {}}', None),
        (', "args": {"External id": [1], "Record function id": 5}', None),
        (', "args": null', None),
        (', "args": 7', None),
        (', "args": {"x": NaN, "External id": 3}', "repaired"),
        (', "x": Infinity', "repaired"),
        (', "args": {"name": "a\x01b"}', "repaired"),
        (', "id": {}', None),
        (', "cat": "cpu_op", "tid": 1.5', None),
    ],
)
def test_what_is_odd_elsewhere_costs_no_event(tmp_path: Path, more: str, note: str | None):
    trace = parsed(tmp_path, text(op("a"), op("odd", more=more), op("z")))
    assert [event.name for event in trace] == ["a", "odd", "z"]
    assert [found.code for found in trace.notes] == ([note] if note else [])


def test_args_that_fit_are_taken_from_those_that_do_not(tmp_path: Path):
    more = ', "args": {"Record function id": 5, "External id": [1], "finished": false}'
    event = parsed(tmp_path, text(op("a", more=more))).event(0)
    assert (event.record, event.duration_ns) == (5, None)
    more = ', "args": {"Record function id": 6, "External id": NaN, "Sequence number": "x"}'
    assert parsed(tmp_path, text(op("a", more=more))).event(0).record == 6


def test_numbers_as_text(tmp_path: Path):
    event = parsed(tmp_path, text(op("a", ts='"1700000000000000.125"', dur='"2.5"'))).event(0)
    assert (event.start_ns, event.duration_ns) == (1700000000000000125, 2500)


@pytest.mark.parametrize("name", ["a\\ud800", "a\\u0007", "caf\xe9"])
def test_names_that_are_no_clean_text(tmp_path: Path, name: str):
    event = parsed(tmp_path, text(op(name)).encode("latin-1")).event(0)
    event.name.encode()
    assert event.name.startswith(name[:1])


def test_doubles_too_coarse_for_their_decimals_are_read_by_their_text(tmp_path: Path):
    starts = [f"170600000000000{n}.{n:03d}" for n in range(10)]
    trace = parsed(tmp_path, text(*(op(ts=start) for start in starts)))
    assert trace.start_ns.tolist() == [1706000000000000000 + n * 1000 + n for n in range(10)]


def test_spans_of_unknown_categories_are_counted(tmp_path: Path):
    made = Made(tmp_path).op("a", 0, 1)
    for _ in range(3):
        made.span("brand_new", "x", 0, 1)
    (note,) = made.trace().notes
    assert (note.code, note.count) == ("unused", 3)
    assert "'brand_new'" in note.text


def test_modules_without_times_are_counted(tmp_path: Path):
    made = Made(tmp_path).op("a", 0, 1).span("python_function", "nn.Module: X_0", 0, -5)
    made.span("python_function", "other", 0, -5)
    assert [(note.code, note.count) for note in made.trace().notes] == [("unusable", 1)]


@pytest.mark.parametrize("base", ["-5", "1e300", '"x"', "[1]", "true", str(8 * 10**18), "7.5"])
def test_a_wrong_base_of_all_times_is_an_error(tmp_path: Path, base: str):
    assert "baseTimeNanoseconds" in refused(
        tmp_path, text(op(), head=f'"baseTimeNanoseconds": {base}, ')
    )


def test_a_base_as_text(tmp_path: Path):
    trace = parsed(tmp_path, text(op(), head='"baseTimeNanoseconds": "1700000000000000000", '))
    assert trace.start_ns.tolist() == [1700000000000001000]


def test_base_and_time_beyond_the_year_2200(tmp_path: Path):
    content = text(op(ts="7000000000000000"), head='"baseTimeNanoseconds": 7000000000000000000, ')
    assert "after the year 2200" in refused(tmp_path, content)


@pytest.mark.parametrize(
    ("head", "facts"),
    [
        ({"distributedInfo": {"rank": 0, "backend": "nccl", "world_size": 4}}, ("nccl", 4, None)),
        ({"distributedInfo": {"rank": "x", "backend": None, "world_size": -4}}, (None, None, None)),
        ({"distributedInfo": [1]}, (None, None, None)),
        ({"host_name": "m7"}, (None, None, "m7")),
        ({"host_name": 7}, (None, None, "7")),
        ({"host_name": "a\ud800"}, (None, None, "a?")),
        ({}, (None, None, None)),
    ],
)
def test_facts(tmp_path: Path, head: dict[str, Any], facts: tuple[object, ...]):
    found = Made(tmp_path, **head).op("a", 0, 1).trace().facts
    assert (found.backend, found.workers, found.machine) == facts


def test_the_machine_may_stand_in_the_name_of_the_file(tmp_path: Path):
    name = "node-7.example_4711.1694128201545.pt.trace.json"
    assert parsed(tmp_path, text(op()), name).facts.machine == "node-7.example"
    assert (
        parsed(tmp_path, text(op()), "worker0_1.1694128201545.pt.trace.json").facts.machine is None
    )


def test_the_device_is_the_one_that_did_most(tmp_path: Path):
    devices = [{"id": n, "name": f"gpu {n}", "totalGlobalMem": 5 + n} for n in range(3)] + [7]
    made = Made(tmp_path, deviceProperties=devices).kernel("k", 0, 1, 1, (0, 7))
    made.kernel("k", 5, 1, 2, (2, 7)).kernel("k", 9, 1, 3, (2, 7))
    assert made.trace().facts.device == "gpu 2"
    assert made.trace().facts.device_memory_bytes == 7
    made = Made(tmp_path, deviceProperties={"id": 0}).kernel("k", 0, 1, 1, ("a", 7))
    assert made.trace().facts.device is None


def test_groups_of_the_job(tmp_path: Path):
    groups = {"x": {"pg_name": "0", "ranks": [0, 1]}, "y": {"pg_name": "1", "ranks": "?"}, "z": 3}
    made = Made(tmp_path, distributedInfo={"rank": 0, "pg_config": groups}).op("a", 0, 1)
    found = [(group.name, group.members) for group in made.trace().groups]
    assert found == [("0", (0, 1)), ("1", None)]


def test_peak_memory_of_the_device_or_else_the_host(tmp_path: Path):
    made = Made(tmp_path).op("a", 0, 1)
    for total, device in ((50, 0), (70, 0), (60, 0)):
        entry = {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 1,
            "tid": 1,
            "ts": 0,
        }
        made.entries.append({**entry, "args": {"Total Allocated": total, "Device Type": device}})
    assert made.trace().facts.peak_bytes == 70
    made.entries[-1]["args"] = {"Total Allocated": 40, "Device Type": 1}
    assert made.trace().facts.peak_bytes == 40
    made.entries[-1]["name"] = "something else"
    assert made.trace().facts.peak_bytes == 70


def test_annotations_alone_are_a_file_without_events(tmp_path: Path):
    made = Made(tmp_path).mark("ProfilerStep#1", 0, 5, ENGINE)
    assert len(made.trace()) == 0


def test_a_depth_bomb_is_refused(tmp_path: Path):
    bomb = ', "args": {"x": ' + "[" * 200 + "]" * 200 + "}"
    assert "nests deeper than 128 levels" in refused(tmp_path, text(op(), op(more=bomb)))


def test_escapes_in_keys_and_names(tmp_path: Path):
    content = text(op('q\\"{[\\\\')).replace('"name"', '"\\u006eame"')
    assert parsed(tmp_path, content).event(0).name == 'q"{[\\'


def test_values_beside_the_events_that_are_no_json(tmp_path: Path):
    trace = parsed(
        tmp_path, text(op(), head='"host_name": [1 2], "distributedInfo": {"rank": -}, ')
    )
    assert trace.facts.machine is None
