"""What rows say of their communication, and what they take from the rows around them."""

from typing import Any

import msgspec
import pytest

from paceline.read.kineto_event import TalkArgs
from paceline.read.kineto_names import Role
from paceline.read.kineto_talk import Talks


def args(**fields: Any) -> TalkArgs:
    return msgspec.convert(
        {key.replace("_", " "): value for key, value in fields.items()}, TalkArgs
    )


def said(name: str, role: int, told: TalkArgs) -> dict[str, Any]:
    talks = Talks()
    talks.add(0, name, role, told)
    talks.settle()
    return {
        "word": talks.word[0],
        "size": talks.size_bytes[0],
        "sequence": talks.sequence[0],
        "peer": talks.peer[0],
        "groups": [(group.name, group.members) for group in talks.groups()],
    }


def test_newer_operators_say_everything():
    told = args(
        Collective_name="allreduce", dtype="BFloat16", In_msg_nelems=1000, Group_size=2,
        Process_Group_Name="2", Process_Group_Ranks="[1, 3]", Seq=41,
    )  # fmt: skip
    assert said("record_param_comms", Role.PARAMS, told) == {
        "word": "all_reduce", "size": 2000, "sequence": 41, "peer": -1, "groups": [("2", (1, 3))],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sequence"), [("12", 12), ("(12, False)", 12), ("x", -1), ("1.5", -1), (7, -1)]
)
def test_older_operators_have_the_sequence_among_their_inputs(text: object, sequence: int):
    told = args(Concrete_Inputs=["", text, "0"])
    assert said("record_param_comms", Role.PARAMS, told)["sequence"] == sequence
    assert said("nccl:all_reduce", Role.NCCL, told)["sequence"] == -1


@pytest.mark.parametrize(
    ("dims", "types", "size"),
    [
        ([[394241]], ["float"], 1576964),
        ([[2, 3], [4]], ["c10::Half", "long int"], 12 + 32),
        ([[]], ["double"], 8),
        ([[[5]]], ["TensorList"], -1),
        ([[5]], [""], -1),
        ([[5.5]], ["float"], -1),
        ([[-5]], ["float"], -1),
        ([[2**62, 2]], ["float"], -1),
        ([5], ["float"], -1),
        ([[5]], [7], -1),
        (None, None, -1),
    ],
)
def test_sizes_by_the_shapes_of_the_inputs(dims: object, types: object, size: int):
    assert (
        said("nccl:all_reduce", Role.NCCL, args(Input_Dims=dims, Input_type=types))["size"] == size
    )


def test_of_an_operator_only_the_first_input_is_sent():
    told = args(Input_Dims=[[10], [10]], Input_type=["float", "float"])
    assert said("record_param_comms", Role.PARAMS, told)["size"] == 40
    assert said("c10d::alltoall_base_", Role.C10D, told)["size"] == -1  # its first is the output


@pytest.mark.parametrize(
    ("fields", "members"),
    [
        ({"Process_Group_Ranks": "[0, 1, 2]"}, (0, 1, 2)),
        ({"Process_Group_Ranks": [4, 5]}, (4, 5)),
        ({"Process_Group_Ranks": "[0, 1, ..., 63]"}, None),
        ({"Process_Group_Ranks": "[0, 1]", "Group_size": 3}, None),
        ({"Process_Group_Ranks": [-1]}, None),
        ({"Process_Group_Ranks": []}, None),
        ({"Group_size": 4, "Global_rank_start": 1, "Global_rank_stride": 2}, (1, 3, 5, 7)),
        ({"Group_size": 4, "Global_rank_stride": 2}, None),
        ({"Group_size": 2**40, "Global_rank_start": 0, "Global_rank_stride": 1}, None),
        ({}, None),
    ],
)
def test_members(fields: dict[str, Any], members: tuple[int, ...] | None):
    told = args(Process_Group_Name="g", **fields)
    assert said("record_param_comms", Role.PARAMS, told)["groups"] == [("g", members)]


def test_members_once_known_stay():
    talks = Talks()
    assert talks.know("a", None) == 0
    assert talks.know("b", (0,)) == 1
    assert talks.know("a", (0, 1)) == 0
    assert talks.know("a", (2, 3)) == 0
    assert [group.members for group in talks.groups()] == [(0, 1), (0,)]


def test_peers():
    told = args(Collective_name="send", Dst_Rank=7, Src_Rank=3)
    assert said("record_param_comms", Role.PARAMS, told)["peer"] == 7
    told = args(Collective_name="recv", Dst_Rank=7, Src_Rank="3")
    assert said("record_param_comms", Role.PARAMS, told)["peer"] == 3
    assert said("nccl:send 0->5", Role.NCCL, args())["peer"] == 5  # no group: places are ranks
    assert said("nccl:recv 0<-5", Role.NCCL, args(Process_Group_Name="g"))["peer"] == -1
    known = args(Process_Group_Name="g", Process_Group_Ranks="[2, 4]")
    assert said("nccl:recv 0<-1", Role.NCCL, known)["peer"] == 4
    assert said("nccl:recv 0<-9", Role.NCCL, known)["peer"] == -1
    assert said("c10d::send", Role.C10D, args(Concrete_Inputs=["", "", "1", "0"]))["peer"] == 1
    assert said("nccl:all_reduce", Role.NCCL, args(Dst_Rank=7))["peer"] == -1


def test_an_inner_row_takes_what_it_does_not_say():
    talks = Talks()
    outer = args(
        Collective_name="allgather", Seq=4, Process_Group_Name="g", dtype="Float", In_msg_nelems=3
    )
    talks.add(0, "record_param_comms", Role.PARAMS, outer)
    talks.add(1, "nccl:_all_gather_base", Role.NCCL, args(Input_Dims=[[8]], Input_type=["float"]))
    talks.add(2, "ncclDevKernel_SendRecv(x)", Role.TALKING, args())
    talks.inherit(1, 0)
    talks.inherit(2, 1)
    talks.settle()
    assert talks.word == ["all_gather", "all_gather", "all_gather"]
    assert list(talks.size_bytes) == [12, 32, 32]
    assert list(talks.sequence) == [4, 4, 4]
    assert list(talks.group) == [0, 0, 0]


def test_a_kernel_that_nothing_explains_says_what_its_name_tells():
    assert said("ncclDevKernel_SendRecv(x)", Role.TALKING, args())["word"] == "send_recv"
    assert said("ncclDevKernel_Generic(x)", Role.TALKING, args())["word"] == "collective"
    assert said("record_param_comms", Role.PARAMS, args())["word"] == "collective"
