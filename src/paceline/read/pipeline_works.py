"""What the operations of a pipeline-ops file are, and which workers meet in each.

`among` names who meets in a collective: the replicas of a stage ("data"), the parts of one stage
in one replica ("tensor"), the first and last stage of a replica ("embedding"), or everybody.
`toward` says where the other end of a message is: +1 the next stage, -1 the one before.
"""

from typing import NamedTuple

from paceline.model import Kind, Phase


class Work(NamedTuple):
    """One kind of operation."""

    kind: Kind
    phase: Phase
    lane: str
    among: str = ""
    toward: int = 0


WORKS: dict[str, Work] = {
    "params-all-gather": Work(Kind.COLLECTIVE, Phase.UPDATE, "data", "data"),
    "forward-recv": Work(Kind.RECV, Phase.FORWARD, "forward recv", "forward", -1),
    "forward-compute": Work(Kind.COMPUTE, Phase.FORWARD, "compute"),
    "forward-send": Work(Kind.SEND, Phase.FORWARD, "forward send", "forward", 1),
    "backward-recv": Work(Kind.RECV, Phase.BACKWARD, "backward recv", "backward", 1),
    "backward-compute": Work(Kind.COMPUTE, Phase.BACKWARD, "compute"),
    "backward-send": Work(Kind.SEND, Phase.BACKWARD, "backward send", "backward", -1),
    "layernorm-grads-all-reduce": Work(Kind.COLLECTIVE, Phase.BACKWARD, "tensor", "tensor"),
    "embedding-grads-all-reduce": Work(Kind.COLLECTIVE, Phase.BACKWARD, "embedding", "embedding"),
    "grads-reduce-scatter": Work(Kind.COLLECTIVE, Phase.BACKWARD, "data", "data"),
    # clipping needs the norm over all gradients: an all-reduce of one number, all leave together
    "optimizer-clip-main-grad": Work(Kind.COLLECTIVE, Phase.UPDATE, "all", "all"),
    "optimizer": Work(Kind.COMPUTE, Phase.UPDATE, "compute"),
    "gc": Work(Kind.HOST, Phase.OTHER, "host"),
}
OTHER = Work(Kind.HOST, Phase.OTHER, "host")  # an operation of another name
