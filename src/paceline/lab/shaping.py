"""What is told to `ip`, `tc` and `nft` of a link: text in, text out, nothing is run here.

Rates are a token bucket on the sending end of each way. The bucket holds what the link carries in
two milliseconds, so that a late timer costs nothing, and at least two packets. A link's packets
are large (9000 bytes), so that headers take less than 1 % of the rate.
"""

from dataclasses import dataclass

from paceline.lab.layout import Layout

MTU = 9000
PACKET = MTU + 14
BUCKET_S = 0.002
QUEUE_S = 0.1
SHORTEST_QUEUE, LONGEST_QUEUE = 2**19, 2**23
TABLE = "paceline"
PARTS = 1_000_000  # shares of loss are counted in


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a link is like at this moment: rates from a to b and back, the rest for both ways."""

    bytes_per_s: tuple[float | None, float | None] = (None, None)
    latency_ns: int | None = None
    loss: float | None = None
    cut: bool = False


def burst(bytes_per_s: float) -> int:
    """The size of the bucket in bytes."""
    return max(2 * PACKET, round(bytes_per_s * BUCKET_S))


def queue(bytes_per_s: float) -> int:
    """How many bytes may wait at the sending end."""
    return round(min(max(bytes_per_s * QUEUE_S, SHORTEST_QUEUE), LONGEST_QUEUE))


def sending(
    device: str, bytes_per_s: float | None, netem_ns: int | None, shaped: bool
) -> list[str]:
    """Lines for `tc -batch` that shape what one end of a link sends; `shaped` if it was before."""
    lines = [f"qdisc del dev {device} root"] if shaped else []
    parent = "root handle 1:"
    waiting = 0
    if bytes_per_s is not None:
        bits = max(8, round(bytes_per_s * 8))
        size = f"burst {burst(bytes_per_s)} limit {queue(bytes_per_s)}"
        lines.append(f"qdisc add dev {device} {parent} tbf rate {bits}bit {size}")
        parent, waiting = "parent 1:1 handle 10:", queue(bytes_per_s)
    if netem_ns:
        rate = bytes_per_s or 10**10
        packets = round((waiting + rate * netem_ns / 1e9) / 1000) + 1000
        lines.append(f"qdisc add dev {device} {parent} netem delay {netem_ns}ns limit {packets}")
    return lines


def receiving(device: str, loss: float | None, cut: bool) -> str:
    """Text for `nft -f` that drops a share of what one end of a link receives, or all."""
    hook = f'type filter hook ingress device "{device}" priority 0; policy accept;'
    lines = [
        f"add table netdev {TABLE}",
        f"add chain netdev {TABLE} {device} {{ {hook} }}",
        f"flush chain netdev {TABLE} {device}",
    ]
    if cut:
        lines.append(f"add rule netdev {TABLE} {device} drop")
    elif loss:
        lost = f"numgen random mod {PARTS} < {max(1, round(loss * PARTS))}"
        lines.append(f"add rule netdev {TABLE} {device} {lost} drop")
    return "\n".join(lines) + "\n"


def pair(first: str, first_space: int, second: str, second_space: int) -> str:
    """A line for `ip -batch`: two joined interfaces, each in a namespace given as descriptor."""
    ends = (f"name {first} netns {path(first_space)}", f"name {second} netns {path(second_space)}")
    return f"link add {ends[0]} mtu {MTU} type veth peer {ends[1]} mtu {MTU}"


def path(space: int) -> str:
    """Where a process that inherits the descriptor finds the namespace."""
    return f"/proc/self/fd/{space}"


def raised(laid: Layout, place: int) -> list[str]:
    """Lines for `ip -batch` that bring up a place, with its address and ways, or mend them."""
    lines = ["link set lo up"]
    mine = laid.address(place)
    for wire in laid.at(place):
        lines.append(f"link set {wire.device} up")
        if wire.device == laid.device(place):
            lines.append(f"address replace {mine}/32 dev {wire.device}")
        if wire.link.loss:  # one lost packet must not stand for many
            lines.append(f"link set {wire.device} gso_max_segs 1")
    for target, number in enumerate(laid.ways[place]):
        if number is not None:
            wire = laid.wires[number]
            other = laid.address(wire.b if wire.a == place else wire.a)
            way = f"via {other} dev {wire.device} onlink src {mine}"
            lines.append(f"route replace {laid.address(target)}/32 {way}")
    return lines
