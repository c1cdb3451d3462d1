"""The loops over several verbs, and what they start from.

`demo_run` is where the bundled recording of a real training job lies.
"""

from paceline.loop.demo import demo_run

__all__ = ["demo_run"]
