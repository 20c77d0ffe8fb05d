"""Model files: accepted and refused formats; code in a file never runs without permission."""

import gzip
import json
import pickle
import sys
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from hostile_files import node, onnx_model, zipped
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from leakscope.core.errors import InputError, MissingExtraError
from leakscope.models.adapters import Layout
from leakscope.models.files import load_model
from leakscope.models.target import EstimatorFit, make_target
from leakscope.studies.audit import audit

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 3)).astype(np.float32)
y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
FRAME = pd.DataFrame({"age": X[:, 0], "work class": np.where(X[:, 1] > 0, "private", "state"), "hours": X[:, 2]})
WORDS = np.where(y == 1, "yes", "no")


class Malicious:
    """A pickle of this writes a file when it is opened."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self):
        return Path.write_text, (self.witness, "opened")


def write_onnx(model, sample, path, **options):
    from skl2onnx import to_onnx

    path.write_bytes(to_onnx(model, sample, options=options or None).SerializeToString())
    return path


def text_pipeline():
    columns = make_column_transformer((OneHotEncoder(), ["work class"]), (StandardScaler(), ["age", "hours"]))
    return make_pipeline(columns, LogisticRegression()).fit(FRAME, WORDS)


@pytest.mark.parametrize("suffix", [".skops", ".pkl", ".SKOPS"])
def test_skops_file_gives_the_same_predictions_whatever_its_name(tmp_path, suffix):
    model = text_pipeline()
    skops.io.dump(model, tmp_path / "model.skops")
    path = (tmp_path / "model.skops").rename(tmp_path / f"model{suffix}")
    target = make_target(load_model(path), (FRAME, WORDS), (FRAME, WORDS))
    assert np.array_equal(target.model.predict(FRAME), model.predict_proba(FRAME))


def test_types_beyond_the_trusted_set_of_skops_are_named_and_need_trust(tmp_path):
    model = make_pipeline(FunctionTransformer(np.tanh), FunctionTransformer(os_like), LogisticRegression()).fit(X, y)
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    name = f"{os_like.__module__}.os_like"
    with pytest.raises(InputError, match=rf"--trust\b.*\b{name}"):
        load_model(path)
    with pytest.raises(InputError, match=rf"--trust\b.*\b{name}"):
        load_model(path, trust=["some.other.type"])
    assert np.array_equal(load_model(path, trust=[name]).predict(X), model.predict(X))


def os_like(table):
    return table


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".skops", ".onnx", ".model", ""])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_malicious_pickle_is_not_opened_under_any_name(tmp_path, suffix, protocol):
    witness, path = tmp_path / "witness", tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(Malicious(witness), protocol=protocol))
    with pytest.raises(InputError):
        load_model(path)
    assert not witness.exists()
    load_model(path.rename(tmp_path / "model.pkl"), trust_pickle=True)
    assert witness.exists()


def test_malicious_pickle_is_not_opened_when_compressed_or_before_a_zip(tmp_path):
    witness, path = tmp_path / "witness", tmp_path / "model.skops"
    path.write_bytes(gzip.compress(pickle.dumps(Malicious(witness))))
    with pytest.raises(InputError, match="--trust-pickle"):
        load_model(path)
    path.write_bytes(pickle.dumps(Malicious(witness)))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(InputError, match=r"model\.skops"):
        load_model(path, trust_pickle=True)
    assert not witness.exists()


def test_refusal_of_a_pickle_says_how_to_convert(tmp_path):
    path = tmp_path / "model.joblib"
    joblib.dump(LogisticRegression().fit(X, y), path, compress=3)
    with pytest.raises(InputError, match=r"skops\.io\.dump.*--trust-pickle"):
        load_model(path)
    assert load_model(path, trust_pickle=True).predict_proba(X).shape == (60, 2)


@pytest.mark.parametrize("options", [{}, {"zipmap": False}, {"zipmap": "columns"}])
def test_onnx_with_an_input_per_column_gives_the_probabilities_of_the_pipeline(tmp_path, options):
    model = text_pipeline()
    loaded = load_model(write_onnx(model, FRAME, tmp_path / "model.onnx", **options))
    target = make_target(loaded, (FRAME[["hours", "age", "work class"]], WORDS), (FRAME, WORDS))
    assert target.model.task == "classification"
    assert target.model.classes.tolist() == ["no", "yes"]
    assert target.model.predict(FRAME) == pytest.approx(model.predict_proba(FRAME), abs=1e-5)
    with pytest.raises(InputError, match="'age'"):
        make_target(loaded, (FRAME[["hours"]], WORDS), (FRAME[["hours"]], WORDS))
    holes = FRAME.assign(**{"work class": FRAME["work class"].where(FRAME.index != 5)})
    with pytest.raises(InputError, match=r"holdout.*\b1\b.*\b60\b.*'work.class'"):
        make_target(loaded, (FRAME, WORDS), (holes, WORDS))


def test_onnx_with_one_matrix_takes_arrays_and_frames_and_survives_pickling(tmp_path):
    model = LogisticRegression().fit(X, y + 2 * (X[:, 1] > 1))
    labels = model.predict(X)
    loaded = load_model(write_onnx(model, X, tmp_path / "model.onnx", zipmap=False))
    for table in (X.astype(np.float64), pd.DataFrame(X)):
        target = make_target(loaded, (table, labels), (table, labels), classes=model.classes_)
        assert target.model.predict(table) == pytest.approx(model.predict_proba(X), abs=1e-5)
    assert np.array_equal(pickle.loads(pickle.dumps(loaded))(X), loaded(X))
    with pytest.raises(InputError, match=r"model\.onnx.*\b3\b.*\(60,.2\)"):
        make_target(loaded, (X[:, :2], labels), (X[:, :2], labels), classes=model.classes_)


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
@pytest.mark.parametrize("labels", [y, np.where(y, "yes of course", "no"), np.arange(60) % 12, 3 * y - 5])
def test_onnx_probabilities_with_and_without_zipmap(tmp_path, zipmap, labels):
    model = LogisticRegression(max_iter=1000).fit(X, labels)
    loaded = load_model(write_onnx(model, X, tmp_path / "model.onnx", zipmap=zipmap))
    assert loaded(X) == pytest.approx(model.predict_proba(X), abs=1e-5)
    target = make_target(loaded, (X, labels), (X, labels))
    assert target.model.classes.tolist() == model.classes_.tolist()
    assert target.model.predict(X) == pytest.approx(model.predict_proba(X), abs=1e-5)


def test_onnx_with_two_outputs_of_numbers_is_refused(tmp_path):
    onnx = pytest.importorskip("onnx")
    make, kinds = onnx.helper, onnx.TensorProto
    outputs = [make.make_tensor_value_info(name, kinds.FLOAT, ["n", 3]) for name in ("i1", "i2")]
    inputs = [make.make_tensor_value_info("x", kinds.FLOAT, ["n", 3])]
    nodes = [make.make_node("Identity", ["x"], [name]) for name in ("i1", "i2")]
    graph = make.make_graph(nodes, "two", inputs, outputs)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="'i1', 'i2'"):
        load_model(tmp_path / "model.onnx")


def test_onnx_regressor(tmp_path):
    values = X @ np.array([1.0, 2.0, 3.0]) + 0.25
    loaded = load_model(write_onnx(LinearRegression().fit(X, values), X, tmp_path / "model.onnx"))
    target = make_target(loaded, (X, values), (X, values))
    assert target.model.task == "regression"
    assert target.model.predict(X) == pytest.approx(values, abs=1e-4)


def test_missing_onnxruntime_names_the_command_that_installs_it(tmp_path, monkeypatch):
    path = write_onnx(LinearRegression().fit(X, y), X, tmp_path / "model.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"leakscope\[onnx\]"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("model.skops", b"", "model.skops"),
        ("model.skops", skops.io.dumps(LogisticRegression().fit(X, y))[:-40], "model.skops"),
        ("model.skops", b"not a model", "leakscope.audit"),
        ("model.skops", zipped({"archive/data.pkl": b""}), "torch.onnx.export"),
        ("data.npz", zipped({"X.npy": b""}), "leakscope.audit"),
        ("model.onnx", b"not a model", "ONNX"),
        ("model.onnx", b"", "model.onnx"),
        ("model.txt", b"income,age\n1,2\n", "leakscope.audit"),
        ("model.pt", b"\x80\x02anything", "torch.onnx.export"),
        ("model.pth", b"", "torch.onnx.export"),
        ("model.pkl", b"cut", "--trust-pickle"),
    ],
)
def test_what_is_not_a_model_file_gets_one_sentence(tmp_path, name, content, named):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=named) as caught:
        load_model(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_folders_and_cut_pickles(tmp_path):
    (tmp_path / "cut.pkl").write_bytes(pickle.dumps(LogisticRegression())[:30])
    for path in (tmp_path / "nothing.skops", tmp_path, tmp_path / "cut.pkl"):
        with pytest.raises(InputError, match=str(path)):
            load_model(path, trust_pickle=True)


@pytest.mark.parametrize(("at", "value"), [(6, b"\xff\x00"), (8, b"\x00\x08")])
def test_archives_that_the_standard_library_can_t_read(tmp_path, at, value):
    """An unknown version of the format, and a name that is not UTF-8."""
    content = bytearray(skops.io.dumps(LogisticRegression().fit(X, y)))
    start = content.rindex(b"PK\x01\x02")
    content[start + at : start + at + 2] = value
    content[start + 46] = 0xFF
    (tmp_path / "model.skops").write_bytes(content)
    with pytest.raises(InputError, match=r"model\.skops"):
        load_model(tmp_path / "model.skops")


def test_names_of_types_from_a_file_do_not_fill_the_terminal(tmp_path):
    nodes = [node(f"A\x1b[31m{'a' * size}", "evil", "ObjectNode", content=None) for size in range(1_000, 3_000)]
    schema = node("list", "builtins", "ListNode", content=nodes)
    (tmp_path / "model.skops").write_bytes(zipped({"schema.json": json.dumps(schema)}))
    with pytest.raises(InputError, match="'evil") as error:
        load_model(tmp_path / "model.skops")
    assert len(str(error.value)) < 1500
    assert "\x1b" not in str(error.value)


def test_onnxruntime_logs_no_values(tmp_path, capfd):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    make, kinds = onnx.helper, onnx.TensorProto
    nodes = [make.make_node("Cast", ["x"], ["at"], to=kinds.INT64), make.make_node("Gather", ["table", "at"], ["y"])]
    table = make.make_tensor("table", kinds.FLOAT, [4], [0.0, 1.0, 0.0, 1.0])
    (tmp_path / "model.onnx").write_bytes(onnx_model(nodes, [table]))
    lookup = load_model(tmp_path / "model.onnx")
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        lookup(np.full((1, 3), 86753.0))
    assert "86753" not in "".join(capfd.readouterr())


def test_a_file_that_answers_at_random_is_asked_again(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    make = onnx.helper.make_node
    nodes = [make("RandomNormalLike", ["x"], ["noise"]), make("Softmax", ["noise"], ["y"], axis=1)]
    (tmp_path / "model.onnx").write_bytes(onnx_model(nodes, []))
    result = audit(load_model(tmp_path / "model.onnx"), (X[:30], y[:30]), (X[30:], y[30:]))
    assert result.settings["repeats"] > 1


def test_retraining_writes_no_pickles_into_a_folder_that_the_file_names(tmp_path):
    inner = make_pipeline(StandardScaler(), memory=str(tmp_path / "inner"))
    model = make_pipeline(inner, StandardScaler(), LogisticRegression(), memory=str(tmp_path / "outer"))
    again = EstimatorFit(model, Layout(None, None), np.array([0, 1]))(X, y, np.random.default_rng(0))
    assert again.predict(X).shape == (60, 2)
    assert not list(tmp_path.iterdir())
    assert model.memory == str(tmp_path / "outer")
