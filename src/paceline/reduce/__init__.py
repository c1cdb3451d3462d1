"""How the gradients of all workers are combined, without a socket and without a clock.

`ALL_REDUCE` and `OTHERS` list the algorithms: each turns the members of a collective, by
neighborhood, into Transfers, that is who sends which share of the buffer to whom after what. The
simulator plays them, the transport of training workers carries them out.
"""

from paceline.reduce.algorithms import ALL_REDUCE, OTHERS, Near
from paceline.reduce.transfers import Transfers

__all__ = ["ALL_REDUCE", "OTHERS", "Near", "Transfers"]
