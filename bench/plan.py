"""Plans: exact on trees, close on meshes, fast on many machines, and better than tuned rules.

Asked of random clusters (`tests/property/drawn_clusters.py`, `bench/plan_clusters.py`): is the plan
the optimum of an exact program for whole numbers, or of brute force; how far from full enumeration
on networks of ten regions; how long does it take at which proven gap; what do simple rules reach.
`--only PART --state FILE` measures one part and keeps it; without them all are measured.
"""

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "property"))

from drawn_clusters import a_job, by_brute_force, step_s, tree_cluster

from paceline import plan
from paceline.model import Cluster, Goal, Job
from paceline.plan.case import case
from paceline.plan.graphs import solved_graph
from plan_clusters import mixed_racks, rack_job, region_job, regions, shared_regions
from plan_milp import solved as by_milp

LAWS = ("equal", "speed")
CLOSE = 1e-6


def milp(piece: int, limit_s: float = 3.0, budget_s: float = 70.0) -> dict[str, Any]:
    """A quarter of 200 networks, as many as `budget_s` allows; numbers of workers fixed."""
    tally = {"networks": 0, "programs": 0, "finished": 0, "equal": 0, "beaten": 0, "consistent": 0}
    largest, worst_s, began = 0, 0.0, time.monotonic()
    for seed in range(piece, 200, 4):
        if time.monotonic() - began > budget_s:
            break
        draw = np.random.default_rng(seed)
        machines = int(draw.integers(4, 65))
        cluster = tree_cluster(seed, machines, slots=2 if seed % 4 == 0 and machines <= 32 else 1)
        job = a_job(seed, machines)
        free = sum(m.slots - m.busy for m in cluster.machines)
        tally["networks"] += 1
        largest = max(largest, free)
        for law in LAWS:
            best = plan.best(job, cluster, law=law, overlay="forest", explain=False)
            asked = {len(best.workers), *draw.integers(1, free + 1, 2).tolist()}
            for n in range(1, free + 1) if free <= 10 else sorted(asked):
                goal = Goal(min_workers=n, max_workers=n)
                own = plan.best(job, cluster, goal, law=law, overlay="forest", explain=False)
                assert own.certificate is not None
                start = time.monotonic()
                value, bound, done = by_milp(job, cluster, n, law, "forest", limit_s)
                worst_s = max(worst_s, time.monotonic() - start)
                total = own.certificate.objective_s
                tally["programs"] += 1
                tally["finished"] += int(done)
                tally["equal"] += int(done and abs(total / value - 1) <= CLOSE)
                tally["beaten"] += int(total > value * (1 + CLOSE))
                tally["consistent"] += int(not done and bound <= total * (1 + CLOSE))
    took = time.monotonic() - began
    return tally | {"largest": largest, "slowest_s": worst_s, "limit_s": limit_s, "took_s": took}


