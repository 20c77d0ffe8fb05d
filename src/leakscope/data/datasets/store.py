"""Storage of data set files: mirror folder, download cache, downloads and digest checks.

The mirror (``LEAKSCOPE_DATA``) is searched first, then the cache (``LEAKSCOPE_CACHE``, otherwise the cache folder of
the system). A download is checked in a temporary folder and moved into the cache only if all files are correct.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, cast

from leakscope.core.errors import InputError, MissingDataError
from leakscope.data.datasets.dataset import Description, File

Progress = Callable[[int, int], None]
_BROKEN = (EOFError, OSError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
_TIMEOUT_SECONDS = 30


def mirror(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the given mirror folder, otherwise that of ``LEAKSCOPE_DATA``, otherwise None."""
    named = folder if folder is not None else os.environ.get("LEAKSCOPE_DATA")
    if not named:
        return None
    path = Path(named).expanduser()
    if not path.is_dir():
        origin = "LEAKSCOPE_DATA" if folder is None else "the data folder"
        raise InputError(
            f"{origin} is {str(path)!r}, which is not a folder: set it to an existing folder or leave it out"
        )
    return path


def cache() -> Path:
    """Return the folder for downloads, which may not exist yet."""
    named = os.environ.get("LEAKSCOPE_CACHE")
    if named:
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("leakscope"))


def holds(root: Path | None, description: Description) -> bool:
    """Return whether a mirror or cache folder contains all files of the set."""
    return root is not None and all((root / file.path).is_file() for file in description.files)


def where(
    description: Description, folder: str | os.PathLike[str] | None = None
) -> Literal["scikit-learn", "mirror", "cache", "download", "not here"]:
    """Return the source that ``load`` would use; ``not here`` if only a mirror has the data and none is set."""
    if not description.files:
        return "scikit-learn"
    if holds(mirror(folder), description):
        return "mirror"
    if holds(cache(), description):
        return "cache"
    return "download" if all(file.urls for file in description.files) else "not here"


def fingerprint(description: Description) -> str:
    """Return the published or computed digests of the files that ``load`` would read; ``absent`` without files."""
    if not description.files:
        return "scikit-learn"
    root = next((root for root in (mirror(None), cache()) if holds(root, description)), None)
    if root is None:
        return "absent"
    digests = []
    for file in description.files:
        with (root / file.path).open("rb") as raw:
            digests.append(file.digest or f"sha256:{_stream_digest(raw, 'sha256')}")
    return " ".join(digests)


def missing(description: Description) -> MissingDataError:
    """Return the error for a data set that is not on this machine, with its source and alternatives."""
    private = next((file for file in description.files if not file.urls), None)
    get = (
        _use_mirror(private)
        if private
        else f"get it from {description.page} with `leakscope data fetch {description.name}`"
    )
    return MissingDataError(
        f"the data set {description.name!r} is not on this machine: {get}, or use synthetic data with `--synthetic`"
    )


