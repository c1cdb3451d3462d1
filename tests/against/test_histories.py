"""Public availability series: counts, gaps and polarity as their data sheet states them."""

from pathlib import Path

import pytest

from paceline.model import InputError
from paceline.read import history

SERIES = [
    ("availability-1node-aws-02-15-2023-us-east-1a_v100_1", 195, 20_158, 1),
    ("availability-1node-aws-02-15-2023-us-east-1d_v100_1", 195, 20_158, 1),
    ("availability-1node-aws-02-15-2023-us-east-2a_v100_1", 195, 20_158, 1),
    ("availability-1node-aws-02-15-2023-us-west-2a_v100_1", 195, 20_158, 1),
    ("availability-16node-aws-08-27-2023-us-west-2a_v100_1", 300, 4_736, 16),
    ("preemption-4node-aws-08-03-2023-us-east-2a_v100_1", 300, 5_131, 4),
]


@pytest.mark.parametrize(("name", "gap", "ticks", "most"), SERIES)
def test_a_public_series(shared_data: Path, name: str, gap: int, ticks: int, most: int):
    path = shared_data / "spot" / f"{name}.json.gz"
    read = history(path, polarity="available")
    assert (read.gap_s, len(read.available), max(read.available)) == (gap, ticks, most)
    with pytest.raises(InputError, match="--polarity"):
        history(path)


def test_97_percent_of_the_ticks_are_all_or_nothing(shared_data: Path):
    path = shared_data / "spot" / "availability-16node-aws-08-27-2023-us-west-2a_v100_1.json.gz"
    counts = history(path, polarity="available").available
    assert round(100 * sum(count in (0, 16) for count in counts) / len(counts)) == 97
