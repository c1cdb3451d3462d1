"""`run`: one command on every machine of a lab, as a launcher would start it on a real cluster.

Each machine's command gets torchrun's settings by environment (PET_*), so it needs no flags. The
first machine that fails ends the run, after a grace in which the others may fail by themselves; a
machine that was killed on purpose, by a schedule of faults, is no failure.
"""

import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paceline.lab.output import Output
from paceline.lab.session import SHOWN, Session, up
from paceline.lab.wires import Process, Wires
from paceline.model import Cluster, RunError

PORT = 29500  # torchrun's own; in a namespace nobody else has it
POLL_S = 0.02
LONGEST_S = 86_400.0
GRACE_S = 15.0
POLITE_S = 10.0

Watch = Callable[[Wires, threading.Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended: 0, or the exit code and last lines of the machine that failed first."""

    code: int
    machine: str | None = None
    lines: tuple[str, ...] = ()


def run(
    cluster: Cluster,
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    mode: str = "auto",
    port: int | None = None,
    timeout_s: float = LONGEST_S,
    grace_s: float = GRACE_S,
    show: str = "all",
    watch: Watch | None = None,
) -> Ended:
    """How the command ended on the machines of the cluster's lab.

    `show` says whose output is printed: `all`, the `first` machine's, or `none`. `watch` runs in a
    thread beside the command, until the event that it is given is set.
    """
    command = [found(command[0], env), *command[1:]]
    with _polite_end(), up(cluster, mode=mode, env=env) as lab:
        names = [machine.name for machine in lab.layout.machines]
        output = Output(names, show)
        output.say(f"lab: {SHOWN[lab.mode]}")
        for note in lab.notes:
            output.say(f"lab: {note}")
        port = chosen_port(lab, port)

        def agent(machine: str) -> Process:
            own = environment(lab, machine, env, port)
            process = lab.run(
                machine, command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            output.follow(machine, process)
            return process

        lab.agent = agent
        for name in names:
            lab.agents[name] = agent(name)
        try:
            ended = _watched(lab, output, watch, timeout_s, grace_s)
        except KeyboardInterrupt:
            _end(lab, POLITE_S)
            raise
        finally:
            output.finish()
        return Ended(code=0) if ended is None else ended


def environment(lab: Session, machine: str, env: Mapping[str, str], port: int) -> dict[str, str]:
    """What torchrun and the collectives need to know on one machine."""
    laid = lab.layout
    place = laid.place(machine)
    device, first = "lo", "127.0.0.1"
    if lab.spaces is not None:
        device, first = laid.device(place), laid.address(0)
    return {
        "OMP_NUM_THREADS": "1",
        **env,
        "PET_NNODES": str(len(laid.machines)),
        "PET_NODE_RANK": str(place),
        "PET_NPROC_PER_NODE": str(laid.machines[place].slots),
        "PET_RDZV_BACKEND": "static",
        "PET_MASTER_ADDR": first,
        "PET_MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": device,
        "NCCL_SOCKET_IFNAME": device,
        "TP_SOCKET_IFNAME": device,
        "PACELINE_MACHINE": machine,
    }


def found(program: str, env: Mapping[str, str]) -> str:
    """The path of a program: on PATH, or beside this Python (its environment may be off PATH)."""
    path = shutil.which(program, path=env.get("PATH"))
    beside = Path(sys.executable).parent / program
    if path is None and "/" not in program and beside.is_file():
        path = str(beside)
    if path is None:
        raise RunError(
            f"There is no command {program!r}.",
            expected="After -- stands the command that every machine runs.",
            cure="Is it installed, and on the PATH?",
        )
    return path


def chosen_port(lab: Session, wanted: int | None) -> int:
    """The port at which workers meet; on loopback one that nobody else has."""
    if lab.spaces is not None:
        return PORT if wanted is None else wanted
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind(("127.0.0.1", wanted or 0))
        except OSError as error:
            raise RunError(
                f"Port {wanted} is taken: {error.strerror}.",
                cure="Leave --port out, and a free one is found.",
            ) from error
        return int(own.getsockname()[1])


def _watched(
    lab: Session, output: Output, watch: Watch | None, timeout_s: float, grace_s: float
) -> Ended | None:
    """Waits until all machines have ended, one failed, or the time is up."""
    over = threading.Event()
    broken: list[Exception] = []

    def watching() -> None:
        if watch is not None:
            try:
                watch(lab, over)
            except Exception as error:  # noqa: BLE001  raised again where the run is waited for
                broken.append(error)

    watcher = threading.Thread(target=watching, daemon=True)
    watcher.start()
    end = time.monotonic() + timeout_s
    try:
        first: Ended | None = None
        while running := _running(lab) or (_all_killed(lab) and watcher.is_alive()):
            if broken or output.failure is not None:
                break
            if first is None and (first := _failed(lab, output)) is not None:
                end = min(end, time.monotonic() + grace_s)
            if time.monotonic() > end:
                break
            over.wait(POLL_S)
        if first is None:
            first = _failed(lab, output)
        _end(lab, POLITE_S)
    finally:
        over.set()
    for error in (*broken, output.failure):
        if error is not None:
            raise error
    if first is None and running:
        raise RunError(
            f"The command did not end within {timeout_s:g} s; it was ended on every machine.",
            expected="Every worker has started and comes to its end.",
            cure="Allow more with --timeout.",
        )
    return first


def _running(lab: Session) -> int:
    return sum(process.poll() is None for process in list(lab.agents.values()))


def _all_killed(lab: Session) -> bool:
    """True while only a schedule of faults can bring a machine back."""
    return all(name in lab.killed for name in lab.agents)


def _failed(lab: Session, output: Output) -> Ended | None:
    for name, process in list(lab.agents.items()):
        if name not in lab.killed and process.poll():
            output.settle(name)
            return Ended(code=process.returncode, machine=name, lines=output.last(name))
    return None


def _end(lab: Session, within_s: float) -> None:
    """Asks all agents to end; whoever has not within the time is killed when the lab goes down."""
    for process in lab.agents.values():
        if process.poll() is None:
            with suppress(ProcessLookupError):
                process.terminate()
    end = time.monotonic() + within_s
    while _running(lab) and time.monotonic() < end:
        time.sleep(POLL_S)


class _polite_end:  # noqa: N801  reads as the word that it is
    """SIGTERM and SIGHUP end this process as Ctrl-C does, with everything taken down."""

    def __enter__(self) -> None:
        self.before: dict[int, object] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.before[number] = signal.signal(number, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
