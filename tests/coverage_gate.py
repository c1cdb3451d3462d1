"""Holds the coverage of each room against its threshold; exits 1 if one is below.

Comes after a pytest run with --cov: reads .coverage through `coverage json`. Lines and branches
are held apart, since well-covered lines can hide untaken branches.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

THRESHOLDS = {
    "model": 95.0, "read": 95.0, "stitch": 95.0, "reduce": 96.0, "rewrite": 96.0, "simulate": 96.0,
}  # percent  # fmt: skip


def totals(room: str) -> dict[str, float]:
    """What coverage.py counted in one room."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        asked = ["-q", "--fail-under=0", f"--include=src/paceline/{room}/*", "-o", str(report)]
        subprocess.run([sys.executable, "-m", "coverage", "json", *asked], check=True)
        return json.loads(report.read_text())["totals"]


def percent(covered: float, of: float) -> float:
    return 100.0 * covered / of if of else 100.0


def main() -> int:
    """Prints one line a room; the exit code says whether all hold."""
    failed = 0
    for room, threshold in THRESHOLDS.items():
        counted = totals(room)
        lines = percent(counted["covered_lines"], counted["num_statements"])
        branches = percent(counted["covered_branches"], counted["num_branches"])
        low = min(lines, branches) < threshold
        failed += low
        verdict = f"below {threshold:g} %" if low else "ok"
        print(f"coverage of {room:8} lines {lines:5.1f} %  branches {branches:5.1f} %  {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
