"""The trace formats that paceline reads, in the order in which they are asked.

A format is a module with a NAME, `sniff` (is it mine? from the name and `opened.head` only) and
`read` (at least one trace, or InputError). What several formats share lies beside this folder. A
trace whose file does not say whose it is has worker -1 (in `after_worker` too); `run` then takes
the rank from the path.
"""

from typing import Protocol

from paceline.model import Trace
from paceline.read.formats import (
    execution_trace,
    flight_recorder,
    horovod,
    kineto,
    native_lines,
    native_parquet,
    pipeline_ops,
)
from paceline.read.opened import Opened


class Format(Protocol):
    """What a module of this folder offers."""

    NAME: str

    def sniff(self, opened: Opened) -> bool:
        """True if the file is of this format, as far as its name and head tell."""
        ...

    def read(self, opened: Opened) -> tuple[Trace, ...]:
        """The traces of the file, one for each worker in it."""
        ...


FORMATS: tuple[Format, ...] = (
    native_lines,
    native_parquet,
    pipeline_ops,
    flight_recorder,
    horovod,
    execution_trace,
    kineto,
)