def fetch(
    description: Description, folder: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Path:
    """Find or download the files of a set, check their digests, and return their folder."""
    if not description.files:
        raise InputError(f"{description.name} comes with scikit-learn, so there is nothing to fetch: load it")
    root = next((root for root in (mirror(folder), cache()) if holds(root, description)), None)
    if root is None:
        root = cache()
        _download(description, root, progress)
    else:
        for file in description.files:
            if file.digest and (reason := _damage(root / file.path, file)):
                raise InputError(
                    f"{root / file.path} is not the published file ({reason}): replace it, or delete it so that it is "
                    "downloaded again"
                )
    return (root / description.files[0].path).parent


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Translate the errors of archive readers to one message about a damaged file."""
    try:
        yield
    except _BROKEN as error:
        raise InputError(
            f"{path} is truncated or not the expected archive ({type(error).__name__}): delete it and fetch it again"
        ) from error


@contextmanager
def open_payload(path: Path) -> Iterator[IO[bytes]]:
    """Open a file as a stream of bytes, decompressed if it is gzip-compressed."""
    with path.open("rb") as raw:
        compressed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if compressed:
            with gzip.open(raw) as stream:
                yield cast(IO[bytes], stream)
        else:
            yield raw


def tar_members(path: Path, names: tuple[str, ...]) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the named members of a tar archive in archive order, each as a stream to read before the next."""
    missing = set(names)
    with tarfile.open(path) as archive:
        for entry in archive:
            name = entry.name.removeprefix("./")
            if name in missing and (stream := archive.extractfile(entry)) is not None:
                yield name, stream
                missing.remove(name)
                if not missing:
                    return
    raise tarfile.ReadError(f"no member {min(missing)}")


def _damage(path: Path, file: File) -> str:
    """Return why a file is not the published one, or "". Without a digest, its members must exist and be complete."""
    algorithm, _, expected = file.digest.partition(":")
    try:
        found = _digest(path, file, algorithm or "sha256")
    except _BROKEN as error:
        return f"it is truncated or not the expected file: {type(error).__name__}"
    return "" if found == expected or not expected else f"its {algorithm} is {found}, not {expected}"


def _digest(path: Path, file: File, algorithm: str) -> str:
    if file.digest_of == "file":
        with path.open("rb") as raw:
            return _stream_digest(raw, algorithm)
    if file.members:
        return " ".join(_stream_digest(stream, algorithm) for _, stream in tar_members(path, file.members))
    with open_payload(path) as stream:
        return _stream_digest(stream, algorithm)


def _stream_digest(stream: IO[bytes], algorithm: str) -> str:
    return hashlib.file_digest(cast(Any, stream), algorithm).hexdigest()


def _download(description: Description, root: Path, progress: Progress | None) -> None:
    """Download all files of a set into the cache, or none."""
    for file in description.files:
        if not file.urls:
            raise InputError(f"{file.name} has no public URL: {_use_mirror(file)}")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{description.name}-", dir=root) as folder:
            fresh = _download_into(Path(folder), description, progress)
            for file, path in fresh.items():
                (root / file.path).parent.mkdir(exist_ok=True)
                path.replace(root / file.path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(
            f"the cache folder {root} can't be written ({reason}): set LEAKSCOPE_CACHE to a writable folder"
        ) from error


def _download_into(folder: Path, description: Description, progress: Progress | None) -> dict[File, Path]:
    """Download the files of a set into a folder and check them. Files with the same URL share the download."""
    downloads: dict[tuple[str, ...], tuple[str, Path]] = {}
    fresh = {}
    for number, file in enumerate(description.files):
        if file.urls not in downloads:
            target = folder / f"download-{number}"
            downloads[file.urls] = (_first_answer(file, target, progress), target)
        url, path = downloads[file.urls]
        reason = ""
        if file.zip_member:
            archive, path = path, folder / file.name
            reason = _take_from_zip(archive, file.zip_member, path)
        reason = reason or _damage(path, file)
        if reason:
            raise InputError(
                f"{url} did not send the published file ({reason}): try again later, or {_use_mirror(file)}"
            )
        fresh[file] = path
    return fresh


def _first_answer(file: File, target: Path, progress: Progress | None) -> str:
    """Download from the first URL that answers, and return it."""
    import pooch
    from requests import RequestException

    failures = []
    for url in file.urls:
        bar = _ProgressBar(progress) if progress else False
        try:
            pooch.HTTPDownloader(progressbar=bar, timeout=_TIMEOUT_SECONDS)(url, str(target), None)
        except RequestException as error:
            status = error.response.status_code if error.response is not None else type(error).__name__
            failures.append(f"{url} ({status})")
        else:
            return url
    raise InputError(
        f"{' and '.join(failures)} could not be downloaded: check the connection and try again, or {_use_mirror(file)}"
    )


def _use_mirror(file: File) -> str:
    return f"set LEAKSCOPE_DATA to a folder that contains {file.path}"


def _take_from_zip(archive: Path, member: str, target: Path) -> str:
    """Save one member of a zip archive as a gzip file; return the reason of a failure, or ""."""
    try:
        with zipfile.ZipFile(archive) as content:
            entry = next((name for name in content.namelist() if PurePosixPath(name).name == member), None)
            if entry is None:
                return f"it does not contain {member}"
            with content.open(entry) as source, gzip.open(target, "wb", compresslevel=6) as sink:
                shutil.copyfileobj(source, sink)
    except (EOFError, zlib.error, zipfile.BadZipFile) as error:
        return f"it is truncated or not a zip archive: {type(error).__name__}"
    return ""


class _ProgressBar:
    """Adapter from the progress bar of pooch to ``report(bytes so far, total bytes or 0)``."""

    def __init__(self, report: Progress) -> None:
        self.report = report
        self.total = 0
        self.done = 0

    def update(self, count: int) -> None:
        self.done = min(self.done + count, self.total) if self.total else self.done + count
        self.report(self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass
