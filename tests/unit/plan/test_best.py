"""What `plan.best` does with what it is given, and what it says where it cannot."""

import dataclasses

import msgspec
import numpy as np
import pytest
from two_racks import KINDS, a_job, two_racks, workers

from paceline import plan
from paceline.model import (
    Cluster,
    Goal,
    GoalError,
    InputError,
    Link,
    Machine,
    ModelError,
    Noise,
    Plan,
    Target,
    load,
    save,
)

replace = msgspec.structs.replace


def overlay_of(made: Plan) -> str:
    return next(str(e.get("algorithm")) for e in made.edits if e.name == "collective")


@pytest.mark.parametrize("law", ["equal", "speed"])
@pytest.mark.parametrize("overlay", plan.OVERLAYS)
def test_every_overlay_makes_a_plan_that_loads_again(
    overlay: str, law: str, tmp_path: object
) -> None:
    made = plan.best(a_job(), two_racks(), workers(6), law=law, overlay=overlay)
    assert overlay_of(made) == overlay
    assert made.law == law
    path = f"{tmp_path}/plan.json"
    save(made, path)
    assert load(path, Plan) == made


def test_any_overlay_is_never_worse_than_ring_or_forest() -> None:
    totals: dict[str, float] = {}
    for overlay in ("any", "ring", "forest"):
        made = plan.best(a_job(), two_racks(), overlay=overlay).certificate
        assert made is not None
        totals[overlay] = made.objective_s
    assert totals["any"] <= min(totals["ring"], totals["forest"])


def test_movable_data_means_shares_by_speed() -> None:
    assert plan.best(a_job(), two_racks()).law == "equal"
    assert plan.best(a_job(movable_data=True), two_racks()).law == "speed"


def test_avoided_and_busy_machines_are_left_out() -> None:
    made = plan.best(a_job(n_crit=1000.0), two_racks(), law="speed", avoid=["m00"])
    used = [worker.machine for worker in made.workers]
    assert "m00" not in used
    assert used.count("m02") <= 1


def test_a_link_that_limits_is_named_with_its_gain() -> None:
    links = tuple(
        replace(link, bytes_per_s=2e8) if link.a == "rack0" else link for link in two_racks().links
    )
    cluster = two_racks(links=links)
    made = plan.best(a_job(n_crit=1000.0), cluster, workers(10), law="speed", overlay="ring")
    assert made.certificate is not None
    assert made.certificate.binding == "link rack0 - core (at twice the rate)"
    before = made.certificate.objective_s
    wider = tuple(
        replace(link, bytes_per_s=4e8) if link.a == "rack0" else link for link in cluster.links
    )
    after = plan.best(
        a_job(n_crit=1000.0), two_racks(links=wider), workers(10), law="speed", overlay="ring"
    ).certificate
    assert after is not None
    assert made.certificate.relax_gain == pytest.approx(1 - after.objective_s / before)


def test_samples_as_target_need_no_n_crit() -> None:
    job = a_job(n_crit=None, steps_at_large_batch=None)
    made = plan.best(job, two_racks(), Goal(target=Target(samples=3_200_000)))
    assert made.certificate is not None
    steps = 3_200_000 / 32 / len(made.workers)
    assert made.certificate.objective_s == pytest.approx(
        steps * (made.estimate.step_ms or 0) / 1000
    )


def test_a_time_limit_returns_a_plan_with_its_true_gap() -> None:
    made = plan.best(a_job(), two_racks(), time_limit_s=0.0, explain=False).certificate
    full = plan.best(a_job(), two_racks(), explain=False).certificate
    assert made is not None
    assert full is not None
    assert made.lower_bound_s <= full.objective_s <= made.objective_s
    assert made.gap == pytest.approx(1 - made.lower_bound_s / made.objective_s)
    assert made.gap >= full.gap


def without(link: str) -> Cluster:
    return two_racks(links=tuple(one for one in two_racks().links if one.a != link))


def with_rate(rate: float | None) -> Cluster:
    first, *rest = two_racks().links
    return two_racks(links=(replace(first, bytes_per_s=rate), *rest))


