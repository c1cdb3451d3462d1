"""Follows shortest routes back from their ends. Compiled."""

from paceline.model import F64, I32, I64
from paceline.simulate.compiled import compiled


@compiled
def walked(  # noqa: PLR0917 - compiled functions take no keywords
    distance: F64, row: I32, source: I32, target: I32, weight: F64, tail: I32,
    inward: I64, order: I32, starts: I64, links: I32,
) -> None:  # fmt: skip  # pragma: no cover - compiled
    """Fills in where the links of each route start and, if `links` has room, which they are.

    `distance` has a row for each start; `order` holds the links that lead to a place from
    `inward[place]` on. Of the equally good links the one at the receiver's place, modulo, is taken.
    """
    for pair in range(len(source)):
        reach = distance[row[pair]]
        at = target[pair]
        hops, link = 0, 0
        while at != source[pair]:
            hops += 1
            far = reach[at]
            ways = 0
            for spot in range(inward[at], inward[at + 1]):
                link = order[spot]
                if reach[tail[link]] + weight[link] == far:
                    ways += 1
            turn = target[pair] % ways
            for spot in range(inward[at], inward[at + 1]):
                link = order[spot]
                if reach[tail[link]] + weight[link] == far:
                    if turn == 0:
                        break
                    turn -= 1
            if len(links) > 0:
                links[starts[pair + 1] - hops] = link
            at = tail[link]
        starts[pair + 1] = starts[pair] + hops
