"""The planner's question for a fixed number of workers as a program for whole numbers (HiGHS).

Written from the definition: how many workers on each machine, which links are used, which have all
workers on one side. Law speed has a curve, n over the sum of speeds: tangents are added until the
solution touches it.
"""

import time

import numpy as np
from drawn_clusters import sides, step_s
from scipy.optimize import Bounds, LinearConstraint, milp

from paceline.model import Cluster, Job

TANGENTS = 24


def solved(
    job: Job, cluster: Cluster, n: int, law: str, overlay: str, limit_s: float
) -> tuple[float, float, bool]:
    """Best total time found, its proven bound, and whether the program was solved to the end."""
    own = [m for m in cluster.machines if m.slots > m.busy]
    free = np.array([min(n, m.slots - m.busy) for m in own], dtype=float)
    times = np.array([step_s(job, m) for m in own])
    cuts = [
        (np.array([m.name in names for m in own], dtype=float), rate)
        for names, rate, _ in sides(cluster)
    ]
    m, e = len(own), len(cuts)
    # columns: workers k, machines used y, links used z, whole sides w, communication t, compute c,
    # sum of speeds v, step s
    size = 2 * m + 2 * e + 4
    t, c, v, s = range(2 * m + 2 * e, size)
    rows, low, high = [], [], []

    def row(entries: dict[int, float], least: float, most: float) -> None:
        line = np.zeros(size)
        for at, value in entries.items():
            line[at] += value
        rows.append(line)
        low.append(least)
        high.append(most)

    row(dict.fromkeys(range(m), 1.0), n, n)
    for at in range(m):
        row({at: 1.0, m + at: -free[at]}, -np.inf, 0)
    for number, (inside, rate) in enumerate(cuts):
        z, w = 2 * m + number, 2 * m + e + number
        below = {at: inside[at] for at in range(m) if inside[at]}
        weight = 2 * float(job.gradient_bytes or 0) / n / rate
        row({**below, z: -float(n)}, -np.inf, 0)
        row({**below, w: -float(n)}, 0, np.inf)
        if overlay == "forest":
            row({**dict.fromkeys(below, -weight), w: weight * n, t: 1.0}, 0, np.inf)
            row({**dict.fromkeys(below, weight), z: -weight * n, t: 1.0}, 0, np.inf)
        else:
            row({t: 1.0, z: -weight * (n - 1), w: weight * (n - 1)}, 0, np.inf)
    row({**{at: 1 / times[at] for at in range(m)}, v: -1.0}, 0, 0)
    overlap = job.overlap or 0.0
    row({s: 1.0, c: -1.0, t: -(1 - overlap)}, 0, np.inf)
    row({s: 1.0, t: -1.0}, 0, np.inf)
    fastest = np.sort(np.repeat(1 / times, free.astype(int)))
    at_most, at_least = fastest[-n:].sum(), fastest[:n].sum()
    points: list[float] = []
    if law == "equal":
        for at in range(m):
            row({c: 1.0, m + at: -times[at]}, 0, np.inf)
    else:
        points = np.linspace(at_least, at_most, TANGENTS).tolist()
        for point in points:
            row({c: 1.0, v: n / point**2}, 2 * n / point, np.inf)
    goal = np.zeros(size)
    goal[s] = 1.0
    whole = np.concatenate([np.ones(2 * m + 2 * e), np.zeros(4)])
    top = np.concatenate([free, np.ones(m + 2 * e), np.full(4, np.inf)])
    scale = (job.steps_at_large_batch or 0) * (1 + (job.n_crit or 0) / n)
    began = time.monotonic()
    while True:
        found = milp(
            goal, integrality=whole, bounds=Bounds(np.zeros(size), top),
            constraints=LinearConstraint(np.array(rows), low, high),
            options={
                "time_limit": max(0.1, limit_s + began - time.monotonic()), "mip_rel_gap": 1e-9
            },
        )  # fmt: skip
        if found.x is None:
            return float("inf"), 0.0, found.status == 2
        bound = scale * float(found.mip_dual_bound)
        if law == "equal":
            return scale * float(found.fun), bound, found.status == 0
        speed = float(np.round(found.x[:m]) @ (1 / times))
        true = max(n / speed + (1 - overlap) * found.x[t], found.x[t])
        late = time.monotonic() - began > limit_s
        if late and found.status == 0:
            return scale * true, bound, False
        if true <= found.x[s] * (1 + 1e-9) or found.status != 0:
            return scale * true, bound, found.status == 0
        row({c: 1.0, v: n / speed**2}, 2 * n / speed, np.inf)
