"""The data that the papers use, from the mirror folder."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Path:
    named = os.environ.get("LEAKSCOPE_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        message = f"no data at {folder}: set LEAKSCOPE_DATA to a mirror folder"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    monkeypatch.setenv("LEAKSCOPE_DATA", str(folder))
    return folder
