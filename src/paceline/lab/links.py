"""The links of a lab: interfaces between namespaces, with rates, delays, losses and cuts.

Rates are token buckets (tc), losses and cuts rules where frames come in (nft). Delays are netem's
where the kernel has it, else a small process holds the frames back (`inside/delay.py`); a link gets
that process into its way when it is first given a delay.
"""

import json
import select
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from paceline.lab import shaping
from paceline.lab.inside import started
from paceline.lab.layout import Layout, Wire
from paceline.lab.shaping import Shape
from paceline.lab.spaces import Spaces
from paceline.lab.wires import Process
from paceline.model import PacelineError, RunError, show_ns

LEAST_DELAY_NS = 100_000  # a process cannot hold a frame for less; the way through it takes as long
PATIENCE_S = 10


class Links:
    """All links of a lab by their ends; safe to call from several threads."""

    def __init__(self, laid: Layout, spaces: Spaces, run: Callable[..., Process]) -> None:
        self.laid = laid
        self.spaces = spaces
        self.notes: list[str] = []
        self._run = run
        self._lock = threading.RLock()
        self._netem = False
        self._delayer: Process | None = None
        self._detours: set[int] = set()  # links through the delaying process
        self._shaped: set[tuple[int, int]] = set()  # (place, wire) with a qdisc
        self._shapes = [_declared(wire) for wire in laid.wires]
        self._passed = [[0, 0] for _ in laid.wires]  # bytes of interfaces that were replaced

    @property
    def extra(self) -> int:
        """The number of the namespace in which frames are delayed."""
        return len(self.laid.names)

    def build(self) -> None:
        """Makes all links as the cluster has them."""
        self._netem = any(wire.link.latency_ns for wire in self.laid.wires) and self._probe()
        self._join(self.laid.wires)
        for place in range(len(self.laid.names)):
            self._ip(place, shaping.raised(self.laid, place))
        for wire in self.laid.wires:
            self._delay(wire)
            self._filter(wire)
        self._shape(self.laid.wires)

    def limit(
        self,
        a: str,
        b: str,
        bytes_per_s: float | None,
        latency_ns: int | None,
        loss: float | None,
    ) -> None:
        """See `Wires.limit`."""
        wire, _ = self.laid.wire(a, b)
        figures = (bytes_per_s, latency_ns, loss)
        if any(figure is not None and figure < 0 for figure in figures) or bytes_per_s == 0:
            raise RunError(
                f"The link {a} - {b} cannot have a rate of 0 or a negative figure.",
                cure="To let nothing pass, cut it.",
            )
        declared = _declared(wire)
        with self._lock:
            before = self._shapes[wire.number]
            shape = Shape(
                bytes_per_s=declared.bytes_per_s
                if bytes_per_s is None
                else (bytes_per_s, bytes_per_s),
                latency_ns=declared.latency_ns if latency_ns is None else latency_ns,
                loss=declared.loss if loss is None else loss,
                cut=before.cut,
            )
            self._shapes[wire.number] = shape
            if shape.latency_ns != before.latency_ns:
                self._slow(wire)
            if shape != replace(before, loss=shape.loss):
                self._shape((wire,))
            if shape.loss != before.loss:
                self._filter(wire, always=True)

    def cut(self, a: str, b: str, *, cut: bool) -> None:
        """See `Wires.cut` and `Wires.heal`."""
        wire, _ = self.laid.wire(a, b)
        with self._lock:
            self._shapes[wire.number] = replace(self._shapes[wire.number], cut=cut)
            self._filter(wire, always=True)

    def bytes(self, a: str, b: str) -> tuple[int, int]:
        """See `Wires.bytes`."""
        wire, turned = self.laid.wire(a, b)
        with self._lock:
            now = self._counted(wire)
            there, back = (x + y for x, y in zip(now, self._passed[wire.number], strict=True))
        return (back, there) if turned else (there, back)

    def close(self) -> None:
        """Lets go of the process that delays frames."""
        if self._delayer is not None:
            for stream in (self._delayer.stdin, self._delayer.stdout):
                assert stream is not None
                with suppress(OSError):
                    stream.close()

    def _counted(self, wire: Wire) -> tuple[int, int]:
        show = ("ip", "-json", "-stats", "link", "show", "dev", wire.device)
        sent = [json.loads(self.spaces.told(place, show))[0] for place in (wire.a, wire.b)]
        there, back = (int(one["stats64"]["tx"]["bytes"]) for one in sent)
        return there, back

    def _probe(self) -> bool:
        """True if this kernel has netem."""
        try:
            self.spaces.told(
                self.extra, ("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
            )
        except PacelineError:
            return False
        return True

    def _detoured(self, wire: Wire) -> bool:
        latency_ns = self._shapes[wire.number].latency_ns or 0
        return not self._netem and latency_ns >= LEAST_DELAY_NS

    def _join(self, wires: tuple[Wire, ...]) -> None:
        nets = self.spaces.nets
        lines: list[str] = []
        away = [wire for wire in wires if self._detoured(wire)]
        for wire in wires:
            if wire in away:
                for end, place in (("a", wire.a), ("b", wire.b)):
                    name = f"{end}{wire.number}"
                    lines.append(shaping.pair(wire.device, nets[place], name, nets[-1]))
                self._detours.add(wire.number)
            else:
                lines.append(shaping.pair(wire.device, nets[wire.a], wire.device, nets[wire.b]))
        self._ip(0, lines)
        if away:
            raised = [f"link set {end}{wire.number} up" for wire in away for end in "ab"]
            self._ip(self.extra, raised)

    def _slow(self, wire: Wire) -> None:
        """Sees to a changed delay; a link without the delaying process in its way is rebuilt."""
        if not self._netem and self._shapes[wire.number].latency_ns:
            self._netem = not self._detours and self._probe()
        if self._detoured(wire) and wire.number not in self._detours:
            for way, bytes_ in enumerate(self._counted(wire)):
                self._passed[wire.number][way] += bytes_
            self._ip(wire.a, [f"link del {wire.device}"])
            self._shaped -= {(wire.a, wire.number), (wire.b, wire.number)}
            self._join((wire,))
            for place in (
                wire.a,
                wire.b,
            ):  # with the interface went every way that named its address
                self._ip(place, shaping.raised(self.laid, place))
            self._filter(wire)
            self._shape((wire,))
        self._delay(wire)

    def _delay(self, wire: Wire) -> None:
        latency_ns = self._shapes[wire.number].latency_ns or 0
        if wire.number in self._detours:
            self._order(wire, latency_ns)
        elif latency_ns and not self._netem:
            link = f"link {wire.link.a} - {wire.link.b}"
            why = f"its latency of {show_ns(latency_ns)} is not emulated"
            self.notes.append(
                f"{link}: {why}; without netem the least is {show_ns(LEAST_DELAY_NS)}"
            )

    def _order(self, wire: Wire, latency_ns: int) -> None:
        if self._delayer is None:
            self._delayer = self._started_delayer()
        process = self._delayer
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps([wire.number, latency_ns]).encode() + b"\n")
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
        said = process.stdout.readline().decode().strip() if ready else "no answer"
        if said != "ok":
            raise RunError(
                f"The process that delays frames failed: {said or 'it ended'}.",
                where=f"link {wire.link.a} - {wire.link.b}",
                cure="Leave latencies out of the cluster, or use a kernel with netem.",
            )

    def _started_delayer(self) -> Process:
        return self._run(None, started("delay"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _shape(self, wires: tuple[Wire, ...]) -> None:
        lines: dict[int, list[str]] = {}
        for wire in wires:
            shape = self._shapes[wire.number]
            netem_ns = shape.latency_ns if self._netem else None
            for place, rate in zip((wire.a, wire.b), shape.bytes_per_s, strict=True):
                shaped = (place, wire.number) in self._shaped
                own = shaping.sending(wire.device, rate, netem_ns, shaped)
                lines.setdefault(place, []).extend(own)
                if rate is not None or netem_ns:
                    self._shaped.add((place, wire.number))
                else:
                    self._shaped.discard((place, wire.number))
        for place, own in lines.items():
            if own:
                self.spaces.told(place, ("tc", "-batch", "-"), "\n".join(own) + "\n")

    def _filter(self, wire: Wire, *, always: bool = False) -> None:
        shape = self._shapes[wire.number]
        if always or shape.loss or shape.cut:
            text = shaping.receiving(wire.device, shape.loss, shape.cut)
            for place in (wire.a, wire.b):
                self.spaces.told(place, ("nft", "-f", "-"), text)

    def _ip(self, place: int, lines: list[str]) -> None:
        self.spaces.told(place, ("ip", "-batch", "-"), "\n".join(lines) + "\n")


def _declared(wire: Wire) -> Shape:
    link = wire.link
    return Shape(bytes_per_s=wire.bytes_per_s, latency_ns=link.latency_ns, loss=link.loss)
