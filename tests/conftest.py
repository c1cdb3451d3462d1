"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Public measurements that are not part of the repository; tests that need them skip."""
    path = Path(os.environ.get("PACELINE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no shared data: set PACELINE_SHARED_DATA (looked in {path.name})")
    return path
