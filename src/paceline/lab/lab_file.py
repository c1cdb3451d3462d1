"""lab.json: what a worker must know to behave as if it ran on its machine of the cluster.

The lab writes it once, before any worker starts; workers and the driver only read it.
"""

from pathlib import Path

import msgspec

from paceline.model import Cluster, Faults, Machine, RunError, replacing

NAME = "lab.json"


class LabMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of the cluster; `speed` is 1.0 for the reference."""

    name: str
    speed: float
    slots: int


class LabFile(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster, how compute is drawn, and what goes wrong.

    `compute_ms`: forward and backward of one step at speed 1.0, None to measure first; `cores` are
    those of the real machine, shared by all workers.
    """

    schema: int = 1
    cluster: Cluster
    compute_ms: float | None
    spread: float
    drift: float
    seed: int
    cores: int
    faults: Faults
    padded: bool = True  # else workers are as fast as they are, and only faults slow them

    @property
    def machines(self) -> tuple[LabMachine, ...]:
        """The machines, in the order in which ranks fill them."""
        return _machines(self.cluster)

    def machine_at(self, rank: int, name: str | None) -> int:
        """The position of the machine called so; without a name, that which the rank fills."""
        for at, machine in enumerate(self.machines):
            if machine.name == name or (name is None and rank < machine.slots):
                return at
            rank -= machine.slots
        raise RunError(
            f"worker runs on {name!r}." if name else "there are more workers than slots.",
            expected=f"The lab emulates {', '.join(m.name for m in self.machines)}.",
        )


def _machines(cluster: Cluster) -> tuple[LabMachine, ...]:
    """The machines with their speeds: the machine's own times that of its kind, 1.0 if unknown."""
    kinds = {kind.name: kind.speed for kind in cluster.kinds}

    def speed(machine: Machine) -> float:
        of_kind = kinds.get(machine.kind) if machine.kind else None
        return (machine.speed or 1.0) * (of_kind or 1.0)

    return tuple(LabMachine(name=m.name, speed=speed(m), slots=m.slots) for m in cluster.machines)


def save_lab(lab: LabFile, folder: Path) -> None:
    """Writes lab.json whole."""
    with replacing(folder / NAME) as part:
        part.write_bytes(msgspec.json.encode(lab) + b"\n")


def load_lab(folder: Path) -> LabFile:
    """What lab.json of the folder says."""
    path = folder / NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=LabFile)
    except (OSError, msgspec.DecodeError) as error:
        raise RunError(
            f"cannot be read ({error}).", where=path, cure="Start the job with `paceline lab run`."
        ) from error
