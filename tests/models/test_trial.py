"""Trial load of model files in a child process: refusals, limits, and cleanup."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import hostile_files
import numpy as np
import pytest
import skops.io
from hostile_files import MODELS, X, y
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from leakscope.core.errors import InputError
from leakscope.models import structure as model_structure
from leakscope.models import trial as model_trial
from leakscope.models.files import load_model
from leakscope.models.trial import Limits, TrialOutcome, TrialTask, limits_for, try_model


def forked(model, seconds=30.0, memory=2**32):
    """Outcome of a forked child for a model."""
    job = TrialTask("skops", "model.skops", (), 3 * seconds, memory, os.getpid())
    return model_trial._run_forked(job, skops.io.dumps(model))


@pytest.fixture
def unchecked(monkeypatch):
    """Disable the structure check in the child, to test the limits alone."""
    monkeypatch.setattr(model_structure, "check_structure", lambda model: None)


@pytest.mark.usefixtures("unchecked")
def test_a_crash_ends_the_child_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert forked(hostile_files.decision_tree(feature=(0, 10**8))).code == -signal.SIGSEGV
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("unchecked")
def test_an_endless_prediction_is_ended():
    start = time.monotonic()
    cycle = hostile_files.decision_tree(left_child=(0, 0), right_child=(0, 0))
    assert forked(cycle, seconds=0.5).code == -signal.SIGALRM
    assert time.monotonic() - start < 10


@pytest.mark.usefixtures("unchecked")
def test_after_a_crash_of_the_forked_child_a_new_interpreter_decides(monkeypatch):
    # Reading beyond an array does not always crash; the forked child inherits this patch, a new interpreter does not.
    monkeypatch.setattr(model_trial, "_predict", lambda *_: os.kill(os.getpid(), signal.SIGSEGV))
    assert forked(MODELS["svc support"]()).code == -signal.SIGSEGV
    content = skops.io.dumps(MODELS["svc support"]())
    with pytest.raises(InputError, match="SVC:"):  # the new interpreter checks the structure
        try_model(Path("model.skops"), "skops", content)


def test_memory_beyond_the_limit_ends_the_child():
    wide = LogisticRegression().fit(X, y)
    wide.n_features_in_ = 10**8
    assert forked(wide, memory=2**30).code == model_trial.OUT_OF_MEMORY


@pytest.mark.parametrize(
    ("outcome", "named"),
    [
        (TrialOutcome(-signal.SIGSEGV, ""), "SIGSEGV"),
        (TrialOutcome(-signal.SIGALRM, ""), "LEAKSCOPE_LOAD_SECONDS"),
        (TrialOutcome(-signal.SIGKILL, ""), "LEAKSCOPE_LOAD_MEMORY"),
        (TrialOutcome(model_trial.OUT_OF_MEMORY, ""), "LEAKSCOPE_LOAD_MEMORY"),
        (TrialOutcome(1, ""), r"\b1\)"),
        (TrialOutcome(0, ""), r"\b0\)"),
        (TrialOutcome(0, json.dumps({"refusal": "because"})), "because"),
    ],
)
def test_every_bad_end_is_an_input_error(outcome, named):
    with pytest.raises(InputError, match=named) as caught:
        model_trial._judge(Path("model.skops"), outcome, Limits(60, 2**32))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "make", "settings"),
    [
        ("bomb.skops", hostile_files.zip_bomb, {}),
        ("repeated.skops", hostile_files.repeated_array, {"LEAKSCOPE_LOAD_MEMORY": "0.2"}),
        ("deep.skops", hostile_files.deep_nesting, {}),
        ("loop.onnx", hostile_files.onnx_loop, {"LEAKSCOPE_LOAD_SECONDS": "0.5"}),
        ("allocation.onnx", hostile_files.onnx_allocation, {}),
    ],
)
def test_bombs_and_loops_end_in_one_sentence(tmp_path, monkeypatch, name, make, settings):
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    path = tmp_path / name
    path.write_bytes(make())
    with pytest.raises(InputError, match=name) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [path]


def test_a_forked_child_is_enough_after_threads_of_openmp_have_run(monkeypatch):
    """The threads of an OpenMP pool do not exist in a forked child, which must not wait for them."""
    table = np.tile(X, (100, 1))
    with threadpool_limits(2, user_api="openmp"):
        boosting = HistGradientBoostingClassifier(max_iter=2).fit(table, np.tile(y, 100))
        means = KMeans(2, n_init=1).fit(table)
        boosting.predict(table), means.predict(table)
        means._n_threads = 2
        monkeypatch.delattr(model_trial, "_run_fresh")
        for model in (boosting, means):
            try_model(Path("model.skops"), "skops", skops.io.dumps(model))


def test_a_new_interpreter_gives_the_same_answer():
    content = skops.io.dumps(RandomForestClassifier(3, random_state=0).fit(X, y))
    job = TrialTask("skops", "model.skops", (), 60.0, 2**32, os.getpid())
    outcome = model_trial._run_fresh(job, content)
    assert (outcome.code, json.loads(outcome.said)) == (0, {"refusal": ""})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent has ended")
def test_the_child_ends_with_its_parent(tmp_path):
    (tmp_path / "loop.onnx").write_bytes(hostile_files.onnx_loop())
    code = f"import leakscope; leakscope.load_model({str(tmp_path / 'loop.onnx')!r})"
    parent = subprocess.Popen([sys.executable, "-c", code])
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    while not (child := children.read_text().split()):
        assert parent.poll() is None
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child[0]}").exists() and "(zombie)" not in Path(f"/proc/{child[0]}/status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_exchanged_onnx_file_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(hostile_files.onnx_loop(3))
    packed = pickle.dumps(load_model(path))
    assert pickle.loads(packed)(X).shape == X.shape
    path.write_bytes(hostile_files.onnx_loop(4))
    with pytest.raises(InputError, match=r"model\.onnx"):
        pickle.loads(packed)


def test_weights_beside_an_onnx_file_are_found(tmp_path):
    import onnx

    weights = onnx.numpy_helper.from_array(np.ones((3, 200), dtype=np.float32), "w")
    model = hostile_files.onnx_model([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], [weights])
    place = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 100}
    onnx.save(onnx.load_from_string(model), tmp_path / "model.onnx", **place)
    assert load_model(tmp_path / "model.onnx")(X[:2]).shape == (2, 200)


def test_limits_grow_with_the_file_and_can_be_set(monkeypatch):
    assert limits_for(0).seconds == 60
    assert limits_for(10**9).seconds == 160
    assert limits_for(0).memory <= 4 * 2**30
    monkeypatch.setenv("LEAKSCOPE_LOAD_SECONDS", "7")
    monkeypatch.setenv("LEAKSCOPE_LOAD_MEMORY", "1.5")
    assert limits_for(10**9) == Limits(7, 3 * 2**29)
    for wrong in ("soon", "0", "-1", "inf", "nan"):
        monkeypatch.setenv("LEAKSCOPE_LOAD_SECONDS", wrong)
        with pytest.raises(InputError, match="LEAKSCOPE_LOAD_SECONDS"):
            limits_for(0)
