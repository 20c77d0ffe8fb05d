"""A result contains the fingerprint of the audited model, and the gate refuses another model."""

import hashlib
import json
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import gate, run
from onnx_messages import onnx_with_weights
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.models import provenance
from leakscope.models.provenance import code_digest, file_digest, load_with_digest, model_fingerprint
from leakscope.models.remote import remote_model

X, Y = make_classification(300, 4, flip_y=0.3, random_state=0)
TABLE = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(kind=np.array(["x", "y", "z"])[np.arange(300) % 3])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with the same settings, and two audits of the first: by the command line and in Python."""
    place = tmp_path_factory.mktemp("models")
    fitted = LogisticRegression().fit(X[:150], Y[:150])
    skops.io.dump(fitted, place / "model.skops")
    skops.io.dump(LogisticRegression(C=0.9).fit(X[:150], Y[:150]), place / "other.skops")
    joblib.dump(fitted, place / "model.pkl")
    table = TABLE.drop(columns="kind").assign(y=Y)
    table[:150].to_csv(place / "train.csv", index=False)
    table[150:].to_csv(place / "holdout.csv", index=False)
    sets = ("--train", place / "train.csv", "--holdout", place / "holdout.csv", "--label", "y")
    assert run("audit", place / "model.skops", *sets, "--no-retrain", "--out", place / "audit") == 0
    ls.audit(fitted, (X[:150], Y[:150]), (X[150:], Y[150:]), retrain=False).save(place / "python")
    ls.audit(fitted.predict_proba, (X[:150], Y[:150]), (X[150:], Y[150:])).save(place / "function")
    member = np.arange(300) < 150
    ls.audit_scores(X[:, 0], member).save(place / "scores")
    return place


def test_the_record_holds_the_digest_of_the_file_and_of_the_code(folder: Path) -> None:
    prints = json.loads((folder / "audit" / "result.json").read_text())["fingerprints"]
    assert prints["model file"] == hashlib.sha256((folder / "model.skops").read_bytes()).hexdigest()
    assert "model parameters" not in prints
    assert prints["leakscope code"] == code_digest()
    assert len(ls.load(folder / "python").fingerprints["model parameters"]) == 64
    assert ls.load(folder / "function").fingerprints["model parameters"] == "none"
    assert not any(name.startswith("model") for name in ls.load(folder / "scores").fingerprints)


def test_the_gate_takes_the_audited_file_and_no_other(capsys: Any, folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "model.skops", tmp_path / "renamed.skops")
    for same in (folder / "model.skops", tmp_path / "renamed.skops"):
        assert gate(capsys, folder / "audit", "--model", same) == (0, "")
    changed = tmp_path / "changed.skops"
    changed.write_bytes((folder / "model.skops").read_bytes() + b" ")
    for wrong in (folder / "other.skops", folder / "model.pkl", changed, tmp_path, tmp_path / "none", "http://host/x"):
        code, err = gate(capsys, folder / "audit", "--model", wrong)
        assert code == 2
        assert err.count("\n") == 1


def test_a_record_from_python_is_compared_by_what_the_model_learned(capsys: Any, folder: Path) -> None:
    audit = folder / "python"
    assert gate(capsys, audit, "--model", folder / "model.skops") == (0, "")
    assert gate(capsys, audit, "--model", folder / "other.skops")[0] == 2
    assert gate(capsys, audit, "--model", folder / "model.pkl")[0] == 2
    assert gate(capsys, audit, "--model", folder / "model.pkl", "--trust-pickle") == (0, "")
    assert gate(capsys, audit, "--model", "http://127.0.0.1:1/predict")[0] == 2


@pytest.mark.parametrize("kind", ["function", "scores"])
def test_a_record_without_a_digest_of_a_model_is_refused(kind: str, capsys: Any, folder: Path) -> None:
    assert gate(capsys, folder / kind, "--model", folder / "model.skops")[0] == 2
    assert gate(capsys, folder / kind) == (0, "")


def test_trust_goes_with_a_model(capsys: Any, folder: Path) -> None:
    assert gate(capsys, folder / "audit", "--trust", "a.B")[0] == 2


def test_python_does_the_same(folder: Path) -> None:
    audit = ls.load(folder / "audit")
    assert ls.gate(audit, "auc > 0.999", on_uncertain="pass", model=folder / "model.skops").outcome == "passed"
    with pytest.raises(InputError, match=r"other\.skops"):
        ls.gate(audit, "auc > 0.999", model=folder / "other.skops")


ESTIMATORS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=5, random_state=None),
    "histograms": HistGradientBoostingClassifier(max_iter=5),
    "logistic": LogisticRegression(),
    "ridge": Ridge(),
    "bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(algorithm="brute"),
    "network": MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", max_iter=500, tol=0.1),
    "vectors": SVC(),
    "seeded": RandomForestClassifier(3, random_state=np.random.RandomState(0)),
    "pipeline": make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["a", "b"])), LogisticRegression()
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_are_recognised_after_saving_and_loading(name: str, tmp_path: Path) -> None:
    records = TABLE if name == "pipeline" else X
    model = ESTIMATORS[name].fit(records, Y)
    prints = model_fingerprint(model)
    np.random.default_rng()  # draws of other code do not matter
    np.random.random()  # noqa: NPY002
    skops.io.dump(model, tmp_path / "model.skops")
    joblib.dump(model, tmp_path / "model.pkl")
    types = skops.io.get_untrusted_types(file=tmp_path / "model.skops")
    model.predict(records)
    assert model_fingerprint(model) == prints
    assert model_fingerprint(ls.load_model(tmp_path / "model.skops", trust=types)) == prints
    assert model_fingerprint(ls.load_model(tmp_path / "model.pkl", trust_pickle=True)) == prints
    other = model.fit(records[:299], Y[:299])
    assert model_fingerprint(other) != prints


def test_what_has_no_content_has_no_digest() -> None:
    fitted = LogisticRegression().fit(X, Y)
    for opaque in (lambda X: X, fitted.predict_proba, partial(np.add, 1), len, remote_model("http://host/predict")):
        assert model_fingerprint(opaque) == {"model parameters": "none"}
    assert model_fingerprint(ls.toys.lookup(n=20).model)["model parameters"] == "none"
    assert model_fingerprint(fitted, "abc") == {"model file": "abc"}


def test_weights_of_an_onnx_file_in_another_file_count(tmp_path: Path) -> None:
    model, weights = tmp_path / "model.onnx", tmp_path / "model.onnx.data"
    model.write_bytes(onnx_with_weights(b"model.onnx.data"))
    digests = set()
    for content in (b"one", b"two"):
        weights.write_bytes(content)
        digests.add(file_digest(model))
    assert len(digests | {hashlib.sha256(model.read_bytes()).hexdigest()}) == 3
    weights.unlink()
    with pytest.raises(InputError, match=r"model\.onnx\.data"):
        file_digest(model)


def test_an_onnx_model_in_python_is_named_by_its_file(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("skl2onnx")
    path = tmp_path / "model.onnx"
    fitted = LogisticRegression().fit(X, Y)
    path.write_bytes(onnx.to_onnx(fitted, X[:1].astype(np.float32), options={"zipmap": False}).SerializeToString())
    assert model_fingerprint(ls.load_model(path)) == {"model file": file_digest(path)}


def test_weights_that_onnx_stores_in_another_file_count(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    numbers = np.arange(2000.0, dtype=np.float32)
    weights = onnx.numpy_helper.from_array(numbers, "weights")
    graph = onnx.helper.make_graph([], "graph", [], [], [weights])
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(graph), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    before = file_digest(path)
    (tmp_path / "weights.bin").write_bytes((numbers + 1).tobytes())
    assert file_digest(path) != before


@pytest.mark.parametrize("name", ["https://host/" + "x" * 5000, "no\0file", "/", "none.skops"])
def test_what_is_no_file_has_no_digest(name: str) -> None:
    assert file_digest(name) is None


@pytest.mark.parametrize("name", ["model.skops", "model.onnx"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, weights = tmp_path / name, tmp_path / "w"
    if name == "model.onnx":
        path.write_bytes(onnx_with_weights(b"w"))
        weights.write_bytes(b"one")
    else:
        shutil.copy(folder / name, path)
        assert load_with_digest(path)[1] == file_digest(path)

    def exchange(*_arguments: Any, **_options: Any) -> None:
        shutil.copy(folder / "other.skops", weights if weights.exists() else path)

    monkeypatch.setattr("leakscope.models.files.load_model", exchange)
    with pytest.raises(InputError, match=name):
        load_with_digest(path)


def test_the_digest_of_the_code_changes_with_any_source_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(provenance.__file__).parents[1]
    shutil.copytree(source, tmp_path / "leakscope", ignore=shutil.ignore_patterns("__pycache__", "*.html"))
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "leakscope" / "models" / "provenance.py"))
    fresh = code_digest.__wrapped__
    start = time.perf_counter()
    assert fresh() == code_digest()
    assert time.perf_counter() - start < 2
    verdict = tmp_path / "leakscope" / "evaluation" / "verdict.py"
    verdict.write_text(verdict.read_text() + "\n")
    assert fresh() != code_digest()
