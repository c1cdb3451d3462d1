"""goal.yaml: what the golden files do not show."""

from pathlib import Path

import pytest

from paceline.model import Goal, InputError, Target
from paceline.read import goal


def test_an_empty_goal_is_the_default(tmp_path: Path):
    (tmp_path / "goal.yaml").write_text("# free\n")
    assert goal(tmp_path / "goal.yaml") == Goal()


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("{steps: 3}", Target(steps=3)),
        ("{samples: 3, gap: ~}", Target(samples=3)),
        ("{gap: 0.25}", Target(gap=0.25)),
    ],
)
def test_a_target_is_one_of_three(tmp_path: Path, text: str, target: Target):
    (tmp_path / "goal.yaml").write_text(f"target: {text}")
    assert goal(tmp_path / "goal.yaml") == Goal(target=target)


@pytest.mark.parametrize(
    "text", ["{steps: 1, samples: 1}", "{steps: ~}", "{steps: 1, samples: 1, gap: 1}"]
)
def test_no_target_is_two_or_none(tmp_path: Path, text: str):
    (tmp_path / "goal.yaml").write_text(f"target: {text}")
    with pytest.raises(InputError, match="Exactly one"):
        goal(tmp_path / "goal.yaml")


def test_as_many_workers_as_at_least(tmp_path: Path):
    (tmp_path / "goal.yaml").write_text("min_workers: 4\nmax_workers: 4")
    assert goal(tmp_path / "goal.yaml") == Goal(min_workers=4, max_workers=4)
