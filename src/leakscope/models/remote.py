"""`remote_model`: a model behind an HTTP endpoint as a function from records to probabilities or values.

Records are sent as JSON in batches, and responses are checked. Secrets (headers and the query of the URL) never appear
in errors, reports, pickles or cache keys.
"""

from __future__ import annotations

import http
import http.client
import json
import math
import os
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import NDArray

from leakscope.core.checks import check_count, check_number
from leakscope.core.errors import EndpointError, InputError
from leakscope.core.failures import cause
from leakscope.core.wording import name as safe_text
from leakscope.data.records import as_array, list_names, take_rows
from leakscope.models.http_deadline import BoundedConnection
from leakscope.models.json_records import plain_rows

#: Environment variable with the token for ``Authorization: Bearer``, used if a model is given by its URL only.
TOKEN = "LEAKSCOPE_TOKEN"
#: Maximum size of a response, far above any batch of predictions.
MOST_BYTES = 64 * 2**20
#: Number of batches per connection and per progress report.
BATCHES = 8
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
_ADDRESS = re.compile(r"(https?):/+(.*)", re.IGNORECASE | re.DOTALL)
_KEPT = "/%:@!$&'()*+,;=~?"  # characters of a URL that are not quoted
_HINTS = {
    **dict.fromkeys((401, 403), f"check the token (headers= in Python, {TOKEN} on the command line)"),
    404: "check the URL",
    405: "check the URL, which must accept POST",
    413: "send fewer records at once, from Python with remote_model(…, batch=…)",
    429: "send fewer requests per second, from Python with remote_model(…, rate=…)",
}


def remote_model(
    url: str,
    *,
    batch: int = 256,
    rate: float | None = None,
    retries: int = 4,
    timeout: float = 30.0,
    headers: Mapping[str, str] | None = None,
    encode: Callable[[Any], Any] | None = None,
    decode: Callable[[Any], Any] | None = None,
) -> RemoteModel:
    """Return a model behind an HTTP endpoint as a callable that `leakscope.audit` takes.

    Each batch is one POST of ``{"instances": [[…], …]}``, and the response is ``{"predictions": [[…], …]}`` with one row
    per record: the format of TensorFlow Serving's REST API and of KServe's inference protocol, version 1. Rows of a
    DataFrame are sent as objects by column name. A missing value is ``null``. Numbers are sent without rounding.

    Parameters
    ----------
    url
        URL, ``http://…`` or ``https://…``. Redirects and proxies are not used.
    batch
        Number of records per request.
    rate
        Maximum number of requests per second, evenly spaced; None for no limit.
    retries
        Number of retries after a lost connection, a timeout, status 429 or 5xx, with exponential backoff and jitter.
        ``Retry-After`` is respected up to a minute. Other failures are not retried.
    timeout
        Maximum duration of a whole request in seconds: DNS lookup, connecting, sending and receiving. A batch without a
        response raises `EndpointError` after ``(retries + 1) * timeout`` seconds and ``retries`` pauses of at most a
        minute (with ``rate``, of ``1 / rate`` seconds if that is longer).
    headers
        Headers of each request, such as ``{"Authorization": "Bearer …"}``. They are never shown or pickled.
    encode
        Function from a batch of records to the JSON to send, instead of ``{"instances": …}``.
    decode
        Function from the JSON response to an array with one row per record, instead of ``["predictions"]``.

    Examples
    --------
    >>> remote_model("https://models.example/v1/predict?key=secret", headers={"Authorization": "Bearer secret"}, rate=5)
    <model behind models.example/v1/predict>
    >>> remote_model("models.example")
    Traceback (most recent call last):
    leakscope.core.errors.InputError: 'models.example' is not the URL of a model: write http://HOST:PORT/PATH or https://…
    """
    return RemoteModel(url, RemoteSettings(batch, rate, retries, timeout, encode, decode), headers)


def is_address(text: object) -> bool:
    """Return whether a text is a URL, or a `Path` made from a URL, which lacks a slash.

    Examples
    --------
    >>> is_address("http://127.0.0.1:8000/predict"), is_address("model.skops")
    (True, False)
    """
    return _ADDRESS.fullmatch(str(text)) is not None


def model_at(address: object) -> RemoteModel:
    """Return the model at a URL, with the token in the environment variable ``LEAKSCOPE_TOKEN``, if any."""
    found = _ADDRESS.fullmatch(str(address))
    url = str(address) if found is None else f"{found[1]}://{found[2]}"
    token = os.environ.get(TOKEN, "").strip()
    return remote_model(url, headers={"Authorization": f"Bearer {token}"} if token else None)


class _PassingError(Exception):
    """A temporary failure: what happened, the remedy if it persists, and the seconds to wait."""

    def __init__(self, what: str, hint: str, wait: float = 0.0) -> None:
        super().__init__(what)
        self.what, self.hint, self.wait = what, hint, wait


