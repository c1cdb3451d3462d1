"""What may be changed in a lab while it runs: the door for whoever plays faults on it.

Machines, switches and links go by the names that they have in the cluster file; the two ends of a
link may be given in either order.
"""

import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, Protocol

Stream = int | IO[bytes] | None
Process = subprocess.Popen[bytes]


class Wires(Protocol):
    """A lab that stands: its links, its machines and what runs on them."""

    @property
    def mode(self) -> str:
        """How the lab stands: `root`, `user` or `loopback`; in the last, links stay as they are."""
        ...

    def limit(
        self,
        a: str,
        b: str,
        *,
        bytes_per_s: float | None,
        latency_ns: int | None,
        loss: float | None,
    ) -> None:
        """Both ways of a link have these figures from now on; None means as in the cluster."""
        ...

    def cut(self, a: str, b: str) -> None:
        """Nothing passes the link any more."""
        ...

    def heal(self, a: str, b: str) -> None:
        """What was cut passes again."""
        ...

    def quota(self, machine: str, cores: float | None) -> None:
        """The machine may use so many cores, or a part of one; None means as in the cluster."""
        ...

    def pids(self, machine: str) -> tuple[int, ...]:
        """The processes of a machine, as this process sees them, parents before children."""
        ...

    def start(self, machine: str) -> None:
        """The machine's agent runs again, as after `lab.run` began."""
        ...

    def kill(self, machine: str) -> None:
        """Every process of the machine is gone, without a warning."""
        ...

    def bytes(self, a: str, b: str) -> tuple[int, int]:
        """What went from a to b and from b to a since the lab stands, headers included."""
        ...

    def run(
        self,
        machine: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> Process:
        """A command that was started on a machine or a switch."""
        ...
