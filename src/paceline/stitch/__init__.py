"""Traces to one Profile: matched, on one clock, folded into one step, with times fitted.

`profile` is the whole way from the traces of all workers; notes in it say what could not be used.
`cluster` says what the profile shows of the machines and links that the job ran on.
"""

from paceline.stitch.cluster import cluster
from paceline.stitch.profile import profile

__all__ = ["cluster", "profile"]
