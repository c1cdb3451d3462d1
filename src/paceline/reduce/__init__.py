"""How the gradients of all workers are combined, without a socket and without a clock.

`ALL_REDUCE` and `OTHERS` list the algorithms: each turns the members of a collective, by
neighborhood, into Transfers, that is who sends which share of the buffer to whom after what. The
simulator plays them; the transport of training workers carries them out, as `programs`, one a
member, over buffers whose `messages` a `Course` lets go in the right order.
"""

from paceline.reduce.algorithms import ALL_REDUCE
from paceline.reduce.collectives import OTHERS
from paceline.reduce.course import Course, Message, messages
from paceline.reduce.program import EXACT, Hop, Program, programs
from paceline.reduce.transfers import Transfers
from paceline.reduce.trees import along
from paceline.reduce.turns import Near

__all__ = [
    "ALL_REDUCE", "EXACT", "OTHERS", "Course", "Hop", "Message", "Near", "Program", "Transfers",
    "along", "messages", "programs",
]  # fmt: skip
