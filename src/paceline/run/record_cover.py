"""`run.json`, the cover sheet of a RUN folder: who took part, on what, and which buckets there are.

Worker 0 writes it when the job begins, when DDP has laid out its buckets for good, and at the end,
each time whole.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from paceline.run.lazy_torch import torch
from paceline.run.record_bucket import Watch
from paceline.run.record_file import whole_file
from paceline.run.record_settings import Settings, Window

NAME = "run.json"


class Cover:
    """What worker 0 knows of the job."""

    def __init__(
        self, settings: Settings, size: int, told: Mapping[int, Mapping[str, Any]]
    ) -> None:
        import paceline

        self.settings = settings
        self.base: dict[str, object] = {
            "schema": 1,
            "recorder": f"paceline {paceline.__version__}",
            "torch": str(torch().__version__),
            "size": size,
            "norms": settings.norms,
            "began_ns": time.time_ns(),
            "workers": [
                {
                    "rank": rank,
                    "folder": f"worker-{rank}",
                    "machine": facts.get("machine"),
                    "device": facts.get("device"),
                }
                for rank, facts in sorted(told.items())
            ],
        }

    def write(self, watches: Sequence[Watch], steps: int, *, finished: bool) -> None:
        """Writes the cover sheet of the RUN folder and of those of its windows that exist."""
        said = {
            **self.base,
            "windows": self.settings.windows,
            "steps": steps,
            "finished": finished,
            "buckets": [bucket for watch in watches for bucket in _buckets(watch)],
        }
        whole_file(self.settings.folder / NAME, msgspec.json.encode(said))

    def write_window(self, window: Window) -> None:
        """Writes the cover sheet of a window's folder, if it has one of its own."""
        folder = self.settings.window_folder(window)
        if folder != self.settings.folder:
            said = {**self.base, "windows": [window]}
            folder.mkdir(parents=True, exist_ok=True)
            whole_file(folder / NAME, msgspec.json.encode(said))


def _buckets(watch: Watch) -> list[dict[str, object]]:
    return [
        {
            "module": watch.number,
            "index": index,
            "group": watch.group,
            "size_bytes": size,
            "tensors": [{"name": name, "size_bytes": own} for name, own in tensors],
        }
        for index, (size, tensors) in sorted(watch.map.items())
    ]
