"""What a plan asks of the workers of a job."""

from pathlib import Path

import pytest

from paceline.model import Edit, InputError, ModelError, Plan, Route, Worker, save
from paceline.run.orders import Orders, neighborhoods, orders, parents


def plan(*edits: str, machines: tuple[str, ...] = ()) -> Plan:
    workers = tuple(
        Worker(rank=rank, machine=machine, share=1 / len(machines))
        for rank, machine in enumerate(machines)
    )
    return Plan(edits=tuple(Edit.parse(edit) for edit in edits), workers=workers)


def test_without_a_plan_all_is_as_torch_does_it() -> None:
    assert orders(None, 4) == Orders()


def test_the_name_of_an_algorithm_is_a_plan() -> None:
    assert orders("forest", 4) == Orders(algorithm="forest")


def test_edits_are_the_language_of_a_plan(tmp_path: Path) -> None:
    given = plan(
        "collective{algorithm=ps}", "fuse-buckets{limit_bytes=50MiB}", "workers{count=2}",
        machines=("m0", "m1"),
    )  # fmt: skip
    told = Orders(algorithm="ps", bucket_bytes=50 * 2**20, machines=("m0", "m1"))
    assert orders(given, 2) == told
    save(given, tmp_path / "plan.json")
    assert orders(tmp_path / "plan.json", 2) == told
    assert orders(str(tmp_path / "plan.json"), 2) == told


def test_of_two_edits_of_buckets_the_later_has_the_last_word() -> None:
    fuse, split = "fuse-buckets{limit_bytes=100}", "split-buckets{limit_bytes=7}"
    assert orders(plan(fuse, split), 2) == Orders(bucket_bytes=7, split_bytes=7)
    assert orders(plan(split, fuse), 2) == Orders(bucket_bytes=100)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("rign", "Did you mean 'ring'"),
        ("/", "file"),
        ("absent.json", "absent.json"),
        (plan("collective{algorithm=rign}"), "Did you mean 'ring'"),
        (plan("speed{worker=3,factor=2}"), "speed cannot be carried out"),
        (plan("workers{count=8}"), "cannot be carried out by 4 workers"),
        (plan(machines=("a", "b")), "the plan's 2 workers cannot"),
        (plan("fuse-buckets{limit_bytes=0}"), "0 bytes"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(given: Plan | str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        orders(given, 4)


def test_workers_of_one_machine_are_neighbors() -> None:
    assert neighborhoods(["a", "b", "a", "c", "b"]) == [[0, 2], [1, 4], [3]]


def test_routes_upward_are_a_tree() -> None:
    routes = [
        Route(bucket=None, source=one, target=to, links=((one, to),))
        for one, to in (("a", "c"), ("b", "c"), ("c", "d"))
    ]
    assert parents(routes, ["a", "b", "c", "d"]) == [2, 2, 3, 3]
    with pytest.raises(ModelError, match="no worker is on machine 'd'"):
        parents(routes, ["a", "b", "c"])
