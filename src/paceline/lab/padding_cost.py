"""What one call of a module costs, from its shapes: floating point operations, or as good as.

Matrices count two operations for each weight and row, convolutions for each weight and place,
attention also its scores. All else moves numbers: ELEMENT operations for each, which is what memory
costs beside arithmetic on usual machines. Backward costs twice the forward.
"""

from collections.abc import Mapping
from math import prod
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd  # pyright: ignore[reportPrivateUsage]

ELEMENT = 8.0
BACKWARD = 2.0
_MATRICES: "WeakKeyDictionary[nn.Module, int]" = WeakKeyDictionary()


def tensors(value: Any, depth: int = 3) -> list[torch.Tensor]:
    """The tensors in what a module takes or returns."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth == 0:
        return []
    parts: list[Any] = []
    if isinstance(value, (tuple, list)):
        parts = list(cast("tuple[Any, ...]", value))
    elif isinstance(value, Mapping):
        parts = list(cast("Mapping[Any, Any]", value).values())
    return [found for part in parts for found in tensors(part, depth - 1)]


def cost(module: nn.Module, inputs: Any, output: Any) -> float:
    """What the forward of this call costs."""
    given, made = tensors(inputs), tensors(output)
    out = made[0] if made else None
    moved = ELEMENT * max(sum(t.numel() for t in given), sum(t.numel() for t in made))
    if out is None or isinstance(module, (nn.Embedding, nn.EmbeddingBag)):
        return moved
    if isinstance(module, _ConvNd):
        return moved + _convolution(module, given[0] if given else out, out)
    rows = out.numel() / out.shape[-1] if out.dim() and out.shape[-1] else 1
    found = moved + 2.0 * _matrices(module) * rows
    if isinstance(module, nn.MultiheadAttention) and len(given) >= 2:
        length = given[1].shape[-2 if module.batch_first or out.dim() == 2 else -3]
        return found + 4.0 * rows * length * out.shape[-1]
    return found


def update_cost(optimizer: torch.optim.Optimizer) -> float:
    """What one step of the optimizer costs: it moves each parameter."""
    groups: list[dict[str, Any]] = optimizer.param_groups
    return ELEMENT * sum(p.numel() for g in groups for p in g["params"] if p.requires_grad)


def _convolution(module: _ConvNd, given: torch.Tensor, out: torch.Tensor) -> float:
    places = given.numel() if module.transposed else out.numel()
    channels = module.out_channels if module.transposed else module.in_channels
    return 2.0 * places * channels / module.groups * prod(module.kernel_size)


def _matrices(module: nn.Module) -> int:
    if module not in _MATRICES:
        _MATRICES[module] = sum(p.numel() for p in module.parameters() if p.dim() >= 2)
    return _MATRICES[module]
