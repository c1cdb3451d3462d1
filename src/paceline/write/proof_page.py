"""An edit that was carried out, as a view for programs and a page for people."""

import msgspec

from paceline.model import Promise, Proof, show_ns
from paceline.write.page import Column, Page, table


class PromiseView(msgspec.Struct, frozen=True, kw_only=True):
    """One edit and the step that it promised."""

    edit: str
    step_ms: float
    interval_ms: tuple[float, float] | None


class ProofView(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON view of `paceline demo`."""

    schema: int
    before_ms: tuple[float, float, float]
    predicted: PromiseView | None
    after_ms: tuple[float, float, float] | None
    error: float | None
    others: tuple[PromiseView, ...]
    stages: dict[str, float]
    notes: tuple[str, ...]


def proof_page(proof: Proof) -> Page:
    """The page that shows it."""
    tried = proof.tried
    facts = [("tried", str(tried.edit) if tried else "nothing: no edit would help")]
    if proof.error is not None:
        facts.append(("predicted", f"within {abs(proof.error):.1%} of what was then measured"))
    total = sum(stage.seconds for stage in proof.stages)
    facts.append(("took", f"{total:.1f} s"))
    facts += [("note", note) for note in proof.notes]
    number = Column(title="", right=True)
    rows = [("before", *_measured(proof.before_ns))]
    if tried is not None:
        rows.append(("predicted", show_ns(tried.step_ns), _interval(tried)))
    if proof.after_ns is not None:
        rows.append(("after", *_measured(proof.after_ns)))
    steps = (
        Column(title=""),
        msgspec.structs.replace(number, title="step"),
        msgspec.structs.replace(number, title="range"),
    )
    what = (
        Column(title="edit", wraps=True),
        msgspec.structs.replace(number, title="predicted step"),
        Column(title="", wraps=True),
    )
    also = [(str(one.edit), show_ns(one.step_ns), one.why_not or "") for one in proof.others]
    spent = [(stage.name, f"{stage.seconds:.1f} s") for stage in proof.stages]
    tables = [table("The step, before and after", steps, rows)]
    if also:
        tables.append(table("What else was asked", what, also))
    took = (Column(title="stage"), msgspec.structs.replace(number, title="took"))
    tables.append(table("Time by stage", took, spent))
    return Page(
        title="Found, predicted, changed, measured again",
        facts=tuple(facts),
        tables=tuple(tables),
        view=_view(proof),
    )


def _measured(step_ns: tuple[float, float, float]) -> tuple[str, str]:
    return show_ns(step_ns[0]), f"{show_ns(step_ns[1])} to {show_ns(step_ns[2])} (10 to 90 %)"


def _interval(promise: Promise) -> str:
    if promise.interval_ns is None:
        return "not known"
    return f"{show_ns(promise.interval_ns[0])} to {show_ns(promise.interval_ns[1])} (95 %)"


def _view(proof: Proof) -> ProofView:
    def ms(ns: tuple[float, float, float]) -> tuple[float, float, float]:
        return ns[0] / 1e6, ns[1] / 1e6, ns[2] / 1e6

    def promise(one: Promise) -> PromiseView:
        low_high = one.interval_ns
        return PromiseView(
            edit=str(one.edit),
            step_ms=one.step_ns / 1e6,
            interval_ms=None if low_high is None else (low_high[0] / 1e6, low_high[1] / 1e6),
        )

    return ProofView(
        schema=1,
        before_ms=ms(proof.before_ns),
        predicted=None if proof.tried is None else promise(proof.tried),
        after_ms=None if proof.after_ns is None else ms(proof.after_ns),
        error=proof.error,
        others=tuple(promise(one) for one in proof.others),
        stages={stage.name: stage.seconds for stage in proof.stages},
        notes=proof.notes,
    )
