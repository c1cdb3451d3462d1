"""A lab that stands: the links of a cluster between namespaces, and commands on its machines.

`with lab.up(cluster) as wires:` builds it and takes it down. Nothing of it outlives this process:
namespaces end with their descriptors, commands with the life line that each launcher watches.
"""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from paceline.lab import cgroup
from paceline.lab.inside import processes, started
from paceline.lab.inside.launch import KILL
from paceline.lab.layout import Layout, host_name, layout
from paceline.lab.links import Links
from paceline.lab.spaces import PACKAGES, Spaces, tool
from paceline.lab.wires import Process, Stream
from paceline.model import Cluster, InputError, PacelineError, RunError

MODES = ("root", "user", "loopback")
SHOWN = {
    "root": "namespaces as root",
    "user": "namespaces in a user namespace",
    "loopback": "loopback, links not emulated",
}
ENDING_S = 5.0


class Session:
    """See `Wires`, which this is."""

    def __init__(
        self, laid: Layout, mode: str, spaces: Spaces | None, env: Mapping[str, str]
    ) -> None:
        self.layout = laid
        self.mode = mode
        self.spaces = spaces
        self.notes: list[str] = []
        self.links: Links | None = None
        self.groups: cgroup.Groups | None = None
        self.agent: Callable[[str], Process] | None = None
        self.agents: dict[str, Process] = {}
        self.killed: set[str] = set()  # on purpose: no failure
        self._env = dict(env)
        self._running: dict[int, list[Process]] = {}
        self._lock = threading.RLock()
        self._life = os.pipe()

    def run(
        self,
        machine: str | None,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> Process:
        """A command that was started on a machine or a switch, or beside them all (None).

        Signals reach all of it.
        """
        beside = len(self.layout.names)
        place = beside if machine is None else self.layout.place(machine)
        group = self._group(place)
        order = {
            "user": None if self.spaces is None else self.spaces.user,
            "net": None if self.spaces is None else self.spaces.nets[place],
            "life": self._life[0],
            "host": host_name(machine or "beside", place),
            "hosts": self.layout.hosts(),
            "cgroup": None if group is None else str(group),
            "command": list(command),
        }
        passed = [fd for key in ("user", "net", "life") if (fd := order[key]) is not None]
        with self._lock:
            launcher = subprocess.Popen(
                started("launch", json.dumps(order)),
                env=dict(self._env if env is None else env),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=passed,  # type: ignore[arg-type]
                start_new_session=True,  # a Ctrl-C is for the lab, which ends its commands
            )
            running = [one for one in self._running.get(place, []) if one.poll() is None]
            self._running[place] = [*running, launcher]
        return launcher

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
        self._links().limit(a, b, bytes_per_s, latency_ns, loss)

    def cut(self, a: str, b: str) -> None:
        """Nothing passes the link any more."""
        self._links().cut(a, b, cut=True)

    def heal(self, a: str, b: str) -> None:
        """What was cut passes again."""
        self._links().cut(a, b, cut=False)

    def bytes(self, a: str, b: str) -> tuple[int, int]:
        """What went from a to b and from b to a since the lab stands, headers included."""
        return self._links().bytes(a, b)

    def quota(self, machine: str, cores: float | None) -> None:
        """The machine may use so many cores, or a part of one; None means as in the cluster."""
        place = self._machine(machine)
        if self.groups is None:
            raise RunError("Quotas of processor time are not available.", cure=self.no_quota)
        declared = self.layout.machines[place].cores
        self.groups.quota(place, declared if cores is None else cores)

    def pids(self, machine: str) -> tuple[int, ...]:
        """The processes of a machine, as this process sees them, parents before children."""
        with self._lock:
            launchers = [one.pid for one in self._running.get(self._machine(machine), [])]
        found: list[int] = []
        for launcher in launchers:
            own = processes.below(launcher)
            # the first process of the machine's own process numbers only keeps the others
            found += own if self.spaces is None else own[1:]
        return tuple(found)

    def start(self, machine: str) -> None:
        """The machine's agent runs again, as after `lab.run` began."""
        self._machine(machine)
        if self.agent is None:
            raise RunError("No command was given to this lab.", cure="Start one with lab.run.")
        with self._lock:
            self.kill(machine)
            self.agents[machine] = self.agent(machine)
            self.killed.discard(machine)

    def kill(self, machine: str) -> None:
        """Every process of the machine is gone, without a warning."""
        place = self._machine(machine)
        with self._lock:
            self.killed.add(machine)
            self._kill(self._running.get(place, []))

    def close(self) -> None:
        """Ends everything that still runs, and takes the lab down."""
        with self._lock:
            self._kill([one for row in self._running.values() for one in row])
            self._running.clear()
            for fd in self._life:
                os.close(fd)
            if self.links is not None:
                self.links.close()
            if self.groups is not None:
                self.groups.remove()

    @property
    def no_quota(self) -> str:
        """Why machines have no quota of processor time; empty if they have."""
        if self.groups is not None:
            return ""
        return "This needs root and control groups; cores of machines are not limited."

    def _kill(self, launchers: list[Process]) -> None:
        for one in launchers:
            if one.poll() is None:
                one.send_signal(KILL)
        end = time.monotonic() + ENDING_S
        for one in launchers:
            try:
                one.wait(max(0.01, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait(1)

    def _machine(self, name: str) -> int:
        place = self.layout.place(name)
        if place >= len(self.layout.machines):
            raise InputError(f"{name!r} is a switch.", expected="A machine is needed here.")
        return place

    def _group(self, place: int) -> object:
        if self.groups is None or place >= len(self.layout.machines):
            return None
        return self.groups.of(place)

    def _links(self) -> Links:
        if self.links is None:
            raise RunError(
                "On loopback, links cannot be changed or counted.",
                cure="Run the lab with namespaces: paceline doctor says what is missing.",
            )
        return self.links


@contextmanager
def up(
    cluster: Cluster, *, mode: str = "auto", env: Mapping[str, str] | None = None
) -> Generator[Session]:
    """The lab of a cluster while the block runs; `env` is what its commands get by default."""
    laid = layout(cluster)
    with ExitStack() as stack:
        chosen, spaces, why = _spaces(laid, mode)
        if spaces is not None:
            stack.callback(spaces.close)
        session = Session(laid, chosen, spaces, os.environ if env is None else env)
        stack.callback(session.close)
        session.notes += why
        session.groups = _groups(laid, session)
        if spaces is not None:
            session.links = Links(laid, spaces, session.run)
            session.links.build()
            session.notes += session.links.notes
        yield session


def _spaces(laid: Layout, mode: str) -> tuple[str, Spaces | None, list[str]]:
    """The first of the modes that works, its namespaces, and why the better ones do not."""
    if mode not in {"auto", *MODES}:
        raise InputError(f"{mode!r} is no mode.", expected=f"Modes: auto, {', '.join(MODES)}.")
    tried = (mode,) if mode != "auto" else MODES[os.geteuid() != 0 :]
    why: list[str] = []
    for name in PACKAGES if mode != "loopback" else ():
        tool(name)
    for kind in tried:
        if kind == "loopback":
            return kind, None, why
        try:
            # one more than there are places: where delays are made
            return kind, Spaces(len(laid.names) + 1, kind), why
        except PacelineError as error:
            if mode != "auto":
                raise
            why.append(error.found)
    raise AssertionError("loopback always works")


def _groups(laid: Layout, session: Session) -> cgroup.Groups | None:
    tree = cgroup.tree() if os.geteuid() == 0 else None
    wanted = any(machine.cores is not None for machine in laid.machines)
    if tree is None:
        if wanted:
            session.notes.append(session.no_quota)
        return None
    cgroup.remove_leftovers(tree)
    name = f"{cgroup.PREFIX}-{os.getpid()}-{cgroup.started(os.getpid())}-{id(session)}"
    try:
        groups = cgroup.Groups(tree, name, len(laid.machines))
    except RunError as error:
        if wanted:
            session.notes.append(error.text())
        return None
    for place, machine in enumerate(laid.machines):
        if machine.cores is not None:
            groups.quota(place, machine.cores)
    return groups
