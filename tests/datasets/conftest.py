"""The mirror folder that the facts are checked on."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def mirror() -> Path:
    named = os.environ.get("LEAKSCOPE_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        message = f"no data at {folder}: set LEAKSCOPE_DATA to a mirror folder"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No mirror and an empty cache; returns the cache folder, which doesn't exist yet."""
    monkeypatch.delenv("LEAKSCOPE_DATA", raising=False)
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
