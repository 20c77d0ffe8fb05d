"""Models behind HTTP: outputs equal those of the model, temporary failures are retried, others are reported."""

import json
import pickle
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import check_refused, shown
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from leakscope.core.errors import EndpointError, InputError
from leakscope.data.fingerprints import fingerprint
from leakscope.models import remote
from leakscope.models.files import load_model
from leakscope.models.target import make_target
from leakscope.studies.audit import audit

TOKEN = "Bearer very-secret-token"
X, Y = make_classification(400, 5, n_informative=4, n_redundant=0, flip_y=0.3, random_state=0)
FITTED = LogisticRegression().fit(X[:200], Y[:200])


class Handler(BaseHTTPRequestHandler):
    """Performs the next action of the server's list, and responds like the model if the list is empty."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        self.server.heads.append(dict(self.headers))
        self.server.paths.append(self.path)
        self.server.clients.add(self.client_address)
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])), parse_constant=self.refuse)
        self.server.bodies.append(sent)
        step = self.server.steps.pop(0) if self.server.steps else self.server.usual
        step(self, sent)

    def refuse(self, text):
        raise AssertionError(f"{text} is not JSON")

    def reply(self, status=200, body=b"", kind="application/json", length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def predict(self, rows):
        self.reply(body=json.dumps({"predictions": np.asarray(rows).tolist()}).encode())

    def log_message(self, *arguments):
        pass


def good(handler, sent):
    rows = [[np.nan if cell is None else cell for cell in row] for row in sent["instances"]]
    handler.predict(FITTED.predict_proba(np.array(rows)))


def echo(handler, sent):
    handler.predict(sent["instances"])


def status(code, **headers):
    return lambda handler, sent: handler.reply(code, b"no, and here is " + TOKEN.encode(), "text/plain", **headers)


def says(text):
    return lambda handler, sent: handler.reply(body=text.encode())


def cut_short(handler, _sent):
    handler.reply(body=b'{"predictions": [[0', length=1000)
    handler.close_connection = True


def hang_up(handler, _sent):
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


@pytest.fixture
def server():
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    running.steps, running.bodies, running.heads, running.paths, running.clients = [], [], [], [], set()
    running.usual = good
    running.handle_error = lambda *arguments: None
    running.url = f"http://127.0.0.1:{running.server_port}/predict"
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


class Time:
    """A clock that advances only by sleeping."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.slept.append(seconds)


def model_of(server, **settings):
    model, clock = remote.remote_model(server.url, **settings), Time()
    model.sleep, model.clock = clock.sleep, clock.clock
    return model, clock


