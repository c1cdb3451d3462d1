"""Hostile names in every place where a name can stand, through each way a report is shown.

HTML is opened in a real browser, once as it is and once without its policy, so that the escaping
alone must hold; a page without escaping shows that the browser would tell.
"""

import http.server
import re
import shutil
import subprocess
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from payloads import MARK, payloads

from jobs import Shape, traces
from paceline import stitch, write
from paceline.model import (
    Cause,
    Edit,
    Finding,
    Group,
    Job,
    MeasuredLink,
    PathPart,
    Profile,
    Report,
    Source,
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--virtual-time-budget=2000",
)  # fmt: skip
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
DRAWN = {"svg", "g", "path", "defs", "use", "clippath", "rect", "image", "style", "text", "title",
         "lineargradient"}  # fmt: skip
A_PAGE = 160  # names that one page shows

PAYLOADS = payloads()


def batched(names: Sequence[str], size: int = A_PAGE) -> list[tuple[str, ...]]:
    """The names of each page; the first of a page also names the job."""
    return [tuple(names[at : at + size]) for at in range(0, len(names), size)]


class Server(http.server.ThreadingHTTPServer):
    """Counts who asks."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/seen"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()


@pytest.fixture(autouse=True)
def _whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages show all rows, so that every name stands in every place and few pages are opened."""
    from paceline.write import page, report_html, report_page

    monkeypatch.setattr(report_html, "MOST_FINDINGS", A_PAGE)
    monkeypatch.setattr(report_page, "LARGEST", A_PAGE)
    monkeypatch.setattr(page, "LONGEST", A_PAGE)


@pytest.fixture(scope="module")
def calm() -> Profile:
    return stitch.profile(traces(Shape(workers=3, steps=4, layers=4, buckets=2)))


def named(profile: Profile, names: Sequence[str]) -> Profile:
    """The profile with these names for its ops, lanes, layers, groups, machines and itself."""
    graph = profile.graph
    name = [names[at % len(names)] for at in range(1000)]
    return replace(
        profile,
        job=Job(name=name[0]),
        workers=tuple(
            msgspec.structs.replace(worker, machine=name[at])
            for at, worker in enumerate(profile.workers)
        ),
        graph=replace(
            graph,
            works=tuple(
                msgspec.structs.replace(work, name=name[at]) for at, work in enumerate(graph.works)
            ),
            lanes=tuple(name[: len(graph.lanes)]),
            layers=tuple(name[: len(graph.layers)]),
            groups=tuple(
                Group(name=name[at], members=group.members) for at, group in enumerate(graph.groups)
            ),
        ),
    )


def report(names: Sequence[str]) -> Report:
    """A report that says each name in every field that a trace can fill."""
    return Report(
        findings=tuple(
            Finding(
                code="PL101", rule="slow-worker", subject=name, worker=at % 3,
                cause=Cause.SLOW_COMPUTE, cost_ns=(500.0 - at) * 1e5, interval_ns=(0.0, 1e8),
                evidence=("it is slow", name), advice=f"see {name}",
                edit=Edit("speed", (("link", name),)),
            )
            for at, name in enumerate(names)
        ),
        checked=("straggler", names[0]),
        step_ns=(1e8, 9e7, 1.1e8),
        workers=3,
        steps=4,
        events=100,
        simulated_step_ns=1e8,
        simulation_error=0.01,
        critical_path=tuple(
            PathPart(worker=0, kind="compute", name=name, ns=1e6, op=at % 60)
            for at, name in enumerate(names)
        ),
        links=tuple(
            MeasuredLink(a=name, b=name, bytes_per_s=1e9, latency_ns=None,
                         interval_bytes_per_s=None)
            for name in names
        ),
        sources=tuple(Source(path=f"RUN/{name}", digest="", tool=name) for name in names),
    )  # fmt: skip


class Elements(HTMLParser):
    """Counts the page's elements, and gathers what a picture may not hold."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.inside = 0
        self.marked = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside += tag == "svg"
        if self.inside and tag not in DRAWN:
            self.wrong.append(tag)
        if not self.inside:
            self.count[tag] += 1
        for name, value in attrs:
            self.marked |= name == MARK
            local = (value or "").startswith(("#", "data:image/png;base64,"))
            if name.startswith("on") or (name in ("src", "href", "xlink:href") and not local):
                self.wrong.append(f"{tag} {name}={value}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.inside -= tag == "svg"

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag == "svg"


def elements(page: str) -> Elements:
    found = Elements()
    found.feed(page)
    found.close()
    return found


def opened(page: Path, folder: Path) -> str:
    """What the browser made of the page."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "</html>" in done.stdout, done.stderr[-2000:]
    return done.stdout


def pages(calm: Profile, names: Sequence[str], folder: Path, size: int = A_PAGE) -> list[Path]:
    """Reports over all names."""
    pytest.importorskip("matplotlib", reason="needs the extra html")
    pytest.importorskip("jinja2", reason="needs the extra html")
    made: list[Path] = []
    for at, part in enumerate(batched(names, size)):
        made.append(folder / f"{at}.html")
        write.report_file(report(part), named(calm, part), made[-1])
    return made


