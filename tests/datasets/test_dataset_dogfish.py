"""Dog against fish: files of the published format, small and made here, and every way they can be wrong."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leakscope import datasets
from leakscope.datasets.catalogue import DESCRIPTIONS
from leakscope.errors import InputError

NAMES = [f"dogfish_900_300_inception_features_{part}.npz" for part in ("train", "test")]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue says 16 pictures of 5 features."""
    monkeypatch.setitem(DESCRIPTIONS, "dogfish", replace(DESCRIPTIONS["dogfish"], rows=16, record=(5,)))


def arrays(rows: int, columns: int = 5) -> dict[str, np.ndarray]:
    values = np.random.default_rng(rows).random((rows, columns)).astype(np.float32)
    return {"inception_features_val": values, "labels": np.repeat([0.0, 1.0], rows // 2)}


def write(folder: Path, train: dict[str, np.ndarray], test: dict[str, np.ndarray]) -> Path:
    (folder / "dogfish").mkdir()
    for name, content in zip(NAMES, (train, test), strict=True):
        np.savez(folder / "dogfish" / name, **content)
    return folder


@pytest.mark.usefixtures("small")
def test_training_pictures_come_first(tmp_path: Path) -> None:
    train, test = arrays(12), arrays(4)
    data = datasets.load("dogfish", folder=write(tmp_path, train, test))
    assert datasets.where("dogfish", folder=tmp_path) == "mirror"
    values = np.concatenate([train["inception_features_val"], test["inception_features_val"]])
    assert (data.X.to_numpy() == values).all()
    assert data.X.to_numpy().dtype == np.float64
    assert data.y.tolist() == [0] * 6 + [1] * 6 + [0, 0, 1, 1]
    assert data.y.dtype == np.int64
    assert data.train.tolist() == [True] * 12 + [False] * 4
    assert data.groups.shape == (16, 0)


def test_the_published_shape(tmp_path: Path) -> None:
    data = datasets.load("dogfish", folder=write(tmp_path, arrays(1800, 2048), arrays(600, 2048)))
    assert data.X.shape == (2_400, 2_048)
    assert data.train.sum() == 1_800


@pytest.mark.usefixtures("small")
def test_labels_may_be_a_column(tmp_path: Path) -> None:
    train = arrays(12)
    folder = write(tmp_path, train | {"labels": train["labels"][:, None].astype(np.int32)}, arrays(4))
    assert datasets.load("dogfish", folder=folder).y.sum() == 8


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": np.repeat([0, 2], 6)}, "the labels 0 and 1"),
        ({"labels": np.full(12, np.nan)}, "the labels 0 and 1"),
        ({"labels": np.array(["dog", "fish"] * 6)}, "the labels 0 and 1"),
        ({"labels": np.repeat([0, 1], 5)}, "and 10 labels"),
        ({"inception_features_val": np.zeros((12, 4))}, "not a row of 5 numbers"),
        ({"inception_features_val": np.zeros(60)}, "not a row of 5 numbers"),
        ({"inception_features_val": np.zeros((12, 5), dtype=np.int64)}, "not a row of 5 numbers"),
        ({"inception_features_val": np.full((12, 5), np.inf)}, "not finite"),
        ({"inception_features_val": np.array([[None] * 5] * 12)}, "plain numpy arrays"),  # would run a pickle
        ({"inception_features_val": np.zeros((14, 5)), "labels": np.repeat([0, 1], 7)}, "18 pictures, not the 16"),
    ],
)
def test_a_file_that_is_not_the_published_one_is_refused(
    tmp_path: Path, change: dict[str, np.ndarray], words: str
) -> None:
    with pytest.raises(InputError, match=words) as refusal:
        datasets.load("dogfish", folder=write(tmp_path, arrays(12) | change, arrays(4)))
    assert "\n" not in str(refusal.value)


@pytest.mark.usefixtures("small")
def test_a_missing_array_or_a_cut_file_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, {"features": np.zeros((12, 5))}, arrays(4))
    with pytest.raises(InputError, match="no arrays inception_features_val and labels"):
        datasets.load("dogfish", folder=folder)
    path = folder / "dogfish" / NAMES[0]
    np.savez(path, **arrays(12))
    content = path.read_bytes()
    for part in (content[: len(content) // 2], b"", b"<html>not found</html>"):
        path.write_bytes(part)
        with pytest.raises(InputError, match="plain numpy arrays"):
            datasets.load("dogfish", folder=folder)
    np.save(path.with_suffix(".npy"), np.zeros(3))
    path.with_suffix(".npy").rename(path)
    with pytest.raises(InputError, match="plain numpy arrays"):
        datasets.load("dogfish", folder=folder)
