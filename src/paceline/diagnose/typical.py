"""The step that stands for all: the measured one nearest to the median, and its simulation."""

import numpy as np

from paceline import simulate
from paceline.model import ModelError, Profile, Timeline


def median_step(profile: Profile) -> tuple[tuple[str, Timeline], ...]:
    """The measured step nearest to the median and the same step simulated, with their titles."""
    if not profile.measured:
        raise ModelError(
            "the profile holds no measured step.", cure="Record a few steps of steady training."
        )
    lengths = np.array([line.step_ns for line in profile.measured])
    at = int(np.argmin(np.abs(lengths - np.median(lengths))))
    simulated = simulate.timeline(profile.graph, simulate.times(profile, step=at))
    return (("measured", profile.measured[at]), ("simulated", simulated))
