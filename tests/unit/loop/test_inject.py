"""Hooks reach a worker that was started by a launcher, and only after it has imported torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from paceline.loop.inject import HOOKS, environment


def ran(folder: Path, code: str, hook: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A Python that finds a small `torch`, a `paceline` with one hook and a sitecustomize."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("print('torch runs')\n")
    (folder / "paceline").mkdir()
    (folder / "paceline" / "__init__.py").write_text("")
    hooked = "import torch\ndef install():\n    print('hooked', torch.__loader__ is not None)\n"
    (folder / "paceline" / "hook.py").write_text(hooked)
    (folder / "sitecustomize.py").write_text("print('other site')\n")
    env = environment(os.environ | {"PYTHONPATH": str(folder)} | more, hook)
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60
    )


def test_hooks_run_once_torch_is_there(tmp_path: Path) -> None:
    done = ran(tmp_path, "import json; print('first'); import torch; import torch", "paceline.hook")
    assert done.stdout.split("\n") == ["other site", "first", "torch runs", "hooked True", ""]
    assert done.stderr == ""


def test_without_torch_nothing_is_loaded(tmp_path: Path) -> None:
    code = "import sys; print('paceline' in sys.modules)"
    assert ran(tmp_path, code, "paceline.hook").stdout.split() == ["other", "site", "False"]


def test_a_missing_paceline_is_said_and_the_job_goes_on(tmp_path: Path) -> None:
    done = ran(tmp_path, "import torch; print('trains')", "paceline.nowhere")
    assert done.stdout.endswith("trains\n")
    assert "paceline.nowhere cannot be imported" in done.stderr
    assert done.returncode == 0


def test_hooks_of_others_are_refused(tmp_path: Path) -> None:
    done = ran(tmp_path, "import torch", "os")
    assert "hooked" not in done.stdout


def test_processes_that_load_data_are_no_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing\n"
        "def load():\n    import torch\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=load)\n"
        "    process.start()\n    process.join()\n"
    )
    ran(tmp_path, "pass", "paceline.hook")
    env = environment(os.environ | {"PYTHONPATH": str(tmp_path)}, "paceline.hook")
    spawned = subprocess.run(
        [sys.executable, str(script)], env=env, capture_output=True, text=True, timeout=60
    )
    assert "torch runs" in spawned.stdout
    assert "hooked" not in spawned.stdout


@pytest.mark.parametrize("times", [1, 2])
def test_a_hook_enters_once_and_others_stay(times: int) -> None:
    env = {"PYTHONPATH": "/a:/b", HOOKS: "paceline.lab.hook", "KEPT": "1"}
    for _ in range(times):
        env = environment(env, "paceline.run.hook", PACELINE_RECORD="RUN")
    boot, *rest = env["PYTHONPATH"].split(os.pathsep)
    assert (Path(boot) / "sitecustomize.py").is_file()
    assert rest == ["/a", "/b"]
    assert env[HOOKS] == "paceline.lab.hook,paceline.run.hook"
    assert (env["KEPT"], env["PACELINE_RECORD"]) == ("1", "RUN")
