"""How much longer than on average each piece of work takes: seeded, and blind to all timing.

Each call has a lognormal factor of mean 1 with the given coefficient of variation. Each worker
drifts besides: an AR(1) of the given deviation that forgets over about 20 steps. Draws are a
function of (seed, rank, step, call) alone, by a counter-based generator.
"""

import math
from typing import Any

import numpy as np

FORGETS = 0.95
_BLOCK = 64
_FORWARD, _DRIFT = 0, 2  # 1 is backward


class Draws:
    """The factors of one worker; `begin` each step, then ask for its calls."""

    def __init__(self, seed: int, rank: int, spread: float, drift: float) -> None:
        self.key = np.array([seed % 2**64, rank], np.uint64)
        self.sigma = math.sqrt(math.log1p(spread**2))
        self.drift = drift
        self.step = -1
        self.walk = 0.0
        self.blocks: dict[tuple[int, int], list[float]] = {}

    def begin(self, step: int) -> None:
        """Draws for this step from now on; steps only grow."""
        while self.step < step:
            self.step += 1
            new = float(self._normal(_DRIFT, 0, 1)[0])
            fresh = 1.0 if self.step == 0 else math.sqrt(1 - FORGETS**2)
            self.walk = FORGETS * self.walk * (self.step > 0) + fresh * new
        self.blocks.clear()

    def factor(self, backward: bool, call: int) -> float:
        """What the time of the n-th call of a module in this step is multiplied by."""
        place = (_FORWARD + backward, call // _BLOCK)
        if place not in self.blocks:
            drawn = self._normal(*place, _BLOCK)
            self.blocks[place] = np.exp(self.sigma * drawn - self.sigma**2 / 2).tolist()
        return self.blocks[place][call % _BLOCK] * self.drifted()

    def drifted(self) -> float:
        """The worker's drift in this step, as a factor; never below a half."""
        return max(0.5, 1 + self.drift * self.walk)

    def _normal(self, kind: int, block: int, count: int) -> Any:
        counter = np.array([0, block, kind, self.step], np.uint64)
        bits = np.random.Philox(key=self.key, counter=counter)
        return np.random.Generator(bits).standard_normal(count)
