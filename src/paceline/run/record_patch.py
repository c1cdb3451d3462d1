"""Leads torch's own functions past a recorder: groups, DDP, backward, optimizers, profilers.

Nothing is touched before `lead` is called. Later recorders of the process take the place of the
first, and without one every wrapper costs a look at one variable.
"""

import atexit
import functools
import os
import signal
from contextlib import suppress
from typing import Any, ClassVar

from paceline.run import record_bucket
from paceline.run.lazy_torch import torch
from paceline.run.record_bucket import Watch
from paceline.run.record_signal import follow_signals
from paceline.run.recorder import Recorder

_WATCH = "_paceline_watch"


class Door:
    """Who records in this process; `led` once torch's functions lead here."""

    recorder: Recorder | None = None
    watches: ClassVar[list[Watch]] = []
    led = leaving = terminated = False


def lead(recorder: Recorder) -> None:
    """From now on the recorder hears of what torch does."""
    Door.recorder = recorder
    if Door.led:
        return
    Door.led = True
    _groups()
    _modules()
    _backward()
    _optimizers()
    _profilers()
    atexit.register(leave)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with suppress(ValueError):  # not the main thread, which alone hears of signals
            signal.signal(signal.SIGTERM, _terminated)
            follow_signals(lambda: Door.leaving)


def leave() -> None:
    """The recording ends; what torch does from now on is nobody's business."""
    recorder, Door.recorder = Door.recorder, None
    if recorder is None:
        return
    Door.leaving = True
    recorder.end()
    Door.leaving = False
    if Door.terminated:
        _die()


def _terminated(number: int, frame: object) -> None:  # noqa: ARG001  as Python asks
    if Door.leaving:  # what is being written is written to its end, then we go
        Door.terminated = True
        return
    if Door.recorder is not None and Door.recorder.process == os.getpid():
        leave()
    _die()


def _die() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _groups() -> None:
    dist, c10d = torch("distributed"), torch("distributed.distributed_c10d")
    initialize, create, destroy = (
        c10d.init_process_group,
        c10d.new_group,
        c10d.destroy_process_group,
    )

    @functools.wraps(initialize)
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        result: Any = initialize(*args, **kwargs)
        if Door.recorder is not None:
            Door.recorder.begin()
        return result

    @functools.wraps(create)
    def new_group(*args: Any, **kwargs: Any) -> Any:
        result: Any = create(*args, **kwargs)
        if Door.recorder is not None and isinstance(result, dist.ProcessGroup):
            Door.recorder.tell_group(result)
        return result

    @functools.wraps(destroy)
    def destroy_process_group(group: Any = None) -> Any:
        if group is None or group is dist.group.WORLD:
            leave()
        return destroy(group)

    for function in (init_process_group, new_group, destroy_process_group):
        for module in (dist, c10d):
            setattr(module, function.__name__, function)


def _modules() -> None:
    """Modules built from now on have our hook; one that somebody else registers moves into it."""
    ddp = torch("nn.parallel").DistributedDataParallel
    build, register, builtin = ddp.__init__, ddp.register_comm_hook, ddp._register_builtin_comm_hook

    @functools.wraps(build)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  that of the module
        build(self, *args, **kwargs)
        if Door.recorder is not None:
            watched(self)

    @functools.wraps(register)
    def register_comm_hook(self: Any, state: Any, hook: Any) -> None:
        watch: Watch | None = getattr(self, _WATCH, None)
        if watch is None or hook is record_bucket.hook:
            register(self, state, hook)
            return
        self._check_comm_hook(hook)
        _take(watch, state, hook)

    @functools.wraps(builtin)
    def _register_builtin_comm_hook(self: Any, comm_hook_type: Any) -> None:
        watch: Watch | None = getattr(self, _WATCH, None)
        if watch is None:
            builtin(self, comm_hook_type)
            return
        if "FP16" in str(comm_hook_type):
            hooks = torch("distributed.algorithms.ddp_comm_hooks.default_hooks")
            _take(watch, watch.process_group, hooks.fp16_compress_hook)

    ddp.__init__ = __init__
    ddp.register_comm_hook = register_comm_hook
    ddp._register_builtin_comm_hook = _register_builtin_comm_hook


def _take(watch: Watch, state: Any, hook: Any) -> None:
    if watch.inner is not None:
        raise RuntimeError("register_comm_hook can only be called once.")  # as torch says
    watch.inner = (state, hook)


def watched(module: Any) -> None:
    """Watches the buckets of a DistributedDataParallel that has no hook yet."""
    taken = bool(module._comm_hooks) or getattr(module, "_use_python_reducer", False)
    if taken or hasattr(module, _WATCH) or Door.recorder is None:
        return
    watch = Watch(module)
    setattr(module, _WATCH, watch)
    Door.watches.append(watch)
    module.register_comm_hook(watch, record_bucket.hook)
    Door.recorder.watch(watch)


def _backward() -> None:
    tensor = torch().Tensor
    plain = tensor.backward

    @functools.wraps(plain)
    def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = Door.recorder
        for watch in Door.watches:  # whoever records: it decides about the last bit of a gradient
            watch.look_at_views()
        if recorder is None:
            return plain(self, *args, **kwargs)
        recorder.backward_begins(self)
        result = plain(self, *args, **kwargs)
        recorder.backward_ends()
        return result

    tensor.backward = backward


def _optimizers() -> None:
    """A step ends after the optimizer's own span has ended, where its class still can be wrapped;
    else, for classes in use already, with the hook inside that span.
    """
    optim = torch("optim.optimizer")

    def begins(optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ARG001  as torch asks
        if Door.recorder is not None:
            Door.recorder.update_begins()

    def ends(optimizer: Any, args: Any, kwargs: Any) -> None:  # noqa: ARG001
        wrapped = hasattr(optimizer.__class__.step, _WATCH)
        if Door.recorder is not None and not wrapped:
            Door.recorder.update_ends()

    optim.register_optimizer_step_pre_hook(begins)
    optim.register_optimizer_step_post_hook(ends)
    plain = optim.Optimizer.profile_hook_step

    def profile_hook_step(function: Any) -> Any:
        inside = plain(function)

        @functools.wraps(inside)
        def step(*args: Any, **kwargs: Any) -> Any:
            result = inside(*args, **kwargs)
            if Door.recorder is not None:
                Door.recorder.update_ends()
            return result

        setattr(step, _WATCH, True)
        return step

    optim.Optimizer.profile_hook_step = staticmethod(profile_hook_step)


def _profilers() -> None:
    one = torch("autograd.profiler").profile
    build = one.__init__

    @functools.wraps(build)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if Door.recorder is not None:
            Door.recorder.give_way()
        build(self, *args, **kwargs)

    one.__init__ = __init__
