"""`check`: a lab of the cluster is built, and each link and quota is measured one after the other.

A link's rate is what TCP carries of data (goodput), each way on its own, without the first 0.3 s;
its latency is half the median round trip of small datagrams on the idle link. Cores are the
processor time that busy processes get.
"""

import json
import os
import select
import subprocess
from typing import Any

from paceline.lab.inside import started
from paceline.lab.layout import Wire
from paceline.lab.session import Session, up
from paceline.lab.wires import Process
from paceline.model import Cluster, Fidelity, LinkFidelity, MachineFidelity, RunError

PATIENCE_S = 60.0


def check(cluster: Cluster, *, mode: str = "auto", seconds: float = 1.0) -> Fidelity:
    """What every link and quota of the cluster's lab measures, at `seconds` a figure."""
    with up(cluster, mode=mode) as lab:
        links = [row for wire in lab.layout.wires for row in link(lab, wire, seconds)]
        machines = [
            MachineFidelity(
                name=machine.name,
                asked_cores=machine.cores,
                measured_cores=None if machine.cores is None or lab.groups is None
                else cores(lab, machine.name, machine.cores, seconds),
            )
            for machine in lab.layout.machines
        ]  # fmt: skip
        return Fidelity(
            mode=lab.mode, links=tuple(links), machines=tuple(machines), notes=tuple(lab.notes)
        )


def link(lab: Session, wire: Wire, seconds: float) -> tuple[LinkFidelity, LinkFidelity]:
    """Both ways of one link, measured with nothing else on it."""
    a, b = lab.layout.names[wire.a], lab.layout.names[wire.b]
    latency_ns = wire.link.latency_ns
    found: dict[str, float] = {}
    if lab.spaces is not None:
        found = _probed(lab, wire, seconds)
    return tuple(  # type: ignore[return-value]
        LinkFidelity(
            a=near,
            b=far,
            asked_bit_per_s=None if asked is None else asked * 8,
            measured_bit_per_s=found.get(way),
            asked_latency_us=None if latency_ns is None else latency_ns / 1000,
            measured_latency_us=found["median_us"] / 2 if found else None,
        )
        for near, far, asked, way in zip(
            (a, b), (b, a), wire.bytes_per_s, ("there", "back"), strict=True
        )
    )


def cores(lab: Session, machine: str, asked: float, seconds: float) -> float:
    """The cores that busy processes on a machine get."""
    busy = min(len(os.sched_getaffinity(0)), max(1, round(asked + 0.499)))
    burning = lab.run(
        machine, started("probe", "burn", str(seconds), str(busy)), stdout=subprocess.PIPE
    )
    return float(_answer(burning, f"machine {machine}"))


def _probed(lab: Session, wire: Wire, seconds: float) -> dict[str, float]:
    names = lab.layout.names
    where = f"link {names[wire.a]} - {names[wire.b]}"
    serving = lab.run(names[wire.b], started("probe", "serve", wire.device), stdout=subprocess.PIPE)
    try:
        tcp, udp = _answer(serving, where)
        words = (wire.device, lab.layout.address(wire.b), str(tcp), str(udp), str(seconds))
        asking = lab.run(names[wire.a], started("probe", "ask", *words), stdout=subprocess.PIPE)
        return _answer(asking, where)
    finally:
        serving.terminate()


def _answer(process: Process, where: str) -> Any:
    """The line that a probe says, within bounds."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
    line = process.stdout.readline() if ready else b""
    process.stdout.close()
    if not line:
        process.terminate()
        raise RunError(
            "The measuring process ended without a result.",
            where=where,
            cure="Does the link lose everything? Is the machine overloaded?",
        )
    return json.loads(line)
