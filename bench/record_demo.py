"""Records the bundled demo again: examples/train.py with four workers, worker 2 slowed by 60 ms.

Needs the extra `torch`. The traces stay as the profiler wrote them, except that what names the
recording machine (its host name, the profiler's temporary file) is taken out.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "src" / "paceline" / "loop" / "demo_run"
WORKERS = 4
SLOW = 2


def record(folder: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    job = [f"--nproc-per-node={WORKERS}", str(ROOT / "examples" / "train.py")]
    subprocess.run([*launcher, *job, "--trace", str(folder), "--slow-rank", str(SLOW)], check=True)


def cleaned(raw: bytes) -> bytes:
    trace = json.loads(raw)
    trace.pop("traceName", None)
    trace["host_name"] = "demo-machine"
    return json.dumps(trace, separators=(",", ":")).encode()


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder))
        for source in sorted(Path(folder).iterdir()):
            body = gzip.compress(cleaned(gzip.decompress(source.read_bytes())), 9, mtime=0)
            (TARGET / source.name).write_bytes(body)
            print(f"{source.name}: {len(body):,} bytes")


if __name__ == "__main__":
    main()
