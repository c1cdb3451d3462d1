"""faults.yaml: what the golden files do not show, and the examples of the documentation."""

import re
from pathlib import Path

import pytest

from paceline.model import FAULTS, Faults, InputError
from paceline.read import faults

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLES = [
    (page, text)
    for page in ("formats/faults.md", "guides/lab-faults.md")
    for text in re.findall(r"```yaml\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
]


@pytest.mark.parametrize(("page", "text"), EXAMPLES, ids=[page for page, _ in EXAMPLES])
def test_examples_are_read(tmp_path: Path, page: str, text: str) -> None:
    (tmp_path / "faults.yaml").write_text(text)
    assert faults(tmp_path / "faults.yaml").faults


def test_the_documentation_has_examples_and_every_fault() -> None:
    assert len(EXAMPLES) >= 3
    page = (DOCS / "formats/faults.md").read_text()
    assert set(FAULTS) == set(re.findall(r"^\| `(\w+)` \| ", page, re.M))


def test_faults_beside_phases_have_steps_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(
        "phases: [{name: a, steps: 5}, {name: b, steps: 5, faults: [{lose: {worker: 0}}]}]\n"
        "faults: [{freeze: {worker: 0, step: 2, for: 1s}}]\n"
    )
    inside = Faults().lose(worker=0, step=0)
    expected = Faults().freeze(worker=0, step=2, for_s=1).phase("a", 5).phase("b", 5, inside)
    assert faults(tmp_path / "f.yaml") == expected


def test_an_error_in_a_phase_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(
        "phases:\n- name: a\n  steps: 5\n  faults:\n  - slow: {worker: 1, by: 1s}\n"
        "  - slow: {worker: 1, by: 2s, step: 3}\n"
    )
    with pytest.raises(InputError, match=r"line 6: slow: .*has not ended"):
        faults(tmp_path / "f.yaml")
