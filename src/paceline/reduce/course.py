"""A program carried out over a buffer of some size: which message may go now, and how far.

The shell that moves bytes asks `ready` and tells `moved`; here is no socket and no clock. A message
may be sent when all that this member got before it in its place has come; what comes is taken in
one order where it falls on one place, so that sums are the same bits whatever arrives first. Units
are made of elements; hops that are cut become chunks, each of which is a message.
"""

from collections.abc import Sequence
from typing import NamedTuple

from paceline.reduce.program import Hop, Program


class Message(NamedTuple):
    """Elements from `begin` to `end` on their way; `after` and `behind` are messages of the member.

    Those of `after` must be over before this one begins; of `behind` only as much as is needed.
    """

    hop: Hop
    chunk: int
    begin: int
    end: int
    after: tuple[int, ...]
    behind: tuple[int, ...]


def messages(program: Program, elements: int, chunk: int) -> tuple[Message, ...]:
    """The messages of a member, in order; those without an element are left out."""
    found: list[Message] = []
    for hop in program.hops:
        begin = hop.first * elements // program.units
        end = hop.last * elements // program.units
        pieces = -(-(end - begin) // chunk) if hop.cut else int(end > begin)
        for at in range(pieces):
            low = begin + (end - begin) * at // pieces
            high = begin + (end - begin) * (at + 1) // pieces
            before = [
                (number, one.hop.sends)
                for number, one in enumerate(found)
                if one.begin < high and low < one.end and not (one.hop.sends and hop.sends)
            ]
            after = tuple(number for number, sends in before if sends or hop.sends)
            behind = tuple(number for number, sends in before if not (sends or hop.sends))
            found.append(Message(hop, at, low, high, after, behind))
    return tuple(found)


class Course:
    """One buffer on its way through a program: how far each message has come."""

    __slots__ = ("_over", "at", "incoming", "left", "messages", "outgoing")

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.at = [one.begin for one in messages]
        self.left = len(messages)
        self._over = [False] * len(messages)
        self.outgoing: dict[int, list[int]] = {}
        self.incoming: dict[int, list[int]] = {}
        for number, one in reversed(list(enumerate(messages))):
            lines = self.outgoing if one.hop.sends else self.incoming
            lines.setdefault(one.hop.peer, []).append(number)

    def ready(self, line: list[int]) -> int:
        """Up to which element the next message of a line may go; -1 if it must not begin yet."""
        number = line[-1]
        one = self.messages[number]
        for before in one.after:
            if not self._over[before]:
                return -1
        limit = one.end
        for before in one.behind:
            if not self._over[before]:
                limit = min(limit, self.at[before])
        return max(limit, self.at[number])

    def moved(self, line: list[int], to: int) -> bool:
        """The next message of a line has come to this element; true if it is over."""
        number = line[-1]
        self.at[number] = to
        if to < self.messages[number].end:
            return False
        line.pop()
        self._over[number] = True
        self.left -= 1
        return True
