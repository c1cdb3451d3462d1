"""Small jobs and the edits made to them, each beside the job that comes out.

A case is a folder: `before.json` and `expected.json` are saved graphs, `edits.txt` has one edit a
line, the times of both stand in `times.json` and `expected_times.json`, which also says for each op
of which ops it stands.
"""

import json
from pathlib import Path

import pytest
from small_jobs import profile

from paceline import rewrite
from paceline.model import Edit, Graph, Times, dumped, load, verify

HERE = Path(__file__).parent / "rewrite"
CASES = sorted(path for path in HERE.iterdir() if path.is_dir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_edited_job_is_as_expected(case: Path):
    graph = load(case / "before.json", Graph)
    times = Times(**json.loads((case / "times.json").read_text()))
    edits = [Edit.parse(line) for line in (case / "edits.txt").read_text().splitlines()]
    machines = [f"m{rank}" for rank in graph.workers]
    out = rewrite.edited(graph, times, edits, profile=profile(graph, machines))
    verify(out.graph)
    expected = json.loads((case / "expected_times.json").read_text())
    assert dumped(out.graph).decode() == (case / "expected.json").read_text()
    assert out.times.duration_ns.tolist() == expected["duration_ns"]
    assert out.times.lead_ns.tolist() == expected["lead_ns"]
    assert [list(out.origins(op)) for op in range(len(out.graph))] == expected["origins"]


def test_every_edit_has_a_case():
    lines = [line for case in CASES for line in (case / "edits.txt").read_text().splitlines()]
    assert {Edit.parse(line).name for line in lines} == {one.NAME for one in rewrite.EDITS}
