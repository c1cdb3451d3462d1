import json
from pathlib import Path

import click
import pytest

from paceline.cli import main, paceline

Captured = pytest.CaptureFixture[str]
FAST = "speed{worker=1,factor=2}"


def test_json(runs: Path, capsys: Captured) -> None:
    edits = ["--edit", "typical{worker=1}", "--edit", "no-communication{}"]
    assert main(["whatif", str(runs / "slow.jsonl"), *edits, "--json"]) == 0
    out, err = capsys.readouterr()
    view = json.loads(out)
    assert err == ""
    assert set(view) == {"schema", "base_ms", "edits", "together", "notes"}
    assert [set(row) for row in view["edits"]] == [{"edit", "step_ms", "interval_ms"}] * 2
    assert set(view["together"]) == {"step_ms", "interval_ms"}
    assert [row["edit"] for row in view["edits"]] == ["typical{worker=1}", "no-communication{}"]
    for row in (*view["edits"], view["together"]):
        low, high = row["interval_ms"]
        assert low <= row["step_ms"] <= high
        assert row["step_ms"] < view["base_ms"]


def test_text_and_markdown(runs: Path, capsys: Captured) -> None:
    assert main(["whatif", str(runs / "slow.profile"), "--edit", FAST]) == 0
    text = capsys.readouterr().out
    assert FAST in text
    assert "all together" not in text
    assert main(["whatif", str(runs / "slow.profile"), "--edit", FAST, "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("## What if\n")


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ("sped{worker=1}", "Did you mean 'speed'?"),
        ("zzz{}", "There are: speed, typical"),
        ("speed{", "An edit reads"),
        ("", "An edit reads"),
        ("\x1b[31m{}", "\\x1b"),
    ],
)
def test_a_bad_edit_is_wrong_usage_before_anything_is_read(
    edit: str, says: str, capsys: Captured
) -> None:
    assert main(["whatif", "/nowhere", "--edit", edit]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--edit" in err
    assert says in err
    assert "\x1b" not in err


@pytest.mark.parametrize(
    "edits",
    [["speed{worker=9,factor=2}"], ["speed{worker=1,factor=0}"], ["speed{wrker=1,factor=2}"],
     ["speed{layer=nowhere,factor=2}"], ["collective{algorithm=rung}"], ["workers{count=0}"],
     ["no-communication{}", "collective{algorithm=ring}"]],
)  # fmt: skip
def test_edits_that_the_job_cannot_take(runs: Path, edits: list[str], capsys: Captured) -> None:
    flags = [word for edit in edits for word in ("--edit", edit)]
    assert main(["whatif", str(runs / "slow.profile"), *flags]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("error: ") == 1


def test_an_edit_is_needed(runs: Path, capsys: Captured) -> None:
    assert main(["whatif", str(runs / "slow.profile")]) == 2
    assert "--edit" in capsys.readouterr().err


def test_help_lists_every_edit() -> None:
    from paceline.rewrite import EDITS

    command = paceline.get_command(click.Context(paceline), "whatif")
    assert command is not None
    for edit in EDITS:
        assert f"{edit.NAME}{{" in (command.help or "")
