"""How soon `import paceline` is done and the first line of help is there, for each command."""

import statistics
import subprocess
import sys
import time

from paceline.cli import COMMANDS

RUNS = 21
IMPORT_MS, HELP_MS = 150.0, 500.0
HEAVY = ("torch", "numba", "scipy", "numpy")
IMPORTS = ("paceline", "paceline.read, paceline.stitch")


def import_ms(what: str) -> float:
    code = (
        f"import time; t = time.perf_counter(); import {what};"
        "print((time.perf_counter() - t) * 1e3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def help_ms(command: str) -> float:
    """From starting the process to reading the first line."""
    words = [command] if command else []
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "paceline", *words, "--help"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        took = (time.perf_counter() - began) * 1e3
        process.stdout.read()
    assert first.startswith(b"Usage: paceline")
    return took


def loaded() -> str:
    code = f"import paceline, sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip() or "none of them"


def row(what: str, times: list[float], limit: float | None) -> str:
    times.sort()
    median = statistics.median(times)
    low, high = times[len(times) // 10], times[-1 - len(times) // 10]
    met = "" if limit is None else "yes" if median <= limit else "**no**"
    asked = "" if limit is None else f"{limit:.0f}"
    return f"| {what} | {median:.0f} | {low:.0f} to {high:.0f} | {asked} | {met} |"


def main() -> None:
    imports: dict[str, list[float]] = {what: [] for what in IMPORTS}
    helps: dict[str, list[float]] = {command: [] for command in ("", *COMMANDS)}
    for _ in range(RUNS):  # interleaved, so that other work on the machine hits all alike
        for what, times in imports.items():
            times.append(import_ms(what))
        for command, times in helps.items():
            times.append(help_ms(command))
    print("## Start\n")
    print("Asked: import within 150 ms without torch, numba or scipy; first line of help within")
    print(f"500 ms. Measured: {RUNS} fresh processes each, interleaved, files in the page cache.\n")
    print("| what | median ms | 10 to 90 % | asked | met |")
    print("|---|---:|---:|---:|---|")
    for what, times in imports.items():
        print(row(f"`import {what}`", times, IMPORT_MS if what == "paceline" else None))
    for command, times in helps.items():
        print(row(f"`paceline {command + ' ' if command else ''}--help`", times, HELP_MS))
    print(f"\nOf {', '.join(HEAVY)}, `import paceline` loads: {loaded()}.")


if __name__ == "__main__":
    main()
