"""One trace file, or all trace files of a run, to verified traces.

Each file goes to the first format that claims it. What can be read is kept; what cannot be read is
named in a note on the first trace. Only when nothing can be read is it an error.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np

from paceline.model import InputError, Note, PacelineError, Trace, verify
from paceline.read.folder import files_of, natural
from paceline.read.formats import FORMATS
from paceline.read.opened import DEFAULT_CAPS, Caps, Opened
from paceline.read.rank import rank_by_name, ranks_by_position
from paceline.read.recorded import chosen, without_events
from paceline.read.run_file import RunFile, run_file
from paceline.read.windows import refuse_twins

Named: TypeAlias = Path | str
Read: TypeAlias = tuple[Path, Trace]

_LIKE_TRACES = (".json", ".json.gz", ".jsonl", ".jsonl.gz", ".parquet")
_NO_TRACES = {"run.json", "plan.json", "report.json", "bill.json", "meta.json", "result.json"}


def trace(path: Named, *, caps: Caps = DEFAULT_CAPS) -> Trace:
    """The one trace of a file; a file with several workers is for `traces`."""
    path = Path(path)
    if path.is_dir():
        raise InputError("is a folder.", where=path, cure="Read it with read.traces.")
    found = _traces_of(path, caps)
    if found is None:
        raise _unclaimed(path)
    if len(found) != 1:
        raise InputError(
            f"holds traces of {len(found)} workers.",
            where=path,
            expected="One worker's trace was asked for.",
            cure="Read it with read.traces.",
        )
    ((_, only),) = _with_ranks([(path, found[0])], path.parent.parent, RunFile())
    return verify(only, path)


def traces(
    path_or_paths: Named | Iterable[Named], *, caps: Caps = DEFAULT_CAPS
) -> tuple[Trace, ...]:
    """All traces of a run, by worker and then by path: a RUN folder, rank files, or a list."""
    single = isinstance(path_or_paths, (Path, str))
    paths = [Path(path_or_paths)] if single else [Path(path) for path in path_or_paths]
    root = paths[0] if single and paths[0].is_dir() else None
    files = files_of(paths)
    named = {path for path in paths if not path.is_dir()}
    cover = RunFile() if root is None else run_file(root, caps)
    read: list[Read] = []
    notes: list[Note] = []
    silent: frozenset[Path] = frozenset()
    if root is not None and (recording := chosen(root, cover, caps)):
        root, cover, silent = recording.root, recording.cover, recording.silent
        files, notes = list(recording.files), list(recording.notes)
    errors: list[PacelineError] = []
    for path in files:
        if path not in named and path.name in _NO_TRACES:
            continue
        try:
            found = _traces_of(path, caps)
        except PacelineError as error:
            errors.append(error)
            notes.append(Note(code="unreadable", text=str(error).splitlines()[0]))
            continue
        if found is not None:
            read += [(path, without_events(one) if path in silent else one) for one in found]
        elif path in named or path.name.endswith(_LIKE_TRACES):
            why = "no trace format that paceline knows" if path.stat().st_size else "empty"
            notes.append(Note(code="skipped", text=f"{path}: {why}."))
    if not read:
        raise errors[0] if errors else _nothing(paths, notes)
    placed = _with_ranks(read, root, cover)
    refuse_twins(placed)
    return _finished(placed, notes, cover)


def _traces_of(path: Path, caps: Caps) -> tuple[Trace, ...] | None:
    """The traces of a file, None if no format claims it."""
    opened = Opened(path, caps)
    for format in FORMATS:
        if format.sniff(opened):
            return format.read(opened)
    return None


def _with_ranks(read: Sequence[Read], root: Path | None, cover: RunFile) -> list[Read]:
    """The traces with their worker known: content, then name, then run.json, then position."""
    placed: list[Read] = []
    nameless: list[Read] = []
    for path, one in read:
        top = path.parent.parent if root is None else root
        rank = one.worker if one.worker >= 0 else rank_by_name(path, top)
        if rank is None and root is not None and (told := cover.worker_of(path, root)):
            rank = told.rank
        if rank is None:
            nameless.append((path, one))
        else:
            placed.append((path, _renumbered(one, rank)))
    free = ranks_by_position(len(nameless), [one.worker for _, one in placed])
    for rank, (path, one) in zip(free, nameless, strict=True):
        text = f"{path}: nothing says whose trace this is; taken for worker {rank} by its position."
        note = Note(code="rank-guessed", text=text, worker=rank)
        placed.append((path, dataclasses.replace(_renumbered(one, rank), notes=(*one.notes, note))))
    return sorted(placed, key=lambda pair: (pair[1].worker, natural(pair[0])))


def _renumbered(one: Trace, rank: int) -> Trace:
    if one.worker == rank:
        return one
    after = np.where(one.after_worker == one.worker, rank, one.after_worker)
    return dataclasses.replace(one, worker=rank, after_worker=after.astype(np.int32))


def _finished(placed: list[Read], notes: list[Note], cover: RunFile) -> tuple[Trace, ...]:
    """Verified traces, with what run.json and the reading of the other files add to them."""
    finished: list[Trace] = []
    for path, one in placed:
        first = not finished
        fresh = first or finished[-1].worker != one.worker
        told = cover.worker(one.worker)
        facts = one.facts
        if told:
            facts = msgspec.structs.replace(
                facts,
                machine=facts.machine or told.machine,
                device=facts.device or told.device,
                workers=facts.workers or len(cover.workers),
            )
        whole = dataclasses.replace(
            one,
            facts=facts,
            pings=one.pings + (cover.pings_of(one.worker) if fresh else ()),
            notes=one.notes + (tuple(notes) if first else ()),
        )
        finished.append(verify(whole, path))
    return tuple(finished)


def _unclaimed(path: Path) -> InputError:
    known = ", ".join(format.NAME for format in FORMATS)
    return InputError(
        "is no trace that paceline knows.", where=path, expected=f"It reads: {known}."
    )


def _nothing(paths: Sequence[Path], notes: Sequence[Note]) -> InputError:
    if len(paths) == 1 and not paths[0].is_dir():
        return _unclaimed(paths[0])
    seen = f" ({len(notes)} files are of no known format)" if notes else ""
    return InputError(
        f"holds no trace{seen}.",
        where=paths[0] if paths else None,
        expected="A folder with a trace file for each worker is needed.",
        cure="Record one with `paceline record`.",
    )
