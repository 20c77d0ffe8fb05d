"""One deadline ends a request at every stage at which the endpoint stalls or sends single bytes."""

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakscope.core.errors import EndpointError, InputError
from leakscope.models.remote import RemoteModel, remote_model

TIMEOUT, RETRIES = 0.2, 1
#: Tolerance beyond the timeout of an attempt, for a busy machine.
SLACK = 3.0
X = np.zeros((1, 2))
ANSWER = json.dumps({"predictions": [[0.25, 0.75]]}).encode()
OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(ANSWER)
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
#: Key and certificate of 127.0.0.1, made for this test with openssl and used nowhere else.
PEM = Path(__file__).parents[1] / "localhost.pem"


class Server:
    """Accepts connections one by one; ``answer`` sends the response of the test."""

    def __init__(
        self, answer: Callable[["Server", socket.socket], None], context: ssl.SSLContext | None = None
    ) -> None:
        self.answer, self.context, self.connections = answer, context, 0
        self.over = threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(0.05)
        self.port = self.listening.getsockname()[1]
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self) -> None:
        while not self.over.is_set():
            with contextlib.suppress(OSError):
                client, _ = self.listening.accept()
                self.connections += 1
                self.threads.append(threading.Thread(target=self.serve, args=(client,)))
                self.threads[-1].start()

    def serve(self, client: socket.socket) -> None:
        client.settimeout(5)
        with contextlib.suppress(OSError), client:
            if self.context is not None:
                client = self.context.wrap_socket(client, server_side=True)
            with client:
                self.answer(self, client)

    def drip(self, client: socket.socket, content: bytes, first: bytes = b"") -> None:
        """Send ``first`` at once and then byte after byte of ``content``, over and over, for five seconds at most."""
        client.sendall(first)
        end = time.monotonic() + 5
        while not self.over.wait(0.02) and time.monotonic() < end:
            client.sendall(content[:1])
            content = content[1:] + content[:1]

    def close(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.listening.close()


def take(client: socket.socket) -> None:
    """Read the request."""
    content = b""
    while b"\r\n\r\n" not in content or not content.endswith(b"}"):
        content += (part := client.recv(65536))
        if not part:
            raise ConnectionError("the client has gone")


def dripping(content: bytes, first: bytes = b"") -> Callable[[Server, socket.socket], None]:
    def answer(server: Server, client: socket.socket) -> None:
        take(client)
        server.drip(client, content, first)

    return answer


def good(_server: Server, client: socket.socket) -> None:
    while True:
        take(client)
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + OK + LENGTH + ANSWER)


def chunked(_server: Server, client: socket.socket) -> None:
    take(client)
    client.sendall(OK + CHUNKED + b"%x\r\n%b\r\n0\r\nServer-Timing: 1\r\n\r\n" % (len(ANSWER), ANSWER))


def silent(server: Server, _client: socket.socket) -> None:
    server.over.wait(5)


def sip(server: Server, client: socket.socket) -> None:
    """Take the request byte by byte."""
    while not server.over.wait(0.02) and client.recv(1):
        pass


def shake(server: Server, client: socket.socket) -> None:
    """Answer a handshake by a record of 16 kB that takes minutes."""
    server.drip(client, b"\x00", b"\x16\x03\x03\x40\x00")


def continuing(server: Server, client: socket.socket) -> None:
    take(client)
    end = time.monotonic() + 5
    while not server.over.is_set() and time.monotonic() < end:
        client.sendall(b"HTTP/1.1 100 Continue\r\nDate: now\r\n\r\n" * 100)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    with contextlib.ExitStack() as stack:

        def start(answer: Callable[[Server, socket.socket], None], context: ssl.SSLContext | None = None) -> Server:
            server = Server(answer, context)
            stack.callback(server.close)
            return server

        yield start


def model_at(port: int, scheme: str = "http", host: str = "127.0.0.1", **settings: Any) -> RemoteModel:
    model = remote_model(f"{scheme}://{host}:{port}/predict", **({"timeout": TIMEOUT, "retries": RETRIES} | settings))
    model.sleep = lambda seconds: None
    return model


def large(_part: Any) -> str:
    """More bytes than the buffers of a connection."""
    return "0" * 20_000_000


def ends_in_time(model: RemoteModel) -> None:
    start = time.monotonic()
    with pytest.raises(EndpointError, match=r"\b0\.2\b.*\b2\b"):
        model(X)
    taken = time.monotonic() - start
    assert (RETRIES + 1) * TIMEOUT * 0.9 < taken < (RETRIES + 1) * TIMEOUT + SLACK


