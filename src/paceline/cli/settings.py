"""Settings files: [tool.paceline] of pyproject.toml or a whole paceline.toml, as flags by command.

Comes in: the nearest such file from the current folder upward. Goes out: click's default_map, so
that flags win over PACELINE_* variables and those over the file. A key that is no flag is refused.

    [tool.paceline.inspect]
    format = "md"
"""

import tomllib
from pathlib import Path
from typing import Any, cast

import click

Table = dict[str, Any]


def settings(group: click.Group, ctx: click.Context) -> Table:
    """The default values of flags, by command; empty without a settings file."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        for name in ("paceline.toml", "pyproject.toml"):
            table = _table(folder / name)
            if table is not None:
                return _checked(group, ctx, table, folder / name)
    return {}


def _table(path: Path) -> Table | None:
    if not path.is_file():
        return None
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        if path.name == "pyproject.toml":  # somebody else's file: not ours to complain about
            return None
        raise _wrong(path, f"cannot be read ({error})", "Correct it or remove it.") from error
    if path.name == "paceline.toml":
        return content
    tool = content.get("tool")
    table = cast(Table, tool).get("paceline") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise _wrong(path, "tool.paceline is no table", "Write [tool.paceline.inspect].")
    return cast(Table | None, table)


def _checked(group: click.Group, ctx: click.Context, table: Table, path: Path) -> Table:
    commands = group.list_commands(ctx)
    for name, flags in table.items():
        command = group.get_command(ctx, name)
        if command is None or not isinstance(flags, dict):
            known = ", ".join(commands)
            raise _wrong(path, f"has an unknown table {name!r}", f"Tables are: {known}.")
        if isinstance(command, click.Group):  # its commands have tables of their own: [lab.run]
            _checked(command, ctx, cast(Table, flags), path)
            continue
        options = sorted(
            parameter.name or ""
            for parameter in command.params
            if isinstance(parameter, click.Option) and parameter.allow_from_autoenv
        )
        for key in cast(Table, flags):
            if key not in options:
                known = ", ".join(options)
                raise _wrong(path, f"has an unknown key {name}.{key}", f"Keys are: {known}.")
    return table


def _wrong(path: Path, found: str, cure: str) -> Exception:
    from paceline.model import InputError  # loads numpy, so not before it is needed

    return InputError(f"{found}.", where=path, cure=cure)
