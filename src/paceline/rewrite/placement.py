"""On which machine each worker is: as recorded, or in the slots of a cluster of other machines."""

from collections import Counter
from collections.abc import Sequence

from paceline.model import Cluster, Profile


def recorded(profile: Profile, cluster: Cluster | None) -> dict[int, str]:
    """The machine of each worker; where the cluster knows none of them, slots in file order."""
    machines = {worker.rank: worker.machine for worker in profile.workers}
    if cluster is None or not cluster.machines:
        return machines
    known = {machine.name for machine in cluster.machines}
    if known.intersection(machines.values()):
        return machines
    return dict(zip(sorted(machines), _slots(cluster), strict=False))


def with_more(
    machines: dict[int, str], ranks: Sequence[int], cluster: Cluster | None
) -> dict[int, str]:
    """The machines with more workers on the slots still free; who finds none has no machine."""
    if cluster is None:
        return machines
    taken = Counter(machines.values())
    free: list[str] = []
    for slot in _slots(cluster):
        taken[slot] -= 1
        if taken[slot] < 0:
            free.append(slot)
    return machines | dict(zip(ranks, free, strict=False))


def _slots(cluster: Cluster) -> list[str]:
    return [machine.name for machine in cluster.machines for _ in range(machine.slots)]
