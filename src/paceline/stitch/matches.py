"""Which events of which traces meet: the members of a collective, the two ends of a message.

This is what `match` finds, and what `align`, `fold` and `fit` build on.
"""

from dataclasses import dataclass

from paceline.model import I32, I64, U8, Columns, Group


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matches(Columns):
    """Rows (match, trace, event), sorted by match, then by position of the trace.

    `trace` is a position in the tuple of traces, `event` an index in that trace. Of each match:
    its kind (COLLECTIVE, or SEND for a message whose rows are the send and the receive), its
    group (position in `groups`, or -1), `keyed` 1 if found by group and sequence and 0 if by
    order, and `complete` 1 if every known member of the group is there.
    """

    match: I32
    trace: I32
    event: I64
    kind: U8
    group: I32
    keyed: U8
    complete: U8
    groups: tuple[Group, ...]

    def __len__(self) -> int:
        return len(self.kind)