# --- requests and responses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 7, 64, 1000])
def test_answers_are_the_models_to_the_last_bit_whatever_the_batch(server, batch):
    model, _ = model_of(server, batch=batch)
    odd = X[:100] * np.array([1e-300, 1e300, 1 / 3, 1, -0.0])
    server.usual = echo
    assert np.array_equal(model(odd), odd)
    assert len(server.bodies) == -(-100 // batch)
    assert len(server.clients) == 1  # one connection for all batches


def test_float32_records_arrive_with_every_bit(server):
    server.usual = echo
    model, _ = model_of(server)
    assert np.array_equal(model(X.astype(np.float32)).astype(np.float32), X.astype(np.float32))


def test_a_table_goes_out_by_column_name_with_nulls_for_what_is_missing(server):
    table = pd.DataFrame(
        {
            "age": np.array([30, 41], np.int8),
            "income": [1.5, np.nan],
            "job": ["cook", None],
            "count": pd.array([7, None], dtype="Int64"),
            "kind": pd.Categorical(["a", "b"]),
            "member": np.array([True, False]),
            "since": pd.to_datetime(["2020-01-02", None]),
        }
    )
    server.usual = says('{"predictions": [0.25, 4]}')
    model, _ = model_of(server)
    assert model(table).tolist() == [0.25, 4.0]
    (first, second) = server.bodies[0]["instances"]
    assert first == {
        "age": 30, "income": 1.5, "job": "cook", "count": 7, "kind": "a", "member": True, "since": "2020-01-02T00:00:00",
    }  # fmt: skip
    assert [second[name] for name in ("income", "job", "count", "since")] == [None] * 4


def test_records_and_caller_arrays_stay_as_they_are(server):
    records = X[:10].copy()
    records[0, 0] = np.nan
    before = records.copy()
    server.usual = says(json.dumps({"predictions": [[0.5, 0.5]] * 10}))
    model_of(server)[0](records)
    assert np.array_equal(records, before, equal_nan=True)
    assert server.bodies[0]["instances"][0][0] is None


def test_encode_and_decode_speak_another_form(server):
    server.usual = lambda handler, sent: handler.reply(
        body=json.dumps({"outputs": [{"score": 2 * row[0]} for row in sent["rows"]]}).encode()
    )
    model, _ = model_of(
        server,
        encode=lambda part: {"rows": part.tolist()},
        decode=lambda answer: [item["score"] for item in answer["outputs"]],
    )
    assert np.array_equal(model(X[:5]), 2 * X[:5, 0])


def test_an_audit_gives_the_numbers_of_the_same_model_at_hand(server):
    sets = (X[:200], Y[:200]), (X[200:], Y[200:])
    far = audit(remote.remote_model(server.url), *sets)
    near = audit(FITTED.predict_proba, *sets)
    assert far.risks == near.risks
    assert far.target.model == f"127.0.0.1:{server.server_port}/predict"
    assert [
        audit(model, *sets, retrain=False).strongest.auc for model in (FITTED, remote.remote_model(server.url))
    ] == [audit(FITTED.predict_proba, *sets, retrain=False).strongest.auc] * 2


def test_logits_are_taken_for_what_they_are_said_to_be(server):
    server.usual = lambda handler, sent: handler.predict(FITTED.decision_function(np.array(sent["instances"])))
    sets = (X[:200], Y[:200]), (X[200:], Y[200:])
    target = make_target(remote.remote_model(server.url), *sets, outputs="logits")
    assert np.allclose(target.model.predict(X), FITTED.predict_proba(X), atol=1e-12)


def test_a_model_that_answers_at_random_is_asked_again(server):
    rng = np.random.default_rng(0)

    def noisy(handler, sent):
        steady = np.clip(0.5 + np.array(sent["instances"])[:, 0] / 10, 0.2, 0.8)
        second = steady + rng.uniform(-0.2, 0.2, len(steady))
        handler.predict(np.column_stack([1 - second, second]))

    server.usual = noisy
    assert audit(load_model(server.url), (X[:200], Y[:200]), (X[200:], Y[200:])).settings["repeats"] > 1


# --- temporary failures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [status(500), status(503), status(429), cut_short, hang_up])
def test_two_failures_that_pass_are_waited_out_with_growing_pauses(server, trouble):
    server.steps = [trouble, trouble]
    model, clock = model_of(server)
    assert np.array_equal(model(X[:20]), FITTED.predict_proba(X[:20]))
    assert len(server.bodies) == 3
    assert server.bodies[0] == server.bodies[2]
    first, second = clock.slept
    assert remote.FIRST_PAUSE / 2 <= first <= remote.FIRST_PAUSE <= second <= 2 * remote.FIRST_PAUSE


def test_retry_after_is_heeded_and_capped(server):
    server.steps = [status(429, Retry_After="7"), status(503, Retry_After="86400"), status(429, Retry_After="soon")]
    model, clock = model_of(server)
    model(X[:3])
    assert clock.slept[:2] == [7.0, remote.LONGEST_PAUSE]
    assert clock.slept[2] < 7


def test_after_the_last_attempt_the_status_is_named(server):
    server.usual = status(503)
    model, clock = model_of(server, retries=3)
    with pytest.raises(EndpointError, match=r"/predict.*503.*\b4\b"):
        model(X[:3])
    assert len(server.bodies) == 4
    assert len(clock.slept) == 3


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = remote.remote_model(f"http://127.0.0.1:{port}/predict", retries=0)
    with pytest.raises(EndpointError, match=f":{port}/predict"):
        model(X[:3])


def starts_of(model, clock):
    """Start times of the requests."""
    starts, real = [], model._exchange
    model._exchange = lambda *arguments: starts.append(clock.now) or real(*arguments)
    return starts


def test_requests_start_no_faster_than_the_rate_without_bursts(server):
    model, clock = model_of(server, batch=10, rate=4.0)
    starts = starts_of(model, clock)
    model(X[:50])
    clock.now += 10  # unused time of a pause does not raise the rate later
    model(X[:30])
    gaps = np.diff(starts)
    assert len(starts) == 8
    assert np.allclose(np.delete(gaps, 4), 0.25)
    assert gaps[4] >= 10


def test_repeated_requests_keep_to_the_rate_too(server):
    server.steps = [status(500)] * 3
    model, clock = model_of(server, rate=0.1)
    starts = starts_of(model, clock)
    model(X[:3])
    assert np.all(np.diff(starts) >= 10 - 1e-9)


# --- permanent failures -----------------------------------------------------------------------------------------------

ONE_ROW = '{"predictions": [[0.5, 0.5]]}'
STAYING = {
    "bad request": (status(400), "400.*encode="),
    "unauthorised": (status(401), "401.*LEAKSCOPE_TOKEN"),
    "not found": (status(404), "404"),
    "too large": (status(413), "413.*batch="),
    "unknown status": (status(499), "499"),
    "redirect": (status(302, Location="http://127.0.0.1:1/elsewhere?key=1"), "302"),
    "too few rows": (says(ONE_ROW), r"\b1\D+3\b"),
    "no rows": (says('{"predictions": []}'), r"\b0\D+3\b"),
    "not a number": (says('{"predictions": [[NaN, 1], [0, 1], [0, 1]]}'), "NaN"),
    "infinite": (says('{"predictions": [[1e999, 1], [0, 1], [0, 1]]}'), "/predict"),
    "ragged": (says('{"predictions": [[1, 2], [1], [1]]}'), "/predict"),
    "texts": (says('{"predictions": ["0.5", "0.1", "0.2"]}'), "decode="),
    "nulls": (says('{"predictions": [0.5, null, 0.2]}'), "decode="),
    "truths": (says('{"predictions": [true, false, true]}'), "decode="),
    "large whole numbers": (says('{"predictions": [1' + "0" * 400 + ", 1, 1]}"), "decode="),
    "another key": (says('{"outputs": [1, 2, 3]}'), '"predictions"'),
    "a list": (says("[1, 2, 3]"), '"predictions"'),
    "a page": (says("<html>Sign in</html>"), "JSON"),
    "no text": (lambda handler, sent: handler.reply(body=b"\xff\xfe\x00"), "JSON"),
    "nothing": (says(""), "JSON"),
    "nested": (says("[" * 100_000), "JSON"),
}


@pytest.mark.parametrize("case", STAYING)
def test_a_failure_that_stays_ends_in_one_sentence_and_is_not_tried_again(server, case):
    server.usual, named = STAYING[case]
    model, clock = model_of(server, headers={"Authorization": TOKEN})
    with pytest.raises(InputError, match=named) as caught:
        model(X[:3])
    said = str(caught.value)
    assert said.startswith(f"127.0.0.1:{server.server_port}/predict ")
    assert "\n" not in said
    assert "secret" not in said
    assert len(server.bodies) == 1
    assert clock.slept == []


def test_an_answer_without_end_is_cut_off(server, monkeypatch):
    monkeypatch.setattr(remote, "MOST_BYTES", 2**20)
    server.usual = lambda handler, sent: handler.reply(body=b" " * 2**22)
    with pytest.raises(InputError, match="batch="):
        model_of(server)[0](X[:3])


def test_batches_of_different_width_are_refused(server):
    server.steps = [says('{"predictions": [[1, 2]]}'), says('{"predictions": [[1, 2, 3]]}')]
    with pytest.raises(InputError, match=r"\(2,\).*\(3,\)"):
        model_of(server, batch=1)[0](X[:2])


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"decode": lambda answer: answer[TOKEN]}, "decode=.*KeyError"),
        ({"encode": lambda part: part}, "encode=.*TypeError"),
        ({"encode": lambda part: [np.nan]}, "encode=.*ValueError"),
    ],
)
def test_what_encode_and_decode_do_wrong_is_named_without_the_answer(server, settings, named):
    with pytest.raises(InputError, match=named) as caught:
        model_of(server, **settings)[0](X[:3])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("records", "named"),
    [
        (np.array([[np.inf]]), "encode="),
        (np.array([[b"raw"]], object), "bytes"),
        (np.array([[1 + 2j]]), "complex"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1'"),
    ],
)
def test_records_that_json_has_no_form_for_are_refused_before_anything_is_sent(server, records, named):
    with pytest.raises(InputError, match=named):
        model_of(server)[0](records)
    assert server.bodies == []


