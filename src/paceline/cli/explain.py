"""`paceline explain`: what a finding's code means and what to do about it."""

import click
from click.shell_completion import CompletionItem

from paceline.cli.nearest import nearest
from paceline.cli.printed import printed


def _completed(
    ctx: click.Context,  # noqa: ARG001  click asks so
    param: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    from paceline import diagnose

    return [
        CompletionItem(row.code, help=row.title)
        for row in diagnose.CODES
        if row.code.startswith(incomplete.upper())
    ]


@click.command("explain")
@click.argument("code", required=False, shell_complete=_completed)
def command(code: str | None) -> None:
    """Explain the code of a finding.

    CODE is a number or a rule, like PL101 or slow-worker; without one, all are listed.
    """
    from paceline import diagnose

    rows = sorted(diagnose.CODES, key=lambda row: row.code)
    if code is None:
        width = max(len(row.rule) for row in rows)
        printed("".join(f"{row.code}  {row.rule:<{width}}  {row.title}\n" for row in rows))
        return
    known = [name for row in rows for name in (row.code, row.rule)]
    if code.upper() not in known and code not in known:
        raise click.BadParameter(
            f"{code!r} is no code of a finding.{nearest(code, known)}"
            " `paceline explain` lists them all.",
            param_hint="CODE",
        )
    row = diagnose.explained(code)
    printed(f"{row.code} {row.rule}: {row.title}\n\n{click.wrap_text(row.text, 90)}\n")
