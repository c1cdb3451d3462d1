import socket
import time

import pytest

from paceline.run.record_clock import SECRET, Answers, Asker, own_address


def test_exchanges_hold_the_peers_clock_and_the_fastest_are_kept() -> None:
    answers = Answers("127.0.0.1")
    asker = Asker(1, answers.address, answers.secret)
    began = time.time_ns()
    pings = asker.pings()
    ended = time.time_ns()
    assert len(pings) == 8
    assert pings == sorted(pings, key=lambda ping: ping[2] - ping[0])
    for sent, between, received in pings:
        assert began <= sent <= between <= received <= ended
    asker.close()
    before = time.monotonic()
    answers.close(5)
    assert time.monotonic() - before < 2
    assert not answers.thread.is_alive()


def test_who_does_not_know_the_secret_is_not_answered() -> None:
    answers = Answers("127.0.0.1")
    stranger = Asker(1, answers.address, bytes(SECRET))
    with pytest.raises(OSError, match=r"."):  # noqa: PT012
        pings = stranger.pings()
        if not pings:
            raise OSError("closed")
    stranger.close()
    answers.close(0.5)


def test_a_secret_in_pieces_and_a_silent_peer_do_no_harm() -> None:
    answers = Answers("127.0.0.1")
    silent = socket.create_connection(answers.address)
    slow = socket.create_connection(answers.address, timeout=5)
    for piece in (answers.secret[:5], answers.secret[5:]):
        slow.sendall(piece)
        time.sleep(0.05)
    slow.sendall(b"?")
    assert len(slow.recv(8)) == 8
    before = time.monotonic()
    answers.close(0.3)  # one peer is still there
    assert time.monotonic() - before < 2
    for one in (silent, slow):
        one.close()


def test_nobody_there_is_an_error_and_no_wait() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    with pytest.raises(OSError, match="refused"):
        Asker(1, address, bytes(SECRET))


@pytest.mark.parametrize("master", ["127.0.0.1", "localhost", "no such host.invalid"])
def test_an_own_address_can_be_listened_on(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", master)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("WORLD_SIZE", "2")
    answers = Answers(own_address())
    assert answers.address[1] > 0
    answers.close(0)
