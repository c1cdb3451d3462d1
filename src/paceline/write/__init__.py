"""Nouns to files that people and other tools read, and to pages for terminals and pull requests.

`traces` writes any traces in the native format, so that whatever paceline reads can be converted;
`inspection` shows what was found in traces.
"""

from paceline.write.native import traces
from paceline.write.page import Look
from paceline.write.pages import inspection

__all__ = ["Look", "inspection", "traces"]
