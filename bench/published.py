"""A pipeline job with published answers: replay, prediction of unseen steps, what-if slowdowns.

Reads the pipeline operations of the shared data (`PACELINE_SHARED_DATA` or ../shared/data), whose
publisher gives the measured steps, the steps without launch gaps, and the steps in which every
operation takes the typical time of its kind (mean of compute, median of communication).
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np

from paceline import read, simulate, stitch
from paceline.model import TALKING, Profile, Times

DATA = Path(os.environ.get("PACELINE_SHARED_DATA", "../shared/data")) / "traces/pipeline-ops"


def played(profile: Profile, duration: np.ndarray, lead: np.ndarray) -> np.ndarray:
    """Length of each step in seconds with these times by (step, op)."""
    lines = [
        simulate.timeline(
            profile.graph,
            Times(duration_ns=np.rint(own).astype(np.int64), lead_ns=np.rint(gap).astype(np.int64)),
        )
        for own, gap in zip(duration, lead, strict=True)
    ]
    return np.array([line.step_ns for line in lines]) / 1e9


def measured(folder: Path) -> dict[str, float]:
    """All figures, relative errors as fractions."""
    answers = json.loads((folder / "result-ST.json").read_text())
    profile = stitch.profile(read.traces(folder / "trace-ST.parquet"))
    graph = profile.graph
    each = [simulate.times(profile, step=step) for step in range(len(profile.measured))]
    duration = np.array([times.duration_ns for times in each], dtype=float)
    lead = np.array([times.lead_ns for times in each], dtype=float)
    real = np.array([line.step_ns for line in profile.measured]) / 1e9
    replay = played(profile, duration, lead)
    eager = played(profile, duration, lead * 0)
    level = duration.copy()
    kind = np.array([work.name for work in graph.works])[graph.work]
    for name in np.unique(kind):
        ops = kind == name
        talks = np.isin(graph.kind[ops], TALKING).all()
        level[:, ops] = np.median(duration[:, ops]) if talks else duration[:, ops].mean()
    typical = played(profile, level, lead * 0)
    even = played(profile, duration[::2].mean(axis=0)[None], lead[::2].mean(axis=0)[None])[0]
    base = np.array(list(answers["step_t_base"].values()))
    return {
        "steps": len(real),
        "read": float(np.abs(real / base - 1).max()),
        "replay_mean": float(abs(replay.mean() / real.mean() - 1)),
        "replay_worst": float(np.abs(replay / real - 1).max()),
        "unseen": float(abs(even / real[1::2].mean() - 1)),
        "launch": float(real.mean() / eager.mean()),
        "launch_published": answers["launch_slowdown"],
        "blocking": float(eager.mean() / typical.mean()),
        "blocking_published": answers["blocking_slowdown"],
    }


def section(found: dict[str, float]) -> str:
    """The figures as a section of BENCHMARKS.md."""
    launch = found["launch"] / found["launch_published"] - 1
    blocking = found["blocking"] / found["blocking_published"] - 1
    own, slow = found["launch_published"] - 1, found["blocking_published"]
    return f"""## Published pipeline job

Asked: simulated step against recorded <= 1.5 % (goal 1.0 %), spreads of even steps predict odd
steps within 2 %, published slowdowns within 1 %.

| figure | measured | publisher |
|---|---:|---:|
| step times read against the file, worst of {found["steps"]} | {100 * found["read"]:.3f} % | |
| replay error, mean step | {100 * found["replay_mean"]:.3f} % | {100 * own:.2f} % |
| replay error, worst step | {100 * found["replay_worst"]:.3f} % | |
| mean of even steps predicts mean of odd steps | {100 * found["unseen"]:.2f} % | |
| slowdown by launch gaps, {100 * launch:+.2f} % | {found["launch"]:.4f} | {1 + own:.4f} |
| slowdown by slow operations, {100 * blocking:+.2f} % | {found["blocking"]:.4f} | {slow:.4f} |

Method: bench/published.py; 32 steps of 8 workers. Replay plays each step with its own times, so
it tests structure only; the prediction of odd steps uses nothing of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not DATA.is_dir():
        print("## Published pipeline job\n\nNot measured: no shared data (PACELINE_SHARED_DATA).")
        return
    found = measured(DATA)
    print(json.dumps(found) if given.json else section(found))


if __name__ == "__main__":
    main()
