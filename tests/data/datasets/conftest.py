"""Fixtures for data sets: synthetic data, real data, an empty cache and a generated mirror."""

import published as publisher
import pytest

from leakscope.data.datasets.catalogue import DESCRIPTIONS


@pytest.fixture(params=["synthetic", pytest.param("real", marks=pytest.mark.data)])
def source(request):
    """Options of ``load``: once for synthetic data and, in `make test-data`, once for the real data."""
    return {"synthetic": True} if request.param == "synthetic" else {"folder": request.getfixturevalue("mirror")}


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """No mirror and an empty cache; returns the cache folder, which does not exist yet."""
    monkeypatch.delenv("LEAKSCOPE_DATA", raising=False)
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def _written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    return folder, publisher.write_all(folder)


@pytest.fixture
def published(_written, monkeypatch):
    """A mirror folder of generated files in the publishers' formats, with their digests in the catalogue."""
    folder, descriptions = _written
    for name, description in descriptions.items():
        monkeypatch.setitem(DESCRIPTIONS, name, description)
    return folder
