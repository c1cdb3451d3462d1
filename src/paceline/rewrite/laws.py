"""How long collectives take by size: a latency and a time per byte for each group and operation.

Only ratios of the law are used: an edit scales the time at hand by law(new) / law(old). So what
was measured of one collective stays in it, and a law that is off by a factor does no harm.
"""

from dataclasses import dataclass

from paceline.model import F64, Columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Laws(Columns):
    """One row for (group, operation), group by group; NaN where nothing tells.

    The row of a group is its position; collectives without a group come last.
    """

    latency_ns: F64
    ns_per_byte: F64

    def __len__(self) -> int:
        return len(self.latency_ns)
