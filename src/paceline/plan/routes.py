"""Which links a plan's messages travel: the routes between workers that talk to one another.

They are derived from the plan's edits whenever they are needed, and never stored. On a tree there
is one way only; who talks to whom is said by the tables of `reduce`.
"""

import numpy as np

from paceline.model import Cluster, ModelError, Plan, Route
from paceline.plan.overlays import algorithm_groups
from paceline.plan.tree import Tree, is_tree, net, rooted
from paceline.reduce import ALL_REDUCE

MOST = 512  # workers: a forest has a route for every pair


def routes(plan: Plan, cluster: Cluster) -> tuple[Route, ...]:
    """A route for each pair of ranks of which one sends to the other."""
    found = net(cluster)
    if not is_tree(found):
        raise ModelError("the network has cycles, so that routes are not told by the plan.")
    if len(plan.workers) > MOST:
        raise ModelError(f"routes are listed for {MOST} workers at most.")
    tree = rooted(found, len(cluster.machines))
    position = {machine.name: at for at, machine in enumerate(cluster.machines)}
    places = tree.machine[[position[worker.machine] for worker in plan.workers]]
    overlay = next(str(e.get("algorithm")) for e in plan.edits if e.name == "collective")
    transfers = ALL_REDUCE[overlay](algorithm_groups(overlay, places, tree))
    pairs = np.unique(np.column_stack([transfers.source, transfers.target]), axis=0)
    return tuple(
        Route(
            bucket=None,
            source=str(one),
            target=str(other),
            links=_way(tree, int(places[one]), int(places[other])),
        )
        for one, other in pairs.tolist()
    )


def _way(tree: Tree, start: int, stop: int) -> tuple[tuple[str, str], ...]:
    """The links from one place to another, each in the direction of travel."""
    up: list[tuple[str, str]] = []
    down: list[tuple[str, str]] = []
    while start != stop:
        if start > stop:  # of two places the one numbered higher is never above the other
            above = int(tree.parent[start])
            up.append((tree.names[start], tree.names[above]))
            start = above
        else:
            above = int(tree.parent[stop])
            down.append((tree.names[above], tree.names[stop]))
            stop = above
    return (*up, *down[::-1])
