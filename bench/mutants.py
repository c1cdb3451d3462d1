"""Damaged files of every format: each must end as a verified noun or as one of our four errors.

Prints a Markdown table. `--format NAME --case N` shows one case again, with its traceback.
"""

import argparse
import contextlib
import itertools
import math
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Generator, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from mutate import OPERATIONS, mutated
from paceline.model import RULES, Goal, History, Job, PacelineError, Trace, verify
from seeds import Format, Seed, formats

PATIENCE_S = 10.0
MEMORY_BYTES = 8 * 2**30  # more is a defect too


class HungError(BaseException):
    """A reader took longer than anyone waits; no reader may catch it."""


@dataclass
class Outcome:
    """What became of one mutant; `failed` says why it is a defect."""

    case: int
    ended: str
    ms: float
    failed: str = ""


@dataclass
class Tally:
    """What became of the mutants of a format."""

    name: str
    ended: Counter[str] = field(default_factory=Counter)
    slowest: Outcome | None = None
    failures: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Counts one outcome."""
        self.ended["FAILED" if outcome.failed else outcome.ended] += 1
        if self.slowest is None or outcome.ms > self.slowest.ms:
            self.slowest = outcome
        if outcome.failed:
            self.failures.append(outcome)


def mutant(format: Format, case: int) -> tuple[Seed, bytes, str]:
    """The seed of a case, its damaged content, and what was done to it."""
    rng = random.Random(f"{format.name}/{case}")
    seed = rng.choice(format.seeds)
    return seed, *mutated(seed.body, case, rng)


def placed(seed: Seed, body: bytes, folder: Path) -> Path:
    """The file of a seed with this content, and what belongs beside it."""
    for name, content in (*seed.beside, (seed.name, body)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder / seed.name


def tried(format: Format, case: int, folder: Path) -> Outcome:
    """Reads one mutant under the watchdog."""
    seed, body, _ = mutant(format, case)
    path = placed(seed, body, folder)
    failed, began = "", time.perf_counter()
    try:
        with watched():
            ended = checked(list(format.read(path)))
    except PacelineError as error:
        ended = type(error).__name__
        failed = misspoken(error)
    except (Exception, HungError) as error:  # noqa: BLE001 what is to be found here
        ended = type(error).__name__
        failed = "".join(traceback.format_exception(error)[-4:])
    return Outcome(case, ended, (time.perf_counter() - began) * 1e3, failed)


def checked(nouns: list[object]) -> str:
    """How valid nouns count, as read or as partial; an assertion for any other."""
    for noun in nouns:
        if type(noun) in RULES:
            verify(noun)  # type: ignore[type-var]
        else:
            assert_fine(noun)
    partial = any(isinstance(noun, Trace) and noun.notes for noun in nouns)
    return "partial" if partial else "read"


def assert_fine(noun: object) -> None:
    """What holds of the nouns that have no rules in the model."""
    assert isinstance(noun, (Job, Goal, History)), f"read a {type(noun).__name__}"
    figures: list[Any] = [getattr(noun, name) for name in noun.__struct_fields__]
    for figure in figures:
        if isinstance(figure, (int, float)):
            assert math.isfinite(figure), noun
            assert figure >= 0, noun
    if isinstance(noun, History):
        assert noun.gap_s > 0, noun
        assert noun.available, noun
        assert min(noun.available) >= 0, noun
    if isinstance(noun, Goal) and noun.target is not None:
        given = (noun.target.steps, noun.target.samples, noun.target.gap)
        assert [x > 0 for x in given if x is not None] == [True], noun


def misspoken(error: PacelineError) -> str:
    """Why a message is not fit for a user; empty for a good one."""
    text = str(error)
    if not text.replace("\n", "").isprintable():
        return f"not printable: {text!r}"
    if not error.where:
        return f"names no file: {text!r}"
    return f"too long: {len(text)}" if len(text) > 2000 else ""


@contextlib.contextmanager
def watched() -> Generator[None]:
    """Raises HungError inside after a while, and leaves the timer of whoever else has one."""

    def bell(*_: int | FrameType | None) -> NoReturn:
        raise HungError(f"took longer than {PATIENCE_S:g} s")

    began = time.perf_counter()
    handler = signal.signal(signal.SIGALRM, bell)
    left, _ = signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        yield
    finally:
        remains = max(left - (time.perf_counter() - began), 0.01) if left else 0
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, remains)


def run(format: Format, cases: Iterable[int]) -> Tally:
    """Tries the cases of a format, warnings taken for errors."""
    tally = Tally(format.name)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in cases:
            tally.add(tried(format, case, Path(folder)))
    return tally


def tally_of(name: str, count: int) -> Tally:
    """Tries a format by its name; meant for a process of its own."""
    return run(formats()[name], range(count))


def shown_again(format: Format, case: int) -> int:
    """Prints one case: what was done to which seed, the damaged file, and how it ended."""
    seed, body, done = mutant(format, case)
    print(f"{format.name} case {case}: {seed.name}, {done}, {len(body)} bytes")
    print(body[:2000].decode("utf-8", "backslashreplace"))
    with tempfile.TemporaryDirectory() as folder:
        outcome = tried(format, case, Path(folder))
    print(f"ended as {outcome.ended} after {outcome.ms:.1f} ms")
    print(outcome.failed)
    return 1 if outcome.failed else 0


def table(tallies: list[Tally], count: int) -> str:
    """The section of BENCHMARKS.md."""
    ends = ("read", "partial", "InputError", "ModelError", "FAILED")
    rows = [
        "## Damaged files",
        "",
        f"{count} damaged files of every format, by {len(set(OPERATIONS))} kinds of damage:",
        "truncation, flipped bits, bytes and lines lost, doubled or swapped, numbers, types",
        "and names replaced, depth and gzip bombs, clock jumps. Each must end as a noun that",
        "passes all rules of the model (*partial*: with a note of what is missing) or as an",
        "error with file and cure, within 10 s and without a warning.",
        "",
        f"| format | seeds | mutants | {' | '.join(ends)} | slowest |",
        "|---|" + "---:|" * (len(ends) + 3),
    ]
    for tally in tallies:
        found = " | ".join(str(tally.ended[end]) for end in ends)
        seeds, slowest = len(formats()[tally.name].seeds), tally.slowest
        ms = f"{slowest.ms:.0f} ms (case {slowest.case})" if slowest else ""
        rows.append(f"| {tally.name} | {seeds} | {tally.ended.total()} | {found} | {ms} |")
    return "\n".join(rows)


def main() -> int:
    """Tries all formats, or those asked for; 1 if any mutant was a defect."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))  # children inherit it
    known = formats()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--format", action="append", choices=list(known))
    parser.add_argument("--case", type=int, help="only this one, in detail")
    parser.add_argument("--count", type=int, default=10_000, help="mutants of each format")
    asked = parser.parse_args()
    chosen = [known[name] for name in asked.format or known]
    if asked.case is not None:
        return max(shown_again(format, asked.case) for format in chosen)
    tallies: list[Tally] = []
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        names = [format.name for format in chosen]
        for tally in pool.map(tally_of, names, itertools.repeat(asked.count)):
            print(f"{tally.name}: done", file=sys.stderr)
            tallies.append(tally)
            for outcome in tally.failures[:20]:
                print(f"--format '{tally.name}' --case {outcome.case}", file=sys.stderr)
                print(outcome.failed.strip()[-600:], file=sys.stderr)
    print(table(tallies, asked.count))
    return 1 if any(tally.failures for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
