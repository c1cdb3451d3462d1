"""The whole loop on this machine: record a troubled job, diagnose it, change one thing, prove it.

Four workers on loopback train for real under torchrun: one is slow in backward, one sends over a
slow link, one is killed and comes back from the checkpoint. What is found is asked what its cure
would give; the best cure that can be carried out is, and the job is recorded again.
"""

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from paceline import diagnose, model, read, stitch, write
from paceline.lab.prepare import prepare
from paceline.loop import record as recording
from paceline.loop.inject import environment
from paceline.model import (
    Cluster,
    Edit,
    Faults,
    Machine,
    Plan,
    Profile,
    Promise,
    Proof,
    Report,
    RunError,
    Stage,
)
from paceline.run.record_settings import Settings

HOOK = "paceline.lab.hook"
STEPS, WINDOW, KILLED, LATEST_S = 36, (12, 32), 6, 45.0
SLOW_WORKER, SLOW_MS, PACED, PACE = 2, 60.0, 1, "80Mbit/s"
COMPUTE_MS = 40.0
ASKED = ("collective{algorithm=tree}", "collective{algorithm=ps}", "fuse-buckets{limit_bytes=8MiB}")

Say = Callable[[str], None]


class Demo:
    """One demo in one folder; `say` hears of each stage as it begins."""

    def __init__(self, folder: Path, say: Say) -> None:
        self.folder, self.say = folder, say
        self.stages: list[Stage] = []
        self.notes: list[str] = []
        self.report: Report | None = None

    def proof(self) -> Proof:
        """Everything, from the first recording to the proof; report.html lies in the folder."""
        with self._stage("record four workers"):
            before = self._recorded("before", plan="ring", troubled=True, repaired=())
        with self._stage("diagnose"):
            self.report = report = diagnose.report(before, stitch.cluster(before))
            self._page(report, before)
        with self._stage("ask what would help"):
            promises = self._promises(before, report)
        tried = next((one for one in promises if one.why_not is None), None)
        after = None
        if tried is not None and tried.step_ns < report.step_ns[0]:
            with self._stage("change it and record again"):
                profile = self._after(tried.edit)
                after = diagnose.report(profile, None).step_ns
        return Proof(
            before_ns=report.step_ns,
            tried=tried if after else None,
            after_ns=after,
            others=tuple(one for one in promises if one is not tried),
            stages=tuple(self.stages),
            notes=tuple(self.notes),
        )

    @contextmanager
    def _stage(self, name: str) -> Generator[None]:
        self.say(name)
        began = time.perf_counter()
        yield
        self.stages.append(Stage(name=name, seconds=time.perf_counter() - began))

    def _recorded(
        self, name: str, *, plan: str, troubled: bool, repaired: tuple[str, ...]
    ) -> Profile:
        """The profile of one recorded launch."""
        home = self.folder / name
        faults = Faults()
        if "worker" not in repaired:
            faults = faults.slow(
                worker=SLOW_WORKER, step=0, until=STEPS, by_ms=SLOW_MS, where="backward",
                how="compute",
            )  # fmt: skip
        if troubled:
            faults = faults.lose(worker=3, step=KILLED)
        cluster = Cluster(machines=tuple(Machine(name=f"m{at}") for at in range(4)))
        told = prepare(home / "lab", cluster, faults, compute_ms=COMPUTE_MS)
        env = environment(os.environ, HOOK, **told)
        if "link" not in repaired:
            env["DEMO_SLOW_LINK"] = PACE
        run = home / "RUN"
        recording.prepare(run, force=True)
        job = str(files("paceline.loop") / "job" / "train.py")
        command = [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4",
            "--max-restarts", "2", job, str(STEPS), str(home / "checkpoint.pt"), plan,
        ]  # fmt: skip
        log = home / "job.log"
        done = recording.record(
            command, Settings(folder=run, windows=(WINDOW,)), env=env, log=log, latest_s=LATEST_S
        )
        if done.exit_code:
            raise RunError(
                f"the job of the demo ended with code {done.exit_code}.",
                where=log,
                cure="The last lines of that file say why; paceline demo --recorded needs no job.",
            )
        if troubled:
            self.notes.append(f"worker 3 was killed in step {KILLED}; torchrun started it again")
        return stitch.profile(read.traces(run))

    def _page(self, report: Report, profile: Profile) -> None:
        """report.html, where the extra for it is there."""
        path = self.folder / "report.html"
        try:
            write.report_file(report, profile, path)
        except model.PacelineError as error:
            self.notes.append(f"no report.html: {error.found}")
        else:
            self.notes.append(f"the whole diagnosis: {path}")

    def _promises(self, profile: Profile, report: Report) -> list[Promise]:
        """What each cure promises, the best first."""
        edits = [finding.edit for finding in report.findings if finding.edit is not None]
        edits += [edit for edit in map(Edit.parse, ASKED) if edit not in edits]
        cluster = stitch.cluster(profile, as_ports=True)
        found: list[Promise] = []
        for edit in edits:
            try:
                step = diagnose.whatif(profile, [edit], cluster).together
            except model.PacelineError as error:
                self.notes.append(f"{edit} cannot be asked here: {error.found}")
                continue
            found.append(
                Promise(
                    edit=edit, step_ns=step.step_ns, interval_ns=step.interval_ns,
                    why_not=None if _done_by(edit) else "only answers what-if questions",
                )
            )  # fmt: skip
        return sorted(found, key=lambda one: one.step_ns)

    def _after(self, edit: Edit) -> Profile:
        """The profile of the job with the edit carried out."""
        by = _done_by(edit)
        if by != "plan":
            return self._recorded("after", plan="ring", troubled=False, repaired=(by,))
        path = self.folder / "plan.json"
        edits = (edit,) if edit.name == "collective" else (_RING, edit)
        model.save(Plan(edits=edits), path)
        return self._recorded("after", plan=str(path), troubled=False, repaired=())


_RING = Edit.parse("collective{algorithm=ring}")


def _done_by(edit: Edit) -> str:
    """How the demo carries an edit out: it repairs the worker or the link, or follows a plan."""
    if edit.name in ("collective", "fuse-buckets", "split-buckets"):
        return "plan"
    if edit.name in ("typical", "speed") and edit.get("worker") == SLOW_WORKER:
        return "worker"
    ends = {f"{PACED}", f"m{PACED}"}
    if edit.name == "speed" and str(edit.get("link") or "").split("-")[0] in ends:
        return "link"
    return ""
