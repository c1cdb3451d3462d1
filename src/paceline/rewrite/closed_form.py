"""How the time of a collective depends on how many take part: known formulas, equal links.

time = latencies * latency + bytes * size / rate, with `latencies` the messages that follow one
another and `bytes` what passes the slowest link, per byte of the buffer. With n members:

| algorithm | all-reduce: latencies | bytes |
|---|---|---|
| ring | 2 (n - 1) | 2 (n - 1) / n |
| tree (up and down two binary trees, in pieces) | 2 ceil(log2 n) | 2, of two members 1 |
| hierarchical (m machines: ring between one worker of each) | 2 (m - 1) + 2 | 2 (m - 1) / m |
| ps (one of them is the server) | 2 | 2 (n - 1) |
| forest (a tree for each member's shard) | 2, with neighbors on a machine 4 | 2 (n - 1) / n |
"""

import math

from paceline.model import OPERATIONS

ALGORITHMS = ("ring", "tree", "hierarchical", "ps", "forest")


def terms(
    operation: int, algorithm: str | None, members: int, machines: int
) -> tuple[float, float]:
    """(latencies, bytes) of one collective; an algorithm that is not known counts as a ring."""
    if members < 2:
        return 0.0, 0.0
    ring = (members - 1.0, (members - 1) / members)
    match OPERATIONS[operation]:
        case "all_reduce":
            return _all_reduce(algorithm, members, machines)
        case "reduce_scatter" | "all_gather":
            return ring
        case "all_to_all" | "gather" | "scatter":  # all messages at once
            return 1.0, ring[1]
        case "barrier":
            return 2 * ring[0], 0.0
        case _:  # broadcast, reduce: passed on in pieces along a chain
            return ring[0], 1.0


def _all_reduce(algorithm: str | None, members: int, machines: int) -> tuple[float, float]:
    share = 2 * (members - 1) / members
    match algorithm:
        case "tree":
            return 2.0 * math.ceil(math.log2(members)), 2.0 if members > 2 else 1.0
        case "forest":
            return 4.0 if machines < members else 2.0, share
        case "ps":
            return 2.0, 2.0 * (members - 1)
        case "hierarchical" if 1 < machines < members:
            return 2.0 * machines, 2 * (machines - 1) / machines
        case _:
            return 2.0 * (members - 1), share
