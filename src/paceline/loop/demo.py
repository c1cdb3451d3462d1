"""The bundled recording: a small model trained by four workers, one of them slowed on purpose.

`examples/train.py` is the job and `bench/record_demo.py` recorded it; the traces are as the
framework's own profiler wrote them, less the paths and names of the machine.
"""

from importlib.resources import files
from pathlib import Path


def demo_run() -> Path:
    """The folder with one trace a worker."""
    return Path(str(files("paceline.loop") / "demo_run"))
