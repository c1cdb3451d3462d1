"""Damage to JSON that leaves it JSON: wrong values and types, keys lost, doubled or exchanged.

Most flipped bytes end at the first bracket of a decoder; this reaches what lies behind it.
"""

import copy
import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 7, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63),
    2**70, 10**30, 0.5, -0.0, -1.5, 1e18, 1e308, 5e-324, float("nan"), float("inf"), -float("inf"),
    "", "x", "0", "1e999", "NaN", "\ud800", "\x00", "\x1b[31m", "\u202e", "a" * 3000, [], {}, [1],
    ["a"], [[]], [None], {"a": 1}, [[0, 0]], [[0, -1], [9, 99]],
)  # fmt: skip


def tree_harmed(body: bytes, rng: random.Random) -> bytes | None:
    """JSON, or one line of JSON lines, with one to three wrong places; None where there is none."""
    try:
        return _dumped(_harmed(json.loads(body), rng))
    except (ValueError, RecursionError):
        pass
    lines = body.splitlines(keepends=True)
    for _ in range(3):
        at = rng.randrange(len(lines)) if lines else 0
        try:
            lines[at] = _dumped(_harmed(json.loads(lines[at]), rng)) + b"\n"
        except (ValueError, RecursionError, IndexError):
            continue
        return b"".join(lines)
    return None


def _dumped(tree: object) -> bytes:
    return json.dumps(tree, separators=(",", ":")).encode()


def _harmed(tree: Any, rng: random.Random) -> Any:
    holder = [tree]
    for _ in range(rng.choice((1, 1, 1, 3))):
        places = _places(holder)
        _harm(*rng.choice(places), rng)
    return holder[0] if holder else None


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container with every key in it."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        found += [(one, key) for key in keys]
        waiting += [one[key] for key in keys if isinstance(one[key], (dict, list))]
    return found or [([None], 0)]


def _harm(holder: Any, key: Any, rng: random.Random) -> None:
    what = rng.choice(("value", "value", "value", "number", "number", "lost", "other", "copy"))
    old = holder[key]
    if what == "number" and isinstance(old, (int, float)) and not isinstance(old, bool):
        near = (old + 1, old - 1, -old, old * 2, old + 10 ** rng.randint(3, 18), float(old))
        holder[key] = rng.choice(near)
    elif what == "lost":
        del holder[key]
    elif what == "other":
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        other = rng.choice(keys)
        holder[key], holder[other] = holder[other], holder[key]
    elif what == "copy" and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(old))
    else:
        holder[key] = copy.deepcopy(rng.choice(VALUES))
