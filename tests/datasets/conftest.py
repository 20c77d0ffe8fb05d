"""Where the tests of data sets take their data from."""

from pathlib import Path
from typing import Any

import published as publisher
import pytest

from leakscope.datasets.catalogue import DESCRIPTIONS


@pytest.fixture(params=["synthetic", pytest.param("real", marks=pytest.mark.data)])
def source(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options of ``load``: once for generated data and, in `make test-data`, once for the real data."""
    return {"synthetic": True} if request.param == "synthetic" else {"folder": request.getfixturevalue("mirror")}


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No mirror and an empty cache; returns the cache folder, which doesn't exist yet."""
    monkeypatch.delenv("LEAKSCOPE_DATA", raising=False)
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def _written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("published")
    return folder, publisher.write_all(folder)


@pytest.fixture
def published(_written: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror folder of generated files in the publishers' formats, with their digests in the catalogue."""
    folder, descriptions = _written
    for name, description in descriptions.items():
        monkeypatch.setitem(DESCRIPTIONS, name, description)
    return folder
