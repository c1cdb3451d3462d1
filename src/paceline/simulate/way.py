"""Follows the shortest routes of many pairs back from their ends. Compiled.

Dijkstra's distances say which links lie on a shortest route: those over which the distance grows by
just their weight. What was found out about a place is kept while the start stays the same, since a
switch may have a thousand links.
"""

from paceline.model import F64, I32, I64
from paceline.simulate.compiled import compiled


@compiled
def walked(  # noqa: PLR0917 - compiled functions take no keywords
    distance: F64, row: I32, source: I32, target: I32, weight: F64, tail: I32,
    inward: I64, order: I32, seen: I64, ways: I32, first: I32, starts: I64, links: I32,
) -> None:  # fmt: skip
    """Fills in where the links of each route start and, if `links` has room, which they are.

    `distance` has a row for each start, and pairs come row by row; `order` holds the links that
    lead to a place from `inward[place]` on. Of the equally good links the one at the receiver's
    place, modulo, is taken. Scratch by place: `ways` good links lead there from the start of the
    row `seen`, the `first` of them at that spot.
    """
    seen[:] = -1
    for pair in range(len(source)):
        reach = distance[row[pair]]
        at = target[pair]
        hops = 0
        while at != source[pair]:
            hops += 1
            if seen[at] != row[pair]:
                seen[at], ways[at] = row[pair], 0
                for spot in range(inward[at], inward[at + 1]):
                    link = order[spot]
                    if reach[tail[link]] + weight[link] == reach[at]:
                        if ways[at] == 0:
                            first[at] = spot
                        ways[at] += 1
            spot = first[at]
            turn = target[pair] % ways[at]
            while turn > 0:
                spot += 1
                link = order[spot]
                if reach[tail[link]] + weight[link] == reach[at]:
                    turn -= 1
            if len(links) > 0:
                links[starts[pair + 1] - hops] = order[spot]
            at = tail[order[spot]]
        starts[pair + 1] = starts[pair] + hops
