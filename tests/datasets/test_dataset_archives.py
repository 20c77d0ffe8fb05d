"""Archives in the publishers' own formats, small and made here: Purchase100, Texas100 and CIFAR-100."""

import hashlib
import io
import pickle
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope import datasets
from leakscope.datasets.bits import parse_lines
from leakscope.datasets.catalogue import DESCRIPTIONS
from leakscope.datasets.images import parse_cifar_archive
from leakscope.errors import InputError

MEMBERS = ("cifar-100-python/train", "cifar-100-python/test", "cifar-100-python/meta")


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def lines(*columns: np.ndarray) -> bytes:
    return b"".join(b",".join(b"%d" % value for value in row) + b"\n" for row in np.column_stack(columns))


@pytest.fixture
def labels() -> np.ndarray:
    return np.concatenate([np.arange(1, 101), [7, 7, 100]])


@pytest.fixture
def bits() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, size=(103, 9))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue says 103 records of 9 columns."""
    for name in ("purchase100", "texas100"):
        monkeypatch.setitem(DESCRIPTIONS, name, replace(DESCRIPTIONS[name], rows=103, record=(9,)))


@pytest.mark.usefixtures("small")
def test_purchase100(tmp_path: Path, labels: np.ndarray, bits: np.ndarray) -> None:
    write_tar(tmp_path / "purchase100/dataset_purchase.tgz", {"dataset_purchase": lines(labels, bits)})
    data = datasets.load("purchase100", folder=tmp_path)
    assert (data.X.to_numpy() == bits).all()
    assert (data.y == labels - 1).all()
    assert data.X.to_numpy().dtype == np.uint8


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("labels_first", [False, True])
def test_texas100(tmp_path: Path, labels: np.ndarray, bits: np.ndarray, labels_first: bool) -> None:
    members = {"texas/": b"", "texas/100/feats": lines(bits), "texas/100/labels": lines(labels)}
    if labels_first:
        members = dict(reversed(members.items()))
    write_tar(tmp_path / "texas100/dataset_texas.tgz", members)
    data = datasets.load("texas100", folder=tmp_path)
    assert (data.X.to_numpy() == bits).all()
    assert (data.y == labels - 1).all()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text + text[:20], "more than the 103 lines"),
        (lambda text: text[: text.index(b"\n") + 1], "has 1 lines, not the 103"),
        (lambda text: text.replace(b"\n100,", b"\n99,"), "the labels 1 to 100"),
        (lambda text: text.replace(b",1\n", b",2\n"), "that is not a label and 9 zeros and ones"),
        (lambda text: text.replace(b",", b";"), "line 1 that is not a label"),
        (lambda text: text.replace(b",", b"", 1), "line 1 that is not a label"),
        (lambda text: text.replace(b",1,", b",1;"), "that is not a label and 9 zeros and ones"),
        (lambda text: b"9" * 30 + text, "line 1 that is not a label"),
        (lambda text: b"<html>\n" + text, "line 1 that is not a label"),
    ],
)
def test_wrong_purchase100_is_refused(
    tmp_path: Path, labels: np.ndarray, bits: np.ndarray, change: Any, words: str
) -> None:
    text = change(lines(labels, bits))
    write_tar(tmp_path / "purchase100/dataset_purchase.tgz", {"dataset_purchase": text})
    with pytest.raises(InputError, match=words):
        datasets.load("purchase100", folder=tmp_path)


@pytest.mark.parametrize("name", ["purchase100", "texas100"])
def test_the_published_shape_is_required(tmp_path: Path, name: str) -> None:
    file = datasets.describe(name).files[0]
    bits = np.zeros((2, datasets.describe(name).record[0]), dtype=int)
    first, *rest = file.members
    content = lines(bits) if rest else lines(np.array([1, 2]), bits)
    write_tar(tmp_path / file.path, {first: content, **{member: lines(np.array([1, 2])) for member in rest}})
    with pytest.raises(InputError, match=f"has 2 lines, not the {datasets.describe(name).rows:,} published"):
        datasets.load(name, folder=tmp_path)
    assert "no digest" in datasets.describe(name).check


@pytest.mark.parametrize("cut", [0, 30, 200])
def test_archive_cut_short(tmp_path: Path, labels: np.ndarray, cut: int) -> None:
    noise = np.random.default_rng(1).integers(0, 2, size=(103, 600))
    path = write_tar(tmp_path / "purchase100/dataset_purchase.tgz", {"dataset_purchase": lines(labels, noise)})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="cut short or not the archive"):
        datasets.load("purchase100", folder=tmp_path)


def test_archive_without_the_member(tmp_path: Path) -> None:
    write_tar(tmp_path / "purchase100/dataset_purchase.tgz", {"something": b"else"})
    with pytest.raises(InputError, match="not the archive"):
        datasets.load("purchase100", folder=tmp_path)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda columns: st.lists(
            st.tuples(st.integers(0, 10**8), st.lists(st.integers(0, 1), min_size=columns, max_size=columns)),
            min_size=1,
        )
    ),
    st.booleans(),
    st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
)
def test_lines_come_back(records: list[tuple[int, list[int]]], quoted: bool, ending: bytes) -> None:
    quote = '"' if quoted else ""
    text = [f"{quote}{label}{quote},{','.join(map(str, row))}".encode() + ending for label, row in records]
    labels, bits = parse_lines(io.BytesIO(b"".join(text)), len(records), len(records[0][1]), labelled=True)
    assert labels.tolist() == [label for label, _ in records]
    assert bits.tolist() == [row for _, row in records]


class Python2Pickler(pickle._Pickler):
    """Writes pickles as Python 2 did for the publisher: byte strings as such, arrays under numpy's old module name."""

    dispatch = pickle._Pickler.dispatch.copy()

    def save_bytes(self, value: bytes) -> None:
        self.write(pickle.BINSTRING + len(value).to_bytes(4, "little") + value)
        self.memoize(value)

    def save_text(self, value: str) -> None:
        self.save_bytes(value.encode())

    dispatch[bytes] = save_bytes
    dispatch[str] = save_text


