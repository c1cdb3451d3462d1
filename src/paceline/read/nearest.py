"""The known word that a misspelled one most likely meant, for messages about unknown keys."""

import difflib
from collections.abc import Iterable

_LONGEST = 64  # comparing is quadratic in the length, and no key of ours is longer


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most like `word`; empty when none comes near."""
    words = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word[:_LONGEST].lower(), words, n=1, cutoff=0.5)
    return words[found[0]] if found else ""