def tiny(count: int = 500) -> dict[str, Any]:
    """All placements of all numbers of workers."""
    equal = bounded = total = 0
    for seed in range(count):
        draw = np.random.default_rng(seed)
        machines, several = int(draw.integers(2, 7)), seed % 3 == 1
        cluster = tree_cluster(
            seed, min(machines, 4) if several else machines, slots=3 if several else 1,
            latency_us=100 if seed % 2 else 0, levels=seed % 2 == 1, busy=seed % 5 == 0,
        )  # fmt: skip
        job = a_job(seed, machines, overlap=[0.0, 0.5, 1.0][seed % 3])
        law, overlay = LAWS[seed % 2], ("forest", "ring")[seed // 2 % 2]
        made = plan.best(job, cluster, law=law, overlay=overlay, explain=False).certificate
        assert made is not None
        least = by_brute_force(job, cluster, law, overlay)
        equal += abs(made.objective_s / least - 1) <= CLOSE
        bounded += made.lower_bound_s <= least * (1 + CLOSE)
        total += 1
    return {"networks": total, "equal": equal, "bounded": bounded}


def enumerated(job: Job, cluster: Cluster, law: str) -> float:
    """The least total time over all sets of regions, every cut of each set listed."""
    names = [m.name for m in cluster.machines]
    at = {name: spot for spot, name in enumerate(names)}
    rate = np.zeros((len(names), len(names)))
    for link in cluster.links:
        rate[at[link.a], at[link.b]] = link.bytes_per_s or 0
        rate[at[link.b], at[link.a]] = link.back_bytes_per_s or link.bytes_per_s or 0
    times = np.array([step_s(job, m) for m in cluster.machines])
    best = float("inf")
    for n in range(1, len(names) + 1):
        inside = np.array(list(itertools.product((0.0, 1.0), repeat=n)))[1:-1]
        for chosen in itertools.combinations(range(len(names)), n):
            own = np.array(chosen)
            part = rate[np.ix_(own, own)]
            out = np.einsum("ci,ij,cj->c", inside, part, 1 - inside)
            into = np.einsum("ci,ij,cj->c", 1 - inside, part, inside)
            with np.errstate(divide="ignore"):  # regions that no links join
                crossed = inside.sum(axis=1) / np.minimum(out, into)
            longest = float(crossed.max()) if n > 1 else 0.0
            compute = times[own].max() if law == "equal" else n / (1 / times[own]).sum()
            step = compute + 2 * float(job.gradient_bytes or 0) / n * longest
            best = min(best, float(job.steps_at_large_batch or 0) * (1 + job.n_crit / n) * step)
    return best


def meshes(count: int = 60) -> dict[str, Any]:
    """Ten regions each: local search alone, and with its proof by all sets."""
    loss, proven, gaps, sizes, took = [], [], [], [], 0.0
    for seed in range(count):
        cluster, job, law = regions(seed), region_job(seed), LAWS[seed % 2]
        asked = case(job, cluster, Goal(), law=law)
        start = time.monotonic()
        found = solved_graph(asked, "forest", start + 60, enumerate_few=False)
        took += time.monotonic() - start
        whole = solved_graph(asked, "forest", time.monotonic() + 60)
        least = enumerated(job, cluster, law)
        loss.append(found.objective_s / least - 1)
        proven.append(abs(whole.objective_s / least - 1) <= CLOSE)
        sizes.append(found.n)
        gaps.append(1 - found.lower_bound_s / found.objective_s)
        assert found.lower_bound_s <= least * (1 + CLOSE)
    return {
        "networks": count, "mean": float(np.mean(loss)), "worst": float(max(loss)),
        "equal": int(sum(one <= CLOSE for one in loss)), "proven": int(sum(proven)),
        "gap": float(np.mean(gaps)),
        "sizes": [min(sizes), float(np.median(sizes)), max(sizes)], "took_ms": 1e3 * took / count,
    }  # fmt: skip


def speed(sizes: tuple[int, ...] = (64, 256, 1024, 4096, 10240, 32768, 100000)) -> dict[str, Any]:
    """Wall clock and CPU of one plan, its check included; best of three below 30,000 machines."""
    rows = []
    for law in LAWS:
        plan.best(rack_job(64), mixed_racks(64, 0), law=law)  # compiles
        for size in sizes:
            cluster, job = mixed_racks(size, 1), rack_job(size)
            for explain in (False, True):
                best = (float("inf"), float("inf"), 0.0, 0)
                for _ in range(3 if size < 30000 else 1):
                    wall, cpu = time.monotonic(), time.process_time()
                    made = plan.best(job, cluster, law=law, explain=explain)
                    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
                    assert made.certificate is not None
                    best = min(best, (wall, cpu, made.certificate.gap, len(made.workers)))
                rows.append([law, size, explain, *best])
    return {"rows": rows}


def rules(counts: tuple[int, ...] = (48, 96, 192, 384, 768), seeds: int = 6) -> dict[str, Any]:
    """Total time of each tuned rule over that of the plan, on racks with mixed GPU classes."""
    return _against(
        [(mixed_racks(n, seed + 7), rack_job(n, seed)) for n in counts for seed in range(seeds)]
    )


def real(seeds: int = 8) -> dict[str, Any]:
    """The same on measured rates between cloud regions, GPU classes by measured speeds."""
    found = [shared_regions(seed) for seed in range(seeds)]
    return _against([one for one in found if one is not None])


def _against(asked: list[tuple[Cluster, Job]]) -> dict[str, Any]:
    ratios: dict[str, list[float]] = {}
    gaps = []
    for cluster, job in asked:
        for law in LAWS:
            made = plan.best(job, cluster, law=law, compare=True, explain=False, time_limit_s=30)
            assert made.certificate is not None
            gaps.append(made.certificate.gap)
            for one in made.baselines:
                ratio = one.total_time_s / made.certificate.objective_s
                ratios.setdefault(f"{law} {one.name}", []).append(ratio)
    rows = {
        name: [float(np.mean(own)), float(np.min(own)), float(np.max(own)), len(own)]
        for name, own in ratios.items()
    }
    return {"clusters": len(asked), "gap": float(np.max(gaps)) if gaps else 0.0, "rows": rows}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    **{f"milp {piece}": partial(milp, piece) for piece in range(4)},
    "tiny": tiny, "meshes": meshes, "speed": speed, "rules": rules,
    "real": real,
}  # fmt: skip


