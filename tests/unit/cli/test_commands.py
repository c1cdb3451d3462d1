"""What holds for all commands: names with hints, completion for shells, help that says it all."""

import os
import subprocess
import sys

import click
import pytest

from paceline.cli import COMMANDS, main, paceline

Captured = pytest.CaptureFixture[str]


def completed(words: str, at: int, shell: str = "bash") -> list[str]:
    """What a shell offers for the word at that place."""
    line = {"COMP_WORDS": words, "COMP_CWORD": str(at)}
    done = subprocess.run(
        [sys.executable, "-m", "paceline"],
        env=os.environ | {"_PACELINE_COMPLETE": f"{shell}_complete"} | line,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_shells_complete_commands_flags_choices_and_codes() -> None:
    assert completed("paceline ", 1) == [f"plain,{name}" for name in COMMANDS]
    assert completed("paceline dia", 1) == ["plain,diagnose"]
    assert "plain,--fail-if" in completed("paceline diagnose --fa", 2)
    assert completed("paceline diagnose --format m", 3) == ["plain,md"]
    assert completed("paceline diagnose RU", 2) == ["file,RU"]
    assert "plain,PL101" in completed("paceline explain pl1", 2)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_of_the_documentation_print_a_script(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paceline"],
        env=os.environ | {"_PACELINE_COMPLETE": f"{shell}_source"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "_PACELINE_COMPLETE" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("word", "hint"), [("diagnos", "'diagnose'"), ("what-if", "'whatif'"), ("zzz", "")]
)
def test_a_misspelled_command_gets_a_hint(word: str, hint: str, capsys: Captured) -> None:
    assert main([word]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "No such command" in err
    assert ("Did you mean" in err) == bool(hint)
    assert hint in err


def test_help_cuts_no_sentence_short(capsys: Captured) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "..." not in text.partition("Commands:")[2]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_says_what_it_does(name: str) -> None:
    command = paceline.get_command(click.Context(paceline), name)
    assert command is not None
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help
