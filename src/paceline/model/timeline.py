"""When each op of a graph ran: measured and simulated steps are the same type.

So "how good is the prediction" is a subtraction.
"""

from dataclasses import dataclass

from paceline.model.columns import I64, UNKNOWN, Columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timeline(Columns):
    """Start and end by op id, in ns after the start of the step; `UNKNOWN` where not recorded."""

    start_ns: I64
    end_ns: I64
    step: int | None = None
    measured: bool = False

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def step_ns(self) -> int:
        """From the first start to the last end; 0 for a step without ops."""
        known = self.start_ns != UNKNOWN
        if not known.any():
            return 0
        return int(self.end_ns[known].max() - self.start_ns[known].min())
