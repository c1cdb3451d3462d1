"""Runs benchmark scripts and writes their sections into BENCHMARKS.md, as bench/README.md says.

Without arguments all scripts run; with names only those, and the sections of the others stay.
"""

import datetime as dt
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "BENCHMARKS.md"
SCRIPTS = (
    "startup", "load", "align", "mutants", "engine", "laws", "published", "diagnose_speed",
    "compare", "synthetic_faults", "slow_backward", "lab_fidelity", "recording_cost", "transport",
    "live", "plan",
)  # fmt: skip
PEERS = ROOT / ".venv-peers"
PEER_PACKAGES = ("HolisticTraceAnalysis", "pandas<3", "setuptools<81")
HEAD = """# Benchmarks

Written by `make bench`; do not edit. Each figure was measured by the script named below it, on the
machine and day given there. [bench/README.md](bench/README.md) says how to add one.
"""


def peers_python() -> str:
    """The interpreter of the peers' environment, made if need be; empty if that fails."""
    python = PEERS / "bin" / "python"
    ready = PEERS / ".ready"
    if not ready.exists():
        print("installing peers into .venv-peers", file=sys.stderr)
        try:
            subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
            install = [str(python), "-m", "pip", "install", "--quiet", *PEER_PACKAGES]
            subprocess.run(install, check=True)
        except subprocess.CalledProcessError as error:
            print(f"no peers: {error}", file=sys.stderr)
            return ""
        ready.touch()
    return str(python)


def machine() -> str:
    """Cores, processor, system and Python, in words that name no machine."""
    model = "unknown processor"
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        found = re.search(r"^model name\s*:\s*(.*)$", cpu.read_text(), re.MULTILINE)
        model = found[1].strip() if found else model
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {model}, {platform.system()}, Python {platform.python_version()}"


def section(name: str, peers: str) -> str | None:
    """The section that a script prints, with its provenance; None if it failed."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / f"{name}.py")],
        cwd=ROOT,
        env=os.environ | {"PEERS_PYTHON": peers},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0 or not done.stdout.startswith("## "):
        print(f"bench/{name}.py failed with {done.returncode}", file=sys.stderr)
        return None
    took = time.perf_counter() - began
    today = dt.datetime.now(tz=dt.UTC).date()
    made = f"`bench/{name}.py`, {today}, {took:.0f} s, {machine()}"
    return f"<!-- {name} -->\n{done.stdout.strip()}\n\n*{made}*\n"


def kept() -> dict[str, str]:
    """The sections that BENCHMARKS.md holds, by script."""
    if not TARGET.exists():
        return {}
    parts = re.split(r"^(?=<!-- \w+ -->$)", TARGET.read_text(), flags=re.MULTILINE)
    return {part.split()[1]: part.strip() + "\n" for part in parts if part.startswith("<!-- ")}


def main(names: list[str]) -> int:
    """Runs the scripts; 1 if one failed, whose old section then stays."""
    unknown = [name for name in names if name not in SCRIPTS]
    if unknown:
        print(f"no such benchmark: {unknown}; there are {', '.join(SCRIPTS)}", file=sys.stderr)
        return 2
    peers = peers_python()
    sections, failed = kept(), 0
    for name in names or SCRIPTS:
        print(f"bench/{name}.py ...", file=sys.stderr)
        new = section(name, peers)
        if new is None:
            failed = 1
        else:
            sections[name] = new
    ordered = [sections[name] for name in SCRIPTS if name in sections]
    TARGET.write_text("\n".join([HEAD, *ordered]))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
