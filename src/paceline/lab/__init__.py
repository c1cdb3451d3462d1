"""Cluster in, real processes on one machine out, with that cluster's speeds, links and faults.

The lab reads the same Cluster that the planner plans on, and tells nobody else what it does.
`up(cluster)` is the lab while it stands, `run(cluster, command)` one command on all its machines,
`check(cluster)` what its links and cores measure; `Wires` is what may be changed meanwhile.
A `Driver` plays the faults of a schedule; what workers are to be like is laid down by
`lab.prepare.prepare`. All
load when first used: a worker that imports the lab's hook pays for none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paceline.lab.agents import Ended, run
    from paceline.lab.drive import Driver
    from paceline.lab.measure import check
    from paceline.lab.session import up
    from paceline.lab.wires import Wires

__all__ = ["Driver", "Ended", "Wires", "check", "run", "up"]

_HOME = {
    "Driver": "drive",
    "Ended": "agents",
    "Wires": "wires",
    "check": "measure",
    "run": "agents",
    "up": "session",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
