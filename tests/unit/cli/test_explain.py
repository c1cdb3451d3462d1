import pytest

from paceline import diagnose
from paceline.cli import main

Captured = pytest.CaptureFixture[str]


def test_every_code_is_explained_by_number_and_by_rule(capsys: Captured) -> None:
    for row in diagnose.CODES:
        assert main(["explain", row.code.lower()]) == 0
        text = capsys.readouterr().out
        assert row.title in text
        assert " ".join(row.text.split()) in " ".join(text.split())
        assert main(["explain", row.rule]) == 0
        assert capsys.readouterr().out == text


def test_without_a_code_all_are_listed_in_order(capsys: Captured) -> None:
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(row.code for row in diagnose.CODES)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("code", "hint"), [("PL1011", "'PL101'"), ("slow-wrker", "'slow-worker'"), ("", ""), ("é", "")]
)
def test_an_unknown_code_gets_a_hint(code: str, hint: str, capsys: Captured) -> None:
    assert main(["explain", code]) == 2
    err = capsys.readouterr().err
    assert "is no code of a finding" in err
    assert (f"Did you mean {hint}?" if hint else "lists them all") in err
