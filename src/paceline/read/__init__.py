"""Files to nouns: traces of any framework, and what people write about clusters, jobs and faults.

`trace` reads one worker's file, `traces` a whole run. Nothing that comes out depends on the tool
that wrote the file: the words of a framework are translated here and nowhere else.
"""

from paceline.read.cluster_file import cluster
from paceline.read.faults_file import faults
from paceline.read.formats import FORMATS
from paceline.read.goal_file import goal
from paceline.read.history_file import history
from paceline.read.job_file import job
from paceline.read.opened import DEFAULT_CAPS, Caps
from paceline.read.recording import recording
from paceline.read.run import trace, traces

__all__ = [
    "DEFAULT_CAPS",
    "FORMATS",
    "Caps",
    "cluster",
    "faults",
    "goal",
    "history",
    "job",
    "recording",
    "trace",
    "traces",
]
