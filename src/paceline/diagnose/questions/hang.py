"""Which worker keeps the others waiting forever: a collective that some entered and one did not."""

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.model import Cause, Finding, Profile, Stuck, shown

NAME = "hang"
CODES = (
    Code(
        code="PL501",
        rule="hang",
        title="A worker never entered a collective that others wait in",
        text="Some workers entered this collective and never left it, because others never came."
        " Look at what the absent workers did last: a crash, another branch of the script, a"
        " different order of collectives, or a call that blocks.",
    ),
)


def ask(case: Case) -> list[Finding]:
    """One finding for each worker that is first missing somewhere."""
    return asked(case.profile)


def asked(profile: Profile) -> list[Finding]:
    """The same from a profile alone: a run that hangs may not have one whole step."""
    blamed: dict[int, Finding] = {}
    for stuck in profile.stuck:
        for worker, instead in zip(stuck.absent, stuck.instead, strict=True):
            # a worker that waits in an earlier call is itself kept waiting
            if worker not in blamed and not _waits(profile, worker):
                blamed[worker] = _finding(stuck, worker, instead)
    if not blamed and profile.stuck:
        stuck = profile.stuck[0]
        blamed[stuck.absent[0]] = _finding(stuck, stuck.absent[0], stuck.instead[0])
    return list(blamed.values())


def _waits(profile: Profile, worker: int) -> bool:
    return any(worker in stuck.entered for stuck in profile.stuck)


def _finding(stuck: Stuck, worker: int, instead: str) -> Finding:
    call = shown(stuck.name, 60)
    if stuck.group is not None and stuck.sequence is not None:
        call += f" ({shown(stuck.group, 40)}, {stuck.sequence})"
    waiting = ", ".join(map(str, stuck.entered[:8])) + (", …" if len(stuck.entered) > 8 else "")
    return Finding(
        code="PL501",
        rule="hang",
        subject=f"worker {worker}",
        worker=worker,
        cause=Cause.HANG,
        cost_ns=None,
        interval_ns=None,
        evidence=(f"never entered {call}, in which wait: {waiting}", shown(instead)),
        advice="Look at what this worker did last, and at its log.",
    )
