"""HTTP connections with one deadline for a whole request.

A socket timeout applies to one call only, so an endpoint that sends a byte now and then could keep a request open
forever. Here every call on the socket gets the remaining time of the request: DNS lookup, connecting, TLS handshake,
sending, status line, any number of ``100 Continue``, headers, body, chunks and trailers.

http.client refuses lines of more than 65,536 bytes and more than 100 headers.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any


class Deadline:
    """A deadline on the monotonic clock.

    Examples
    --------
    >>> 0 < Deadline(5.0).left() <= 5
    True
    """

    def __init__(self, seconds: float) -> None:
        self.start(seconds)

    def start(self, seconds: float) -> None:
        """Set the deadline to this many seconds from now."""
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the remaining seconds; raise TimeoutError if there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        return seconds


if TYPE_CHECKING:
    _Socket = socket.socket
else:
    _Socket = object


class _BoundedCalls(_Socket):
    """A socket whose reads and writes end by the deadline, if there is one."""

    deadline: Deadline | None = None

    def _bound(self) -> None:
        if self.deadline is not None:
            self.settimeout(self.deadline.left())

    def recv_into(self, *arguments: Any, **options: Any) -> int:
        self._bound()
        return super().recv_into(*arguments, **options)

    def send(self, *arguments: Any, **options: Any) -> int:
        self._bound()
        return super().send(*arguments, **options)

    def sendall(self, *arguments: Any, **options: Any) -> None:
        self._bound()
        super().sendall(*arguments, **options)


class _PlainSocket(_BoundedCalls, socket.socket):
    pass


class _SecureSocket(_BoundedCalls, ssl.SSLSocket):
    pass


class BoundedConnection(http.client.HTTPConnection):
    """A connection whose requests end by a deadline: call `start` before each request.

    Proxies are not used. ``context`` makes it HTTPS.
    """

    def __init__(self, host: str, port: int | None, context: ssl.SSLContext | None = None) -> None:
        self.default_port = http.client.HTTP_PORT if context is None else http.client.HTTPS_PORT
        super().__init__(host, self.default_port if port is None else port)
        self._context, self._deadline = context, Deadline(0.0)
        if context is not None:
            context.sslsocket_class = _SecureSocket

    def start(self, seconds: float) -> None:
        """Set the deadline of the next request, including the time to connect, to this many seconds from now."""
        self._deadline.start(seconds)

    def connect(self) -> None:
        """Connect to the first address of the host that answers, and perform the TLS handshake."""
        sock: socket.socket = _open(self.host, self.port, self._deadline)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                sock.settimeout(self._deadline.left())
                sock = self._context.wrap_socket(sock, server_hostname=self.host)
        except BaseException:
            sock.close()
            raise
        sock.deadline = self._deadline  # type: ignore[attr-defined]
        self.sock = sock


def _open(host: str, port: int, deadline: Deadline) -> _PlainSocket:
    """Open a connected socket; each address of the host gets a share of the remaining time."""
    addresses = _look_up(host, port, deadline)
    failure: OSError = OSError(f"{len(addresses)} addresses")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        sock = _PlainSocket(family, kind, protocol)
        try:
            sock.settimeout(deadline.left() / (len(addresses) - number))
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


def _look_up(host: str, port: int, deadline: Deadline) -> list[Any]:
    """Return the addresses of a host. The lookup cannot be interrupted, so it runs in a daemon thread."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass
    found: list[Any] = []
    failed: list[OSError] = []

    def ask() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=ask, daemon=True, name="leakscope-look-up")
    thread.start()
    thread.join(deadline.left())
    if thread.is_alive():
        raise TimeoutError("the DNS lookup takes too long")
    if failed:
        raise failed[0]
    return found
