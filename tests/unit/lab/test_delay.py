"""Frames wait their time and keep their order; sockets are played by pairs."""

import socket
import time
from collections.abc import Callable, Iterator

import pytest

from paceline.lab.inside.delay import MOST_HELD, Delays, Way

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Callable[[], Pair]]:
    """Makes joined sockets, which are closed in the end."""
    made: list[socket.socket] = []

    def joined() -> Pair:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for one in (near, far):
            one.setblocking(False)
            made.append(one)
        return near, far

    yield joined
    for one in made:
        one.close()


def heard(socket_: socket.socket) -> list[bytes]:
    found: list[bytes] = []
    try:
        while True:
            found.append(socket_.recv(100))
    except BlockingIOError:
        return found


def test_a_frame_is_held_until_it_is_due_and_order_is_kept(pair: Callable[[], Pair]) -> None:
    (there, heard_here), (sent_here, away) = pair(), pair()
    way = Way(heard_here, sent_here, 50_000_000)
    for frame in (b"1", b"2", b"3"):
        there.send(frame)
    began = time.monotonic_ns()
    way.take()
    way.give(began + 10_000_000)
    assert heard(away) == []
    way.give(time.monotonic_ns() + 50_000_000)
    assert heard(away) == [b"1", b"2", b"3"]
    assert way.held == 0


def test_more_than_a_switch_holds_is_lost(pair: Callable[[], Pair]) -> None:
    (there, heard_here), (sent_here, _away) = pair(), pair()
    way = Way(heard_here, sent_here, 0)
    way.held = MOST_HELD + 1
    there.send(b"1")
    way.take()
    assert not way.waiting


def test_a_frame_for_an_interface_that_is_gone_is_lost(pair: Callable[[], Pair]) -> None:
    (there, heard_here), (sent_here, away) = pair(), pair()
    way = Way(heard_here, sent_here, 0)
    there.send(b"1")
    way.take()
    away.close()
    way.give(time.monotonic_ns() + 1)
    assert not way.waiting


def test_a_turn_waits_for_the_first_that_is_due(pair: Callable[[], Pair]) -> None:
    (there, heard_here), (sent_here, away) = pair(), pair()
    (orders, order) = pair()
    delays = Delays()
    delays.ways[0] = (Way(heard_here, sent_here, 30_000_000), Way(sent_here, heard_here, 0))
    there.send(b"1")
    began = time.monotonic_ns()
    assert not delays.turn(order.fileno())
    while not heard(away):
        delays.turn(order.fileno())
    assert 25_000_000 < time.monotonic_ns() - began < 2_000_000_000
    orders.send(b"x")
    assert delays.turn(order.fileno())