# --- secrets and settings ---------------------------------------------------------------------------------------------


def test_the_token_is_sent_and_nowhere_shown(server, tmp_path):
    server.url += "?key=also-secret"
    model = remote.remote_model(server.url, headers={"Authorization": TOKEN})
    result = audit(model, (X[:200], Y[:200]), (X[200:], Y[200:]))
    assert all(head["authorization"] == TOKEN for head in server.heads)
    assert set(server.paths) == {"/predict?key=also-secret"}
    result.save(tmp_path)
    for text in (repr(model), str(result), *(path.read_text() for path in tmp_path.iterdir())):
        assert "-secret" not in text
    assert fingerprint(model) == fingerprint(remote.remote_model(server.url, headers={"Authorization": "other"}))


def test_a_pickle_holds_no_header_and_its_copy_says_so(server):
    model = remote.remote_model(server.url, headers={"Authorization": TOKEN})
    stored = pickle.dumps(model)
    assert b"secret" not in stored
    with pytest.raises(InputError, match="remote_model"):
        pickle.loads(pickle.dumps(pickle.loads(stored)))(X[:3])
    plain = pickle.loads(pickle.dumps(remote.remote_model(server.url, batch=3)))
    assert plain.settings.batch == 3
    assert np.array_equal(plain(X[:10]), FITTED.predict_proba(X[:10]))


