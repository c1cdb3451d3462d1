"""What Python runs first in a training worker that paceline started: hooks that wait for torch.

Lies on PYTHONPATH (see `paceline.loop.inject`). As soon as the worker has imported torch, each
module of PACELINE_HOOKS is imported and its `install()` called; a worker that never imports torch
pays nothing. A sitecustomize that would have run without this one still runs.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import sys
from collections.abc import Sequence
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Finds torch as anybody would, and calls the hooks once it is there."""

    def __init__(self, hooks: list[str]) -> None:
        self.hooks = hooks

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of torch, whose loader is followed by the hooks; None for all else."""
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Followed(spec.loader, self.hooks)
        return spec


class _Followed(importlib.abc.Loader):
    """A loader that calls the hooks when its module has run."""

    def __init__(self, loader: importlib.abc.Loader, hooks: list[str]) -> None:
        self.loader = loader
        self.hooks = hooks

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """What the real loader creates."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module as the real loader does, then the hooks."""
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        if multiprocessing.parent_process() is not None:
            return  # loads data for a worker, is none
        for hook in self.hooks:
            _install(hook)


def _install(hook: str) -> None:
    try:
        module = importlib.import_module(hook)
    except ImportError as error:
        why = f"{hook} cannot be imported by {sys.executable} ({error}); going on without"
        sys.stderr.write(f"paceline: {why}\n")
        return
    module.install()


def _run_other() -> None:
    """Runs the sitecustomize that this one stands before."""
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_hooks = [name for name in os.environ.get("PACELINE_HOOKS", "").split(",") if name]
if _hooks and all(name.startswith("paceline.") for name in _hooks) and "torch" not in sys.modules:
    sys.meta_path.insert(0, _AfterTorch(_hooks))
_run_other()
