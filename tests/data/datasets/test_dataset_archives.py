"""Small generated archives in the published formats of Purchase100, Texas100 and CIFAR-100."""

import hashlib
import io
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import published
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.core.errors import InputError
from leakscope.data import datasets
from leakscope.data.datasets.bits import parse_lines
from leakscope.data.datasets.catalogue import DESCRIPTIONS
from leakscope.data.datasets.images import parse_cifar_archive

CIFAR = "cifar100/cifar-100-python.tar.gz"
MEMBERS = ("cifar-100-python/train", "cifar-100-python/test", "cifar-100-python/meta")
LABELS = np.concatenate([np.arange(1, 101), [7, 7, 100]])
BITS = np.random.default_rng(0).integers(0, 2, size=(103, 9))


def write_tar(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(published.tar(members))
    return path


def write_purchase(folder, text):
    return write_tar(folder / "purchase100/dataset_purchase.tgz", {"dataset_purchase": text})


def lines(*columns):
    return b"".join(b",".join(b"%d" % value for value in row) + b"\n" for row in np.column_stack(columns))


@pytest.fixture
def small(monkeypatch):
    """Set the catalogue to 103 records of 9 columns."""
    for name in ("purchase100", "texas100"):
        monkeypatch.setitem(DESCRIPTIONS, name, replace(DESCRIPTIONS[name], rows=103, record=(9,)))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("purchase100", {"dataset_purchase": lines(LABELS, BITS)}),
        ("texas100", {"texas/": b"", "texas/100/feats": lines(BITS), "texas/100/labels": lines(LABELS)}),
        ("texas100", {"texas/100/labels": lines(LABELS), "texas/100/feats": lines(BITS)}),
    ],
)
def test_lines_become_labels_and_bits(tmp_path, name, members):
    write_tar(tmp_path / datasets.describe(name).files[0].path, members)
    data = datasets.load(name, folder=tmp_path)
    assert (data.X.to_numpy() == BITS).all()
    assert (data.y == LABELS - 1).all()
    assert data.X.to_numpy().dtype == np.uint8


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("change", "numbers"),
    [
        (lambda text: text + text[:20], [103]),
        (lambda text: text[: text.index(b"\n") + 1], [1, 103]),
        (lambda text: text.replace(b"\n100,", b"\n99,"), [1, 100]),
        (lambda text: text.replace(b",1\n", b",2\n"), [int((BITS[:, -1] == 1).argmax()) + 1, 9]),
        (lambda text: text.replace(b",", b";"), [1, 9]),
        (lambda text: text.replace(b",", b"", 1), [1, 9]),
        (lambda text: text.replace(b",1,", b",1;"), [1, 9]),
        (lambda text: b"9" * 30 + text, [1, 9]),
        (lambda text: b"<html>\n" + text, [1, 9]),
    ],
)
def test_wrong_purchase100_is_refused_by_line_or_count(tmp_path, change, numbers):
    path = write_purchase(tmp_path, change(lines(LABELS, BITS)))
    with pytest.raises(InputError, match=r"dataset_purchase\.tgz") as refusal:
        datasets.load("purchase100", folder=tmp_path)
    message = str(refusal.value).replace(str(path), "")
    assert [int(number) for number in re.findall(r"\b\d+\b", message)] == numbers


@pytest.mark.parametrize("name", ["purchase100", "texas100"])
def test_the_published_shape_is_required(tmp_path, name):
    file = datasets.describe(name).files[0]
    bits = np.zeros((2, datasets.describe(name).record[0]), dtype=int)
    first, *rest = file.members
    content = lines(bits) if rest else lines(np.array([1, 2]), bits)
    write_tar(tmp_path / file.path, {first: content, **{member: lines(np.array([1, 2])) for member in rest}})
    with pytest.raises(InputError, match=f"{datasets.describe(name).rows:,}"):
        datasets.load(name, folder=tmp_path)
    assert not file.digest