@pytest.mark.parametrize(
    "url",
    ["", "model.skops", "ftp://host/x", "http://", "http://host:99999/x", "http://host:port/x", "http://[::1/x",
     "user:secret@host/predict", "http://user:secret@host/predict", "http://" + "a" * 70 + ".b/x", "http://a..b/?k=secret"],
)  # fmt: skip
def test_wrong_addresses_are_refused_in_one_sentence(url):
    with pytest.raises(InputError, match=r"http://HOST|LEAKSCOPE_TOKEN") as caught:
        remote.remote_model(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"batch": 0}, "batch"),
        ({"batch": 2.5}, "batch"),
        ({"retries": -1}, "retries"),
        ({"rate": 0}, "rate"),
        ({"rate": float("nan")}, "rate"),
        ({"timeout": None}, "timeout"),
        ({"headers": {"Authorization": "a secret\r\nX-More: 1"}}, "Authorization"),
        ({"headers": {"Authorization": "a secret ü"}}, "Authorization"),
        ({"headers": {"Authorization": b"a secret"}}, "Authorization"),
        ({"headers": {"a:b": "c"}}, "'a:b'"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(settings, named):
    with pytest.raises(InputError, match=named) as caught:
        remote.remote_model("http://127.0.0.1:1/predict", **settings)
    assert "secret" not in str(caught.value)


def test_an_address_in_the_place_of_a_file_takes_its_token_from_the_environment(server, monkeypatch):
    monkeypatch.delenv("LEAKSCOPE_TOKEN", raising=False)
    load_model(server.url)(X[:2])
    monkeypatch.setenv("LEAKSCOPE_TOKEN", "very-secret-token")
    load_model(Path(server.url))(X[:2])  # a Path removes one of the two slashes
    assert "authorization" not in server.heads[0]
    assert server.heads[1]["authorization"] == TOKEN
    assert server.paths == ["/predict"] * 2
    monkeypatch.setenv("LEAKSCOPE_TOKEN", "a\nsecret")
    with pytest.raises(InputError, match="Authorization") as caught:
        load_model(server.url)
    assert "secret" not in str(caught.value)


def test_from_the_command_line(server, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("LEAKSCOPE_TOKEN", raising=False)

    def by_name(handler, sent):
        rows = np.array([[row[f"x{number}"] for number in range(5)] for row in sent["instances"]])
        handler.predict(FITTED.predict_proba(rows))

    table = pd.DataFrame(X, columns=[f"x{number}" for number in range(5)]).assign(y=Y)
    table[:200].to_csv(tmp_path / "train.csv", index=False)
    table[200:].to_csv(tmp_path / "holdout.csv", index=False)
    server.usual = by_name
    sets = ("--train", tmp_path / "train.csv", "--holdout", tmp_path / "holdout.csv", "--label", "y", "--json")
    code, out, _ = shown(capsys, "audit", server.url, *sets)
    assert code == 0
    assert json.loads(out)["target"]["model"] == f"127.0.0.1:{server.server_port}/predict"
    server.usual = status(404)
    check_refused(capsys, "404", "audit", server.url, *sets)
