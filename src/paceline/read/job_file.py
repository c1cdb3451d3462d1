"""job.yaml to a Job: what is known of a training job of which no traces exist.

Every key may be left out; what is left out is not known, and never guessed here.
"""

from functools import partial
from pathlib import Path

from paceline.model import Job, parse_bytes, parse_duration_ns
from paceline.read.opened import Opened
from paceline.read.record import Key, mapping, placed, record
from paceline.read.scalar import MOST, flag, name, number, positive, quantity, whole
from paceline.read.yaml_text import Value, parsed, text_of

_size = quantity(parse_bytes, zero=True)
_time = quantity(parse_duration_ns, zero=True)
_step = quantity(parse_duration_ns, zero=False)
_share = number("a share from 0 to 1", lambda share: 0 <= share <= 1)


def job(path: Path | str) -> Job:
    """The job of a file; what the file leaves out is not known."""
    opened = Opened(path)
    keys = {
        "name": Key("name", name),
        "gradient": Key("gradient_bytes", _size),
        "local_batch": Key("local_batch", whole(1, MOST)),
        "step_time": Key("step_time_ns", partial(_step_times, opened.path)),
        "overlap": Key("overlap", _share),
        "steps_at_large_batch": Key("steps_at_large_batch", number("more than 0 steps", positive)),
        "n_crit": Key("n_crit", number("a number of workers, 0 or more", lambda n: n >= 0)),
        "checkpoint_time": Key("checkpoint_time_ns", _time),
        "restart_time": Key("restart_time_ns", _time),
        "movable_data": Key("movable_data", flag),
    }
    return record(parsed(text_of(opened), opened.path), Job, keys, "a job", opened.path)


def _step_times(where: Path, value: Value) -> dict[str, int]:
    """The compute time of one local batch by kind of machine; a kind without time is not known."""
    times: dict[str, int] = {}
    for kind, given in mapping(value, "times by kind of machine", where).items():
        placed(name, Value(given.line, kind), "step_time", where)
        if not given.absent:
            times[kind] = placed(_step, given, f"step_time of {kind}", where)
    return times
