"""PyTorch's words, old and new."""

import pytest

from paceline.read.kineto_names import (
    Cat,
    Role,
    algorithm,
    bytes_of,
    category,
    collective,
    of_kernel,
    role,
)


@pytest.mark.parametrize(
    ("letter", "text", "expected"),
    [
        ("X", "cpu_op", Cat.OP),
        ("X", "Operator", Cat.OP),
        ("X", "user_annotation", Cat.MARK),
        ("X", "cuda_runtime", Cat.RUNTIME),
        ("X", "cuda_driver", Cat.RUNTIME),
        ("X", "privateuse1_runtime", Cat.RUNTIME),
        ("X", "Runtime", Cat.RUNTIME),
        ("X", "kernel", Cat.KERNEL),
        ("X", "Memcpy", Cat.COPY),
        ("X", "gpu_memset", Cat.COPY),
        ("X", "cuda_sync", Cat.SYNC),
        ("X", "python_function", Cat.PYTHON),
        ("X", "gpu_user_annotation", Cat.SKIPPED),
        ("X", "Trace", Cat.SKIPPED),
        ("X", "something new", Cat.FOREIGN),
        ("X", "", Cat.FOREIGN),
        ("s", "fwdbwd", Cat.FLOW_FROM),
        ("f", "forward_backward", Cat.FLOW_TO),
        ("s", "ac2g", Cat.SKIPPED),
        ("M", "", Cat.META),
        ("i", "cpu_instant_event", Cat.MEMORY),
        ("i", "", Cat.SKIPPED),
        ("", "", Cat.SKIPPED),
    ],
)
def test_categories(letter: str, text: str, expected: int):
    assert category(letter, text) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ProfilerStep#12", Role.STEP),
        ("ProfilerStep#", Role.PLAIN),
        ("ProfilerStep#1234567890123456789", Role.PLAIN),
        ("Optimizer.step#Adam.step", Role.UPDATE),
        ("Optimizer.zero_grad#Adam.zero_grad", Role.UPDATE),
        ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", Role.LOADER),
        ("nccl:all_reduce", Role.NCCL),
        ("gloo:send", Role.GLOO),
        ("record_param_comms", Role.PARAMS),
        ("c10d::allreduce_", Role.C10D),
        ("autograd::engine::evaluate_function: AddmmBackward0", Role.EVALUATE),
        ("nn.Module: Linear_0", Role.MODULE),
        ("DistributedDataParallel.forward", Role.FRAMEWORK),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", Role.TALKING),
        ("void rcclGenericKernel<7, false>(x)", Role.TALKING),
        ("mscclKernel_Sum_float_Simple", Role.TALKING),
        ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", Role.TALKING),
        ("cudaDeviceSynchronize", Role.DEVICE_SYNC),
        ("cuCtxSynchronize", Role.DEVICE_SYNC),
        ("hipStreamSynchronize", Role.STREAM_SYNC),
        ("cudaEventSynchronize", Role.EVENT_SYNC),
        ("cudaMemcpy", Role.BLOCKING),
        ("cuMemcpyDtoH_v2", Role.BLOCKING),
        ("hipMemcpyWithStream", Role.BLOCKING),
        ("cudaMemcpyAsync", Role.PLAIN),
        ("cuMemcpyDtoHAsync_v2", Role.PLAIN),
        ("aten::mm", Role.PLAIN),
    ],
)
def test_roles(name: str, expected: int):
    assert role(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nccl:all_reduce", "all_reduce"),
        ("gloo:all_gather", "all_gather"),
        ("c10d::_allgather_base_", "all_gather"),
        ("c10d::allreduce_coalesced_", "all_reduce"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("reduce_scatter_tensor_coalesced", "reduce_scatter"),
        ("all_to_allv", "all_to_all"),
        ("c10d::alltoall_base_", "all_to_all"),
        ("nccl:_broadcast_oop", "broadcast"),
        ("c10d::recv_any_source_", "recv"),
        ("nccl:send 0->1", "send"),
        ("nccl:recv 0<-1", "recv"),
        ("barrier", "barrier"),
        ("Something_New", "something_new"),
    ],
)
def test_collectives(name: str, expected: str):
    assert collective(name) == expected


@pytest.mark.parametrize(
    ("name", "does", "by"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", "all_reduce", "ring"),
        ("ncclDevKernel_AllReduce_Sum_bf16_TREE_LL128(x)", "all_reduce", "tree"),
        ("ncclDevKernel_AllGather_NVLS(x)", "all_gather", "nvls"),
        (
            "ncclDevKernel_ReduceScatter_Sum_f32_COLLNET_DIRECT(x)",
            "reduce_scatter",
            "collnet_direct",
        ),
        ("ncclKernel_Broadcast_RING_SIMPLE_Sum_int8_t(x)", "broadcast", "ring"),
        ("ncclDevKernel_Reduce_Sum_f32_PAT(x)", "reduce", "pat"),
        ("ncclAllReduceTreeLLKernel_sum_f32(ncclColl)", "all_reduce", "tree"),
        ("ncclDevKernel_SendRecv(x)", "send_recv", None),
        ("ncclDevKernel_Generic(x)", "collective", None),
        ("rcclStringKernel", "collective", None),
    ],
)
def test_kernels(name: str, does: str, by: str | None):
    assert of_kernel(name) == does
    assert algorithm(name) == by


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float", 4), ("Float", 4), ("c10::BFloat16", 2), ("BFloat16", 2), ("long int", 8),
     ("Long", 8), ("signed char", 1), ("Bool", 1), ("c10::Half", 2), ("Float8_e4m3fn", 1),
     ("c10::complex<float>", 8), ("ComplexFloat", 8), ("TensorList", None), ("", None)],
)  # fmt: skip
def test_sizes(dtype: str, size: int | None):
    assert bytes_of(dtype) == size
