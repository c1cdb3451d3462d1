"""Comparisons under noise: equal runs must not differ, 3 % regressions must be found.

Runs are synthetic jobs with noise by op, by step and drifting slowly (clocks, heat): the drift is
a random walk that returns to its mean, put on the whole step.
"""

import argparse
import dataclasses
import json

import numpy as np

from jobs import Shape, traces
from paceline import diagnose, stitch
from paceline.model import Profile, Timeline

JOB = Shape(workers=3, steps=100, layers=4, buckets=2)


def drifted(
    profile: Profile, draw: np.random.Generator, drift: float, slower: float = 0.0
) -> Profile:
    """The same run as another day would have it: steps drawn anew, with drift, and slower."""
    steps = len(profile.measured)
    walk = np.zeros(steps)
    for at in range(1, steps):
        walk[at] = 0.9 * walk[at - 1] + draw.normal(0, drift * (1 - 0.81) ** 0.5)
    factor = (1 + walk) * (1 + slower)
    picked = draw.integers(0, steps, steps)
    lines = tuple(
        Timeline(
            start_ns=np.rint(profile.measured[int(source)].start_ns * factor[at]).astype(np.int64),
            end_ns=np.rint(profile.measured[int(source)].end_ns * factor[at]).astype(np.int64),
            step=at,
            measured=True,
        )
        for at, source in enumerate(picked)
    )
    return dataclasses.replace(profile, measured=lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [counted(given.pairs, drift) for drift in (0.005, 0.01)]
    print(json.dumps(rows) if given.json else section(rows))


def counted(pairs: int, drift: float) -> dict[str, float]:
    """How often equal runs differ, and how often slower ones are found, at one size of drift."""
    alarms = parts = found = 0
    for seed in range(pairs):
        draw = np.random.default_rng(seed)
        run = stitch.profile(traces(JOB, seed=seed))
        before = drifted(run, draw, drift)
        same = diagnose.compared(before, drifted(run, draw, drift))
        alarms += same.certain
        parts += bool(same.parts)
        slow = diagnose.compared(before, drifted(run, draw, drift, 0.03))
        found += slow.certain and slow.step.change > 0
    return {"pairs": pairs, "drift": drift, "alarms": alarms, "parts": parts, "found": found}


def section(rows: list[dict[str, float]]) -> str:
    """The counts as a section of BENCHMARKS.md."""
    lines = "".join(
        f"| {100 * row['drift']:.1f} % | {row['pairs']} | {row['alarms']} | {row['parts']} |"
        f" {row['found']} ({100 * row['found'] / row['pairs']:.1f} %) |\n"
        for row in rows
    )
    return f"""## Comparisons

Asked: no false alarm in 200 pairs of equal noisy runs, 3 % regressions found in >= 90 % at >= 100
steps.

| slow drift | pairs of 100 steps | false alarms, step | false alarms, parts | 3 % slower found |
|---:|---:|---:|---:|---:|
{lines}
Method: bench/compare.py; noise by op (3 %), by step and worker (1.5 %), rare spikes, and slow drift
of the whole step (lasting about ten steps); steps of both runs drawn with one seed a pair. With 1 %
of drift the means of 100 steps differ by 0.6 % (one sigma) by themselves, which bounds any test."""


if __name__ == "__main__":
    main()
