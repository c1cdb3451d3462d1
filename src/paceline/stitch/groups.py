"""Which groups of several traces are one and the same.

Each trace has its own table of groups. A name alone is no identity: every tensor-parallel group of
a job may be called "1", with other members each time. So a group is its name and its members; where
a trace does not tell the members, the only group of that name to which the worker can belong.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from paceline.model import I64, Group, Trace

Identity: TypeAlias = tuple[str, frozenset[int] | None]


def shared(traces: Sequence[Trace], chosen: Sequence[I64]) -> tuple[tuple[Group, ...], list[I64]]:
    """The groups that the chosen events use, numbered once for all, and the number of each event.

    -1 stands for an event without group; where the whole job has one group, it belongs to that.
    """
    used = [
        np.unique(t.group[rows]).astype(np.int64) for t, rows in zip(traces, chosen, strict=True)
    ]
    table: dict[Identity, int] = {}
    groups: list[Group] = []
    identities: list[dict[int, Identity]] = []
    known = _members_by_name(traces, used)
    for trace, positions in zip(traces, used, strict=True):
        identities.append({int(p): _identity(trace, int(p), known) for p in positions if p >= 0})
    renamed = _renamed(identities)
    for trace, own in zip(traces, identities, strict=True):
        for position, identity in own.items():
            final = renamed.get(identity, identity)
            own[position] = final
            if final not in table:
                table[final] = len(groups)
                groups.append(_group(trace.groups[position], final))
    only = 0 if len(groups) == 1 else -1
    numbers: list[I64] = []
    for trace, rows, own in zip(traces, chosen, identities, strict=True):
        lone = only if only == 0 and _may_belong(trace.worker, groups[0]) else -1
        lookup = np.full(len(trace.groups) + 1, lone, dtype=np.int64)
        for position, identity in own.items():
            lookup[position] = table[identity]
        numbers.append(lookup[trace.group[rows]])  # -1 finds the last entry
    return tuple(groups), numbers


def _members_by_name(
    traces: Sequence[Trace], used: Sequence[I64]
) -> dict[str, set[frozenset[int]]]:
    known: dict[str, set[frozenset[int]]] = {}
    for trace, positions in zip(traces, used, strict=True):
        for position in positions[positions >= 0]:
            group = trace.groups[int(position)]
            if group.members is not None:
                known.setdefault(group.name, set()).add(frozenset(group.members))
    return known


def _identity(trace: Trace, position: int, known: dict[str, set[frozenset[int]]]) -> Identity:
    group = trace.groups[position]
    if group.members is not None:
        return group.name, frozenset(group.members)
    fitting = [members for members in known.get(group.name, ()) if trace.worker in members]
    return group.name, fitting[0] if len(fitting) == 1 else None


def _renamed(identities: Sequence[dict[int, Identity]]) -> dict[Identity, Identity]:
    """Finds groups of equal members that no worker tells apart: one group under several names.

    Workers that number their groups for themselves may call the same group "2" and "1".
    """
    users: dict[frozenset[int], dict[Identity, set[int]]] = {}
    for worker, own in enumerate(identities):
        for identity in own.values():
            if identity[1] is not None:
                users.setdefault(identity[1], {}).setdefault(identity, set()).add(worker)
    renamed: dict[Identity, Identity] = {}
    for by_identity in users.values():
        users_each = [worker for workers in by_identity.values() for worker in workers]
        if len(by_identity) > 1 and len(users_each) == len(set(users_each)):
            first = next(iter(by_identity))
            renamed |= dict.fromkeys(by_identity, first)
    return renamed


def _group(group: Group, identity: Identity) -> Group:
    if identity[1] is None or group.members is not None:
        return group
    return Group(name=group.name, members=tuple(sorted(identity[1])))


def _may_belong(worker: int, group: Group) -> bool:
    return group.members is None or worker in group.members
