"""How many bytes a sender may send now, so that it never exceeds its rate: a token bucket.

For machines whose links cannot be limited by the system: workers that share one machine then send
as slowly as the links that they stand for. Times come in, so tests need no clock.
"""

import os

from paceline.model import InputError, parse_bytes_per_s

VARIABLE = "PACELINE_PACE"
_BURST_S = 0.005  # what may go at once after a pause; sleeps last a millisecond or more
_LEAST = 16 * 1024  # worth a call of the system


class Pace:
    """The tokens of one sender, in bytes."""

    def __init__(self, bytes_per_s: int) -> None:
        if bytes_per_s <= 0:
            raise InputError(
                "a pace of 0 sends nothing.", where=VARIABLE, cure="Leave it out for full speed."
            )
        self.rate = bytes_per_s
        self.burst = max(bytes_per_s * _BURST_S, _LEAST)
        self.tokens = self.burst
        self.at_ns: int | None = None

    def allowed(self, now_ns: int, wanted: int) -> int:
        """How many of the wanted bytes may go now; none rather than crumbs."""
        if self.at_ns is not None:
            earned = (now_ns - self.at_ns) * self.rate / 1e9
            self.tokens = min(self.tokens + earned, self.burst)
        self.at_ns = now_ns
        return min(int(self.tokens), wanted) if self.tokens >= min(wanted, _LEAST) else 0

    def spent(self, size_bytes: int) -> None:
        """So many bytes went."""
        self.tokens -= size_bytes

    def wait_s(self, wanted: int) -> float:
        """Until when none of the wanted bytes may go."""
        return max((min(wanted, _LEAST) - self.tokens) / self.rate, 0.0)


def told(given: "str | int | None") -> Pace | None:
    """The pace of an argument, or else of the environment; None for full speed."""
    text = os.environ.get(VARIABLE) if given is None else given
    if text is None or text == "":
        return None
    return Pace(parse_bytes_per_s(text))
