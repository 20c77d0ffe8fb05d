"""Files in the publishers' formats, made from generated data: what a mirror folder would hold."""

import gzip
import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.data.datasets.catalogue import DESCRIPTIONS
from leakscope.data.datasets.dataset import Description
from leakscope.data.datasets.synthetic import generate

ROWS = 1_000


def write_all(folder: Path) -> dict[str, Description]:
    """Write the files of five sets under a folder; returns their descriptions with the digests of these files."""
    payloads = _adult() | _diabetes() | _location() | _mnist() | _cifar()
    digests = {}
    for path, payload in payloads.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".tgz"):
            target.write_bytes(tar({"bangkok": payload}))
        else:
            target.write_bytes(gzip.compress(payload, 1) if path.endswith(".gz") else payload)
        digests[path] = f"sha256:{hashlib.sha256(payload).hexdigest()}"
    found = {}
    for name, description in DESCRIPTIONS.items():
        if description.files and all(file.path in digests for file in description.files):
            found[name] = replace(
                description, files=tuple(replace(file, digest=digests[file.path]) for file in description.files)
            )
    return found


def tar(members: dict[str, bytes]) -> bytes:
    """A compressed tar archive."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def pictures(rows: int, columns: int = 5) -> dict[str, Any]:
    """The arrays of one file of Dog vs. Fish."""
    values = np.random.default_rng(rows).random((rows, columns)).astype(np.float32)
    return {"inception_features_val": values, "labels": np.repeat([0.0, 1.0], rows // 2)}


def write_dogfish(folder: Path, train: dict[str, Any], test: dict[str, Any]) -> Path:
    """Write the two files of Dog vs. Fish under a mirror folder, and give the folder."""
    (folder / "dogfish").mkdir()
    for file, arrays in zip(DESCRIPTIONS["dogfish"].files, (train, test), strict=True):
        np.savez(folder / file.path, **arrays)
    return folder


def _adult() -> dict[str, bytes]:
    """Comma and space between fields, ``?`` for a missing value, a comment line in the test file, an empty last line."""
    files = {}
    heads = {"data": "", "test": "|1x3 Cross validator\n"}
    for part, (name, head) in zip(generate("adult", ROWS), heads.items(), strict=True):
        lines = [", ".join(map(str, row)) for row in part.astype(object).where(part.notna(), "?").to_numpy().tolist()]
        files[f"adult/adult.{name}.gz"] = (head + "\n".join(lines) + "\n\n").encode()
    return files


def _diabetes() -> dict[str, bytes]:
    text = generate("diabetes130", ROWS).to_csv(index=False, na_rep="?")
    return {"diabetes130/diabetic_data.csv.gz": text.encode()}


def _location() -> dict[str, bytes]:
    labels, bits = generate("location30")
    lines = [f'"{label}",{",".join(map(str, row))}' for label, row in zip(labels, bits.tolist(), strict=True)]
    return {"location30/dataset_location.tgz": ("\n".join(lines) + "\n").encode()}


def _idx(array: Any) -> bytes:
    shape = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.astype(np.uint8).tobytes()


def _mnist() -> dict[str, bytes]:
    raw = generate("mnist", ROWS)
    files = {}
    for name, images, labels in zip(("train", "t10k"), raw.images, raw.labels, strict=True):
        files[f"mnist/{name}-images-idx3-ubyte.gz"] = _idx(images)
        files[f"mnist/{name}-labels-idx1-ubyte.gz"] = _idx(labels)
    return files


def _cifar() -> dict[str, bytes]:
    raw = generate("cifar100_20k", ROWS)
    arrays: dict[str, Any] = {"coarse_names": np.array(raw.coarse_names, "S")}
    for part, images, labels, coarse in zip(("train", "test"), raw.images, raw.labels, raw.coarse, strict=True):
        arrays |= {f"x_{part}": images, f"y_{part}": labels, f"coarse_{part}": coarse}
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return {"cifar100/cifar100_20k.npz": stream.getvalue()}
