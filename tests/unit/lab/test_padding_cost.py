"""What modules cost, from their shapes."""

import pytest

pytest.importorskip("torch", reason="needs torch")

import torch
from torch import nn

from paceline.lab.padding_cost import ELEMENT, cost, tensors, update_cost


def of(module: nn.Module, *inputs: object) -> float:
    with torch.no_grad():
        return cost(module, inputs, module(*inputs))


def test_a_matrix_counts_each_weight_and_row_twice() -> None:
    found = of(nn.Linear(10, 30), torch.ones(4, 5, 10))
    assert found == 2 * 10 * 30 * 20 + ELEMENT * 20 * 30


@pytest.mark.parametrize(("groups", "kernel"), [(1, 3), (2, 3), (1, 1)])
def test_a_convolution_counts_each_place(groups: int, kernel: int) -> None:
    found = of(nn.Conv2d(4, 6, kernel, groups=groups, bias=False), torch.ones(2, 4, 8, 8))
    size = 8 - kernel + 1
    moved = ELEMENT * max(2 * 4 * 64, 2 * 6 * size**2)
    assert found == 2 * (2 * 6 * size**2) * 4 // groups * kernel**2 + moved


def test_a_transposed_convolution_counts_what_goes_in() -> None:
    found = of(nn.ConvTranspose1d(4, 6, 3), torch.ones(2, 4, 8))
    assert found == 2 * (2 * 4 * 8) * 6 * 3 + ELEMENT * 2 * 6 * 10


def test_looking_up_multiplies_nothing() -> None:
    found = of(nn.Embedding(1000, 16), torch.ones(4, 5, dtype=torch.long))
    assert found == ELEMENT * 4 * 5 * 16


def test_attention_counts_its_scores() -> None:
    short = of(nn.MultiheadAttention(16, 4, batch_first=True), *[torch.ones(2, 10, 16)] * 3)
    long = of(nn.MultiheadAttention(16, 4, batch_first=True), *[torch.ones(2, 20, 16)] * 3)
    assert short == 2 * 4 * 16 * 16 * 20 + 4 * 20 * 10 * 16 + ELEMENT * 3 * 2 * 10 * 16
    assert long > 2 * short
    first = of(nn.MultiheadAttention(16, 4), *[torch.ones(10, 2, 16)] * 3)
    assert first == short


def test_a_recurrent_module_counts_each_time() -> None:
    found = of(nn.LSTM(8, 16, batch_first=True), torch.ones(2, 7, 8))
    assert found >= 2 * 4 * 16 * (8 + 16) * 14


@pytest.mark.parametrize("module", [nn.ReLU(), nn.Dropout(), nn.LayerNorm(8), nn.Identity()])
def test_all_else_moves_numbers(module: nn.Module) -> None:
    assert of(module, torch.ones(4, 8)) == ELEMENT * 32


def test_a_batch_of_twice_the_size_costs_twice() -> None:
    net = nn.Linear(8, 8)
    assert of(net, torch.ones(8, 8)) == 2 * of(net, torch.ones(4, 8))


def test_modules_without_tensors_cost_nothing() -> None:
    assert cost(nn.Identity(), (3,), None) == 0


def test_tensors_are_found_inside() -> None:
    a, b = torch.ones(1), torch.ones(2)
    assert [t.numel() for t in tensors({"x": (a, [b]), "y": 3})] == [1, 2]
    assert tensors([[[[[a]]]]]) == []


def test_an_update_moves_what_is_trained() -> None:
    net = nn.Linear(3, 5)
    net.bias.requires_grad_(False)
    assert update_cost(torch.optim.SGD(net.parameters(), lr=1)) == ELEMENT * 15
