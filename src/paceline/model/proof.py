"""An edit that was carried out: what was measured before, what was promised, what came of it."""

import msgspec

from paceline.model.plan import Edit


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody waited for, and for how long."""

    name: str
    seconds: float


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What one edit was predicted to make of the step; `why_not` says why it was not tried."""

    edit: Edit
    step_ns: float
    interval_ns: tuple[float, float] | None = None
    why_not: str | None = None


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The step before and after (median, 10 and 90 %), and the promise that was kept or not."""

    before_ns: tuple[float, float, float]
    tried: Promise | None = None
    after_ns: tuple[float, float, float] | None = None
    others: tuple[Promise, ...] = ()
    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> float | None:
        """How far the promise was off, as a share of what was measured."""
        if self.tried is None or self.after_ns is None or not self.after_ns[0]:
            return None
        return self.tried.step_ns / self.after_ns[0] - 1
