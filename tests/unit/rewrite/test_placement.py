"""Where workers are: as recorded, else in the slots of the cluster."""

from small_jobs import Small

from paceline.model import Cluster, Machine
from paceline.rewrite.placement import recorded, with_more


def test_recorded_machines_stand_where_the_cluster_knows_them():
    profile = Small(2).profile
    assert recorded(profile, None) == {0: "m0", 1: "m1"}
    assert recorded(profile, Cluster()) == {0: "m0", 1: "m1"}
    assert recorded(profile, Cluster(machines=(Machine(name="m1"),))) == {0: "m0", 1: "m1"}


def test_on_a_cluster_of_other_machines_workers_fill_its_slots():
    cluster = Cluster(machines=(Machine(name="x", slots=1), Machine(name="y", slots=4)))
    assert recorded(Small(3).profile, cluster) == {0: "x", 1: "y", 2: "y"}
    assert recorded(Small(3).profile, Cluster(machines=(Machine(name="x"),))) == {0: "x"}


def test_more_workers_take_what_is_free():
    cluster = Cluster(machines=(Machine(name="m0", slots=2), Machine(name="m1", slots=2)))
    assert with_more({0: "m0", 1: "m0"}, [2, 3, 4], cluster) == {
        0: "m0", 1: "m0", 2: "m1", 3: "m1",
    }  # fmt: skip
    assert with_more({0: "m0"}, [1], None) == {0: "m0"}
