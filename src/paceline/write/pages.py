"""The doors to pages: nouns in, finished text in the format of that name out."""

from collections.abc import Iterable

from paceline.model import Cluster, Profile, Trace
from paceline.write.formats import PAGE_FORMATS
from paceline.write.inspection import inspected
from paceline.write.inspection_page import inspection_page
from paceline.write.page import PLAIN, Look, Page


def inspection(
    traces: Iterable[Trace],
    profile: Profile,
    cluster: Cluster,
    *,
    format: str = "text",
    look: Look = PLAIN,
) -> str:
    """What was found in the traces, for a person or a program."""
    return rendered(inspection_page(inspected(traces, profile, cluster)), format, look)


def rendered(page: Page, format: str, look: Look = PLAIN) -> str:
    """The page in the format of that name."""
    return next(own for own in PAGE_FORMATS if format == own.NAME).rendered(page, look)