PHASES = {
    "no answer": silent,
    "status line": dripping(b"H"),
    "statuses 100, byte by byte": dripping(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "statuses 100, at full speed": continuing,
    "headers of a status 100": dripping(b"Date: now\r\n", b"HTTP/1.1 100 Continue\r\n"),
    "header line": dripping(b"a", OK),
    "headers": dripping(b"Date: now\r\n", OK),
    "body": dripping(b" ", OK + LENGTH.replace(b"%d" % len(ANSWER), b"9999")),
    "body without length": dripping(b" ", OK + b"\r\n"),
    "length of a chunk": dripping(b"0", OK + CHUNKED),
    "chunk": dripping(b" ", OK + CHUNKED + b"ffff\r\n"),
    "chunks": dripping(b"1\r\n \r\n", OK + CHUNKED),
    "trailer line": dripping(b"a", OK + CHUNKED + b"%x\r\n%b\r\n0\r\n" % (len(ANSWER), ANSWER)),
    "trailers": dripping(b"Date: now\r\n", OK + CHUNKED + b"%x\r\n%b\r\n0\r\n" % (len(ANSWER), ANSWER)),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_request_ends_by_its_deadline(phase: str, serve: Any) -> None:
    server = serve(PHASES[phase])
    ends_in_time(model_at(server.port))
    assert server.connections == RETRIES + 1


@pytest.mark.parametrize(
    ("answer", "scheme", "options"),
    [(silent, "http", {"encode": large}), (sip, "http", {"encode": large}), (shake, "https", {})],
    ids=["not taken", "taken byte by byte", "handshake"],
)
def test_sending_and_a_handshake_end_by_their_deadline(answer: Any, scheme: str, options: Any, serve: Any) -> None:
    ends_in_time(model_at(serve(answer).port, scheme, **options))


def test_a_connection_that_is_not_taken_ends_by_its_deadline() -> None:
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(3):  # the queue is full, so further connections wait
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        ends_in_time(model_at(full.getsockname()[1]))


def test_a_look_up_ends_by_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    over, real = threading.Event(), socket.getaddrinfo

    def hang(*arguments: Any, **options: Any) -> Any:
        if not options.get("flags"):
            over.wait(5)
        return real("127.0.0.1" if not options.get("flags") else arguments[0], *arguments[1:], **options)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        ends_in_time(model_at(9, host="models.invalid"))
    finally:
        over.set()
        for thread in threading.enumerate():
            if thread.name == "leakscope-look-up":
                thread.join()


def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_arguments: Any, **_options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "NXDOMAIN")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(EndpointError, match=r"models\.invalid.*NXDOMAIN"):
        model_at(9, host="models.invalid")(X)


def test_the_next_address_gets_its_share_of_the_time(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(good)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = free.getsockname()
    kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
    both = [(*kind, nobody), (*kind, ("127.0.0.1", server.port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: both)
    assert model_at(server.port, host="models.invalid")(X).tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize("answer", [good, chunked])
def test_good_answers_arrive(answer: Any, serve: Any) -> None:
    server = serve(answer)
    model = model_at(server.port, batch=1, timeout=5.0, retries=0)
    assert model(np.zeros((1, 2))).tolist() == [[0.25, 0.75]]


def test_each_request_has_its_own_deadline(serve: Any) -> None:
    def slowly(_server: Server, client: socket.socket) -> None:
        while True:
            take(client)
            time.sleep(0.15)
            client.sendall(OK + LENGTH + ANSWER)

    server = serve(slowly)
    model = model_at(server.port, batch=1, timeout=0.5, retries=0)
    assert len(model(np.zeros((5, 2)))) == 5
    assert server.connections == 1


def test_too_many_headers_are_refused(serve: Any) -> None:
    server = serve(dripping(b" ", OK + b"Date: now\r\n" * 200))
    with pytest.raises(EndpointError, match="HTTPException"):
        model_at(server.port, timeout=5.0)(X)


# --- TLS --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def secure(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    return context


def test_answers_arrive_over_tls(serve: Any, secure: ssl.SSLContext) -> None:
    server = serve(good, secure)
    model = model_at(server.port, "https", batch=1, timeout=5.0, retries=0)
    assert model(np.zeros((3, 2))).tolist() == [[0.25, 0.75]] * 3
    assert server.connections == 1


@pytest.mark.parametrize(
    ("phase", "options"),
    [*((phase, {}) for phase in ("no answer", "headers", "body", "trailers")), ("no answer", {"encode": large})],
)
def test_a_request_over_tls_ends_by_its_deadline(phase: str, options: Any, serve: Any, secure: ssl.SSLContext) -> None:
    ends_in_time(model_at(serve(PHASES[phase], secure).port, "https", **options))


def test_a_certificate_that_is_not_trusted_is_refused(serve: Any, secure: ssl.SSLContext, monkeypatch: Any) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(InputError) as caught:
        model_at(serve(silent, secure).port, "https", timeout=5.0)(X)
    assert type(caught.value) is InputError  # not a temporary failure