def shown(found: dict[str, Any]) -> str:
    """The section."""
    milps = _summed([found[name] for name in PARTS if name.startswith("milp")])
    brute, mesh = found["tiny"], found["meshes"]
    times = "\n".join(
        f"| {size:,} | {law} | {'yes' if explain else 'no'} | {wall:.3f} s | {cpu:.3f} s |"
        f" {100 * gap:.4f} % | {n:,} |"
        for law, size, explain, wall, cpu, gap, n in found["speed"]["rows"]
    )
    racks, measured = found["rules"], found["real"]
    return f"""## Plans

Asked: is a plan the optimum; how far off where that is not proven; how long does planning take; how
much longer would training take by tuned simple rules.

**Exact programs** (scipy.optimize.milp, {milps["limit_s"]:g} s each): {milps["networks"]} random
trees of up to {milps["largest"]} slots, both laws, forest, numbers of workers fixed (the planned
one and two others; all on networks of up to ten slots). Of {milps["programs"]:,} programs
{milps["finished"]:,} were solved to the end, and {milps["equal"]:,} of those equal the plan within
1e-6. {milps["beaten"]} times the program found something better; of the unfinished ones
{milps["consistent"]} have a bound that the plan respects.
The slowest took {milps["slowest_s"]:.1f} s.

**Brute force**: {brute["equal"]} of {brute["networks"]} tiny networks equal (several slots, busy
machines, latency, overlap, ring and forest, both laws); {brute["bounded"]} bounds hold.

**Ten regions** (about half the pairs linked, directions differ), every set of regions and every cut
listed: on {mesh["networks"]} networks (plans of {mesh["sizes"][0]} to {mesh["sizes"][2]} workers)
local search alone is {100 * mesh["mean"]:.2f} % above the optimum on
average, {100 * mesh["worst"]:.2f} % at worst, exact {mesh["equal"]} times, in
{mesh["took_ms"]:.0f} ms; its own bound leaves a gap of {100 * mesh["gap"]:.0f} % on average.
With all sets looked at, as `plan` does up to 4,096 of them, {mesh["proven"]} are the optimum.

**Speed**, overlay any, check of the plan included; with `explain` also the curve over n and two
more solutions for the gain of relaxing what binds:

| machines | law | explained | wall clock | CPU | proven gap | workers |
|---:|---|---|---:|---:|---:|---:|
{times}

**Rules**, total time over that of the plan (mean, least, most): racks of 16 machines with GPUs of
one of three classes each, or mixed, and uplinks of 25 to 200 Gbit/s; {racks["clusters"]} clusters
of 48 to 768 machines, largest proven gap {100 * racks["gap"]:.3f} %.

{_rules(racks)}

The same between {measured["clusters"]} draws of GPU classes for 24 measured cloud regions
(throughputs of skyplane, GPU speeds of gavel, ResNet-50); largest gap
{100 * measured["gap"]:.0f} %.

{_rules(measured)}

Method: bench/plan.py; clusters are drawn with fixed seeds; one process; best of three runs."""


def _summed(parts: list[dict[str, Any]]) -> dict[str, Any]:
    worst = {"largest", "slowest_s", "limit_s"}
    return {key: (max if key in worst else sum)(part[key] for part in parts) for key in parts[0]}


def _rules(part: dict[str, Any]) -> str:
    if not part["rows"]:
        return "(not measured: no shared data)"
    head = "| rule | mean | least | most |\n|---|---:|---:|---:|\n"
    return head + "\n".join(
        f"| {name} | {mean:.3f} | {least:.3f} | {most:.3f} |"
        for name, (mean, least, most, _) in sorted(part["rows"].items())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=tuple(PARTS))
    parser.add_argument("--state", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    if given.state is not None and given.state.exists():
        found = json.loads(given.state.read_text())
    for name, part in PARTS.items():
        if name == given.only or (given.only is None and name not in found):
            print(f"{name} ...", file=sys.stderr, flush=True)
            found[name] = part()
    if given.state is not None:
        given.state.write_text(json.dumps(found))
    if given.only is None:
        print(shown(found))


if __name__ == "__main__":
    main()
