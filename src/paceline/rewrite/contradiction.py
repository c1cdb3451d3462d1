"""Edits that cannot be meant together, found before any of them is applied.

The same edit used twice is composition and fine; two answers to one question are not.
"""

from collections.abc import Sequence

from paceline.model import Edit, Graph, ModelError
from paceline.rewrite.key import whole

_ANSWERS = {"workers": "count", "collective": "algorithm"}
_ENDS_COMMUNICATION = ("no-communication", "perfect-overlap")
_CHANGES_COMMUNICATION = ("fuse-buckets", "split-buckets", "collective", "workers")


def check_together(graph: Graph, edits: Sequence[Edit]) -> None:
    """Raises ModelError for the first two edits that contradict each other."""
    for at, edit in enumerate(edits):
        for other in edits[:at]:
            _check_answers(other, edit)
            _check_order(other, edit)
        for other in edits:
            _check_worker(graph, edit, other)


def _check_answers(one: Edit, other: Edit) -> None:
    key = _ANSWERS.get(one.name, "")
    if one.name == other.name and key and one.get(key) != other.get(key):
        raise _contradict(one, other, f"A job has one {key}.", "Ask for them one at a time.")


def _check_order(earlier: Edit, later: Edit) -> None:
    changes = later.name in _CHANGES_COMMUNICATION or later.get("link") is not None
    if earlier.name in _ENDS_COMMUNICATION and changes:
        raise _contradict(
            earlier, later, f"{earlier.name} leaves no communication to change.",
            f"Put {earlier.name} last.",
        )  # fmt: skip


def _check_worker(graph: Graph, edit: Edit, workers: Edit) -> None:
    rank = whole(edit, "worker")
    if workers.name != "workers" or rank is None:
        return
    ranks = sorted(graph.workers)
    if rank in ranks[whole(workers, "count") :]:
        raise _contradict(edit, workers, f"The latter removes worker {rank}.", "Drop one of them.")


def _contradict(one: Edit, other: Edit, expected: str, cure: str) -> ModelError:
    return ModelError(f"{one} and {other} contradict each other.", expected=expected, cure=cure)
