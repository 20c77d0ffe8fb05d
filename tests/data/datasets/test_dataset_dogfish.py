"""Dog and fish images: small generated files in the published format, valid and damaged."""

import io
from dataclasses import replace

import numpy as np
import pytest
from published import pictures as arrays
from published import write_dogfish as write

from leakscope.core.errors import InputError
from leakscope.data import datasets
from leakscope.data.datasets.catalogue import DESCRIPTIONS


@pytest.fixture
def small(monkeypatch):
    """Set the catalogue to 16 images of 5 features."""
    monkeypatch.setitem(DESCRIPTIONS, "dogfish", replace(DESCRIPTIONS["dogfish"], rows=16, record=(5,)))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("shape", [(12,), (12, 1)])
def test_training_pictures_come_first(tmp_path, shape):
    train, test = arrays(12), arrays(4)
    labels = {"labels": train["labels"].reshape(shape)}
    data = datasets.load("dogfish", folder=write(tmp_path, train | labels, test))
    assert datasets.where("dogfish", folder=tmp_path) == "mirror"
    values = np.concatenate([train["inception_features_val"], test["inception_features_val"]])
    assert (data.X.to_numpy() == values).all()
    assert data.X.to_numpy().dtype == np.float64
    assert data.y.tolist() == [0] * 6 + [1] * 6 + [0, 0, 1, 1]
    assert data.y.dtype == np.int64
    assert data.train.tolist() == [True] * 12 + [False] * 4
    assert data.groups.shape == (16, 0)


def test_the_published_shape(tmp_path):
    data = datasets.load("dogfish", folder=write(tmp_path, arrays(1800, 2048), arrays(600, 2048)))
    assert data.X.shape == (2_400, 2_048)
    assert data.train.sum() == 1_800


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"labels": np.repeat([0, 2], 6)}, "'labels'"),
        ({"labels": np.full(12, np.nan)}, "'labels'"),
        ({"labels": np.array(["dog", "fish"] * 6)}, "'labels'"),
        ({"labels": np.repeat([0, 1], 5)}, r"'inception_features_val'.*\b10\b"),
        ({"inception_features_val": np.zeros((12, 4))}, r"'inception_features_val'.*\b5\b"),
        ({"inception_features_val": np.zeros(60)}, r"'inception_features_val'.*\b5\b"),
        ({"inception_features_val": np.zeros((12, 5), dtype=np.int64)}, r"'inception_features_val'.*\b5\b"),
        ({"inception_features_val": np.full((12, 5), np.inf)}, "'inception_features_val'"),
        ({"inception_features_val": np.array([[None] * 5] * 12)}, r"train\.npz.*ValueError"),  # would run a pickle
        ({"inception_features_val": np.zeros((14, 5)), "labels": np.repeat([0, 1], 7)}, r"\b18\b.*\b16\b"),
    ],
)
def test_a_file_that_is_not_the_published_one_is_refused(tmp_path, change, named):
    with pytest.raises(InputError, match=named) as refusal:
        datasets.load("dogfish", folder=write(tmp_path, arrays(12) | change, arrays(4)))
    assert "\n" not in str(refusal.value)


@pytest.mark.usefixtures("small")
def test_a_missing_array_or_a_cut_file_is_refused(tmp_path):
    folder = write(tmp_path, {"features": np.zeros((12, 5))}, arrays(4))
    with pytest.raises(InputError, match="'inception_features_val'"):
        datasets.load("dogfish", folder=folder)
    path = folder / DESCRIPTIONS["dogfish"].files[0].path
    np.savez(path, **arrays(12))
    whole, single = path.read_bytes(), io.BytesIO()
    np.save(single, np.zeros(3))
    for content in (whole[: len(whole) // 2], b"", b"<html>not found</html>", single.getvalue()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"train\.npz.*\(\w+\)"):
            datasets.load("dogfish", folder=folder)
