"""Graph, times and cluster in, timeline out: how long a step takes if its work takes so long.

`times` says how long each op takes in one playing, `timeline` plays it, `critical_path` says what
the step's length hangs on, `lowered` turns collectives into messages. Replay is a simulation with
nothing changed.
"""

from paceline.simulate.collective import Lowered, lowered
from paceline.simulate.critical_path import CriticalPath, critical_path
from paceline.simulate.delay import times
from paceline.simulate.timeline import timeline

__all__ = [
    "CriticalPath",
    "Lowered",
    "critical_path",
    "lowered",
    "timeline",
    "times",
]