@pytest.mark.parametrize("cut", [0, 30, 200, None])
def test_archive_cut_short_or_without_the_member(tmp_path, cut):
    noise = np.random.default_rng(1).integers(0, 2, size=(103, 600))
    path = write_purchase(tmp_path, lines(LABELS, noise))
    path.write_bytes(published.tar({"something": b"else"}) if cut is None else path.read_bytes()[:cut])
    with pytest.raises(InputError, match=r"dataset_purchase\.tgz.*\((EOF|Read)Error\)"):
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
def test_lines_come_back(records, quoted, ending):
    quote = '"' if quoted else ""
    text = [f"{quote}{label}{quote},{','.join(map(str, row))}".encode() + ending for label, row in records]
    labels, bits = parse_lines(io.BytesIO(b"".join(text)), len(records), len(records[0][1]), labelled=True)
    assert labels.tolist() == [label for label, _ in records]
    assert bits.tolist() == [row for _, row in records]


class Python2Pickler(pickle._Pickler):
    """Writes pickles as Python 2 did: unchanged byte strings, and arrays under the old module name of numpy."""

    dispatch = pickle._Pickler.dispatch.copy()

    def save_bytes(self, value):
        self.write(pickle.BINSTRING + len(value).to_bytes(4, "little") + value)
        self.memoize(value)

    def save_text(self, value):
        self.save_bytes(value.encode())

    dispatch[bytes] = save_bytes
    dispatch[str] = save_text


def python2_pickle(value):
    stream = io.BytesIO()
    Python2Pickler(stream, protocol=2).dump(value)
    return stream.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def cifar_part(images, fine, name):
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


def write_cifar(path, **changed):
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
def any_cifar(monkeypatch):
    def accept(path):
        description = DESCRIPTIONS["cifar100"]
        file = replace(description.files[0], digest=f"md5:{hashlib.md5(path.read_bytes()).hexdigest()}")
        monkeypatch.setitem(DESCRIPTIONS, "cifar100", replace(description, files=(file,)))

    return accept


def test_test_pickles_are_plain_pickles_to_python():
    images = np.random.default_rng(0).integers(0, 256, size=(2, 32, 32, 3), dtype=np.uint8)
    text = cifar_part(images, [1, 2], "x").replace(b"cnumpy.core.multiarray\n", b"cnumpy._core.multiarray\n")
    content = pickle.loads(text, encoding="bytes")
    assert (content[b"data"].reshape(2, 3, 32, 32).transpose(0, 2, 3, 1) == images).all()


def test_cifar100(tmp_path, any_cifar):
    train, test = write_cifar(tmp_path / CIFAR)
    any_cifar(tmp_path / CIFAR)
    data = datasets.load("cifar100", folder=tmp_path)
    assert np.array_equal(data.X, np.concatenate([train, test]))
    assert data.y.tolist() == [1, 2, 3, 40, 99, 99, 21, 0]
    assert data.train.tolist() == [True] * 5 + [False] * 3
    assert data.groups["superclass"].tolist()[3:6] == ["coarse 0", "coarse 19", "coarse 19"]


def test_cifar100_needs_the_publishers_md5(tmp_path):
    write_cifar(tmp_path / CIFAR)
    with pytest.raises(InputError, match="eb9058c3a382ffc7106e4002c42a8d85"):
        datasets.load("cifar100", folder=tmp_path)


class Attack:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.write_text, (self.target, "the pickle ran")


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_hostile_pickle_is_not_run(tmp_path, protocol):
    path, target = tmp_path / "cifar.tar.gz", tmp_path / "traces"
    write_cifar(path, train=pickle.dumps({"data": Attack(target)}, protocol=protocol))
    with pytest.raises(InputError, match=r"pathlib\.|\.getattr"):
        parse_cifar_archive(path, MEMBERS)
    assert not target.exists()


@pytest.mark.parametrize("content", [b"", b"not a pickle", pickle.dumps([1, 2]), python2_pickle({"data": 1})[:-3]])
def test_broken_pickle_gets_one_sentence(tmp_path, content):
    path = tmp_path / "cifar.tar.gz"
    write_cifar(path, test=content)
    with pytest.raises(InputError, match=r"cifar\.tar\.gz"):
        parse_cifar_archive(path, MEMBERS)


def test_cifar100_of_other_numbers_is_refused(tmp_path, any_cifar):
    floats = python2_pickle({"data": np.zeros((2, 3072), dtype=np.float64), "fine_labels": [1, 2]})
    write_cifar(tmp_path / CIFAR, test=floats)
    any_cifar(tmp_path / CIFAR)
    with pytest.raises(InputError, match="3,072"):
        datasets.load("cifar100", folder=tmp_path)
