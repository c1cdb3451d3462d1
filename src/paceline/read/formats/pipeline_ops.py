"""Operations of a pipeline-parallel job as Parquet: one row an operation of one worker in one step.

The columns are those of the traces published with "Understanding Stragglers in Large Model
Training Using What-if Analysis" (OSDI 2025). One Trace a rank comes out, with the peers, groups
and dependencies that the file leaves to its reader. docs/formats/pipeline-ops.md tells the rules.
"""

import re
from typing import Any

import numpy as np

from paceline.model import (
    I64,
    Facts,
    InputError,
    Note,
    Trace,
    chained,
    no_norms,
)
from paceline.read.compact import compact
from paceline.read.opened import Opened
from paceline.read.parquet import footer
from paceline.read.pipeline_after import after
from paceline.read.pipeline_groups import Talk, talk
from paceline.read.pipeline_rows import Rows, rows
from paceline.read.pipeline_works import WORKS
from paceline.read.yaml_text import parsed, text_of

NAME: str = "pipeline-ops"

_MARKS = (b"optype", b"start_ts", b"dp_rank", b"stage")
_WHOLE = re.compile(r"\d{1,7}")


def sniff(opened: Opened) -> bool:
    """True if the file is Parquet with the columns of operations."""
    found = footer(opened)
    return all(mark in found for mark in _MARKS) and b"paceline_trace" not in found


def read(opened: Opened) -> tuple[Trace, ...]:
    """The traces of all ranks of the file."""
    found = rows(opened)
    stages, workers = _sizes(found, opened)
    meetings = talk(found, stages)
    pairs = after(found, meetings.works, stages)
    columns, tables = _columns(found, meetings)
    notes = _notes(found, meetings)
    source = opened.source(NAME)
    cuts = np.searchsorted(found.rank, np.arange(len(found.ranks) + 1))
    waits = np.searchsorted(pairs[0], cuts)
    out: list[Trace] = []
    for at, rank in enumerate(found.ranks.tolist()):
        own, links = slice(cuts[at], cuts[at + 1]), slice(waits[at], waits[at + 1])
        count = int(cuts[at + 1] - cuts[at])
        part: dict[str, Any] = {name: column[own] for name, column in columns.items()}
        for name, table in (("name", "names"), ("lane", "lanes"), ("layer", "layers")):
            part[name], part[table] = compact(part[name], tables[table])
        used, part["group"] = _groups(part["group"])
        out.append(
            Trace(
                worker=rank,
                clock="step",
                **part,
                **dict.fromkeys(("size_bytes", "bucket", "chunk", "round", "algorithm", "record"),
                                np.full(count, -1)),
                after_from=chained(np.bincount(pairs[0][links] - cuts[at], minlength=count)),
                after_worker=np.full(len(pairs[1][links]), rank, np.int32),
                after_index=pairs[1][links] - cuts[at],
                groups=tuple(meetings.groups[place] for place in used),
                facts=Facts(workers=workers),
                norms=no_norms(),
                notes=notes if not out else (),
                sources=(source,),
            )
        )  # fmt: skip
    return tuple(out)


def _groups(column: I64) -> tuple[list[int], I64]:
    """The groups that a rank uses, and its column in their numbering."""
    used, inverse = np.unique(column, return_inverse=True)
    unknown = np.count_nonzero(used < 0)
    return used.tolist()[unknown:], inverse - unknown


def _columns(found: Rows, meetings: Talk) -> tuple[dict[str, I64], dict[str, tuple[str, ...]]]:
    """The columns of all ranks, and the tables that they point into."""
    works = meetings.works
    lanes = tuple(dict.fromkeys(work.lane for work in works))
    chunks = int(found.chunk.max()) + 1
    place, layers = found.stage[found.rank] * (chunks + 1), tuple[str, ...]()
    if chunks > 1:  # with one chunk a stage, the stage says all
        place = place + found.chunk + 1
    places, layer = np.unique(place, return_inverse=True)
    for stage, chunk in (divmod(at, chunks + 1) for at in places.tolist()):
        layers += (f"stage {stage} chunk {chunk - 1}" if chunk else f"stage {stage}",)
    columns = {
        "name": found.work,
        "kind": np.array([work.kind for work in works])[found.work],
        "phase": np.array([work.phase for work in works])[found.work],
        "lane": np.array([lanes.index(work.lane) for work in works])[found.work],
        "step": found.steps[found.step],
        "start_ns": found.start_ns,
        "duration_ns": found.end_ns - found.start_ns,
        "layer": layer,
        "group": meetings.group,
        "sequence": meetings.sequence,
        "peer": meetings.peer,
    }
    return columns, {"names": found.works, "lanes": lanes, "layers": layers}


def _notes(found: Rows, meetings: Talk) -> tuple[Note, ...]:
    """What the file holds that has no meaning here."""
    notes: list[Note] = []
    counts = np.bincount(found.work, minlength=len(found.works)).tolist()
    other = {
        name: n for name, n in zip(found.works, counts, strict=True) if n and name not in WORKS
    }
    if other:
        first = next(iter(other))
        text = f"Operations of unknown names ({first!r}, ...) are taken for host work."
        notes.append(Note(code="unknown-operation", text=text, count=sum(other.values())))
    for name in meetings.apart:
        text = f"{name}: its supposed members were not in it at the same time; nobody waits in it."
        notes.append(Note(code="not-together", text=text))
    return tuple(notes)


def _sizes(found: Rows, opened: Opened) -> tuple[int, int | None]:
    """Stages of the pipeline, and workers of the job if `meta-X.yaml` beside `trace-X` tells."""
    path = opened.path
    stages = int(found.stage.max()) + 1
    meta = path.with_name(path.name.replace("trace", "meta", 1)).with_suffix(".yaml")
    if meta == path or not meta.is_file():
        return stages, None
    content = parsed(text_of(Opened(meta, opened.caps)), meta).content
    sizes = {
        key: int(value.content)
        for key, value in (content.items() if isinstance(content, dict) else ())
        if isinstance(value.content, str) and _WHOLE.fullmatch(value.content)
    }
    told, workers = sizes.get("pp_size", stages), sizes.get("world_size")
    if told < stages or (workers is not None and workers <= int(found.ranks.max())):
        raise InputError(
            f"does not fit {meta.name}: it has stage {stages - 1} and rank {found.ranks.max()}.",
            where=path,
            expected="The file beside it gives pp_size and world_size of the same job.",
            cure="Remove it, or give the one that belongs to the trace.",
        )
    return told, workers
