import json

import pytest

from paceline.cli import main
from paceline.loop import doctor

Captured = pytest.CaptureFixture[str]


def test_json(capsys: Captured) -> None:
    assert main(["doctor", "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert set(view) == {"schema", "checks"}
    named = {row["what"]: row for row in view["checks"]}
    assert {"Python", "numpy", "ip", "tc", "nft", "sysctl", "namespaces", "GPU"} <= set(named)
    assert named["numpy"]["works"] is True
    assert named["GPU"]["works"] is None
    assert "ntested" in named["GPU"]["cure"]


def test_text_fits_and_sums_up(capsys: Captured) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert "untested: " in lines[1]


def test_what_is_missing_says_how_to_get_it_and_what_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def gone(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(doctor.metadata, "version", gone)
    found = {row.what: row for row in doctor.checks()}
    for tool, package in (("ip", "iproute2"), ("nft", "nftables"), ("sysctl", "procps")):
        assert found[tool].works is False
        assert f"apt install {package}" in found[tool].cure
        assert "lab" in found[tool].cure
    assert "paceline[torch]" in found["torch"].cure
    assert found["numpy"].works is False


@pytest.mark.parametrize(("user", "works"), [(0, True), (1000, None)])
def test_namespaces_need_root(
    user: int, works: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.os, "geteuid", lambda: user)
    (row,) = (row for row in doctor.checks() if row.what == "namespaces")
    assert row.works is works


def test_a_driver_is_seen_and_still_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name, **_: f"/bin/{name}")
    (row,) = (row for row in doctor.checks() if row.what == "GPU")
    assert row.works is None
    assert "nvidia-smi" in row.found