def python2_pickle(value: object) -> bytes:
    stream = io.BytesIO()
    Python2Pickler(stream, protocol=2).dump(value)
    return stream.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def cifar_part(images: np.ndarray, fine: list[int], name: str) -> bytes:
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return python2_pickle(
        {
            "filenames": [f"{number}.png" for number in fine],
            "batch_label": name,
            "fine_labels": fine,
            "coarse_labels": [number % 20 for number in fine],
            "data": np.ascontiguousarray(planes),
        }
    )


def write_cifar(path: Path, **changed: bytes) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(2)
    train, test = (generator.integers(0, 256, size=(n, 32, 32, 3), dtype=np.uint8) for n in (5, 3))
    meta = {
        "fine_label_names": [f"fine {number}" for number in range(100)],
        "coarse_label_names": [f"coarse {number}" for number in range(20)],
    }
    members = {
        "meta": python2_pickle(meta),
        "test": cifar_part(test, [99, 21, 0], "testing batch 1 of 1"),
        "train": cifar_part(train, [1, 2, 3, 40, 99], "training batch 1 of 1"),
    }
    write_tar(path, {f"cifar-100-python/{name}": content for name, content in {**members, **changed}.items()})
    return train, test


@pytest.fixture
def any_cifar(monkeypatch: pytest.MonkeyPatch) -> Any:
    def accept(path: Path) -> None:
        description = DESCRIPTIONS["cifar100"]
        file = replace(description.files[0], digest=f"md5:{hashlib.md5(path.read_bytes()).hexdigest()}")
        monkeypatch.setitem(DESCRIPTIONS, "cifar100", replace(description, files=(file,)))

    return accept


def test_test_pickles_are_plain_pickles_to_python() -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(2, 32, 32, 3), dtype=np.uint8)
    text = cifar_part(images, [1, 2], "x").replace(b"cnumpy.core.multiarray\n", b"cnumpy._core.multiarray\n")
    content = pickle.loads(text, encoding="bytes")
    assert (content[b"data"].reshape(2, 3, 32, 32).transpose(0, 2, 3, 1) == images).all()


def test_cifar100(tmp_path: Path, any_cifar: Any) -> None:
    path = tmp_path / "cifar100/cifar-100-python.tar.gz"
    train, test = write_cifar(path)
    any_cifar(path)
    data = datasets.load("cifar100", folder=tmp_path)
    assert np.array_equal(data.X, np.concatenate([train, test]))
    assert data.y.tolist() == [1, 2, 3, 40, 99, 99, 21, 0]
    assert data.train.tolist() == [True] * 5 + [False] * 3
    assert data.groups["superclass"].tolist()[3:6] == ["coarse 0", "coarse 19", "coarse 19"]


def test_cifar100_needs_the_publishers_md5(tmp_path: Path) -> None:
    write_cifar(tmp_path / "cifar100/cifar-100-python.tar.gz")
    with pytest.raises(InputError, match="not eb9058c3a382ffc7106e4002c42a8d85"):
        datasets.load("cifar100", folder=tmp_path)


class Attack:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.target, "the pickle ran")


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_hostile_pickle_is_not_run(tmp_path: Path, protocol: int) -> None:
    path, target = tmp_path / "cifar.tar.gz", tmp_path / "traces"
    write_cifar(path, train=pickle.dumps({"data": Attack(target)}, protocol=protocol))
    with pytest.raises(InputError, match="is not allowed"):
        parse_cifar_archive(path, MEMBERS)
    assert not target.exists()


@pytest.mark.parametrize("content", [b"", b"not a pickle", pickle.dumps([1, 2]), python2_pickle({"data": 1})[:-3]])
def test_broken_pickle_gets_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cifar.tar.gz"
    write_cifar(path, test=content)
    with pytest.raises(InputError, match=r"fetch it again$"):
        parse_cifar_archive(path, MEMBERS)


def test_cifar100_of_other_numbers_is_refused(tmp_path: Path, any_cifar: Any) -> None:
    path = tmp_path / "cifar100/cifar-100-python.tar.gz"
    write_cifar(path, test=python2_pickle({"data": np.zeros((2, 3072), dtype=np.float64), "fine_labels": [1, 2]}))
    any_cifar(path)
    with pytest.raises(InputError, match="rows of 3,072 bytes"):
        datasets.load("cifar100", folder=tmp_path)
