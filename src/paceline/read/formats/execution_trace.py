"""Execution traces of PyTorch and Chakra, as JSON: which operator used whose data, without times.

Schemas 1.0 to 1.1. Operators come in the order in which they began, a lane a thread; `record` is
the id by which a timeline of the same worker is joined. docs/formats/execution-trace.md tells what
a dependency is taken from. Chakra's protobuf files are recognized; what to give instead is said.
"""

import re
from collections.abc import Iterable, Sequence

from paceline.model import Facts, InputError, Kind, Note, Phase, Trace, TraceBuilder
from paceline.read.execution_comms import WAITS, Comms, comms, groups
from paceline.read.execution_data import Writers
from paceline.read.execution_node import COMMS, GROUPS, Node, Operator, operator
from paceline.read.kineto_names import Role, role
from paceline.read.opened import Opened
from paceline.read.pieces import Pieces
from paceline.read.typed_elements import TypedElements

NAME: str = "execution-trace"

_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_SCHEMA = re.compile(rb'"schema"\s*:\s*"\d+\.\d+')
_ROOT = re.compile(r"\[pytorch\|profiler\|execution_(?:graph|trace)\|(?:process|thread)\]$")
_SCOPE_BACKWARD, _SCOPE_USER = 1, 7
_PROTOBUF = (".et", ".chakra")


def sniff(opened: Opened) -> bool:
    """True for JSON with a schema and nodes, and for files named like Chakra's protobuf."""
    if opened.path.name.removesuffix(".gz").endswith(_PROTOBUF):
        return True
    head = opened.head
    return bool(_JSON.match(head) and _SCHEMA.search(head) and b'"nodes"' in head)


def read(opened: Opened) -> tuple[Trace, ...]:
    """The operators of the worker that wrote the file; nobody in it says which worker that is."""
    if not _JSON.match(opened.head):
        raise InputError(
            "is a Chakra trace in protobuf form.",
            where=opened.path,
            expected="paceline reads the JSON that PyTorch's ExecutionTraceObserver writes.",
            cure="Give that file, from which this one was converted.",
        )
    elements = TypedElements(opened, Node, "node")
    pieces = Pieces(opened, "nodes", frozenset(), elements)
    found: list[Operator] = []
    began = 0
    for batch in pieces:
        if elements.starts != began:  # of a key given twice the last value counts
            began, found = elements.starts, []
        found += map(operator, batch)
    made = [one for one in found if one.name == GROUPS]
    inner = [one for one in found if one.name != GROUPS and not _ROOT.match(one.name)]
    if not inner:
        raise InputError(
            "holds no operator.", where=opened.path, cure="Record it again, for one whole step."
        )
    inner.sort(key=lambda one: (one.record, one.identity))  # ids count operators as they begin
    reading = _Reading(inner)
    for init in made:
        reading.members |= groups(init)
    for one in inner:
        reading.take(one)
    notes: tuple[Note, ...] = ()
    if pieces.broken_off is not None:
        text = f"The file breaks off at byte {pieces.broken_off:,}; {len(inner):,} operators kept."
        notes = (Note(code="truncated", text=text),)
    facts = Facts(backend=reading.backend, workers=reading.workers())
    trace = reading.builder.trace(
        -1, clock=None, facts=facts, notes=notes, sources=(opened.source(NAME),)
    )
    return (trace,)


class _Reading:
    """Operators so far, as events."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.builder = TraceBuilder()
        self.outer = {one.identity: one for one in operators}
        self.calling = {one.parent for one in operators}
        self.writers = Writers()
        self.phases: dict[int, Phase] = {}
        self.roles: dict[str, int] = {}  # by name
        self.members: dict[str, tuple[int, ...] | None] = {}
        self.backend: str | None = None
        self.collectives: dict[int, int] = {}  # by sequence, for those who wait

    def take(self, one: Operator) -> None:
        """The next operator, in the order in which they began."""
        innermost = one.identity not in self.calling
        phase = self._phase(one)
        said = comms(one, self.outer, innermost=innermost)
        lane = "thread" if one.thread < 0 else f"thread {one.thread}"
        if said is not None and said.word not in WAITS:
            self._collective(one, said, lane, phase)
            return
        before = self.writers.before(one.reads) if innermost else set[int]()
        if said is not None and said.sequence in self.collectives:
            before.add(self.collectives[said.sequence])
        calls = one.scope == _SCOPE_USER or one.name == COMMS or one.name.startswith("c10d::")
        kind = Kind.HOST if calls else Kind.COMPUTE
        event = self.builder.add(
            one.name, kind, lane, phase=phase, record=one.record, after=self._own(before)
        )
        if innermost:
            self.writers.wrote(event, one.writes)

    def _collective(self, one: Operator, said: Comms, lane: str, phase: Phase) -> None:
        own = {tensor.identity: tensor for tensor in one.reads}.values()
        size = sum(tensor.elements * tensor.each_bytes for tensor in own)
        kinds = {"send": Kind.SEND, "recv": Kind.RECV}
        group = -1
        if said.group is not None:
            group = self.builder.group(said.group, self.members.get(said.group))
        event = self.builder.add(
            said.word,
            kinds.get(said.word, Kind.COLLECTIVE),
            lane,
            phase=phase,
            size_bytes=size if 0 < size < 2**62 else -1,
            group=group,
            sequence=said.sequence,
            record=one.record,
            after=self._own(self.writers.before(said.reads)),
        )
        self.writers.wrote(event, said.writes)
        self.backend = self.backend or said.backend
        if said.sequence >= 0:
            self.collectives[said.sequence] = event

    def _phase(self, one: Operator) -> Phase:
        """That of the operator around it, unless it begins one of its own."""
        own = self.roles.get(one.name)
        if own is None:
            own = self.roles[one.name] = role(one.name)
        if own == Role.UPDATE:
            phase = Phase.UPDATE
        elif own == Role.EVALUATE or one.scope == _SCOPE_BACKWARD:
            phase = Phase.BACKWARD
        else:
            phase = self.phases.get(one.parent, Phase.OTHER)
        self.phases[one.identity] = phase
        return phase

    def _own(self, events: Iterable[int]) -> list[tuple[int, int]]:
        return [(-1, event) for event in sorted(events)]

    def workers(self) -> int | None:
        """How many workers there are, if a group of several is told that begins with all."""
        sizes = [len(ranks) for ranks in self.members.values() if ranks]
        return max(sizes, default=None)
