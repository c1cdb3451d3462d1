"""`paceline plan`: how many workers, on which machines, over which overlay."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline.cli.options import reporting
from paceline.cli.printed import printed
from paceline.cli.waiting import waiting

if TYPE_CHECKING:
    from paceline.model import Goal, Job, Profile

LAWS = ("equal", "speed")
OVERLAYS = ("ring", "tree", "hierarchical", "ps", "forest", "any")


@click.command("plan")
@click.option(
    "--job",
    required=True,
    type=click.Path(path_type=Path),
    metavar="JOB_OR_PROFILE",
    help="A job file, a saved profile, or a folder of traces.",
)
@click.option(
    "--cluster",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A cluster file: machines and links.",
)
@click.option("--goal", type=click.Path(path_type=Path), metavar="FILE", help="A goal file.")
@click.option(
    "--law",
    type=click.Choice(LAWS),
    help="Shares of a step: equal, or by speed.  [default: speed if the job's data may move]",
)
@click.option(
    "--overlay",
    type=click.Choice(OVERLAYS),
    default="any",
    show_default=True,
    help="How gradients travel.",
)
@click.option("--compare", is_flag=True, help="Also show what simple rules reach.")
@click.option("--explain", is_flag=True, help="Also say why, and show the total time over n.")
@click.option("--steps", type=click.IntRange(min=1), help="Steps to the target, of a large batch.")
@click.option("--n-crit", type=click.FloatRange(min=0), help="n_crit, instead of the job's.")
@click.option("--deadline", metavar="TIME", help="The plan must end by then, like 60h.")
@click.option("--min-workers", type=click.IntRange(min=1), help="No fewer workers.")
@click.option("--max-workers", type=click.IntRange(min=1), help="No more workers.")
@click.option("--avoid", multiple=True, metavar="MACHINE", help="Leave this machine out.")
@click.option(
    "--time-limit",
    metavar="TIME",
    default="60s",
    show_default=True,
    help="Return the plan found by then, with its true gap.",
)
@reporting("plan")
def command(**flags: Any) -> None:
    """Choose the number of workers, their machines and the overlay.

    Together they minimize the total training time, steps(n) times the time of a step; a
    certificate says how far from the optimum the plan can be at most, and what limits it.

    \b
    paceline plan --job job.yaml --cluster cluster.yaml --compare --explain
    paceline plan --job job.profile.gz --cluster cluster.yaml --steps 20000 -o plan.json
    """  # noqa: D301
    show(**flags)


def show(
    *,
    job: Path,
    cluster: Path,
    goal: Path | None,
    law: str | None,
    overlay: str,
    compare: bool,
    explain: bool,
    avoid: tuple[str, ...],
    time_limit: str,
    format: str,
    output: Path | None,
    **wishes: Any,
) -> None:
    """Loads, plans, saves and prints."""
    from paceline import model, plan, read, write
    from paceline.cli.look import look
    from paceline.cli.words import checked

    limit = checked("--time-limit", lambda: model.parse_duration_s(time_limit))
    wanted = _wanted(goal, wishes)
    with waiting("Planning"):
        machines = read.cluster(cluster)
        made = plan.best(
            _job(job, wishes["n_crit"]), machines, wanted, law=law, overlay=overlay, avoid=avoid,
            compare=compare, time_limit_s=limit,
        )  # fmt: skip
        if output is not None:
            model.save(made, output)
        text = write.plan(made, machines, explain=explain, format=format, look=look())
    printed(text)


def _job(path: Path, n_crit: float | None) -> "Job | Profile":
    import dataclasses

    import msgspec

    from paceline import model, read
    from paceline.cli.load import PROFILES, profile_of

    if path.is_dir() or path.name.endswith(PROFILES):
        profile = profile_of((path,))
        if n_crit is None:
            return profile
        job = msgspec.structs.replace(profile.job, n_crit=n_crit)
        return dataclasses.replace(profile, job=job)
    found: model.Job = read.job(path)
    return found if n_crit is None else msgspec.structs.replace(found, n_crit=n_crit)


def _wanted(path: Path | None, wishes: dict[str, Any]) -> "Goal":
    """The goal of the file, with what flags say instead."""
    import msgspec

    from paceline import model, read
    from paceline.cli.words import checked

    found = model.Goal() if path is None else read.goal(path)
    changes: dict[str, Any] = {
        key: wishes[key] for key in ("min_workers", "max_workers") if wishes[key] is not None
    }
    if wishes["steps"] is not None:
        changes["target"] = model.Target(steps=wishes["steps"])
    if wishes["deadline"] is not None:
        deadline: str = wishes["deadline"]
        changes["deadline_s"] = checked("--deadline", lambda: model.parse_duration_s(deadline))
    return msgspec.structs.replace(found, **changes)
