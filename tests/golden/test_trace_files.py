"""Trace files of several formats, each beside what it is read as: native lines, or a refusal."""

from pathlib import Path

import pytest

from paceline import read, write
from paceline.model import InputError

HERE = Path(__file__).parent
FOLDERS = ("native", "pipeline_ops", "flight_recorder", "horovod", "execution_trace")
ENDINGS = (".expected.jsonl", ".txt")
READ, REFUSED = (
    sorted(
        path
        for folder in FOLDERS
        for path in (HERE / folder / inner).glob("*")
        if path.is_file() and not path.name.endswith(ENDINGS)
    )
    for inner in ("", "refused")
)


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name.partition(".")[0] + ending)


@pytest.mark.parametrize("path", READ, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_trace_file_is_read_as_expected(path: Path, tmp_path: Path):
    traces = read.traces([path])
    write.traces(traces, tmp_path / "t.jsonl")
    text = (tmp_path / "t.jsonl").read_text().replace(str(path), path.name)
    assert text == beside(path, ".expected.jsonl").read_text()
    if traces[0].sources[0].tool:
        again = read.traces(tmp_path / "t.jsonl")
        assert [list(trace) for trace in again] == [list(trace) for trace in traces]


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: f"{path.parent.parent.name}/{path.name}")
def test_a_refusal_names_place_and_cure(path: Path):
    with pytest.raises(InputError) as caught:
        read.traces([path])
    message = str(caught.value).replace(str(path.parent), "HERE")
    assert message + "\n" == beside(path, ".txt").read_text()
