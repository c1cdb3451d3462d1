"""Graph to graph: what a job would look like with something changed.

`rewrite.edited(graph, times, edits, profile=profile, cluster=cluster)` applies edits in the order
given and returns a Rewritten: the graph, its times, the cluster, and for each op the ops of the
user's own graph that it stands for. `rewrite.EDITS` lists every edit with its keys, and
`rewrite.whole` joins the hops of a transport to the collectives that edits speak of, and
`rewrite.serial` tells apart what collectives took that ran at once.
"""

from paceline.rewrite.edited import edited
from paceline.rewrite.edits import EDITS, EditModule
from paceline.rewrite.key import Key, Takes
from paceline.rewrite.rewritten import Rewritten
from paceline.rewrite.serial import Serial, serial
from paceline.rewrite.whole import has_hops, whole

__all__ = [
    "EDITS",
    "EditModule",
    "Key",
    "Rewritten",
    "Serial",
    "Takes",
    "edited",
    "has_hops",
    "serial",
    "whole",
]
