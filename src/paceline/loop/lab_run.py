"""A command in the lab, whose workers are padded to their machines' speeds and struck by faults.

`lab` builds machines and links, its hook inside each worker pads and strikes, its driver changes
links and brings machines back. Here they meet, over a folder that lasts as long as the run.
"""

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from paceline import lab
from paceline.lab.prepare import prepare
from paceline.loop.inject import environment
from paceline.model import Cluster, Faults

HOOK = "paceline.lab.hook"


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How compute is emulated: as it is, padded by what first steps need, or to a given length.

    `compute_ms` is one step's forward and backward on a machine of speed 1; `spread` and `drift`
    are coefficients of variation, from op to op and of a worker over many steps.
    """

    padded: bool | None = None  # None: where the cluster says how fast its machines are
    compute_ms: float | None = None
    spread: float = 0.02
    drift: float = 0.01
    seed: int = 0


def lab_run(
    cluster: Cluster,
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    faults: Faults | None = None,
    pace: Pace | None = None,
    folder: Path | None = None,
    **settings: Any,
) -> lab.Ended:
    """How it ended; `folder` keeps what workers and faults did, `settings` are lab.run's."""
    schedule, how = faults or Faults(), pace or Pace()
    padded = how.padded if how.padded is not None else _uneven(cluster) or bool(how.compute_ms)
    if not padded and not schedule.faults:
        return lab.run(cluster, command, env=env, **settings)
    with tempfile.TemporaryDirectory(prefix="paceline-lab-") as own:
        at = Path(own) if folder is None else folder
        told = prepare(
            at, cluster, schedule, compute_ms=how.compute_ms, spread=how.spread, drift=how.drift,
            seed=how.seed, padded=padded,
        )  # fmt: skip

        def watch(wires: lab.Wires, over: threading.Event) -> None:
            driver = lab.Driver(wires, schedule, at)
            driver.start()
            over.wait()
            driver.stop()

        return lab.run(
            cluster, command, env=environment(env, HOOK, **told), watch=watch, **settings
        )


def _uneven(cluster: Cluster) -> bool:
    """Whether the cluster says how fast any of its machines is."""
    return any(one.speed is not None for one in (*cluster.kinds, *cluster.machines))