def test_there_are_enough() -> None:
    assert len(PAYLOADS) >= 200


needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


@needs_chromium
def test_the_browser_would_tell(server: Server, tmp_path: Path) -> None:
    """A page that escapes nothing runs scripts, asks the server and has more elements."""
    bad = payloads(server.url)[:30] + tuple(f"<img src={server.url}?{at}>" for at in range(3))
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><html><body>" + "".join(f"<p>{one}</p>" for one in bad))
    server.asked.clear()
    found = elements(opened(page, tmp_path / "profile"))
    assert found.marked
    assert server.asked
    assert found.count["script"] > 0
    assert found.wrong


@needs_chromium
def test_html_in_a_browser_is_only_what_we_wrote(
    calm: Profile, server: Server, tmp_path: Path
) -> None:
    names = payloads(server.url)
    for kind in ("hostile", "calm"):
        (tmp_path / kind).mkdir()
    hostile = pages(calm, names, tmp_path / "hostile")
    tame = pages(calm, [f"name {at}" for at in range(len(names))], tmp_path / "calm")
    server.asked.clear()
    for page, twin in zip(hostile, tame, strict=True):
        text = page.read_text()
        wanted = elements(twin.read_text())
        without = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        assert without != text
        bare = page.with_suffix(".bare.html")
        bare.write_text(without)
        for path, less in ((page, 0), (bare, 1)):
            found = elements(opened(path, tmp_path / "profile"))
            assert not found.marked
            assert found.wrong == []
            assert found.count["meta"] == wanted.count["meta"] - less
            assert found.count | {"meta": 0} == wanted.count | {"meta": 0}
    assert server.asked == []


def test_html_source_holds_no_element_of_a_name(calm: Profile, tmp_path: Path) -> None:
    """The same without a browser, so that it holds where none is installed; on smaller pages."""
    (tmp_path / "calm").mkdir()
    tame = pages(calm, [f"name {at}" for at in range(len(PAYLOADS))], tmp_path / "calm", 80)
    for page, twin in zip(pages(calm, PAYLOADS, tmp_path, 80), tame, strict=True):
        text = page.read_text(encoding="utf-8")
        found = elements(text)
        assert found.count == elements(twin.read_text()).count
        assert found.wrong == []
        assert hidden(text) == set()


def hidden(text: str) -> set[str]:
    return {mark for mark in text if unicodedata.category(mark) in HIDDEN} - {"\n"}


@pytest.mark.parametrize("part", batched(PAYLOADS), ids=lambda part: str(len(part)))
@pytest.mark.parametrize("color", [False, True])
def test_terminal_text_has_no_control_characters(part: tuple[str, ...], color: bool) -> None:
    text = write.report(report(part), look=write.Look(color=color))
    ours = re.sub(r"\x1b\[(?:0|1|2)m", "", text) if color else text
    assert hidden(ours) == set()
    assert "\x1b[1m" in text or not color


def rendered(text: str) -> list[object]:
    from markdown_it import MarkdownIt

    return list(MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text))


def flat(tokens: Sequence[object]) -> Iterator[object]:
    for token in tokens:
        yield token
        yield from flat(token.children or ())  # type: ignore[attr-defined]


@pytest.mark.parametrize("part", batched(PAYLOADS), ids=lambda part: str(len(part)))
def test_markdown_is_text_in_our_tables(part: tuple[str, ...]) -> None:
    text = write.report(report(part), format="md")
    tame = write.report(report([f"name {at}" for at in range(len(part))]), format="md")
    assert hidden(text) == set()

    def kinds(page: str) -> Counter[str]:
        return Counter(token.type for token in flat(rendered(page)))  # type: ignore[attr-defined]

    ours, wanted = kinds(text), kinds(tame)
    for kind in ("text", "text_special"):
        ours.pop(kind, None)
        wanted.pop(kind, None)
    assert ours == wanted
    assert not {"html_inline", "html_block", "link_open", "image", "code_inline"} & set(ours)
    assert not re.search(r"https?://|ftp://|\bwww\.|[\w.]@\w|(?<!\\)@\w", text, re.IGNORECASE)


def test_markdown_would_tell() -> None:
    kinds = {token.type for one in PAYLOADS for token in flat(rendered(one))}  # type: ignore[attr-defined]
    assert {"html_block", "link_open", "image", "code_inline"} <= kinds


@pytest.mark.parametrize("part", batched(PAYLOADS), ids=lambda part: str(len(part)))
def test_json_gives_names_back_as_they_were(part: tuple[str, ...]) -> None:
    import json

    text = write.report(report(part), format="json")
    assert text.isascii()
    found = [row["subject"] for row in json.loads(text)["findings"]]
    # JSON knows no lone halves: two that stand side by side are one mark
    halves = [name.encode("utf-16", "surrogatepass") for name in part]
    assert [name.encode("utf-16", "surrogatepass") for name in found] == halves


def test_perfetto_takes_any_name(calm: Profile, tmp_path: Path) -> None:
    for part in batched(PAYLOADS):
        profile = named(calm, part)
        path = tmp_path / "step.json"
        write.perfetto(profile.graph, [("measured", profile.measured[0])], path)
        assert hidden(path.read_text(encoding="utf-8")) == set()
