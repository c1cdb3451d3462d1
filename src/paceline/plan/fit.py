"""n_crit from recorded gradient norms: one run has two batch sizes, a worker's and all workers'.

|G|^2 = (n avg - loc) / (n - 1) and noise of one worker's batch = (loc - avg) n / (n - 1), with loc
and avg the squared norms of local and averaged gradients, averaged over steps before dividing (An
Empirical Model of Large-Batch Training, arXiv 1812.06162). n_crit is their ratio. The interval
resamples blocks of steps.
"""

from typing import NamedTuple

import numpy as np

from paceline.model import F64, InputError, Noise

_DRAWS = 2000
_BLOCK = 8


class Fitted(NamedTuple):
    """n_crit with its 95 % interval; an infinite end is not bounded by the recording."""

    n_crit: float
    low: float
    high: float


def n_crit(noise: Noise) -> Fitted | None:
    """The fit of a recording, None where it holds no norms."""
    known = np.isfinite(noise.local) & np.isfinite(noise.average)
    if not known.any():
        return None
    workers = len(np.unique(noise.worker[known]))
    if workers < 2:
        raise InputError(
            "gradient norms of one worker alone tell nothing about noise.",
            expected="The fit needs the norms of two workers or more.",
            cure="Record with more workers, or give --n-crit.",
        )
    steps, at = np.unique(noise.step[known], return_inverse=True)
    count = np.bincount(at)
    local = (np.bincount(at, noise.local[known]) / count)[count == workers]
    average = (np.bincount(at, noise.average[known]) / count)[count == workers]
    if len(local) < 2:
        raise InputError(
            f"gradient norms of {len(steps)} steps are too few for a fit of n_crit.",
            cure="Record more steps, or give --n-crit.",
        )
    found = float(_ratio(local.mean(), average.mean(), workers))
    if not np.isfinite(found):
        raise InputError(
            "the gradient norms show no signal above their noise, so n_crit has no finite value.",
            cure="Record more steps or larger batches, or give --n-crit.",
        )
    low, high = _interval(local, average, workers)
    return Fitted(found, low, high)


def _ratio(local: F64 | float, average: F64 | float, n: int) -> F64:
    noise = np.maximum(0.0, np.asarray(local) - average) * n / (n - 1)
    signal = (n * np.asarray(average) - local) / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(signal > 0, noise / signal, np.inf)


def _interval(local: F64, average: F64, n: int) -> tuple[float, float]:
    draw = np.random.default_rng(0)
    steps = len(local)
    block = min(_BLOCK, max(1, steps // 4))
    starts = draw.integers(0, steps, (_DRAWS, -(-steps // block)))
    rows = ((starts[:, :, None] + np.arange(block)) % steps).reshape(_DRAWS, -1)[:, :steps]
    ratios = _ratio(local[rows].mean(axis=1), average[rows].mean(axis=1), n)
    low, high = np.quantile(ratios, [0.025, 0.975], method="nearest")
    return float(low), float(high)
