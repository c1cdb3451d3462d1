"""Five hundred damaged files of every format: no traceback, no hang, nothing invalid.

What failed is shown again by `python bench/mutants.py --format NAME --case N`.
"""

import pytest

from mutants import placed, run
from paceline import read
from paceline.model.file import NOUNS
from seeds import formats


@pytest.mark.parametrize("name", formats())
def test_no_mutant_is_a_defect(name: str):
    tally = run(formats()[name], range(500))
    shown = [f"--format '{name}' --case {bad.case}: {bad.failed}" for bad in tally.failures]
    assert not shown, "\n".join(shown[:5])


@pytest.mark.parametrize("name", formats())
def test_seeds_are_good_files(name: str, tmp_path):
    format = formats()[name]
    for seed in format.seeds:
        assert list(format.read(placed(seed, seed.body, tmp_path)))


def test_every_format_has_seeds():
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    saved = {f"saved {name}" for name in NOUNS}
    people = {"cluster", "cluster tables", "job", "goal", "history"}
    assert {format.NAME for format in read.FORMATS} | saved | people == set(formats())
