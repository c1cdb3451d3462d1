import json
from pathlib import Path

import pytest

from paceline import model
from paceline.cli import main


def test_the_slowed_worker_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.json"
    assert main(["demo", "--recorded", "--json", "-o", str(target)]) == 0
    view = json.loads(capsys.readouterr().out)
    assert view["workers"] == 4
    assert view["missing_workers"] == []
    assert view["findings"][0]["worker"] == 2
    assert model.load(target, model.Report).findings[0].worker == 2
