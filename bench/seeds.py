"""Good files of every format that paceline reads, with the reader that must survive their damage.

They are found by listing: the golden files of the tests and the bundled recording. A trace format
joins as soon as a file of it lies there, a noun as soon as `save` knows it.
"""

import contextlib
import gzip
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from paceline import read
from paceline.model import PacelineError, load
from paceline.model.file import NOUNS
from paceline.read.opened import Opened

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"
RECORDING = ROOT / "src" / "paceline" / "loop" / "demo_run"
LARGEST_SEED = 100_000  # bytes unpacked; a larger one is taken only where there is no other
MOST_SEEDS = 8
WRITTEN = ("cluster", "job", "goal", "history", "saved")

Reader = Callable[[Path], Iterable[object]]


@dataclass(frozen=True)
class Seed:
    """A good file: its name, its content unpacked, and what must lie beside it."""

    name: str
    body: bytes
    beside: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True)
class Format:
    """Good files of one kind and the reader that must survive them."""

    name: str
    seeds: tuple[Seed, ...]
    read: Reader


def unpacked(path: Path) -> bytes:
    """The content of a seed."""
    raw = path.read_bytes()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def one(reader: Callable[[Path], object], path: Path) -> Iterable[object]:
    """What a reader of single nouns reads."""
    return (reader(path),)


def written(kind: str, reader: Callable[[Path], object]) -> Format:
    """A format that people write, with its golden files."""
    files = [path for path in sorted((GOLDEN / kind).glob("*.*")) if ".expected." not in path.name]
    return Format(kind, _seeds(files), partial(one, reader))


def clusters() -> Format:
    """Cluster files, with the tables that one of them names."""
    tables = sorted((GOLDEN / "cluster" / "tables").glob("*.csv"))
    beside = tuple((f"tables/{path.name}", unpacked(path)) for path in tables)
    plain = written("cluster", read.cluster)
    seeds = tuple(Seed(seed.name, seed.body, beside) for seed in plain.seeds)
    return Format("cluster", seeds, plain.read)


def tables() -> Format:
    """CSV files beside a cluster file: the table is damaged, the cluster file is read."""
    heads = {
        "machines": b"machines: machines.csv",
        "links": b"machines: [{name: m0}]\nlinks: links.csv",
        "offers": b"offers: offers.csv",
    }
    seeds = tuple(
        Seed(f"{what}.csv", unpacked(GOLDEN / f"cluster/tables/{what}.csv"), (("c.yaml", head),))
        for what, head in heads.items()
    )
    return Format("cluster tables", seeds, lambda path: (read.cluster(path.with_name("c.yaml")),))


def saved() -> Iterable[Format]:
    """The nouns that paceline saves."""
    for name, noun in NOUNS.items():
        files = sorted((GOLDEN / "saved").glob(f"{name}*.json"))
        yield Format(f"saved {name}", _seeds(files), partial(one, partial(load, noun=noun)))


def traces() -> Iterable[Format]:
    """All trace formats of which there is a file."""
    found: dict[str, list[Path]] = {}
    files = [path for path in sorted(GOLDEN.rglob("*")) if path.is_file()]
    files = [path for path in files if path.relative_to(GOLDEN).parts[0] not in WRITTEN]
    for path in [*files, *sorted(path for path in RECORDING.rglob("*") if path.is_file())]:
        for format in read.FORMATS:
            if format.sniff(Opened(path)):
                with contextlib.suppress(PacelineError):
                    read.traces(path)
                    found.setdefault(format.NAME, []).append(path)
                break
    for format in read.FORMATS:
        if format.NAME in found:
            yield Format(format.NAME, _seeds(found[format.NAME]), read.traces)


def _seeds(files: Iterable[Path]) -> tuple[Seed, ...]:
    seeds = [Seed(path.name.removesuffix(".gz"), unpacked(path)) for path in files]
    small = [seed for seed in seeds if len(seed.body) <= LARGEST_SEED]
    least = sorted(seeds, key=lambda seed: len(seed.body))[:1]
    return tuple((small or least)[:MOST_SEEDS])


@cache
def formats() -> dict[str, Format]:
    """All formats by name."""
    people = [
        clusters(),
        tables(),
        written("job", read.job),
        written("goal", read.goal),
        written("history", read.history),
    ]
    every = [*people, *saved(), *traces()]
    return {format.name: format for format in every if format.seeds}
