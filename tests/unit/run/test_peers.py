"""Connections between workers: who knows the key gets in, and nobody is waited for without end."""

import contextlib
import socket
import threading
import time
from datetime import timedelta

import pytest

from paceline.model import RunError
from paceline.run import peers
from paceline.run.agreement import FirstError, agreed, machines


class Told:
    """A store of torch.distributed, as far as it is used here."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.lock = threading.Condition()

    def set(self, key: str, value: str) -> None:
        with self.lock:
            self.values[key] = value
            self.lock.notify_all()

    def get(self, key: str) -> bytes:
        return self.values[key].encode()

    def wait(self, keys: list[str], timeout: timedelta) -> None:
        with self.lock:
            if not self.lock.wait_for(
                lambda: set(keys) <= set(self.values), timeout.total_seconds()
            ):
                raise RuntimeError("wait timed out")

    def compare_set(self, key: str, expected: str, desired: str, /) -> bytes:
        with self.lock:
            if self.values.get(key, "") == expected:
                self.values[key] = desired
            return self.values[key].encode()


def together(
    store: Told, wanted: dict[int, list[int]], timeout_s: float = 5.0
) -> dict[int, object]:
    """What each worker got, all at once: its connections, or an error."""
    found: dict[int, object] = {}

    def one(me: int) -> None:
        try:
            found[me] = peers.connected(store, me, wanted[me], timeout_s)
        except RunError as error:
            found[me] = error

    threads = [threading.Thread(target=one, args=(me,)) for me in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return found


def closed(found: dict[int, object]) -> None:
    for lines in found.values():
        for line in lines.values():  # type: ignore[attr-defined]
            line.close()


def test_each_pair_that_talks_is_connected() -> None:
    found = together(Told(), {0: [1, 2], 1: [0, 3], 2: [0, 3], 3: [1, 2]})
    for one, lines in found.items():
        for other, line in lines.items():
            line.send(bytes([one, other]))
    for one, lines in found.items():
        for other, line in lines.items():
            line.settimeout(2)
            assert line.recv(2) == bytes([other, one])
    closed(found)


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.0" + bytes(60), b"paceline transport 1" + bytes(24)]
)
def test_a_stranger_is_sent_away(said: bytes) -> None:
    store, found = Told(), {}

    def first() -> None:
        found[0] = peers.connected(store, 0, [1], 20)

    waiting = threading.Thread(target=first)
    waiting.start()
    store.wait(["at 0"], timedelta(seconds=5))
    port, host = store.get("at 0").decode().split()
    with socket.create_connection((host, int(port)), timeout=10) as line:
        line.sendall(said)
        with contextlib.suppress(ConnectionResetError):  # so much was said that nobody read
            assert line.recv(100) == b""
    found[1] = peers.connected(store, 1, [0], 20)
    waiting.join(20)
    assert found[0].keys() == {1}
    closed(found)


def test_who_does_not_know_the_key_is_not_believed() -> None:
    store = Told()
    store.values["key"] = "what the others know"
    with socket.create_server(("127.0.0.1", 0)) as door:
        store.set("at 0", f"{door.getsockname()[1]} 127.0.0.1")

        def answer() -> None:
            line, _ = door.accept()
            line.recv(100)
            line.sendall(bytes(48))
            line.close()

        liar = threading.Thread(target=answer)
        liar.start()
        (error,) = together(store, {1: [0]}).values()
        liar.join(5)
    assert "does not know this job's key" in str(error)


def test_an_absent_worker_is_an_error_in_time() -> None:
    began = time.monotonic()
    found = together(Told(), {0: [1]}, 0.5)
    assert "worker 1 does not answer" in str(found[0])
    assert time.monotonic() - began < 3


def test_the_address_is_loopback_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    assert peers.own_address() == "127.0.0.1"
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("MASTER_ADDR", "no such host.invalid")
    assert peers.own_address() == "127.0.0.1"
    monkeypatch.delenv("GLOO_SOCKET_IFNAME")
    with pytest.raises(RunError, match="cannot be found"):
        peers.own_address()


def test_workers_of_another_plan_are_noticed() -> None:
    store = Told()
    deadline = time.monotonic() + 1
    agreed(store, 0, "ring", (4, 7), deadline)
    agreed(store, 1, "ring", (4, 7), deadline)
    with pytest.raises(RunError, match="worker 7 follows another plan than worker 4"):
        agreed(store, 1, "tree", (4, 7), deadline)


def test_machines_are_told_by_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Told()
    store.set("machine 1", "other 0")
    monkeypatch.setenv("GROUP_RANK", "3")
    assert machines(store, 0, 2, time.monotonic() + 1) == (f"{socket.gethostname()} 3", "other 0")


def test_the_first_error_is_told_to_all() -> None:
    store = Told()
    assert FirstError(store, 2).among("worker 1 is lost.") == ""
    assert FirstError(store, 0).among("worker 2 is lost.") == "worker 2: worker 1 is lost."
