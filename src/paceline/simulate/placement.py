"""Which machine each worker is on, as places of a network."""

from collections.abc import Mapping

import numpy as np

from paceline.model import I32, Graph, ModelError
from paceline.simulate.network import Network


def machine_names(graph: Graph, network: Network, machines: Mapping[int, str] | None) -> list[str]:
    """The machine of each of the graph's workers, in their order.

    Without `machines` the workers fill the slots of the cluster in file order, by rank.
    """
    if machines is None:
        slots = [m.name for m in network.cluster.machines for _ in range(m.slots)]
        if len(slots) < len(graph.workers):
            raise ModelError(
                f"The job has {len(graph.workers)} workers, the cluster {len(slots)} slots.",
                cure="Add machines or slots to the cluster file, or say which worker is where.",
            )
        machines = dict(zip(sorted(graph.workers), slots, strict=False))
    missing = [rank for rank in graph.workers if rank not in machines]
    if missing:
        raise ModelError(
            f"Nobody says on which machine worker {missing[0]} is.",
            cure="Name a machine for every worker.",
        )
    return [machines[rank] for rank in graph.workers]


def places(graph: Graph, network: Network, machines: Mapping[int, str] | None) -> I32:
    """The place in the network of each of the graph's workers, in their order."""
    names = machine_names(graph, network, machines)
    return np.array([network.of_machine(name) for name in names], dtype=np.int32)


def worker_rows(graph: Graph) -> I32:
    """The position of each op's worker in `graph.workers`."""
    ranks = np.array(graph.workers, dtype=np.int64)
    if not len(graph):
        return np.empty(0, dtype=np.int32)
    if not len(ranks):
        rows, listed = np.zeros(len(graph), dtype=np.int32), False
    elif ranks.min() >= 0 and ranks.max() <= 8 * len(ranks) + 1024:
        table = np.full(int(ranks.max()) + 2, -1, dtype=np.int32)
        table[ranks] = np.arange(len(ranks), dtype=np.int32)
        rows = table[graph.worker.clip(-1, len(table) - 1)]
        listed = rows.min() >= 0
    else:  # a table by rank would be far larger than the job
        order = np.argsort(ranks, kind="stable").astype(np.int32)
        rows = order[np.searchsorted(ranks[order], graph.worker).clip(max=len(ranks) - 1)]
        listed = np.array_equal(ranks[rows], graph.worker)
    if not listed:
        raise ModelError("An op belongs to a worker that the graph does not list.")
    return rows
