"""Routes of a plan: do they follow links that exist, in the direction that data travels?"""

import itertools
from collections.abc import Sequence

from paceline.model import Plan, Route, quoted
from paceline.plan.check.facts import Facts, wrong
from paceline.plan.check.messages import messages


def check_routes(plan: Plan, routes: Sequence[Route], facts: Facts, overlay: str) -> None:
    """Each route leads from its source's machine to its target's; all that talk have one."""
    machine = {str(worker.rank): worker.machine for worker in plan.workers}
    served: set[tuple[str, str]] = set()
    for route in routes:
        if route.source not in machine or route.target not in machine:
            raise wrong(f"a route joins {quoted(route.source)} and {quoted(route.target)}")
        at = machine[route.source]
        for a, b in route.links:
            if b not in facts.near.get(a, {}):
                raise wrong(f"a route takes the link {a} - {b}, which does not exist")
            if a != at:
                raise wrong(f"a route takes the link {a} - {b} from {at}")
            at = b
        if at != machine[route.target]:
            raise wrong(f"the route to rank {route.target} ends at {at}")
        served.add((machine[route.source], machine[route.target]))
    missing = _wanted(plan, facts, overlay) - served
    if missing:
        one, other = min(missing)
        raise wrong(f"no route leads from {one} to {other}")


def _wanted(plan: Plan, facts: Facts, overlay: str) -> set[tuple[str, str]]:
    """Pairs of machines of which one sends to the other."""
    names = [worker.machine for worker in plan.workers]
    if overlay == "ring":
        pairs = set(itertools.pairwise([*names, names[0]]))
    elif overlay == "forest":
        pairs = set[tuple[str, str]]()  # whichever trees cover the workers
    else:
        phases, _ = messages(overlay, names, facts)
        pairs = {(one, other) for phase in phases for one, other, _ in phase}
    return {(one, other) for one, other in pairs if one != other}
