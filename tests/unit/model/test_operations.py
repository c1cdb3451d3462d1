"""Which operation a collective is, from names as frameworks write them."""

import pytest

from paceline.model import OPERATIONS, Kind, Work, operation


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("all_reduce", "all_reduce"),
        ("gloo:all_reduce", "all_reduce"),
        ("c10d::allreduce_", "all_reduce"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "all_reduce"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "all_reduce"),
        ("HorovodAllreduce.grad_7", "all_reduce"),
        ("embedding-grads-all-reduce", "all_reduce"),
        ("grads 0", "all_reduce"),
        ("", "all_reduce"),
        ("grads-reduce-scatter", "reduce_scatter"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16", "reduce_scatter"),
        ("params-all-gather", "all_gather"),
        ("_allgather_base", "all_gather"),
        ("all_to_all", "all_to_all"),
        ("ncclKernel_AllToAll", "all_to_all"),
        ("broadcast", "broadcast"),
        ("barrier", "barrier"),
        ("gather", "gather"),
        ("scatter", "scatter"),
        ("reduce", "reduce"),
        ("ncclKernel_Reduce_RING_LL_Sum", "reduce"),
    ],
)
def test_names_say_their_operation(name: str, expected: str):
    assert OPERATIONS[operation(Work(name=name, kind=Kind.COLLECTIVE))] == expected
