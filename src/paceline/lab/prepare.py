"""Before a run of the lab: its folder, from which workers learn what they are to be like."""

import os
from pathlib import Path

from paceline.lab.lab_file import LabFile, save_lab
from paceline.lab.progress import Progress
from paceline.model import Cluster, Faults, InputError

LAB = "PACELINE_LAB"
MACHINE = "PACELINE_MACHINE"
_LEFT = ("reference.json", "faults.jsonl", "struck-*", "padding-*.json", ".*.part")


def prepare(
    folder: Path,
    cluster: Cluster,
    faults: Faults,
    *,
    compute_ms: float | None = None,
    spread: float = 0.02,
    drift: float = 0.01,
    seed: int = 0,
    padded: bool = True,
) -> dict[str, str]:
    """The environment in which workers behave like the machines of the cluster.

    Without `compute_ms`, what compute takes follows from the first steps; not `padded`, all workers
    compute as fast as they can, and only faults slow them.

    It goes with the hook `paceline.lab.hook`; PACELINE_MACHINE tells a worker where it runs, else
    ranks fill the machines in their order. The folder is made; what a run before left is removed.
    """
    faults.verify(cluster)
    if compute_ms is not None and not 0 < compute_ms < 1e9:
        raise InputError(f"compute of {compute_ms} ms.", expected="It is more than 0.")
    for name, share in (("spread", spread), ("drift", drift)):
        if not 0 <= share <= 0.5:
            raise InputError(f"{name} of {share}.", expected="It is a share from 0 to 0.5.")
    lab = LabFile(
        cluster=cluster, compute_ms=compute_ms, spread=spread, drift=drift,
        seed=seed, cores=len(os.sched_getaffinity(0)), faults=faults, padded=padded,
    )  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for pattern in _LEFT:
            for path in folder.glob(pattern):
                path.unlink()
        Progress.create(folder)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror}).", where=folder, cure="Choose another folder."
        ) from error
    save_lab(lab, folder)
    return {LAB: str(folder.resolve())}
