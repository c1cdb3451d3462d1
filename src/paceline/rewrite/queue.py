"""The gradient all-reduces of each group, in the one order in which all its members run them.

Traces that name no groups have one queue of them all, in which only neighbors with the same members
follow each other.

Ids give the order, whatever the lanes: gloo spreads the all-reduces of one group over two threads.
Which of them may become one is a question of dependencies: two of which the second needs the
first's result, however indirectly, never may.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import I32, I64, Edit, Graph, InputError, Kind, Phase
from paceline.rewrite.message import ends
from paceline.rewrite.operation import all_reduces
from paceline.rewrite.ragged import ragged
from paceline.rewrite.select import Mask
from paceline.rewrite.state import devices


@dataclass(frozen=True, slots=True)
class Queue:
    """All gradient all-reduces of a graph.

    `before` is the match ahead of each match on every one of its members, or -1; `behind` the op
    of the next such match on the same worker, or -1.
    """

    mask: Mask
    before: I32
    behind: I32


def gradient_all_reduces(graph: Graph) -> Mask:
    """Which ops reduce gradients: all-reduces outside of forward."""
    return all_reduces(graph) & (graph.phase != Phase.FORWARD)


def nothing_to_resize(graph: Graph, edit: Edit) -> InputError:
    """The error for a graph without gradient all-reduces of known size."""
    if gradient_all_reduces(graph).any():
        found, cure = "the sizes of its all-reduces are not known", "Record sizes (shapes) as well."
    elif (graph.kind == Kind.SEND).any():
        found, cure = "its gradients travel message by message", "Change the job's own schedule."
    else:
        found, cure = "it has no all-reduce of gradients", "Leave this edit out."
    return InputError(
        f"{edit.name} cannot change this job: {found}.",
        where=edit,
        expected="It takes all-reduces outside of forward.",
        cure=cure,
    )


def queued(graph: Graph) -> Queue:
    """The queues of all groups."""
    mask = gradient_all_reduces(graph)
    ops = np.flatnonzero(mask)
    group = graph.match_group[graph.match[ops]]
    ops = ops[np.lexsort((ops, group, graph.worker[ops]))]
    group, worker = graph.match_group[graph.match[ops]], graph.worker[ops]
    same = (np.diff(group) == 0) & (np.diff(worker) == 0)
    ahead = np.full(len(graph), -1, dtype=np.int64)
    ahead[ops[1:][same]] = ops[:-1][same]
    before = _shared(graph, ops, ahead)
    behind = np.full(len(graph), -1, dtype=np.int32)
    linked = ops[before[graph.match[ops]] >= 0]
    behind[ahead[linked]] = linked
    return Queue(mask=mask, before=before, behind=behind)


def _shared(graph: Graph, ops: I64, ahead: I64) -> I32:
    """The match ahead of each match where all its members agree, and have the same members."""
    matches = len(graph.match_group)
    match = graph.match[ops]
    theirs = np.where(ahead[ops] >= 0, graph.match[ahead[ops]], -1)
    least = np.full(matches, matches, dtype=np.int32)
    most = np.full(matches, -1, dtype=np.int32)
    np.minimum.at(least, match, theirs)
    np.maximum.at(most, match, theirs)
    count = np.bincount(match, minlength=matches)
    agreed = (least == most) & (most >= 0)
    agreed[agreed] = count[most[agreed]] == count[agreed]
    return np.where(agreed, most, -1).astype(np.int32)


def levels_of(graph: Graph, queue: Queue, counted: Mask) -> I32:
    """The level of each op, when these ops count as exchanges."""
    from paceline.rewrite.level import levels

    behind = np.full((3, len(graph)), -1, dtype=np.int32)
    device = devices(graph)
    order = np.argsort(device, kind="stable")
    same = np.diff(device[order]) == 0
    behind[0, order[:-1][same]] = order[1:][same]
    sends, receives = ends(graph)
    behind[1, sends] = receives
    behind[2] = queue.behind
    meets = (graph.match >= 0) & (graph.kind == Kind.COLLECTIVE)
    match = np.where(meets, graph.match, -1).astype(np.int32)
    ops = np.flatnonzero(meets)
    members = ragged(match[ops], ops, len(graph.match_group))
    return levels(graph.after_from, graph.after_op, behind, match, *members, counted.view(np.uint8))


def apart(graph: Graph) -> I64:
    """A class for each group, such that groups of one class share no worker.

    The last one is that of collectives without a group.
    """
    taken: list[set[int]] = []
    out = np.zeros(len(graph.groups) + 1, dtype=np.int64)
    for at, group in enumerate(graph.groups):
        members = set(group.members or graph.workers)
        out[at] = next((n for n, used in enumerate(taken) if used.isdisjoint(members)), len(taken))
        if out[at] == len(taken):
            taken.append(set())
        taken[int(out[at])] |= members
    out[-1] = len(taken)
    return out
