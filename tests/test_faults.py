"""Faults that users and attackers found, each through commands, files and public functions.

No name newer than the faults is used, so that each test can be run on the code that still had them.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import hostile_files
import numpy as np
import pandas as pd
import pytest
import skops.io
from evasive import constant_in_batches, memorise, noisy
from retraining import FOLDERS
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from leakscope.cli import main

# --- a leaking model gets no all-clear ---


@pytest.fixture(scope="module")
def memorised() -> Any:
    """A forest whose memory 8,000 records show, or allow "not_detected" where it hides."""
    forest, train, holdout = memorise(8000)
    assert ls.audit(forest, train, holdout, retrain=False).verdict.kind == "leaks"
    return forest, train, holdout


@pytest.mark.parametrize("decimals", [3, 4])
def test_members_with_rounded_digits_as_the_holdout(decimals: int, memorised: Any) -> None:
    """Two exports with different float formats: overlap was found by exact hashes only."""
    forest, train, _ = memorised
    result = ls.audit(forest, train, (train[0].round(decimals), train[1]), retrain=False)
    assert result.verdict.kind != "not_detected"


def test_a_model_that_answers_a_constant_in_large_batches(memorised: Any) -> None:
    """Records were asked for in one way only."""
    forest, train, holdout = memorised
    assert ls.audit(constant_in_batches(forest, 5), train, holdout).verdict.kind != "not_detected"


@pytest.mark.parametrize("spread", [5.0, 20.0])
def test_a_model_that_adds_fresh_noise_to_each_answer(spread: float, memorised: Any) -> None:
    """Records were asked for once only, and averages of many answers leak."""
    forest, train, holdout = memorised
    assert ls.audit(noisy(forest, spread), train, holdout).verdict.kind != "not_detected"


def test_labels_whose_squared_errors_are_zero() -> None:
    """Squared errors of labels near 1e-300 underflow, and no attack saw anything."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.normal(size=2000) * 1e-300
    forest = RandomForestRegressor(10, random_state=0).fit(X[:1000], y[:1000] * 1e300)
    sides: Any = ((X[:1000], y[:1000]), (X[1000:], y[1000:]))
    try:
        kind = ls.audit(lambda X: forest.predict(X) * 1e-300, *sides, task="regression").verdict.kind
    except ls.InputError:
        kind = "refused"
    assert kind != "not_detected"


def random_onnx(folder: Path) -> Any:
    """A model in a file that draws a number for each record."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    make, kinds = onnx.helper, onnx.TensorProto
    nodes = [
        make.make_node("ReduceSum", ["X", "axis"], ["sum"], keepdims=1),
        make.make_node("RandomNormalLike", ["sum"], ["noise"], scale=1.0),
        make.make_node("Add", ["sum", "noise"], ["logit"]),
        make.make_node("Sigmoid", ["logit"], ["second"]),
        make.make_node("Sub", ["one", "second"], ["first"]),
        make.make_node("Concat", ["first", "second"], ["p"], axis=1),
    ]
    graph = make.make_graph(
        nodes,
        "random",
        [make.make_tensor_value_info("X", kinds.FLOAT, [None, 4])],
        [make.make_tensor_value_info("p", kinds.FLOAT, [None, 2])],
        [make.make_tensor("axis", kinds.INT64, [1], [1]), make.make_tensor("one", kinds.FLOAT, [1], [1.0])],
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9), folder / "model.onnx")
    return ls.load_model(folder / "model.onnx")


@pytest.fixture
def random_endpoint() -> Iterator[str]:
    """The address of a model that adds noise to each answer."""
    rng = np.random.default_rng(0)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = np.array(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["instances"])
            second = np.clip(0.5 + sent[:, 0] / 10 + rng.normal(0, 0.1, len(sent)), 0, 1)
            body = json.dumps({"predictions": np.column_stack([1 - second, second]).tolist()}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/predict"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", ["onnx", "http"])
def test_random_files_and_endpoints_are_named_as_random(kind: str, tmp_path: Path, random_endpoint: str) -> None:
    """Nothing said that a model in a file or behind an address answers at random."""
    rng = np.random.default_rng(0)
    sides: Any = [(rng.normal(size=(100, 4)), rng.integers(0, 2, 100)) for _ in range(2)]
    model = random_onnx(tmp_path) if kind == "onnx" else ls.load_model(random_endpoint)
    assert ls.audit(model, *sides).settings.get("repeats", 1) > 1


# --- model files ---

READ_FILES = """
import json, os, resource, signal, sys
sys.path[:0] = {folders!r}
import numpy as np
import skops.io, sklearn.ensemble, sklearn.svm  # once, for all children
import leakscope as ls
from leakscope import model_files

