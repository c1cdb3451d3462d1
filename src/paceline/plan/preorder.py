"""Numbers the places of a tree so that every subtree is a range. Compiled."""

from paceline.model import I32
from paceline.plan.compiled import compiled


@compiled
def numbered(order: I32, above: I32, spot: I32, end: I32) -> None:
    """Fills in each place's number and where the numbers of its subtree end.

    `order` has the places from the root outward, `above` each place's parent (negative at the
    root). Children keep the order in which they come in `order`.
    """
    for place in order:
        end[place] = 1  # sizes first
    for at in range(len(order) - 1, 0, -1):
        end[above[order[at]]] += end[order[at]]
    spot[order[0]] = 0
    # while numbers are given out, spot[parent] + 1 + what its earlier children took is free
    taken = end.copy()
    for place in order:
        taken[place] = 1
    for at in range(1, len(order)):
        place = order[at]
        parent = above[place]
        spot[place] = spot[parent] + taken[parent]
        taken[parent] += end[place]
    for place in order:
        end[place] += spot[place]
