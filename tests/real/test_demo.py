"""The demo as a new user runs it: real workers, a loss, a prediction, a proof."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch")


def test_the_demo_keeps_its_promise(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paceline", "demo", "--folder", str(tmp_path / "demo"), "--json"],
        capture_output=True, text=True, timeout=180, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    view = json.loads(done.stdout)
    before, after = view["before_ms"][0], view["after_ms"][0]
    assert after < 0.8 * before  # a slow link cost nearly half of the step
    assert view["predicted"]["step_ms"] < before
    assert any("killed" in note for note in view["notes"])
    assert (tmp_path / "demo" / "before" / "RUN" / "attempt-0").is_dir()
    assert {"record four workers", "diagnose"} <= set(view["stages"])
