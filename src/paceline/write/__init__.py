"""Nouns to files and pages.

`inspection` shows what was found in traces: as text, Markdown or JSON.
"""

from paceline.write.inspection import Inspection
from paceline.write.page import Look
from paceline.write.pages import inspection

__all__ = ["Inspection", "Look", "inspection"]
