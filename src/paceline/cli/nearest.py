"""A hint at the known word that a misspelled one most likely meant."""

from collections.abc import Sequence

LONGEST = 64  # comparing is quadratic in the length


def nearest(word: str, known: Sequence[str]) -> str:
    """A question that begins with a space, or nothing where no word comes near."""
    from difflib import get_close_matches

    lower = {name.lower(): name for name in known}
    found = get_close_matches(word[:LONGEST].lower(), lower, n=1, cutoff=0.6)
    return f" Did you mean {lower[found[0]]!r}?" if found else ""
