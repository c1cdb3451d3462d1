"""`paceline explain`: what a finding's code means and what to do about it."""

import click


@click.command("explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain the code of a finding, like PL101; without a code, list them all."""
    from paceline import diagnose

    if code is None:
        width = max(len(row.title) for row in diagnose.CODES)
        for row in diagnose.CODES:
            click.echo(f"{row.code}  {row.title:<{width}}  {row.rule}")
        return
    row = diagnose.explained(code)
    click.echo(f"{row.code} {row.rule}: {row.title}\n\n{click.wrap_text(row.text, 90)}")
