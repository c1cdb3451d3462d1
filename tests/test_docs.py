"""The documentation lists every command, flag, format, field and code, and its examples run."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import click
import msgspec
import pytest

from paceline.cli import COMMANDS, paceline
from paceline.model import PacelineError

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def part(text: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level."""
    _, _, after = text.partition(f"\n{heading}")
    assert after, f"no heading {heading!r}"
    return after.split("\n## ")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_flag_is_documented(name: str) -> None:
    command = paceline.get_command(click.Context(paceline), name)
    assert command is not None
    text = part(page("reference/commands.md"), f"## `paceline {name}")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            for flag in parameter.opts:
                assert f"`{flag}" in text, f"{flag} of {name}"
        else:
            assert f"`{(parameter.name or '').upper()}" in text


def test_no_command_is_documented_that_does_not_exist() -> None:
    documented = re.findall(r"^## `paceline (\w+)", page("reference/commands.md"), re.MULTILINE)
    assert sorted(documented) == sorted(COMMANDS)


def test_every_read_format_is_documented() -> None:
    from paceline.read import FORMATS

    rows = re.findall(
        r"^\| ([\w-]+) \|.*\| \[.*\]\((\S+)\) \|$", page("reference/formats.md"), re.M
    )
    listed = dict(rows)
    for format in FORMATS:
        assert format.NAME in listed, format.NAME


def test_every_page_of_a_format_is_listed() -> None:
    links = set(re.findall(r"\(\.\./(formats/[\w-]+\.md)", page("reference/formats.md")))
    assert {f"formats/{path.name}" for path in (DOCS / "formats").glob("*.md")} == links


def test_every_page_format_is_a_choice_of_the_command_line() -> None:
    from paceline.cli.options import FORMATS
    from paceline.write.formats import PAGE_FORMATS

    assert tuple(writer.NAME for writer in PAGE_FORMATS) == FORMATS


def fields(record: type[msgspec.Struct]) -> set[str]:
    """Names of the fields of a view and of the records in it."""
    found: set[str] = set()
    for field in msgspec.structs.fields(record):
        found.add(field.encode_name)
        kinds = [field.type, *getattr(field.type, "__args__", ())]
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                found |= fields(kind)
    return found


def test_every_field_of_a_view_is_documented() -> None:
    from paceline.write.inspection import Inspection

    text = part(page("reference/json.md"), "## `paceline inspect --json`")
    missing = {name for name in fields(Inspection) if f"`{name}`" not in text}
    assert missing == set()
    assert "interval_gbit_per_s" in fields(Inspection)


def test_every_exit_code_is_documented() -> None:
    codes = {kind.exit_code for kind in PacelineError.__subclasses__()} | {0, 1, 2, 75, 130}
    table = set(re.findall(r"^\| (\d+) \|", page("reference/errors.md"), re.MULTILINE))
    assert {str(code) for code in codes} == table


def test_caps_are_documented_as_they_are() -> None:
    from paceline.read import DEFAULT_CAPS

    text = page("reference/errors.md")
    assert f"more than {DEFAULT_CAPS.largest_bytes // 2**30} GiB" in text
    assert f"above {DEFAULT_CAPS.ratio} to 1" in text
    assert f"deeper than {DEFAULT_CAPS.depth}" in text


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_make_targets_in_examples_exist(path: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = re.findall(r"^(?:\$ )?make (\w+)|`make (\w+)", path.read_text(), re.MULTILINE)
    assert {first or second for first, second in asked} <= targets


def test_python_of_the_quickstart_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from paceline import model
    from paceline.loop import demo_run

    (code,) = re.findall(r"```python\n(.*?)```", page("quickstart.md"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "RUN").symlink_to(demo_run())
    exec(compile(code, "quickstart.md", "exec"), {})
    assert len(model.load("job.profile.gz", model.Profile).workers) == 4


def test_settings_of_the_examples_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from paceline.cli.settings import settings

    monkeypatch.chdir(tmp_path)
    for text in re.findall(r"```toml\n(.*?)```", page("reference/settings.md"), re.DOTALL):
        name = text.splitlines()[0].removeprefix("# ")
        (tmp_path / name).write_text(text)
        assert settings(paceline, click.Context(paceline))["inspect"]["format"] == "md"
        (tmp_path / name).unlink()


def test_decisions_are_numbered_listed_and_complete() -> None:
    records = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    assert [path.name[:4] for path in records] == [f"{at + 1:04}" for at in range(len(records))]
    listed = re.findall(r"\[(\d{4})\]\((\S+)\)", page("decisions/index.md"))
    assert listed == [(path.name[:4], path.name) for path in records]
    for path in records:
        headings = re.findall(r"^## (.*)$", path.read_text(), re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"], path.name


def fold() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fold", ROOT / "changes" / "fold.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_fragment_is_well_formed() -> None:
    module = fold()
    wrong = {path.name: module.problems(path) for path in module.fragments()}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.new.md", "Is fine."), ("A b.added.md", "Is fine."), ("a.added.md", "no capital."),
        ("a.added.md", "No stop"), ("a.added.md", "Two.\nLines.\n"), ("a.added.md", "\n"),
    ],
)  # fmt: skip
def test_an_ill_formed_fragment_is_noticed(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert fold().problems(tmp_path / name)


def test_folding_replaces_what_is_unreleased_and_keeps_the_rest(tmp_path: Path) -> None:
    module = fold()
    (tmp_path / "b.fixed.md").write_text("It works.\n")
    (tmp_path / "a.added.md").write_text("It is there.\n")
    new = module.section("## Unreleased", sorted(tmp_path.iterdir()))
    once = module.folded(
        "# Changelog\n\n## Unreleased\n\n- gone\n\n## 0.1.0 (2026)\n\n- old\n", new
    )
    assert "gone" not in once
    assert once.index("### Added\n\n- It is there.") < once.index("### Fixed\n\n- It works.")
    assert once.endswith("\n## 0.1.0 (2026)\n\n- old\n")
    assert module.folded(once, new) == once


def test_the_version_is_the_same_everywhere() -> None:
    import paceline as package

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", package.__version__)


def test_every_code_is_documented_with_its_text() -> None:
    from paceline import diagnose

    text = " ".join(page("reference/findings.md").split())
    for code in diagnose.CODES:
        assert f"## {code.code} {code.rule}" in text
        assert " ".join(code.text.split()) in text


@pytest.mark.parametrize("name", ["diagnose", "compare", "whatif", "record", "plan", "demo"])
def test_every_field_of_the_other_views_is_documented(name: str) -> None:
    from paceline.write import (
        comparison_page,
        plan_page,
        proof_page,
        recording_page,
        report_view,
        whatif_page,
    )

    views = {
        "diagnose": report_view.ReportView,
        "compare": comparison_page.ComparisonView,
        "whatif": whatif_page.WhatIfView,
        "record": recording_page.RecordingView,
        "plan": plan_page.PlanView,
        "demo": proof_page.ProofView,
    }
    text = part(page("reference/json.md"), f"## `paceline {name} --json`")
    assert {field for field in fields(views[name]) if f"`{field}`" not in text} == set()


def test_every_command_of_the_lab_and_its_flags_are_documented() -> None:
    group = paceline.get_command(click.Context(paceline), "lab")
    assert isinstance(group, click.Group)
    section = part(page("reference/commands.md"), "## `paceline lab`")
    for name, command in group.commands.items():
        _, heading, text = section.partition(f"\n### `paceline lab {name} ")
        assert heading, name
        text = text.split("\n### ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for flag in parameter.opts:
                    assert f"`{flag}" in text, f"{flag} of {name}"
