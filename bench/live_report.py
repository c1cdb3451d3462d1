"""What `live.py` has found, as a section of BENCHMARKS.md and as a picture."""

from pathlib import Path

import numpy as np


def best(found: list[dict]) -> tuple[str, float]:
    """The configuration predicted to train most samples a second, and how far behind the best."""
    rate = {one["name"]: one["samples"] / one["measured_ms"] for one in found}
    said = max(found, key=lambda one: one["samples"] / one["predicted_ms"])
    return said["name"], 1 - rate[said["name"]] / max(rate.values())


def table(found: list[dict]) -> str:
    lines = [
        "| configuration | predicted ms | measured ms (95 %) | error | steps vary by |",
        "|---|---:|---:|---:|---:|",
    ]
    for one in found:
        low, high = one["interval_ms"]
        lines.append(
            f"| {one['name']} | {one['predicted_ms']:.1f} | {one['measured_ms']:.1f}"
            f" ({low:.1f} to {high:.1f}) | {100 * one['error']:+.1f} % |"
            f" ± {100 * one['noise']:.1f} % |"
        )
    return "\n".join(lines)


def section(padded: list[dict], free: list[dict], mbit: int) -> str:
    """Both parts as a section of BENCHMARKS.md."""
    seen = [one for one in padded if one["edits"] and not one["hidden"]]
    errors = np.abs([one["error"] for one in seen])
    hidden = [one["error"] for one in padded if one["hidden"]]
    name, behind = best([one for one in padded if not one["hidden"]])
    beside = "Unpadded configurations were not measured this time."
    if free:
        other = np.abs([one["error"] for one in free if one["edits"]])
        noise = float(np.median([one["noise"] for one in free]))
        beside = (
            f"{len(other)} unpadded configurations: median error {percent(np.median(other))}, 90th"
            f" percentile {percent(np.quantile(other, 0.9))}, beside steps that vary by ±"
            f" {percent(noise)}."
        )
    shown = (
        f"The hidden slow worker raises the error to {percent(hidden[0])}."
        if hidden
        else "The hidden slow worker was not measured this time."
    )
    met = "met" if np.median(errors) <= 0.05 and np.quantile(errors, 0.9) <= 0.1 else "**missed**"
    return f"""## Live: predicting what was not seen

Asked, of configurations that were never recorded: median error <= 5 %, 90th percentile <= 10 %; the
configuration predicted best within 2 % of the measured best.

{len(seen)} padded configurations: median error {percent(np.median(errors))}, 90th percentile
{percent(np.quantile(errors, 0.9))}, worst {percent(errors.max())} ({met}). Predicted best, in
samples a second: {name}, {percent(behind)} behind the measured best. {shown}
{beside}

![predicted against measured](docs/images/live.svg)

Compute padded to 80 ms a step:

{table(padded)}

{"Compute as fast as it goes on two cores:" if free else ""}

{table(free) if free else ""}

Method: bench/live.py; the lab's namespaces, links of {mbit} Mbit/s around a switch, 4 workers
unless said. Recorded once; then each configuration in {padded[0]["steps"] // 30} interleaved blocks
of 30 steps from one launch; medians, intervals by bootstrap over blocks. The predictor is `paceline
whatif RUN --edit ... --json` in a process of its own."""


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def drawn(padded: list[dict], free: list[dict], path: Path) -> None:
    """Predicted against measured, a dot a configuration."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "live"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 5))
    for found, name, mark in ((padded, "padded", "o"), (free, "unpadded", "x")):
        plain = [one for one in found if not one["hidden"]]
        if plain:
            measured = [one["measured_ms"] for one in plain]
            axes.plot(measured, [one["predicted_ms"] for one in plain], mark, label=name)
    both = [one[key] for one in (*padded, *free) for key in ("measured_ms", "predicted_ms")]
    ends = [min(both) * 0.85, max(both) * 1.15]
    axes.plot(ends, ends, "-", lw=0.8, color="gray", label="as measured, and ± 10 %")
    for factor in (0.9, 1.1):
        axes.plot(ends, [factor * end for end in ends], ":", lw=0.8, color="gray")
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set(xlabel="measured step (ms)", ylabel="predicted step (ms)")
    axes.set_title("Never recorded, predicted from one recording")
    ticks = [at for at in (10, 20, 50, 100, 200, 500, 1000, 2000) if ends[0] <= at <= ends[1]]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [str(at) for at in ticks])
        axis.set_ticks([], minor=True)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
