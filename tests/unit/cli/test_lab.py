"""Words of `paceline lab` that are refused before anything is built."""

from pathlib import Path

import pytest

from paceline.cli import main
from paceline.lab import spaces

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text("machines: [{name: m0}]\n")
    return str(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("machines: [{name: m0}, {name: m1}]\nlinks: [{a: m0, b: s}]\n", "No links lead from"),
        ("machines: [{name: m0}]\nlinks: [{a: m0, b: s, rate: 0}]\n", "rate"),
        ("machines: [{name: m0}]\nlinks: [{a: m0, b: s}, {a: s, b: m0}]\n", "m0 - s"),
        ("offers: [{name: o, kind: k, usd_per_hour: 1}]\n", "no machines"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "check"])
def test_an_impossible_cluster_is_one_error(
    verb: str, text: str, says: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    assert main(["lab", verb, str(path), *(["--", "true"] if verb == "run" else [])]) == 3
    err = capsys.readouterr().err
    assert says in err
    assert len(err.splitlines()) <= 2


def test_a_missing_tool_is_told_with_its_package(
    cluster: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(
        spaces.shutil, "which", lambda name, path=None: None if name == "nft" else f"/bin/{name}"
    )
    assert main(["lab", "run", cluster, "--", "true"]) == 1
    assert "the command nft" in (err := capsys.readouterr().err)
    assert "apt install nftables" in err


def test_an_unknown_command_is_told(cluster: str, capsys: Captured) -> None:
    assert main(["lab", "run", cluster, "--", "no-such-command"]) == 1
    assert "There is no command 'no-such-command'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["run"], ["run", "CLUSTER"], ["run", "CLUSTER", "--mode", "x", "--", "true"],
        ["run", "CLUSTER", "--timeout", "soon", "--", "true"],
        ["run", "CLUSTER", "--port", "0", "--", "true"],
        ["check", "CLUSTER", "--tolerance", "much"], ["check", "CLUSTER", "--seconds", "0"],
    ],
)  # fmt: skip
def test_wrong_words_are_wrong_usage(words: list[str], cluster: str, capsys: Captured) -> None:
    assert main(["lab", *(cluster if word == "CLUSTER" else word for word in words)]) == 2
    assert capsys.readouterr().err.count("error:") == 1


def test_namespaces_that_are_refused_are_told_with_the_reason(
    cluster: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    refusing = ["sh", "-c", "echo not allowed here >&2; exit 1"]
    monkeypatch.setattr(spaces, "started", lambda *_: refusing)
    assert main(["lab", "run", cluster, "--mode", "user", "--", "true"]) == 1
    assert "in a user namespace: not allowed here." in capsys.readouterr().err


def test_settings_reach_a_command_of_a_command(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paceline.toml").write_text('[lab.run]\ntimeout = "soon"\n')
    assert main(["lab", "run", cluster, "--", "true"]) == 2
    assert "--timeout" in capsys.readouterr().err
    (tmp_path / "paceline.toml").write_text("[lab.run]\nsoon = 1\n")
    assert main(["lab", "run", cluster, "--", "true"]) == 3
    assert "unknown key run.soon" in capsys.readouterr().err
