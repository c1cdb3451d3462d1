"""Files that people write, each beside what it is read as: a noun, or the words of the refusal."""

from pathlib import Path

import msgspec
import pytest

from paceline.model import PacelineError, dumped
from paceline.read import cluster, faults, goal, history, job

HERE = Path(__file__).parent
READERS = {"cluster": cluster, "faults": faults, "job": job, "goal": goal, "history": history}
READ = sorted(
    path
    for noun in READERS
    for path in (HERE / noun).glob("*.*")
    if not path.name.endswith((".expected.json", ".csv"))
)
REFUSED = sorted(
    path
    for noun in READERS
    for path in (HERE / noun / "refused").glob("*.*")
    if path.suffix not in {".txt", ".csv"}
)


def shown(noun: object) -> str:
    """The noun as it stands in an expected file."""
    if type(noun).__name__ == "Cluster":
        return dumped(noun).decode()
    return msgspec.json.format(msgspec.json.encode(noun)).decode() + "\n"


@pytest.mark.parametrize("path", READ, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_is_read_as_expected(path: Path):
    noun = READERS[path.parent.name](path)
    assert shown(noun) == path.with_suffix(".expected.json").read_text()


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_a_refusal_names_place_and_cure(path: Path):
    with pytest.raises(PacelineError) as caught:
        READERS[path.parent.parent.name](path)
    message = str(caught.value).replace(str(path.parent), "HERE")
    assert message + "\n" == path.with_suffix(".txt").read_text()
