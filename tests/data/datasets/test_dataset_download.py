"""Downloads from a local server: payload checks, one copy in the cache, and no partial data sets."""

import gzip
import io
import shutil
import socket
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import published as publisher
import pytest

from leakscope.core.errors import InputError
from leakscope.data import datasets
from leakscope.data.datasets.catalogue import DESCRIPTIONS


class Server:
    """Serves bytes by path, counts the requests, and can close the connection within a response."""

    def __init__(self, monkeypatch):
        self.monkeypatch = monkeypatch
        self.content, self.requests, self.cut_short = {}, [], False
        server = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append(self.path)
                content = server.content.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                if content is not None:
                    self.wfile.write(content[: len(content) // 2] if server.cut_short else content)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def offer(self, name, content):
        """Set the URL of a data set to this server, which responds with this content."""
        point(self.monkeypatch, name, self.url)
        self.content[DESCRIPTIONS[name].files[0].urls[0].removeprefix(self.url)] = content


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server(monkeypatch)
    thread = Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()


def point(monkeypatch, name, *bases):
    """Replace the public URLs in the catalogue by these servers."""
    description = DESCRIPTIONS[name]
    files = tuple(
        replace(file, urls=tuple(f"{base}/{file.urls[0].rsplit('/')[-1]}" for base in bases))
        for file in description.files
    )
    monkeypatch.setitem(DESCRIPTIONS, name, replace(description, files=files))


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def uncompressed(path):
    return gzip.decompress(path.read_bytes())


@pytest.fixture
def adult_zip(published):
    names = ("adult.data", "adult.test")
    members = {name: uncompressed(published / "adult" / f"{name}.gz") for name in names}
    return zipped({"Index": b"", **members, "old.adult.names": b"a description"})


def failure(name):
    with pytest.raises(InputError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert "\n" not in message
    assert "LEAKSCOPE_DATA" in message
    return message


def test_adult_is_downloaded_once(server, adult_zip, no_data, published):
    server.offer("adult", adult_zip)
    assert datasets.where("adult") == "download"
    first = datasets.load("adult")
    assert first.X.equals(datasets.load("adult", folder=published).X)
    assert datasets.where("adult") == "cache"
    assert datasets.load("adult").X.equals(first.X)
    assert datasets.fetch("adult") == no_data / "adult"
    assert server.requests == ["/adult.zip"]
    assert files_in(no_data) == ["adult", "adult/adult.data.gz", "adult/adult.test.gz"]


def test_diabetes_is_found_in_a_folder_of_the_zip(server, no_data, published):
    content = uncompressed(published / "diabetes130" / "diabetic_data.csv.gz")
    server.offer("diabetes130", zipped({"dataset_diabetes/diabetic_data.csv": content}))
    assert datasets.fetch("diabetes130") == no_data / "diabetes130"
    assert uncompressed(no_data / "diabetes130" / "diabetic_data.csv.gz") == content


def test_tar_archive_and_progress(server, no_data, published):
    archive = (published / "location30" / "dataset_location.tgz").read_bytes()
    server.offer("location30", archive)
    seen = []
    datasets.fetch("location30", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(archive), len(archive))
    assert seen == sorted(seen)
    assert len(datasets.load("location30")) == 5_010
    assert files_in(no_data) == ["location30", "location30/dataset_location.tgz"]


@pytest.mark.parametrize("level", [None, 1])
def test_the_wrapper_may_differ(server, no_data, published, monkeypatch, level):
    """Only the payload is checked: another compression or none is accepted."""
    monkeypatch.setitem(DESCRIPTIONS, "mnist", replace(DESCRIPTIONS["mnist"], files=DESCRIPTIONS["mnist"].files[3:]))
    content = uncompressed(published / "mnist" / "t10k-labels-idx1-ubyte.gz")
    served = content if level is None else gzip.compress(content, level)
    server.offer("mnist", served)
    assert datasets.fetch("mnist") == no_data / "mnist"
    assert (no_data / "mnist" / "t10k-labels-idx1-ubyte.gz").read_bytes() == served


def test_wrong_digest_leaves_nothing(server, adult_zip, no_data, published):
    """One byte of the second file is wrong: neither file is kept."""
    test = bytearray(uncompressed(published / "adult" / "adult.test.gz"))
    test[1_000] ^= 1
    data = uncompressed(published / "adult" / "adult.data.gz")
    server.offer("adult", zipped({"adult.data": data, "adult.test": bytes(test)}))
    message = failure("adult")
    assert f"{server.url}/adult.zip" in message
    assert DESCRIPTIONS["adult"].files[1].digest.removeprefix("sha256:") in message
    assert files_in(no_data) == []
    server.content["/adult.zip"] = adult_zip
    assert len(datasets.load("adult")) == publisher.ROWS


@pytest.mark.parametrize("content", [b"", b"<html>please log in</html>", zipped({"other": b""})])
def test_answer_that_is_not_the_archive(server, no_data, content):
    for name in ("adult", "purchase100"):
        server.offer(name, content)
        assert server.url in failure(name)
    assert files_in(no_data) == []


def test_interrupted_download(server, adult_zip, no_data):
    server.offer("adult", adult_zip)
    server.cut_short = True
    assert f"{server.url}/adult.zip" in failure("adult")
    assert files_in(no_data) == []


def test_unreachable_server(no_data, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    point(monkeypatch, "adult", url)
    assert f"{url}/adult.zip (ConnectionError)" in failure("adult")
    assert files_in(no_data) == []


@pytest.mark.usefixtures("no_data")
def test_next_address_is_tried_and_a_failure_names_all(server, published, monkeypatch):
    point(monkeypatch, "location30", f"{server.url}/away", f"{server.url}/here")
    message = failure("location30")
    assert all(f"{server.url}/{part}/dataset_location.tgz (404)" in message for part in ("away", "here"))
    server.content["/here/dataset_location.tgz"] = (published / "location30" / "dataset_location.tgz").read_bytes()
    assert len(datasets.load("location30")) == 5_010


def test_archive_without_a_digest_is_kept_only_if_whole(server, no_data, monkeypatch):
    bits = np.random.default_rng(0).integers(0, 2, size=(100, 600))
    content = "".join(f"{label},{','.join(map(str, row))}\n" for label, row in enumerate(bits, start=1)).encode()
    archive = publisher.tar({"dataset_purchase": content})
    monkeypatch.setitem(DESCRIPTIONS, "purchase100", replace(DESCRIPTIONS["purchase100"], rows=100))
    server.offer("purchase100", archive[:-3_000])
    assert server.url in failure("purchase100")
    assert files_in(no_data) == []
    server.content["/dataset_purchase.tgz"] = archive
    assert (datasets.load("purchase100").X.to_numpy() == bits).all()


def test_set_that_only_a_mirror_holds(no_data):
    assert "cifar100/cifar100_20k.npz" in failure("cifar100_20k")
    assert datasets.where("cifar100_20k") == "not here"
    assert not no_data.exists()


def test_damaged_file_in_a_mirror(tmp_path, published, no_data):
    """The mirror has priority: a damaged file there is reported, although the cache has a valid one."""
    broken = tmp_path / "mirror" / "adult"
    shutil.copytree(published / "adult", broken, copy_function=shutil.copyfile)
    shutil.copytree(published / "adult", no_data / "adult", copy_function=shutil.copyfile)
    assert datasets.where("adult", folder=broken.parent) == "mirror"
    content = (broken / "adult.test.gz").read_bytes()
    (broken / "adult.test.gz").write_bytes(content[:-100])
    with pytest.raises(InputError, match=r"adult\.test\.gz.*EOFError"):
        datasets.load("adult", folder=broken.parent)
    (broken / "adult.test.gz").write_bytes(gzip.compress(b"other records"))
    with pytest.raises(InputError, match=r"adult\.test\.gz.*sha256"):
        datasets.load("adult", folder=broken.parent)
    (broken / "adult.test.gz").unlink()
    assert datasets.where("adult", folder=broken.parent) == "cache"
    assert datasets.fetch("adult", folder=broken.parent) == no_data / "adult"


@pytest.mark.usefixtures("no_data")
def test_cache_that_cannot_be_written(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "file" / "cache"))
    point(monkeypatch, "adult", server.url)
    with pytest.raises(InputError, match="LEAKSCOPE_CACHE"):
        datasets.load("adult")
    assert server.requests == []


def test_variable_that_names_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("LEAKSCOPE_DATA", str(tmp_path / "missing"))
    with pytest.raises(InputError, match="LEAKSCOPE_DATA"):
        datasets.load("adult")
    monkeypatch.setenv("LEAKSCOPE_DATA", "")
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    assert datasets.where("adult") == "download"