@dataclass(frozen=True)
class RemoteSettings:
    """Settings of requests to an endpoint: see `remote_model`."""

    batch: int
    rate: float | None
    retries: int
    timeout: float
    encode: Callable[[Any], Any] | None
    decode: Callable[[Any], Any] | None

    def __post_init__(self) -> None:
        check_count("batch", self.batch)
        check_count("retries", self.retries, least=0)
        if self.rate is not None:
            check_number("rate", self.rate, least=0, open_ends=True)
        check_number("timeout", self.timeout, least=0, open_ends=True)


class RemoteModel:
    """See `remote_model`. Requests are sent one at a time."""

    #: Replaced in tests to avoid waiting.
    sleep: Callable[[float], None] = staticmethod(time.sleep)
    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(
        self, url: str, settings: RemoteSettings, headers: Mapping[str, str] | None, lost_headers: bool = False
    ) -> None:
        self.settings, self._url, self._headers = settings, url, _check_headers(headers)
        self._has_headers, self._lost_headers = bool(headers), lost_headers
        self._secure, self._host, self._port, self._target, self.__name__ = _read_address(url)
        self.block = BATCHES * settings.batch
        self._next_turn = -math.inf

    def __repr__(self) -> str:
        return f"<model behind {self.__name__}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteModel, (self._url, self.settings, None, self._has_headers or self._lost_headers)

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """Return one row of outputs per record, requested batch by batch."""
        if self._lost_headers:
            raise InputError(
                f"{self.__name__} was copied to another process without its headers, since tokens are never pickled: "
                "call remote_model in the process that uses it"
            )
        table, answers = X if hasattr(X, "iloc") else as_array(X), []
        context = ssl.create_default_context() if self._secure else None
        # One connection for all batches, opened on first use and reopened after a loss.
        with closing(BoundedConnection(self._host, self._port, context)) as connection:
            for start in range(0, len(table), self.settings.batch):
                part = take_rows(table, slice(start, start + self.settings.batch))
                answers.append(self._outputs(self._ask(connection, self._body(part)), len(part)))
        if len(shapes := sorted({answer.shape[1:] for answer in answers})) > 1:
            raise InputError(
                f"{self.__name__} returned shapes {shapes[0]} and {shapes[-1]} per record: check the model"
            )
        return np.concatenate(answers) if answers else np.empty(0)

    # --- requests -----------------------------------------------------------------------------------------------------

    def _ask(self, connection: BoundedConnection, body: bytes) -> Any:
        """Return the response of the endpoint; retry after temporary failures."""
        for attempt in range(self.settings.retries + 1):
            self._take_turn()
            try:
                return self._read_json(self._exchange(connection, body))
            except _PassingError as passing:
                connection.close()
                if attempt == self.settings.retries:
                    tries = "" if attempt == 0 else f", the last of {attempt + 1} attempts"
                    raise EndpointError(f"{self.__name__} {passing.what}{tries}: {passing.hint}") from None
                pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt) * random.uniform(0.5, 1.0)
                self.sleep(max(pause, passing.wait))
        raise AssertionError("the last attempt returns or raises")

    def _take_turn(self) -> None:
        """Wait until the next request may start."""
        if self.settings.rate is None:
            return
        now = self.clock()
        if self._next_turn > now:
            self.sleep(self._next_turn - now)
        self._next_turn = max(now, self._next_turn) + 1 / self.settings.rate

    def _exchange(self, connection: BoundedConnection, body: bytes) -> bytes:
        """Send one request and return the body of a successful response before the deadline."""
        connection.start(self.settings.timeout)
        try:
            connection.request("POST", self._target, body, self._headers)
            response = connection.getresponse()
            status, retry_after = response.status, response.getheader("Retry-After", "")
            if 200 <= status < 300:
                return self._read_body(response)
        except ssl.SSLCertVerificationError:
            raise InputError(
                f"{self.__name__} has a certificate that this machine does not trust: check the URL, or install the "
                "certificate of its issuer"
            ) from None
        except TimeoutError:
            raise _PassingError(
                f"took longer than {self.settings.timeout:g} seconds",
                "use a smaller batch or a longer timeout, from Python with remote_model(…, batch=…, timeout=…)",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
            raise _PassingError(f"can't be reached ({reason})", "check the model and the URL") from None
        connection.close()  # the body of an error is not read, so the connection can't be reused
        raise self._refusal(status, retry_after or "")

    def _refusal(self, status: int, retry_after: str) -> Exception:
        """Return the exception for a status other than success."""
        name = http.HTTPStatus(status).phrase if status in set(http.HTTPStatus) else "no known status"
        what = f"answered {status} ({name})"
        if status == 429 or status >= 500:
            return _PassingError(
                what, _HINTS.get(status, "check that the model is running, and its log"), _seconds(retry_after)
            )
        if 300 <= status < 400:
            return InputError(f"{self.__name__} {what}, and redirects are not followed: pass the URL that it points to")
        hint = _HINTS.get(
            status,
            "check that it takes records in this format, or convert them, from Python with remote_model(…, encode=…)",
        )
        return InputError(f"{self.__name__} {what}: {hint}")

    def _read_body(self, response: http.client.HTTPResponse) -> bytes:
        """Read the body in pieces, up to the maximum size."""
        parts, size = [], 0
        while piece := response.read1(2**20):
            parts.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                raise InputError(
                    f"{self.__name__} answered with more than {MOST_BYTES // 2**20} MB: send fewer records at once, from Python with "
                    "remote_model(…, batch=…)"
                )
        if response.length:
            raise _PassingError("closed the connection within its response", "check the log of the model")
        response.close()  # required before the next request
        return b"".join(parts)

    # --- request and response bodies ----------------------------------------------------------------------------------

    def _body(self, part: Any) -> bytes:
        if self.settings.encode is None:
            return json.dumps({"instances": plain_rows(part)}, allow_nan=False).encode()
        try:
            return json.dumps(self.settings.encode(part), allow_nan=False).encode()
        except InputError:
            raise
        except Exception as error:  # user functions may raise anything
            raise InputError(
                f"encode= fails, or does not return JSON types ({type(error).__name__}): return lists, dicts, texts and numbers"
            ) from cause(error)

    def _read_json(self, body: bytes) -> Any:
        try:
            return json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            why = "NaN or infinite numbers" if isinstance(error, _NotFiniteError) else "something that is not JSON"
            raise InputError(f"{self.__name__} answered with {why}: check the URL and the log of the model") from None

    def _outputs(self, answer: Any, records: int) -> NDArray[np.float64]:
        """Check the response and return one row of finite numbers per record."""
        values = self._decoded(answer)
        try:
            table = as_array(values)
        except (ValueError, OverflowError):
            raise InputError(
                f"{self.__name__} answered with rows of different lengths: return as many outputs for each record"
            ) from None
        if table.dtype.kind not in "iuf":
            raise InputError(
                f"{self.__name__} answered with outputs that are not numbers: select the numbers, from Python with "
                "remote_model(…, decode=…)"
            )
        if table.ndim == 0 or len(table) != records:
            rows = "one number" if table.ndim == 0 else f"{len(table)} rows"
            raise InputError(f"{self.__name__} answered with {rows} for {records} records: return one row per record")
        numbers = np.asarray(table, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise InputError(f"{self.__name__} answered with numbers that are not finite: check the model")
        return numbers

    def _decoded(self, answer: Any) -> Any:
        if self.settings.decode is None:
            if not isinstance(answer, dict) or not isinstance(answer.get("predictions"), list):
                raise InputError(
                    f'{self.__name__} answered without a list "predictions": select the outputs, '
                    "from Python with remote_model(…, decode=…)"
                )
            return answer["predictions"]
        try:
            return self.settings.decode(answer)
        except InputError:
            raise
        except Exception as error:  # user functions may raise anything
            raise InputError(
                f"decode= fails on the answer of {self.__name__} ({type(error).__name__}): check its format"
            ) from cause(error)


class _NotFiniteError(ValueError):
    """The response contains NaN or Infinity, which some programs write although JSON has no such numbers."""


def _refuse_constant(text: str) -> float:
    raise _NotFiniteError(text)


def _seconds(retry_after: str) -> float:
    """Return the seconds in ``Retry-After``, a number or a date, between 0 and `LONGEST_PAUSE`.

    Examples
    --------
    >>> _seconds("7"), _seconds("99999"), _seconds("soon"), _seconds("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, 60.0, 0.0, 0.0)
    """
    text = retry_after.strip()
    try:
        moment = None if text.isdecimal() else parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return 0.0
    if moment is None:
        return float(min(LONGEST_PAUSE, int(text[:10])))
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return min(LONGEST_PAUSE, max(0.0, (aware - datetime.now(UTC)).total_seconds()))


# --- settings ---------------------------------------------------------------------------------------------------------


def _read_address(url: str) -> tuple[bool, str, int | None, str, str]:
    """Return whether the scheme is https, the host, the port, the request target, and the name for display."""
    named = "" if "@" in str(url) else f"{safe_text(str(url).partition('?')[0])!r} "  # a password may precede an @
    wrong = f"{named or 'this '}is not the URL of a model: write http://HOST:PORT/PATH or https://…"
    try:
        parts = urlsplit(str(url))
        if parts.username is not None or parts.password is not None:
            raise InputError(
                "the URL of the model contains a user name or password: send them in a header, from Python with "
                f"remote_model(…, headers=…), or as a token in {TOKEN}"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(wrong)
        parts.hostname.encode("idna")
        port = parts.port
    except InputError:
        raise
    except ValueError:
        raise InputError(wrong) from None
    path, query = quote(parts.path or "/", safe=_KEPT), quote(parts.query, safe=_KEPT)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    shown = safe_text(f"{host}{'' if port is None else f':{port}'}{path.rstrip('/')}")
    return parts.scheme == "https", parts.hostname, port, f"{path}?{query}" if query else path, shown


def _check_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Check headers; an error names the header and never its value."""
    checked = {"content-type": "application/json"}
    for name, value in dict(headers or {}).items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise InputError(f"headers= has a name that HTTP does not allow: {list_names([name])}")
        if not isinstance(value, str) or not re.fullmatch(r"[\t\x20-\x7e]*", value):
            raise InputError(f"the header {name} has a value that HTTP can't send: pass one line of ASCII text")
        checked[name.lower()] = value
    return checked
