"""The log of faults: whole lines only, whoever writes."""

from pathlib import Path

from paceline.lab.fault_log import happened, read_log
from paceline.model import Faults

(LOSE,) = Faults().lose(worker=1, step=5).faults


def test_what_happened_is_read_again(tmp_path: Path) -> None:
    assert read_log(tmp_path) == []
    happened(tmp_path, LOSE, "begins", step=5, worker=1)
    happened(tmp_path, LOSE, "ends", step=6, failed="why")
    first, second = read_log(tmp_path)
    assert (first.fault, first.what, first.step) == (str(LOSE), "begins", 5)
    assert (first.worker, first.failed) == (1, None)
    assert (second.worker, second.failed) == (None, "why")
    assert 0 <= second.unix_ns - first.unix_ns < 10e9


def test_half_a_line_is_left_out(tmp_path: Path) -> None:
    happened(tmp_path, LOSE, "begins", step=5)
    with (tmp_path / "faults.jsonl").open("a") as file:
        file.write('{"unix_ns": 3')
    assert len(read_log(tmp_path)) == 1
