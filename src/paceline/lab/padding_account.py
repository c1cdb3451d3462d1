"""Compute that was really spent against compute that a machine of the cluster would have spent.

The account is `behind` by what was spent too much: jitter of one module is so made up for by the
next, within one step. What a step cannot make up for is late, and is reported, not hidden.
"""


class Account:
    """The account of one step; all in nanoseconds."""

    def __init__(self) -> None:
        self.behind = 0
        self.asked = 0
        self.overrun = 0  # before later modules made up for it
        self.own = 0
        self.worked = 0

    def spend(self, own: int) -> None:
        """The worker has computed for real."""
        self.own += own
        self.behind += own

    def owed(self, target: int, expected: int = 0) -> int:
        """How long to work for something that takes `target`, of which `expected` is to come."""
        owed = target - self.behind - expected
        self.overrun += max(0, -owed)
        return max(0, owed)

    def pay(self, target: int, worked: int) -> None:
        """The something was worked off."""
        self.asked += target
        self.worked += worked
        self.behind += worked - target

    def late(self) -> int:
        """By how much the step took longer than was asked."""
        return max(0, self.behind)
