"""What a worker of the lab calls once torch is there: its compute is padded, its faults strike.

Modules are followed by torch's own global hooks. The gradient of what a module returned marks where
its backward begins, so gradients are ready when they would be on the machine. A worker is a process
with a RANK, from its first module call or batch on.
"""

import atexit
import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import dataloader

from paceline.lab import work
from paceline.lab.lab_file import load_lab
from paceline.lab.padding import Padding
from paceline.lab.padding_cost import BACKWARD, cost, tensors, update_cost
from paceline.lab.padding_watch import Watch
from paceline.lab.prepare import LAB, MACHINE
from paceline.model import RunError


def install() -> None:
    """Pads this process, if it is a worker of the lab."""
    folder, rank = os.environ.get(LAB), os.environ.get("RANK", "")
    if not folder or not rank.isdecimal():
        return
    try:
        padding = Padding(
            Path(folder), load_lab(Path(folder)), rank=int(rank),
            workers=int(os.environ.get("WORLD_SIZE", "1")), machine=os.environ.get(MACHINE),
            work=work.work, watch=_watch,
        )  # fmt: skip
    except RunError as error:
        raise SystemExit(f"paceline lab: {error}") from None
    Hooks(padding).install()
    atexit.register(_report, padding)


def _watch() -> Watch:
    # where several threads compute an op, waiting for them is computing too
    return Watch(exact=torch.get_num_threads() == 1)


def _report(padding: Padding) -> None:
    with contextlib.suppress(OSError):  # the folder may be gone already
        padding.report()


class Hooks:
    """torch's callbacks, turned into what the padding wants to know."""

    def __init__(self, padding: Padding) -> None:
        self.padding = padding
        self.thread: int | None = None  # the one that trains
        self.around: list[nn.Module] = []
        self.leaf = False  # the innermost module has called no other
        self.updated: set[int] = set()
        self.update_costs: dict[int, float] = {}

    def install(self) -> None:
        """Registers all callbacks, for as long as the process lives."""
        module = nn.modules.module
        module.register_module_forward_pre_hook(self.enter)
        module.register_module_forward_hook(self.leave)
        register_optimizer_step_pre_hook(self.update)
        register_optimizer_step_post_hook(self.update_ended)
        for kind in ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"):
            _loads(getattr(dataloader, kind), self.padding)

    def _strange(self) -> bool:
        """True in other threads. The compiler cannot look in here and breaks its graphs around."""
        if self.thread is None:
            self.thread = threading.get_ident()
        return self.thread != threading.get_ident()

    def enter(self, module: nn.Module, _inputs: Any) -> None:
        """A module is called."""
        if self._strange():
            return
        self.padding.enter(top=not self.around)
        self.around.append(module)
        self.leaf = True

    def leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """A module returns; whatever it called and did not return has raised."""
        if self._strange() or module not in self.around:
            return
        while self.around.pop() is not module:
            self.leaf = False
        if self.leaf:
            self._padded(cost(module, inputs, output), output)
        self.leaf = False
        if not self.around:
            self.padding.leave_top()

    def _padded(self, forward: float, output: Any) -> None:
        call = self.padding.leave(forward)
        for made in tensors(output):
            if made.requires_grad:
                hooked: Any = made  # its hooks have no types
                hooked.register_hook(lambda _: self.backward(call, BACKWARD * forward))  # pyright: ignore
                return

    def backward(self, call: int, backward: float) -> None:
        """The gradient of what a call returned is there."""
        if self._strange():
            return
        if self.padding.backward(call, backward):
            engine: Any = torch.autograd.Variable._execution_engine  # pyright: ignore
            engine.queue_callback(self.padding.backward_ended)

    def update(self, _optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        """An optimizer begins."""
        if not self._strange():
            self.padding.update()

    def update_ended(self, optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        """An optimizer has stepped: the first one after a backward ends the step."""
        if self._strange():
            return
        key = id(optimizer)
        ends = self.padding.backwards > 0 or not self.updated or key in self.updated
        self.updated = {key} if ends else self.updated | {key}
        if key not in self.update_costs:
            self.update_costs[key] = update_cost(optimizer)
        try:
            self.padding.updated(self.update_costs[key], ends=ends)
        except RunError as error:
            sys.stderr.write(f"paceline lab: {error}\n")
            raise SystemExit(1) from None
        if ends:
            self.around.clear()


def _loads(kind: Any, padding: Padding) -> None:
    """Makes an iterator of the DataLoader tell when it loads, inside of what a profile calls so."""
    load = kind._next_data

    def _next_data(self: Any) -> Any:
        padding.load()
        return load(self)

    kind._next_data = _next_data
