"""The recorder of one worker: told by torch's own functions what happens, it writes RUN/worker-R.

It must never break or hold up the training: whatever fails in here ends the recording with one
line on stderr, and what was written until then stays readable.
"""

import functools
import os
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from paceline.run.lazy_torch import torch
from paceline.run.record_bucket import Issued, Watch
from paceline.run.record_cover import Cover
from paceline.run.record_facts import facts, group, on_cuda, peak_bytes
from paceline.run.record_files import Files
from paceline.run.record_meet import Meeting
from paceline.run.record_norms import Norms
from paceline.run.record_settings import Settings, Window
from paceline.run.record_stamp import CudaStamps, HostStamps, Stamps
from paceline.run.record_steps import Backward, Step, lines
from paceline.run.record_windows import Windows

P = ParamSpec("P")
R = TypeVar("R")

_BEHIND = 8  # steps whose moments may be unknown yet; then the device is waited for
_SETTLED = 2  # steps after which DDP has laid out its buckets for good


def safely(method: Callable[P, R]) -> Callable[P, R | None]:
    """The method, whose failure ends the recording and nothing else."""

    @functools.wraps(method)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        recorder: Any = args[0]
        if recorder.over or recorder.paused:
            return None
        try:
            return method(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  the training must go on
            recorder.give_up(error)
            return None

    return guarded


class Recorder:
    """What is recorded of this process, from the moment that it has a rank."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.process = os.getpid()
        self.rank = -1
        self.over = self.paused = self.by_hand = False
        self.begun = self.cuda = False
        self.files: Files
        self.meeting: Meeting
        self.windows: Windows
        self.watches: list[Watch] = []
        self.sequences: defaultdict[str, int] = defaultdict(int)
        self.pending: deque[Step] = deque()
        self.cover: Cover | None = None
        self.stamps: Stamps = HostStamps()
        self.norms = Norms(settings.norms)
        self.step: Step | None = None
        self.depth = 0  # of optimizers that step inside one another
        self.updates = 0  # since the last backward
        self.awaited = 1  # updates that end a step
        self.closed = False  # the last step, though more of its updates may come

    @safely
    def begin(self) -> None:
        """The job has a process group: who am I, who else is there?"""
        if self.begun:
            return
        dist = torch("distributed")
        if not dist.is_initialized():
            return
        rank, size = int(dist.get_rank()), int(dist.get_world_size())
        _set_aside(self.settings.folder, rank)
        self.rank = rank
        self.cuda = on_cuda()
        self.stamps = CudaStamps() if self.cuda else HostStamps()
        self.begun = True
        self.files = Files(self.settings.folder, rank, size)
        own = facts(size, cuda=self.cuda)
        self.files.tell({"facts": own, "worker": rank})
        self.files.tell_group(*group(None))
        self.meeting = Meeting(rank, size, own)
        self.meeting.connect()
        if rank == 0:
            self.cover = Cover(self.settings, size, self.meeting.everyone())
            self.cover.write((), 0, finished=False)
        self.ping()
        self.windows = Windows(self, self.settings)
        self.next_step(0)
        self.files.flush()

    @safely
    def give_way(self) -> None:
        """Somebody starts a profiler of torch, of which there can be one at a time."""
        if self.begun and not self.windows.busy:
            self.windows.give_way()

    @safely
    def tell_group(self, given: Any) -> None:
        """Writes who is in a process group."""
        if self.begun:
            self.files.tell_group(*group(given))

    def ping(self) -> None:
        """Writes fresh clock exchanges."""
        for peer, (sent, between, received) in self.meeting.pings():
            said = {"peer": peer, "sent_ns": sent, "peer_ns": between, "received_ns": received}
            self.files.tell({"ping": said, "worker": self.rank})

    @safely
    def watch(self, watch: Watch) -> None:
        """Another module whose buckets are watched."""
        self.begin()
        watch.number = len(self.watches)
        watch.issue, watch.complete = self.issued, self.completed
        self.watches.append(watch)
        self.tell_group(watch.process_group)
        if self.step is not None:
            self.step.free = self.stamps.now()  # what built the module is no part of a step

    @safely
    def backward_begins(self, root: Any) -> None:
        """`root.backward()` is called."""
        self.begin()
        if self.step is None:
            return
        if self.updates and not self.by_hand:  # fewer or more optimizers than last time
            self.awaited = self.updates
            if not self.closed:
                free = self.step.free
                self.end_step()
                self.step.free = free
        self.updates, self.closed = 0, False
        now = self.stamps.now()
        self.step.forwards.append((self.step.free, now))
        self.step.backwards.append(Backward(now))
        if root.numel() == 1:
            loss = root.detach()
            self.step.losses.append(loss.clone() if loss.is_cuda else loss.item())

    @safely
    def backward_ends(self) -> None:
        """`root.backward()` has come back."""
        if self.step is not None and self.step.backwards:
            self.step.free = self.step.backwards[-1].ended = self.stamps.now()

    @safely
    def issued(self, watch: Watch, bucket: Any) -> Issued | None:
        """A bucket is full and about to be reduced."""
        size = watch.seen(bucket)
        if self.step is None or not self.step.backwards:
            return None
        sequence = self.sequences[watch.group]
        self.sequences[watch.group] += 1
        issued = Issued(watch, int(bucket.index()), size, sequence, None)
        if self.norms.due:
            flat = bucket.buffer()
            factor = watch.factor(flat)
            issued.local = self.norms.squared(flat, factor)
            watch.scaled = factor is not None
        issued.begun = self.stamps.now()
        self.step.backwards[-1].buckets.append(issued)
        return issued

    @safely
    def completed(self, issued: Issued, reduced: Any) -> None:
        """A bucket is complete; comes from the thread that reduced it."""
        issued.done = self.stamps.now()
        if issued.local is not None:
            issued.average = self.norms.squared(reduced)

    @safely
    def update_begins(self) -> None:
        """An optimizer begins to step."""
        self.depth += 1
        if self.depth == 1 and self.step is not None:
            now = self.stamps.now()
            self.step.updates.append((now, now))

    @safely
    def update_ends(self) -> None:
        """An optimizer has stepped, which may be the end of the training step."""
        self.depth = max(self.depth - 1, 0)
        if self.depth or self.step is None or not self.step.updates:
            return
        self.step.free = self.stamps.now()
        self.step.updates[-1] = (self.step.updates[-1][0], self.step.free)
        self.updates += 1
        if self.step.backwards and self.updates >= self.awaited and not self.by_hand:
            self.closed = True
            self.end_step()

    @safely
    def end_step_by_hand(self) -> None:
        """The script itself says that a step is over."""
        self.by_hand = True
        if self.step is not None:
            self.end_step()

    def end_step(self) -> None:
        """Writes the step that is over, and begins the next one."""
        assert self.step is not None
        self.pending.append(self.step)
        self.drain(_BEHIND)
        number = self.step.number + 1
        if number == _SETTLED and self.cover is not None:
            self.cover.write(self.watches, number, finished=False)
        self.files.flush()
        self.next_step(number)

    def drain(self, behind: int) -> None:
        """Writes the lines of steps that are over; at most `behind` of them may still wait."""
        while self.pending:
            step = self.pending[0]
            if not self.stamps.known(step.free):
                if len(self.pending) <= behind:
                    return
                step.free.synchronize()
            self.pending.popleft()
            for line in lines(step, self.rank, self.stamps):
                self.files.add(line)
            self.stamps.move(step.free)

    def next_step(self, number: int) -> None:
        """Another step begins; windows open and close in between."""
        self.windows.before(number)
        self.norms.decide()
        self.step = Step(number, self.stamps.now())

    def open_window(self, window: Window) -> None:
        """A window with a folder of its own gets files of its own."""
        folder = self.settings.window_folder(window)
        if folder == self.settings.folder:
            return
        if self.cover is not None:
            self.cover.write_window(window)
        self.files.open_window(folder)

    @safely
    def end(self) -> None:
        """The job is over, or this worker is about to leave it."""
        if not self.begun or os.getpid() != self.process:
            return
        self.windows.close()
        self.drain(0)
        peak = peak_bytes(cuda=self.cuda)
        if peak is not None:
            self.files.tell({"facts": {"peak_bytes": peak}, "worker": self.rank})
        self.ping()
        steps = 0 if self.step is None else self.step.number
        self.over = True
        self.files.close()
        if self.cover is not None:
            self.cover.write(self.watches, steps, finished=True)
        self.meeting.close()

    def give_up(self, error: Exception) -> None:
        """Records no more; the training goes on."""
        self.over = True
        with suppress(Exception):
            self.windows.drop()
        with suppress(Exception):
            self.meeting.close()
        why = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        who = f"worker {self.rank}" if self.rank >= 0 else "this worker"
        text = f"paceline: the recording of {who} stopped ({why}); the training goes on."
        sys.stderr.write(text.replace("\n", " ") + "\n")


def _set_aside(folder: Path, rank: int) -> None:
    """What an earlier attempt of this job has left is moved away, where nobody reads it."""
    own = folder / f"worker-{rank}"
    if own.exists():
        restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "")
        again = restarts.isdecimal() and int(restarts) > 0
        target = folder / f"attempt-{int(restarts) - 1 if again else os.getpid()}"
        target.mkdir(exist_ok=True)
        own.rename(target / own.name)
