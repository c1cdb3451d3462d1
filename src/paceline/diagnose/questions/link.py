"""Which link is slower than its peers, in rate or in latency.

Needs messages: the sends and receives of point-to-point traffic or of stamped hops. The transfer
of a message is compared with messages of the same size on other links. A link that is slow in rate
stretches large messages and occupies its sender; one with added delay shifts all alike.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.diagnose.interval import Mean, mean
from paceline.diagnose.messages import Messages, cured, messages, prompt
from paceline.diagnose.peers import columnwise_median
from paceline.model import Cause, Edit, Finding, show_ns

F64 = npt.NDArray[np.float64]

NAME = "link"
CODES = (
    Code(
        code="PL201",
        rule="slow-link",
        title="A link is slower than its peers",
        text="Messages of the same size take longer over this link than over others, the more so"
        " the larger they are. Look at its negotiated speed, its cable, other traffic on it, or"
        " route around it.",
    ),
    Code(
        code="PL202",
        rule="late-messages",
        title="Messages over a link arrive late by a constant",
        text="Messages over this link take longer than over others by the same time whatever their"
        " size. Look at the route (extra hops, a tunnel), interrupt settings, or a busy receiver.",
    ),
)


def ask(case: Case) -> list[Finding]:
    """One finding for each link whose messages take longer than their peers."""
    found = messages(case.graph, case.duration)
    looks = len(found.pairs)
    if looks < 3:
        return []
    findings: list[Finding] = []
    for at, (sender, receiver) in enumerate(found.pairs):
        rows = found.pair == at
        beyond = case.duration[:, found.receive[rows]] - found.peers[rows]
        if not mean(beyond.sum(axis=1)).sure(looks, case.least_ns):
            continue
        if np.median(found.shift[rows] / np.maximum(found.peers[rows], 1)) < LEAST:
            continue
        late = _is_delay(case, found, rows)
        cost = case.regained((prompt if late else cured)(found, case.duration, rows))
        if cost.sure(looks, case.least_ns):
            row = _Slow(sender, receiver, found.peers[rows], found.shift[rows], late)
            findings.append(_finding(case, row, cost))
    return findings


LEAST = 0.2  # links of one kind differ by some percent


class _Slow(NamedTuple):
    sender: int
    receiver: int
    peers: F64
    shift: F64
    late: bool


def _finding(case: Case, slow: _Slow, cost: Mean) -> Finding:
    sender, receiver, late = slow.sender, slow.receiver, slow.late
    code = CODES[1] if late else CODES[0]
    usual, extra = float(np.median(slow.peers)), float(np.median(slow.shift))
    machine = {worker.rank: worker.machine for worker in case.profile.workers}
    return Finding(
        code=code.code,
        rule=code.rule,
        subject=f"link {machine.get(sender, sender)} - {machine.get(receiver, receiver)}",
        worker=sender,
        cause=Cause.DELAY if late else Cause.SLOW_LINK,
        cost_ns=cost.value,
        interval_ns=cost.interval,
        evidence=(
            (
                f"messages from worker {sender} to worker {receiver} take {show_ns(usual + extra)},"
                f" on other links {show_ns(usual)}"
            ),
        ),
        advice="Look for what delays messages on this link."
        if late
        else "Check this link's speed, or route around it.",
        edit=Edit(
            "speed",
            (("link", f"{sender}-{receiver}"), ("factor", round(1 + extra / max(usual, 1), 3))),
        ),
    )


def _is_delay(case: Case, found: Messages, rows: npt.NDArray[np.bool_]) -> bool:
    """True if the extra time does not grow with size; with one size only, if it does not vary.

    A slow link multiplies the transfer and with it its variation, and occupies the sender; a
    delay adds a constant to both and leaves the sender alone. Senders tell only where elsewhere
    they are occupied for the transfer, not just for handing it over.
    """
    sizes = case.graph.size_bytes[found.receive[rows]].astype(np.float64)
    shift = found.shift[rows]
    if sizes.max() > 2 * sizes.min():
        large, small = shift[sizes >= np.median(sizes)], shift[sizes < np.median(sizes)]
        return bool(len(small)) and float(np.median(large)) < 1.5 * float(np.median(small))
    if np.median(found.send_peers[rows] / np.maximum(found.peers[rows], 1)) > 0.5:
        longer = float((found.send_usual - found.send_peers)[rows].sum())
        return longer < 0.3 * float(shift.sum())
    table = case.duration[:, found.receive]
    spread = (table - columnwise_median(table)).std(axis=0)
    wider = float(np.median(spread[rows])) / max(float(np.median(spread[~rows])), 1.0)
    longer = float(np.median(found.usual[rows] / np.maximum(found.peers[rows], 1)))
    return wider < longer**0.5
