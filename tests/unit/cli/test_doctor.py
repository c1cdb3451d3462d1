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


@pytest.mark.parametrize(
    ("allowed", "works", "says"),
    [
        (("--net", "--map-root-user"), True, "as root"),
        (("--map-root-user",), True, "in a user namespace"),
        ((), False, "refused"),
    ],
)
def test_namespaces_need_root_or_a_user_namespace(
    allowed: tuple[str, ...], works: bool, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_tried", lambda *words: words[1] in allowed)
    (row,) = (row for row in doctor.checks() if row.what == "namespaces")
    assert row.works is works
    assert says in row.found
    assert bool(row.cure) is not works


def test_what_is_tried_ends_and_tells() -> None:
    assert doctor._tried("true")
    assert not doctor._tried("false")
    assert not doctor._tried("no-such-command")
    assert not doctor._tried("cat", "/no/such/file")


def test_a_driver_is_seen_and_still_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name, **_: f"/bin/{name}")
    (row,) = (row for row in doctor.checks() if row.what == "GPU")
    assert row.works is None
    assert "nvidia-smi" in row.found
