"""The way through a row of edits: all are checked first, then applied in the order given."""

from collections.abc import Sequence

from paceline.model import Cluster, Edit, Graph, ModelError, Profile, Times
from paceline.rewrite.contradiction import check_together
from paceline.rewrite.edits import EDITS, EditModule
from paceline.rewrite.key import check, unknown
from paceline.rewrite.rewritten import Rewritten
from paceline.rewrite.state import begun


def edited(
    graph: Graph,
    times: Times,
    edits: Sequence[Edit],
    *,
    profile: Profile,
    cluster: Cluster | None = None,
) -> Rewritten:
    """The job after the edits, one after the other, with the way back to the graph given."""
    if len(times) != len(graph):
        raise ModelError(
            f"{len(times)} times cannot be those of {len(graph)} ops.",
            expected="A graph and its times are equally long.",
        )
    modules = [_module(edit) for edit in edits]
    for module, edit in zip(modules, edits, strict=True):
        check(edit, module.KEYS)
    check_together(graph, edits)
    state = begun(graph, times, profile, cluster)
    for module, edit in zip(modules, edits, strict=True):
        state = module.apply(state, edit)
    flat = 0 if state.laws is None else int((state.laws.ns_per_byte == 0).sum())
    if flat:
        state = state.noting(
            "flat-law", "groups whose collectives take no longer for more bytes: all latency", flat
        )
    return Rewritten(
        graph=state.graph,
        times=state.times,
        cluster=state.cluster,
        machines=state.machines,
        origin_from=state.origin_from,
        origin_op=state.origin_op,
        notes=state.notes,
    )


def _module(edit: Edit) -> EditModule:
    for module in EDITS:
        if edit.name == module.NAME:
            return module
    raise unknown(edit.name, "edit", [module.NAME for module in EDITS], None)
