"""The thread that carries buckets out while the backward pass goes on: one job after the other.

It sends and receives whatever may go, over all connections at once, in pieces that fit the caches;
what comes in is added while later bytes are still on their way. It waits for sockets only, each
time with a bound, and every peer that fails ends all jobs with one error. Threads of a profiler do
not see it: its hops are stamped.
"""

import queue
import select
import threading
import time
from collections.abc import Mapping

import torch

from paceline.model import PacelineError, RunError
from paceline.run.agreement import FirstError
from paceline.run.connection import Connection
from paceline.run.job import Job
from paceline.run.pacing import Pace
from paceline.run.work import Work

_TICK_S = 0.5  # between looks at the clock and at whether the thread shall end
_JOIN_S = 5.0


class Carrier:
    """Jobs in, sums out; all workers hand in the same jobs in the same order."""

    def __init__(
        self,
        connections: Mapping[int, Connection],
        *,
        piece_bytes: int,
        timeout_s: float,
        pace: Pace | None,
        first_error: FirstError,
    ) -> None:
        self.connections = connections
        self.timeout_s = timeout_s
        self.pace = pace
        self.first_error = first_error
        self.error: PacelineError | None = None
        self._pieces = {peer: torch.empty(piece_bytes, dtype=torch.uint8) for peer in connections}
        self._poll = select.poll()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._stopping = False
        self._lasts: list[int] = []
        self._thread = threading.Thread(target=self._serve, name="paceline transport", daemon=True)
        self._thread.start()

    def alive(self) -> bool:
        """True while jobs will be answered."""
        return self._thread.is_alive()

    def put(self, job: Job) -> None:
        """Hands in a job."""
        self._jobs.put(job)

    def close(self) -> None:
        """Ends the thread and the connections; jobs under way end with an error."""
        self._stopping = True
        self._jobs.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(_JOIN_S)
        for one in self.connections.values():
            one.close()

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            if self.error is None:
                try:
                    self._carry(job)
                except PacelineError as error:
                    self._failed(error)
                except Exception as error:  # noqa: BLE001  a thread's error must reach its job
                    text = f"the transport failed: {type(error).__name__}: {error}."
                    self._failed(RunError(text, cure="Please report it."))
            job.finished(self.error)

    def _failed(self, error: PacelineError) -> None:
        said = self.first_error.among(error.found)
        if said:
            found = f"{error.found.rstrip('.')}. Before that, {said}"
            error = RunError(found, expected=error.expected, cure=error.cure)
        self.error = error
        for one in self.connections.values():
            one.close()  # so that the others learn of it

    def _carry(self, job: Job) -> None:
        work = Work(job, self.connections, self._pieces, self.pace, self._lasts)
        job.prepared()
        still_ns = 0  # since when nothing moved
        while work.course.left:
            try:
                if work.moved():
                    still_ns = 0
                    continue
            except RunError as error:
                found = f"bucket {job.bucket}: {error.found.rstrip('.')}; {self._waiting(work)}."
                raise RunError(found, expected=error.expected, cure=error.cure) from error
            now_ns = time.monotonic_ns()
            still_ns = still_ns or now_ns
            left_s = self.timeout_s - (now_ns - still_ns) / 1e9
            if left_s <= 0 or self._stopping:
                why = (
                    "training ends" if self._stopping else f"nothing moved for {self.timeout_s:g} s"
                )
                raise RunError(
                    f"bucket {job.bucket}: {why}; {self._waiting(work)}.",
                    cure="Look at the output of that worker, and at the link to it.",
                )
            self._wait(work.blocked, min(left_s, _TICK_S, work.resumes_s))
        self._lasts = job.lasts

    def _wait(self, blocked: dict[Connection, int], most_s: float) -> None:
        """Until one of the connections that block can go on, or time is up."""
        for one in self.connections.values():
            wanted = blocked.get(one, 0)
            if wanted != one.interest:
                if wanted == 0:
                    self._poll.unregister(one.line)
                else:
                    self._poll.register(one.line, wanted)
                one.interest = wanted
        self._poll.poll(most_s * 1000)

    def _waiting(self, work: Work) -> str:
        """For whom the job still waits."""
        course = work.course
        froms = {self.connections[peer].rank for peer, line in course.incoming.items() if line}
        tos = {self.connections[peer].rank for peer, line in course.outgoing.items() if line}
        parts = [
            f"{what} worker {', '.join(str(rank) for rank in sorted(ranks))}"
            for what, ranks in (("still due from", froms), ("not yet taken by", tos))
            if ranks
        ]
        return " and ".join(parts)
