"""For all tests: generated examples are the same in every run, and no data are seen but by tests marked ``data``."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

# Threads of OpenMP that wait for work sleep: with two worker processes they would take the cores from each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

#: The mirror folder of the developer. Worker processes of pytest-xdist get it under this name: the other one is removed.
MIRROR = "LEAKSCOPE_TEST_MIRROR"
if "LEAKSCOPE_DATA" in os.environ:
    os.environ[MIRROR] = os.environ.pop("LEAKSCOPE_DATA")
os.environ["LEAKSCOPE_CACHE"] = str(Path(tempfile.gettempdir()) / "leakscope-tests-have-no-cache")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests on real data where no mirror folder is named; `make test-data` refuses to run then."""
    if os.environ.get(MIRROR):
        return
    without = [item for item in items if item.get_closest_marker("data")]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if not item.get_closest_marker("data")]


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with the real data, for tests marked ``data``."""
    folder = Path(os.environ.get(MIRROR, ""))
    assert os.environ.get(MIRROR), "a test that uses the mirror must be marked data"
    assert folder.is_dir(), f"LEAKSCOPE_DATA names {folder}, which is not a folder"
    return folder


@pytest.fixture(autouse=True)
def _data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the mirror to tests marked ``data``."""
    if request.node.get_closest_marker("data"):
        monkeypatch.setenv("LEAKSCOPE_DATA", str(request.getfixturevalue("mirror")))
