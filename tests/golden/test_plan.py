"""Two small clusters, a tree and a mesh, each beside the plan that comes out as JSON."""

import json
from pathlib import Path

import pytest

from paceline.cli import main

HERE = Path(__file__).parent / "plan"
CASES = sorted(path for path in HERE.iterdir() if path.is_dir())


def near(value: object) -> object:
    """The same with figures that may differ in their last digits."""
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-7, abs=1e-9)
    if isinstance(value, list):
        return [near(one) for one in value]
    if isinstance(value, dict):
        return {key: near(one) for key, one in value.items()}
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_plan_is_as_expected(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--job", str(case / "job.yaml"), "--cluster", str(case / "cluster.yaml")]
    assert main(["plan", *words, "--compare", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == near(json.loads((case / "expected.json").read_text()))
