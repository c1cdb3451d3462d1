"""A small job on a small cluster, for tests of the plan room."""

from paceline.model import Cluster, Goal, Job, Link, Machine, MachineKind

KINDS = (MachineKind(name="fast", speed=2.0), MachineKind(name="slow", speed=1.0))


def two_racks(**changes: object) -> Cluster:
    """Two racks of three machines: two fast ones, one slow one with a slot taken."""
    machines = [
        Machine(name=f"m{rack}{at}", kind="slow" if at == 2 else "fast", slots=2, busy=at // 2)
        for rack in (0, 1)
        for at in range(3)
    ]
    links = [
        Link(a=machine.name, b=f"rack{machine.name[1]}", bytes_per_s=1.25e9, latency_ns=5000)
        for machine in machines
    ]
    links += [
        Link(a=f"rack{rack}", b="core", bytes_per_s=2.5e9, latency_ns=10_000) for rack in (0, 1)
    ]
    facts: dict[str, object] = {
        "kinds": KINDS, "machines": tuple(machines), "links": tuple(links)
    }  # fmt: skip
    return Cluster(**(facts | changes))  # type: ignore[arg-type]


def a_job(**changes: object) -> Job:
    """100 MB of gradients; 100 ms on a fast machine."""
    facts: dict[str, object] = {
        "gradient_bytes": 100_000_000, "step_time_ns": {"fast": 100_000_000}, "local_batch": 32,
        "steps_at_large_batch": 1000.0, "n_crit": 20.0,
    }  # fmt: skip
    return Job(**(facts | changes))  # type: ignore[arg-type]


def workers(number: int) -> Goal:
    """A goal of so many workers."""
    return Goal(min_workers=number, max_workers=number)