REFUSED = {
    "apart": (a_job(), without("m11"), Goal(), ModelError, "no links join machine 'm11'"),
    "two parts": (a_job(), without("rack1"), Goal(), ModelError, "no links join machine 'm10'"),
    "no links": (a_job(), two_racks(links=()), Goal(), ModelError, "no links join machine"),
    "no rate": (a_job(), with_rate(None), Goal(), ModelError, "m00 - rack0 is not known"),
    "rate of zero": (a_job(), with_rate(0.0), Goal(), ModelError, "rates are positive"),
    "no gradient": (a_job(gradient_bytes=None), two_racks(), Goal(), InputError, "gradients"),
    "no times": (a_job(step_time_ns={}), two_racks(), Goal(), ModelError, "how long a step"),
    "no steps": (
        a_job(steps_at_large_batch=None), two_racks(), Goal(), InputError, "how many steps"
    ),
    "no n_crit": (a_job(n_crit=None), two_racks(), Goal(), InputError, "n_crit"),
    "a gap": (a_job(), two_racks(), Goal(target=Target(gap=1.0)), InputError, "gap of the loss"),
    "samples without batch": (
        a_job(local_batch=None), two_racks(), Goal(target=Target(samples=100)), InputError, "batch"
    ),
    "too many": (a_job(), two_racks(), Goal(min_workers=11), GoalError, "10 slots are free"),
    "crossed": (
        a_job(), two_racks(), Goal(min_workers=5, max_workers=4), InputError, "more than"
    ),
    "no machines": (a_job(), Cluster(), Goal(), InputError, "no machines"),
    "too late": (a_job(), two_racks(), Goal(deadline_s=1.0), GoalError, "What limits it"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_planned_is_said(name: str) -> None:
    job, cluster, goal, kind, said = REFUSED[name]
    with pytest.raises(kind, match=said):
        plan.best(job, cluster, goal)


def test_wrong_words_are_refused() -> None:
    with pytest.raises(InputError, match="not an overlay"):
        plan.best(a_job(), two_racks(), overlay="star")
    with pytest.raises(InputError, match="law of shares"):
        plan.best(a_job(), two_racks(), law="fair")
    with pytest.raises(InputError, match="is to be avoided"):
        plan.best(a_job(), two_racks(), avoid=["m99"])


def test_a_large_network_with_cycles_is_refused() -> None:
    count = 400
    machines = tuple(Machine(name=f"m{at}", kind="fast") for at in range(count))
    links = tuple(
        Link(a=m.name, b=spine, bytes_per_s=1e9) for m in machines for spine in ("s0", "s1")
    )
    with pytest.raises(ModelError, match="has cycles"):
        plan.best(a_job(), Cluster(kinds=KINDS, machines=machines, links=links))


def test_on_a_network_with_cycles_only_forest_is_planned() -> None:
    ring = tuple(Link(a=f"m{at}", b=f"m{(at + 1) % 4}", bytes_per_s=1.25e9) for at in range(4))
    machines = tuple(Machine(name=f"m{at}", kind="fast") for at in range(4))
    cluster = Cluster(kinds=KINDS, machines=machines, links=ring)
    made = plan.best(a_job(), cluster, workers(4), compare=True)
    # each machine's two links carry 2 S 3 / 4 each way
    assert made.estimate.communication_ms == pytest.approx(1e3 * 2 * 1e8 * 3 / 4 / 2.5e9)
    assert made.certificate is not None
    assert made.certificate.gap == 0
    with pytest.raises(InputError, match="on trees only"):
        plan.best(a_job(), cluster, overlay="ring")


def noise(local: list[float], average: list[float], count: int = 4) -> Noise:
    steps = len(local)
    return Noise(
        worker=np.tile(np.arange(count, dtype=np.int32), steps),
        step=np.repeat(np.arange(steps, dtype=np.int64), count),
        loss=np.full(steps * count, np.nan),
        local=np.repeat(local, count),
        average=np.repeat(average, count),
    )


def test_n_crit_is_found_from_norms() -> None:
    draw = np.random.default_rng(0)
    # |G|^2 = 1, noise of one worker's batch 8: local 9, average 1 + 8 / 4
    local, average = draw.normal(9, 0.3, 400), draw.normal(3, 0.1, 400)
    found = plan.fit(noise(local.tolist(), average.tolist()))
    assert found is not None
    assert found.n_crit == pytest.approx(8, rel=0.05)
    assert found.low < 8 < found.high
    assert found.high - found.low < 2


def test_norms_that_tell_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="no signal"):
        plan.fit(noise([9.0] * 10, [2.0] * 10))
    with pytest.raises(InputError, match="too few"):
        plan.fit(noise([9.0], [3.0]))
    with pytest.raises(InputError, match="one worker"):
        plan.fit(noise([9.0] * 10, [3.0] * 10, count=1))
    empty = noise([1.0] * 3, [1.0] * 3)
    assert plan.fit(dataclasses.replace(empty, local=np.full(12, np.nan))) is None