def read(name):
    signal.alarm(30)  # these two are for code without limits of its own
    resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
    os.environ |= {{"loop.onnx": {{"LEAKSCOPE_LOAD_SECONDS": "1"}}, "bomb.skops": {{"LEAKSCOPE_LOAD_MEMORY": "0.2"}}}}.get(name, {{}})
    trust = {trust!r} if name.startswith(("tree", "boosting")) else []
    try:
        model = ls.load_model(name, trust=trust)
    except ls.InputError:  # and before the file has filled a GB
        return 2 if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2**20 else 1
    records = np.abs(np.random.default_rng(0).normal(size=(40, 3)))
    answers = model(records) if callable(model) else model.predict(records)
    return 0 if len(answers) == 40 else 1

codes = {{}}
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        os._exit(read(name))
    codes[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(codes))
"""


def crafted(fault: str) -> Callable[[], bytes]:
    return lambda: skops.io.dumps(hostile_files.MODELS[fault]())


#: Files that crashed or hung the process that read them or predicted with them.
FILES = {
    "tree-child.skops": crafted("tree child out of range"),
    "tree-feature.skops": crafted("tree feature out of range"),
    "tree-cycle.skops": crafted("tree cycle"),
    "boosting-child.skops": crafted("boosting child out of range"),
    "boosting-feature.skops": crafted("boosting feature out of range"),
    "boosting-cycle.skops": crafted("boosting cycle"),
    "svc-support.skops": crafted("svc support"),
    "bomb.skops": hostile_files.repeated_array,
    "loop.onnx": hostile_files.onnx_loop,
}


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How processes end that load a file and predict: 0, 2 where it is refused in time, or minus the signal that killed them."""
    folder = tmp_path_factory.mktemp("hostile")
    harmless = RandomForestClassifier(3, random_state=0).fit(hostile_files.X, hostile_files.y)
    contents = {"tree.skops": lambda: skops.io.dumps(harmless)} | FILES
    for name, make in contents.items():
        (folder / name).write_bytes(make())
    code = READ_FILES.format(folders=FOLDERS, trust=hostile_files.TRUST)
    run = subprocess.run([sys.executable, "-c", code, *contents], cwd=folder, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(run.stdout))


def test_a_harmless_model_file_is_read(ends: dict[str, int]) -> None:
    """The limits leave ordinary files alone."""
    assert ends["tree.skops"] == 0


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_model_file_is_refused(name: str, ends: dict[str, int]) -> None:
    """Crafted files crashed the process, or hung, or filled the memory."""
    assert ends[name] == 2


# --- the gate is bound to its model ---


def run(*arguments: Any) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two models and the audit of the first, which leaks."""
    folder = tmp_path_factory.mktemp("audited")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(600, 30))).add_prefix("x")
    table["y"] = rng.integers(0, 2, 600)
    for name, rows in (("train", table[:300]), ("holdout", table[300:])):
        rows.to_csv(folder / f"{name}.csv", index=False)
    for name, penalty in (("model", 1.0), ("other", 0.9)):
        fitted = LogisticRegression(C=penalty).fit(table[:300].drop(columns="y"), table["y"][:300])
        skops.io.dump(fitted, folder / f"{name}.skops")
    sets = ("--train", folder / "train.csv", "--holdout", folder / "holdout.csv", "--label", "y")
    assert run("audit", folder / "model.skops", *sets, "--no-retrain", "--out", folder / "audit") == 0
    return folder


def gate(folder: Path, *options: Any) -> int:
    return run("gate", folder, "--fail-if", "verdict = leaks", "--fail-if", "auc > 0.55", *options)


def test_the_record_holds_the_digest_of_the_model_and_of_the_code(audited: Path) -> None:
    """A record said nothing of the file that was audited."""
    prints = json.loads((audited / "audit" / "result.json").read_text())["fingerprints"]
    assert prints.get("model file") == hashlib.sha256((audited / "model.skops").read_bytes()).hexdigest()
    assert len(prints.get("leakscope code", "")) == 64


def test_the_gate_takes_the_audited_model_only(audited: Path) -> None:
    """A record of one model let another one through."""
    assert gate(audited / "audit", "--model", audited / "model.skops") == 1
    assert gate(audited / "audit", "--model", audited / "other.skops") == 2


def harmless(document: dict[str, Any]) -> None:
    """Say "not_detected", with a risk at chance, wherever the gate looks."""
    document["verdict"]["kind"] = "not_detected"
    for part in (document["strongest"], document["largest"], *(one["largest"] for one in document["by_release"])):
        part["auc"].update(value=0.5, low=0.45, high=0.55)


EDITS = {
    "verdict": lambda document: document["verdict"].update(kind="not_detected"),
    "verdict and numbers": harmless,
}


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_record_is_refused(edit: str, sealed: bool, audited: Path, tmp_path: Path) -> None:
    """An edited record passed; with a new digest too, as long as the verdict was not derived again."""
    folder = shutil.copytree(audited / "audit", tmp_path / "audit")
    assert gate(folder) == 1
    document = json.loads((folder / "result.json").read_text())
    EDITS[edit](document)
    if sealed:  # as docs/record.md says
        content = {name: value for name, value in document.items() if name != "content_sha256"}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        document["content_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "result.json").write_text(json.dumps(document))
    assert run("gate", folder, "--fail-if", "verdict = leaks", "--on-uncertain", "pass") == 2
