"""How long each op of a graph takes in one playing: a typical step, a recorded one, or a draw.

The graph holds structure, the profile holds spreads; this is what they come to, op by op.
"""

from dataclasses import dataclass

from paceline.model.columns import I64, Columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Times(Columns):
    """Own work and lead by op id. A duration of -1 is not known: it follows from the op's size
    and the links it travels.
    """

    duration_ns: I64
    lead_ns: I64

    def __len__(self) -> int:
        return len(self.duration_ns)
