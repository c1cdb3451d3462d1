"""A pipeline job with published answers: replay, prediction of unseen steps, what-if slowdowns.

Reads the pipeline operations of the shared data (`PACELINE_SHARED_DATA` or ../shared/data), whose
publisher gives the measured steps, the steps without launch gaps, and the steps in which every
operation takes the typical time of its kind (mean of compute, median of communication).
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from paceline import read, simulate, stitch
from paceline.model import TALKING, Profile, Times

DRAWS = 400
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


def halved(file: Path) -> tuple[Profile, np.ndarray]:
    """What the even steps alone tell, and the odd steps in seconds, from two files."""
    table = pq.read_table(file)
    steps = np.unique(table["step"].to_numpy())
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for first in (0, 1):
            own = Path(folder) / f"{first}.parquet"
            pq.write_table(table.filter(pc.is_in(table["step"], pc_set(steps[first::2]))), own)
            found.append(stitch.profile(read.traces(own)))
    return found[0], np.array([line.step_ns for line in found[1].measured]) / 1e9


def pc_set(steps: np.ndarray) -> pa.Array:
    """The steps as a set to look rows up in."""
    return pa.array(steps.tolist(), pa.int64())


def unseen(file: Path) -> dict[str, float]:
    """How well the even steps predict the odd ones: typical step, mean, and deciles of draws."""
    even, odd = halved(file)
    typical = simulate.timeline(even.graph, simulate.times(even)).step_ns / 1e9
    drawn = np.array([
        simulate.timeline(even.graph, simulate.times(even, seed=seed)).step_ns / 1e9
        for seed in range(DRAWS)
    ])  # fmt: skip
    recorded = np.array([line.step_ns for line in even.measured]) / 1e9
    return {
        "unseen": float(drawn.mean() / odd.mean() - 1),
        "unseen_typical": float(typical / odd.mean() - 1),
        "unseen_p10": float(np.quantile(drawn, 0.1) / np.quantile(odd, 0.1) - 1),
        "unseen_p90": float(np.quantile(drawn, 0.9) / np.quantile(odd, 0.9) - 1),
        "halves": float(recorded.mean() / odd.mean() - 1),
        "halves_p10": float(np.quantile(recorded, 0.1) / np.quantile(odd, 0.1) - 1),
        "halves_p90": float(np.quantile(recorded, 0.9) / np.quantile(odd, 0.9) - 1),
    }


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
    base = np.array(list(answers["step_t_base"].values()))
    return {
        "steps": len(real),
        "rows": pq.read_metadata(folder / "trace-ST.parquet").num_rows,
        "events": profile.events,
        "read": float(np.abs(real / base - 1).max()),
        "replay_mean": float(abs(replay.mean() / real.mean() - 1)),
        "replay_worst": float(np.abs(replay / real - 1).max()),
        **unseen(folder / "trace-ST.parquet"),
        "eager_mean": float(eager.mean() / real.mean() - 1),
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

    def tell(name: str) -> str:
        return " | ".join(f"{100 * found[name + part]:+.2f} %" for part in ("", "_p10", "_p90"))

    return f"""## Published pipeline job

Asked: simulated step against recorded <= 1.5 % (goal 1.0 %), spreads of even steps predict odd
steps within 2 %, published slowdowns within 1 %.

| figure | measured | publisher |
|---|---:|---:|
| operations read, of {found["rows"]:,} in the file | {found["events"]:,} | |
| step times read against the file, worst of {found["steps"]} | {100 * found["read"]:.3f} % | |
| replay error, mean step | {100 * found["replay_mean"]:.3f} % | {100 * own:.2f} % |
| replay error, worst step | {100 * found["replay_worst"]:.3f} % | |
| replay with no gaps between operations, mean step | {100 * found["eager_mean"]:+.2f} % | |
| slowdown by launch gaps, {100 * launch:+.2f} % | {found["launch"]:.4f} | {1 + own:.4f} |
| slowdown by slow operations, {100 * blocking:+.2f} % | {found["blocking"]:.4f} | {slow:.4f} |

Odd steps, each figure against the same figure of the recorded odd steps (asked: mean within 2 %):

| predicted by | mean | first decile | ninth decile |
|---|---:|---:|---:|
| {DRAWS} steps drawn from the even steps' spreads | {tell("unseen")} |
| the even steps' typical step | {100 * found["unseen_typical"]:+.2f} % | | |
| the even steps as they were recorded | {tell("halves")} |

Method: bench/published.py; 32 steps of 8 workers. Replay plays each step with its own times, so
it tests structure only. For the prediction the file is cut in two: graph, spreads and
dependencies come from a file with nothing but the even steps, and odd steps from the other."""


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
