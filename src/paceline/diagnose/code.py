"""The codes of findings: a number, a rule's name, and what a user should know about it."""

import msgspec


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of finding. `text` is what `paceline explain` prints."""

    code: str
    rule: str
    title: str
    text: str
