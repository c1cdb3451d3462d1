"""Moments of a step to lines, with a clock that only counts."""

import json
from types import SimpleNamespace
from typing import Any

from paceline.run.record_bucket import Issued
from paceline.run.record_stamp import HostStamps
from paceline.run.record_steps import Backward, Step, lines

WATCH: Any = SimpleNamespace(group="0", number=0)
OTHER: Any = SimpleNamespace(group="0", number=1)


def bucket(index: int, begun: int, done: int | None, watch: Any = WATCH, **norms: float) -> Issued:
    return Issued(watch, index, 8, index, begun, done, norms.get("local"), norms.get("average"))


def written(step: Step) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(line)) for line in lines(step, 3, HostStamps())]


def spans(step: Step) -> list[tuple[str, int, int]]:
    return [
        (line["name"], line["start_ns"], line["start_ns"] + line["duration_ns"])
        for line in written(step)
        if "duration_ns" in line
    ]


def test_backward_is_cut_where_buckets_are_issued() -> None:
    step = Step(7, 0, forwards=[(100, 200)], updates=[(500, 520)])
    step.backwards = [Backward(200, 450, [bucket(0, 250, 300), bucket(1, 320, 400)])]
    assert spans(step) == [
        ("forward", 100, 200),
        ("backward to bucket 0", 200, 250),
        ("all_reduce bucket 0", 250, 300),
        ("backward to bucket 1", 250, 320),
        ("all_reduce bucket 1", 320, 400),
        ("backward, after the last bucket", 400, 450),
        ("update", 500, 520),
    ]
    assert {(line["worker"], line["step"]) for line in written(step)} == {(3, 7)}


def test_buckets_go_one_after_the_other_and_hold_up_no_backward() -> None:
    step = Step(0, 0)
    step.backwards = [Backward(0, 99, [bucket(0, 10, 60), bucket(1, 20, 55), bucket(2, 30, 90)])]
    assert spans(step) == [
        ("backward to bucket 0", 0, 10),
        ("all_reduce bucket 0", 10, 60),
        ("backward to bucket 1", 10, 20),
        ("all_reduce bucket 1", 60, 60),
        ("backward to bucket 2", 20, 30),
        ("all_reduce bucket 2", 60, 90),
        ("backward, after the last bucket", 90, 99),
    ]


def test_a_bucket_that_is_not_complete_has_no_end() -> None:
    step = Step(0, 0, backwards=[Backward(0, None, [bucket(0, 10, None)])])
    (open_,) = [line for line in written(step) if line["kind"] == "collective"]
    assert "duration_ns" not in open_
    assert [line["name"] for line in written(step)][-1] == "all_reduce bucket 0"


def test_norms_add_up_over_buckets_and_the_last_reduction_counts() -> None:
    first = Backward(0, 9, [bucket(0, 1, 2, local=100.0, average=100.0)])
    again = [
        bucket(0, 11, 12, local=4.0, average=1.0),
        bucket(0, 13, 14, OTHER, local=5.0, average=2.0),
    ]
    step = Step(2, 0, backwards=[first, Backward(10, 19, again)], losses=[0.5, 0.25])
    assert written(step)[-1]["norms"] == {"loss": 0.75, "local": 9.0, "average": 3.0}


def test_what_was_not_measured_is_left_out() -> None:
    step = Step(0, 0, backwards=[Backward(0, 9, [bucket(0, 1, 2, local=4.0)])])
    assert written(step)[-1]["norms"] == {"local": 4.0}
    assert "norms" not in written(Step(0, 0, backwards=[Backward(0, 9)]))[-1]


def test_a_backward_without_buckets_is_one_piece() -> None:
    step = Step(0, 0, backwards=[Backward(5, 9), Backward(20, 30, [bucket(0, 25, 26)])])
    assert [name for name, *_ in spans(step)] == [
        "backward", "backward to bucket 0", "all_reduce bucket 0",
        "backward, after the last bucket",
    ]  # fmt: skip
