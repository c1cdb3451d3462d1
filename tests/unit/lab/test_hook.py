"""The hooks: what torch calls, turned into leaf calls, backwards and steps."""

import threading
from collections import OrderedDict

import pytest

pytest.importorskip("torch", reason="needs torch")

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, dataloader

from paceline.lab import hook
from paceline.lab.hook import Hooks


class Told:
    """Stands for the padding and notes what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.backwards = 0
        self.calls = 0
        self.first = True

    def enter(self, *, top: bool) -> None:
        self.said.append("top" if top else "inner")

    def leave(self, cost: float) -> int:
        self.calls += 1
        self.said.append(f"leaf {self.calls - 1}")
        return self.calls - 1

    def leave_top(self) -> None:
        self.said.append("done")

    def backward(self, call: int, cost: float) -> bool:
        self.said.append(f"backward {call}")
        first, self.first = self.first, False
        return first

    def backward_ended(self) -> None:
        self.said.append("backward ended")
        self.first = True
        self.backwards += 1

    def update(self) -> None:
        self.said.append("update")

    def updated(self, cost: float, *, ends: bool) -> None:
        self.said.append("step" if ends else "updated")
        if ends:
            self.backwards = 0

    def load(self) -> None:
        self.said.append("load")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Hooks that are gone after the test."""
    for name in ("_global_forward_hooks", "_global_forward_pre_hooks"):
        monkeypatch.setattr(nn.modules.module, name, OrderedDict())
    optimizer = __import__("torch.optim.optimizer", fromlist=["Optimizer"])
    for name in ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks"):
        monkeypatch.setattr(optimizer, name, OrderedDict())
    for kind in ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"):
        real = getattr(dataloader, kind)
        monkeypatch.setattr(real, "_next_data", real._next_data)
    made = Told()
    Hooks(made).install()  # type: ignore[arg-type]
    return made


def test_only_modules_that_call_no_other_are_padded(told: Told) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(inplace=True)), nn.Linear(4, 1))
    net(torch.ones(2, 4)).sum().backward()
    assert told.said == [
        "top", "inner", "leaf 0", "inner", "inner", "leaf 1", "inner", "leaf 2", "done",
        "backward 2", "backward 1", "backward 0", "backward ended",
    ]  # fmt: skip


def test_gradients_are_as_without(told: Told) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 1))
    x = torch.randn(8, 4)
    net(x).square().sum().backward()
    with_hooks = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    (a, _, b) = net
    y = torch.relu(x @ a.weight.T + a.bias) @ b.weight.T + b.bias
    y.square().sum().backward()
    for found, plain in zip(with_hooks, net.parameters(), strict=True):
        torch.testing.assert_close(found, plain.grad)


def test_without_gradients_there_is_no_backward(told: Told) -> None:
    with torch.no_grad():
        nn.Linear(4, 4)(torch.ones(2, 4))
    assert told.said == ["top", "leaf 0", "done"]


def test_modules_of_several_outputs_have_one_backward(told: Told) -> None:
    out, (hidden, _) = nn.LSTM(4, 4)(torch.ones(3, 2, 4))
    (out.sum() + hidden.sum()).backward()
    assert told.said.count("backward 0") == 1


def test_a_module_that_raises_disturbs_nothing(told: Told) -> None:
    class Raises(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError

    class Catches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Raises()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with pytest.raises(ValueError):
                self.inner(x)
            return x

    Catches()(torch.ones(1))
    nn.ReLU()(torch.ones(1))
    assert told.said == ["top", "inner", "done", "top", "leaf 0", "done"]


def test_other_threads_are_left_alone(told: Told) -> None:
    nn.ReLU()(torch.ones(1))
    said = list(told.said)
    thread = threading.Thread(target=lambda: nn.ReLU()(torch.ones(1)))
    thread.start()
    thread.join()
    assert told.said == said


def steps(told: Told) -> list[str]:
    return [word for word in told.said if word in ("step", "updated", "backward ended")]


def test_a_step_ends_once_for_several_optimizers_and_backwards(told: Told) -> None:
    net = nn.Linear(2, 2)
    one = torch.optim.SGD([net.weight], lr=0.1)
    two = torch.optim.SGD([net.bias], lr=0.1)
    for _ in range(2):
        for _ in range(2):
            net(torch.ones(1, 2)).sum().backward()
        one.step()
        two.step()
    assert steps(told) == ["backward ended", "backward ended", "step", "updated"] * 2


def test_steps_count_without_any_module(told: Told) -> None:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(3):
        weight.sum().backward()
        optimizer.step()
    assert steps(told) == ["step"] * 3


def test_loading_is_told_before_the_batch_is_there(told: Told) -> None:
    batches = DataLoader(TensorDataset(torch.ones(4, 1)), batch_size=2)
    assert len([told.said.append("batch") for _ in batches]) == 2
    assert told.said == ["load", "batch", "load", "batch", "load"]


@pytest.mark.parametrize("rank", [None, "", "x"])
def test_who_is_no_worker_is_left_alone(monkeypatch: pytest.MonkeyPatch, rank: str | None) -> None:
    monkeypatch.setenv("PACELINE_LAB", "nowhere")
    if rank is None:
        monkeypatch.delenv("RANK", raising=False)
    else:
        monkeypatch.setenv("RANK", rank)
    hook.install()


def test_a_worker_without_its_lab_stops_with_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_LAB", "nowhere")
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(SystemExit, match=r"nowhere/lab\.json: cannot be read"):
        hook.install()
