"""What `paceline record` puts into every worker: called once torch is there, it starts recording.

Without PACELINE_RECORD in the environment nothing of torch is touched.
"""

from paceline.run.lazy_torch import torch
from paceline.run.record_settings import from_environment


def install() -> None:
    """Records this process as soon as it joins a process group, if that is asked for."""
    settings = from_environment()
    if settings is None:
        return
    if not torch("distributed").is_available():
        return
    from paceline.run.record_patch import lead
    from paceline.run.recorder import Recorder

    lead(Recorder(settings))
