import json
from dataclasses import replace

import pytest

from paceline.model import Cluster, Link, Note, Profile, Trace
from paceline.write import Look, inspection
from paceline.write.inspection_page import ranges
from paceline.write.page import LONGEST, Column, table

EVIL = "\x1b[31mred\x9b2J\u202e[bold]x[/bold] <b>|`*_\n# big"


@pytest.fixture
def evil(profile: Profile) -> Profile:
    return replace(profile, notes=(Note(code="odd", text=EVIL),))


def test_text_shows_all_parts_within_its_width(
    traces: tuple[Trace, ...], profile: Profile, cluster: Cluster
) -> None:
    page = inspection(traces, profile, cluster)
    assert max(len(line) for line in page.splitlines()) <= 100
    for part in ("2 on 2 machines; missing: 2", "2 (3-4)", "14 ms", "10 Gbit/s", "5 µs",
                 "-2.50 ppm", "group and sequence (4), order (2)", "dropped-step"):  # fmt: skip
        assert part in page


def test_a_narrow_terminal_folds(
    traces: tuple[Trace, ...], profile: Profile, cluster: Cluster
) -> None:
    page = inspection(traces, profile, cluster, look=Look(width=80))
    assert max(len(line) for line in page.splitlines()) <= 80


def test_color_only_on_demand(
    traces: tuple[Trace, ...], profile: Profile, cluster: Cluster
) -> None:
    assert "\x1b[" not in inspection(traces, profile, cluster)
    assert "\x1b[1m" in inspection(traces, profile, cluster, look=Look(color=True))


@pytest.mark.parametrize("format", ["text", "md", "json"])
def test_names_from_files_do_no_harm(
    traces: tuple[Trace, ...], evil: Profile, cluster: Cluster, format: str
) -> None:
    page = inspection(traces, evil, cluster, format=format)
    assert all(mark.isprintable() or mark == "\n" for mark in page)
    assert not any(line.startswith("# big") for line in page.splitlines())


def test_text_does_not_read_markup(
    traces: tuple[Trace, ...], evil: Profile, cluster: Cluster
) -> None:
    assert "[bold]x[/bold]" in inspection(traces, evil, cluster)


def test_markdown_tables_keep_their_columns(
    traces: tuple[Trace, ...], evil: Profile, cluster: Cluster
) -> None:
    page = inspection(traces, evil, cluster, format="md")
    row = next(line for line in page.splitlines() if line.startswith("| odd"))
    assert row.replace("\\|", "").count("|") == 5
    assert "\\<b\\>" in row
    assert "\\`" in row


def test_json_is_the_view(traces: tuple[Trace, ...], evil: Profile, cluster: Cluster) -> None:
    view = json.loads(inspection(traces, evil, cluster, format="json"))
    assert view["schema"] == 1
    assert view["notes"] == [{"code": "odd", "text": EVIL, "worker": None, "count": 1}]
    assert view["groups"] == [{"name": "dp", "members": [0, 1]}]


def test_long_tables_say_what_they_leave_out(traces: tuple[Trace, ...], profile: Profile) -> None:
    links = tuple(Link(a="m0", b=f"s{at}") for at in range(LONGEST + 5))
    for format in ("text", "md"):
        assert "and 5 more" in inspection(traces, profile, Cluster(links=links), format=format)


def test_table_keeps_short_ones() -> None:
    assert table("t", (Column(title="a"),), [("1",)]).left_out == 0


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((), ""), ((3,), "3"), ((2, 0, 1, 7), "0-2, 7"), (tuple(range(0, 60, 2)), "38, …")],
)
def test_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert ranges(numbers).endswith(text)


def test_a_recording_says_who_is_missing_and_what_comes_next() -> None:
    from paceline import write
    from paceline.model import RecordedWindow, Recording

    window = RecordedWindow(first=5, last=9, folder="my run/window-0", workers=1)
    other = RecordedWindow(first=15, last=19, folder="my run/window-1", workers=2)
    found = Recording(
        folder="my run", workers=(0, 2), size=40, steps=12, windows=(window, other),
        size_bytes=1_500_000, exit_code=9,
    )  # fmt: skip
    text = write.recording(found)
    assert "2 of 40; missing: 1, 3, 4" in text
    assert "and 22 more" in text
    assert "steps 5 to 8, in window-0; recorded by 1 of 2 workers only" in text
    assert "ended with code 9" in text
    assert "paceline diagnose 'my run'" in text
