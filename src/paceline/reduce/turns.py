"""What several algorithms are made of: turns around a ring, and pairs of which none meets twice.

`near` are the members by neighborhood (one machine, or the machines of one switch), each member in
one. Rings go through one neighborhood after the other.
"""

from collections.abc import Mapping, Sequence

from paceline.reduce.transfers import Draft, Transfers

Near = Sequence[Sequence[int]]

ROUNDS = 32  # a longer ring takes several messages as one; each keeps its latency


def in_order(near: Near) -> list[int]:
    """The members, one neighborhood after the other."""
    return [member for group in near for member in group]


def around(
    draft: Draft,
    order: Sequence[int],
    messages: int,
    total: float,
    fed: Mapping[int, tuple[int, ...]] | None = None,
    *,
    most: int,
    first: int = 0,
) -> dict[int, int]:
    """`messages` rounds in which every member passes on to the next what it has just got.

    `fed` is what members wait for at first; the shards are units from `first` on. Returns what each
    has got in the end.
    """
    members, rounds = len(order), min(messages, most)
    ready = {one: (fed or {}).get(one, ()) for one in order}
    got: dict[int, int] = {}
    for turn in range(rounds):
        at_once = messages * (turn + 1) // rounds - messages * turn // rounds
        got = {
            order[(at + 1) % members]: draft.add(
                one, order[(at + 1) % members], total * at_once / messages,
                after=ready[one], latencies=at_once - 1, out=1, into=1,
                units=one_unit(first + (at - turn) % members) if rounds == messages else (0, 0),
                adds=turn < members - 1, cut=True,
            )
            for at, one in enumerate(order)
        }  # fmt: skip
        ready = {one: (transfer,) for one, transfer in got.items()}
    return got


def one_unit(unit: int) -> tuple[int, int]:
    """The units of a transfer that carries only this one."""
    return unit, unit + 1


def waysaround(near: Near, ways: int, most: int) -> Transfers:
    """Every shard that many ways around the ring of all members."""
    order = in_order(near)
    members = len(order)
    draft = Draft(units=members)
    if members > 1:
        around(draft, order, ways * (members - 1), ways * (members - 1) / members, most=most)
    return draft.done()


def ways_around(near: Near, ways: int, most: int) -> Transfers:
    """Every shard that many times around the ring of all members."""
    order = in_order(near)
    members = len(order)
    draft = Draft(units=members)
    if members > 1:
        around(draft, order, ways * (members - 1), ways * (members - 1) / members, most=most)
    return draft.done()


def shifted(senders: Sequence[int], receivers: Sequence[int]) -> list[tuple[int, int]]:
    """All pairs of different members, so ordered that at each turn everybody meets another."""
    size = len(senders)
    return [
        (senders[at], receivers[(at + turn) % size])
        for turn in range(1, size)
        for at in range(size)
        if (at + turn) % size < len(receivers)
    ]
