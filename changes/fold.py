"""Writes the fragments of this folder into CHANGELOG.md.

A fragment is `<slug>.<added|changed|fixed|removed>.md` with one sentence for users. Without an
argument they fill the section "Unreleased", again and again; with a version they become its
section, and the fragments are deleted.
"""

import datetime as dt
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
CHANGELOG = FOLDER.parent / "CHANGELOG.md"
KINDS = ("added", "changed", "fixed", "removed")
NAME = re.compile(rf"[a-z0-9][a-z0-9-]*\.({'|'.join(KINDS)})\.md")
HEAD = "# Changelog\n\nWhat changed for users, newest first.\n"
UNRELEASED = "## Unreleased"


def problems(path: Path) -> list[str]:
    """What is wrong with a fragment; nothing, if it can be folded."""
    found = [] if NAME.fullmatch(path.name) else ["is not named <slug>.<kind>.md"]
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) != 1 or not lines[0].strip():
        found.append("is not one line")
    elif not (lines[0][0].isupper() or lines[0][0] == "`") or not lines[0].endswith("."):
        found.append("is not a sentence")
    return found


def fragments() -> list[Path]:
    """All fragments, by name."""
    return sorted(FOLDER.glob("*.md"))


def section(title: str, paths: list[Path]) -> str:
    """The fragments by kind, as one section."""
    parts = [title, ""]
    for kind in KINDS:
        lines = [f"- {p.read_text().strip()}" for p in paths if p.name.endswith(f".{kind}.md")]
        if lines:
            parts += [f"### {kind.capitalize()}", "", *lines, ""]
    return "\n".join(parts)


def folded(changelog: str, new: str) -> str:
    """The changelog with `new` in the place of its unreleased section."""
    released = re.split(rf"^(?=## )(?!{UNRELEASED}\b)", changelog, maxsplit=1, flags=re.MULTILINE)
    older = released[1] if len(released) == 2 else ""
    return f"{HEAD}\n{new}" + (f"\n{older}" if older else "")


def main(version: str | None = None) -> int:
    """Writes the changelog, unless a fragment is ill-formed; the exit code says which."""
    paths = fragments()
    wrong = [f"{path.name} {problem}" for path in paths for problem in problems(path)]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    today = dt.datetime.now(tz=dt.UTC).date()
    title = UNRELEASED if version is None else f"## {version} ({today})"
    old = CHANGELOG.read_text(encoding="utf-8") if CHANGELOG.exists() else ""
    CHANGELOG.write_text(folded(old, section(title, paths)), encoding="utf-8")
    if version is not None:
        for path in paths:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
