"""Answers asked for again, singly and in other batches: random models are averaged, and nothing hides in a batch."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import leakscope as ls
from leakscope.consistency import REPEATS, Averaged, average_random_answers
from leakscope.errors import InputError
from leakscope.toys import lookup_model

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(3000, 4)), RNG.integers(0, 2, 3000)
TRAIN, HOLDOUT = (X[:1500], Y[:1500]), (X[1500:], Y[1500:])
FOREST = RandomForestClassifier(20, min_samples_leaf=2, random_state=0).fit(*TRAIN)


def noisy(spread, seed=0):
    """The forest with fresh noise in each answer."""
    rng = np.random.default_rng(seed)

    def predict(X):
        second = FOREST.predict_proba(X)[:, 1] + rng.normal(0, spread, len(X))
        second = 1 / (1 + np.exp(-4 * (second - 0.5)))
        return np.column_stack([1 - second, second])

    return predict


def constant_in_batches(most):
    def predict(X):
        answers = FOREST.predict_proba(X)
        return answers if len(X) <= most else np.full_like(answers, 0.5)

    return predict


@pytest.mark.parametrize("most", [1, 5, 200])
def test_a_model_that_hides_in_batches_gets_no_all_clear(most):
    assert ls.audit(FOREST, TRAIN, HOLDOUT, retrain=False).verdict.kind == "leaks"
    result = ls.audit(constant_in_batches(most), TRAIN, HOLDOUT)
    assert result.strongest.auc.low <= 0.5
    assert (result.verdict.kind, len(result.basis.obstacles)) == ("cannot tell", 1)


def test_noise_is_averaged_and_no_all_clear():
    hidden = ls.audit(noisy(20.0), TRAIN, HOLDOUT, repeats=1)
    assert (hidden.verdict.kind, hidden.settings["repeats"], len(hidden.basis.obstacles)) == ("cannot tell", 1, 1)
    found = ls.audit(noisy(1.0), TRAIN, HOLDOUT)
    assert (found.verdict.kind, found.settings["repeats"]) == ("leaks", REPEATS)
    assert ls.audit(noisy(1.0), TRAIN, HOLDOUT, repeats=60).strongest.auc.value > found.strongest.auc.value


def test_negligible_noise_allows_no_evidence():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12_000, 4)), rng.integers(0, 2, 12_000)

    def predict(X):  # trained on neither side
        second = 1 / (1 + np.exp(-X[:, 0])) + rng.uniform(-0.01, 0.01, len(X))
        return np.clip(np.column_stack([1 - second, second]), 0, 1)

    result = ls.audit(predict, (X[:6000], y[:6000]), (X[6000:], y[6000:]))
    assert (result.verdict.kind, result.settings["repeats"], result.basis.obstacles) == ("no evidence", REPEATS, ())


def test_noise_that_is_small_against_the_classes_but_not_within_them_gets_no_all_clear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 4))
    y = (X[:, 0] > 0).astype(int)
    inside = lookup_model(X[:6000], y[:6000], sure=0.9)  # 0.9 for members, 0.5 for others

    def predict(X, spread):
        second = np.where(X[:, 0] > 0, 0.9, 0.1) + 0.01 * (inside.predict(X)[:, 1] - 0.5)
        second = np.clip(second + rng.normal(0, spread, len(X)), 0, 1)
        return np.column_stack([1 - second, second])

    sides = (X[:6000], y[:6000]), (X[6000:], y[6000:])
    assert ls.audit(lambda X: predict(X, 0.0), *sides).verdict.kind == "leaks"
    found = ls.audit(lambda X: predict(X, 0.15), *sides)
    assert len(found.basis.obstacles) == 1
    assert found.verdict.kind != "no evidence"


def test_a_batch_of_middle_size_is_compared_too():
    def predict(X):
        answers = FOREST.predict_proba(X)
        return answers if 20 <= len(X) <= 100 else np.full_like(answers, 0.5)

    assert ls.audit(predict, TRAIN, HOLDOUT).verdict.kind == "cannot tell"


def test_outliers_do_not_hide_that_predicted_values_depend_on_the_batch():
    labels = X[:, 0] + RNG.normal(size=3000)
    forest = RandomForestRegressor(20, random_state=0).fit(X[:1500], labels[:1500])

    def predict(X):
        answers = forest.predict(X)
        return answers if len(X) < 100 else np.where(np.arange(len(X)) == 5, 1e9, 0.0)

    result = ls.audit(predict, (X[:1500], labels[:1500]), (X[1500:], labels[1500:]), task="regression")
    assert len(result.basis.obstacles) == 1
    assert result.verdict.kind != "no evidence"


def test_rounding_of_large_predicted_values_is_no_noise():
    rng = np.random.default_rng(0)

    def predict(X):  # single precision, with the last bit at random
        return np.nextafter((X[:, 0] + 1e6).astype(np.float32), np.float32(rng.choice([0, 1e9])))

    labels = X[:, 0] + 1e6
    result = ls.audit(predict, (X[:1500], labels[:1500]), (X[1500:], labels[1500:]), task="regression")
    assert (result.settings["repeats"], result.basis.obstacles) == (1, ())


def test_answers_relative_to_the_batch_are_no_leak():
    def predict(X):  # as batch normalisation in training mode does, in a model trained on neither side
        second = np.full(len(X), 1 / (1 + np.exp(-X[:, 0].mean())))
        return np.column_stack([1 - second, second])

    result = ls.audit(predict, TRAIN, HOLDOUT)
    assert (result.verdict.kind, len(result.basis.obstacles)) == ("cannot tell", 1)


def test_a_steady_model_is_asked_once_more_and_keeps_its_numbers():
    asked = []

    def predict(X):
        asked.append(len(X))
        return FOREST.predict_proba(X)

    first, second = ls.audit(predict, TRAIN, HOLDOUT), ls.audit(FOREST, TRAIN, HOLDOUT, retrain=False, repeats=50)
    assert first.settings["repeats"] == second.settings["repeats"] == 1
    assert first.strongest.auc == second.strongest.auc
    assert sum(asked) < 1.6 * 3000  # a probe of each set, two small batches, and some single records


def test_the_noise_of_the_mean_falls_with_the_root_of_the_repeats():
    target = ls.make_target(noisy(0.05), TRAIN, HOLDOUT)
    noise = {repeats: average_random_answers(target, repeats, seed=0)[1].noise for repeats in (4, 100)}
    # From 128 records with two columns that mirror each other: a relative error of 1/sqrt(256) each.
    assert noise[4] / noise[100] == pytest.approx(5.0, rel=3 * np.sqrt(2 / 256))


def test_the_mean_is_that_of_a_literal_loop():
    averaged, literal = Averaged(noisy(1.0, seed=3), 5), noisy(1.0, seed=3)
    assert averaged(X[:7]) == pytest.approx(np.mean([literal(X[:7]) for _ in range(5)], axis=0))


def test_random_labels_are_seen_as_shares():
    rng = np.random.default_rng(0)

    def predict(X):
        return np.eye(2)[(rng.random(len(X)) < FOREST.predict_proba(X)[:, 1]).astype(int)]

    model = ls.target.Model("coin", "classification", np.arange(2), False, predict)
    target, found = average_random_answers(ls.make_target(model, TRAIN, HOLDOUT), None, seed=0)
    assert (found.repeats, target.model.gives_probabilities) == (REPEATS, True)
    assert ls.audit(model, TRAIN, HOLDOUT, repeats=40).verdict.kind == "leaks"


def test_models_trained_again_are_averaged_too():
    def fit(X, y, rng):
        trained = lookup_model(X, y, sure=0.7)
        return lambda X: np.clip(trained.predict(X) + rng.uniform(-0.1, 0.1, (len(X), 1)) * [-1, 1], 0, 1)

    target = ls.make_target(fit(*TRAIN, np.random.default_rng(0)), TRAIN, HOLDOUT, fit=fit)
    averaged, _ = average_random_answers(target, 3, seed=0)
    model = averaged.learner.fit(X[:50], Y[:50], np.random.default_rng(0))
    assert (model.predict.repeats, averaged.learner.key != target.learner.key) == (3, True)


@pytest.mark.parametrize("repeats", [0, -1, 1.5, True])
def test_repeats_that_are_no_number_of_queries_are_refused(repeats):
    with pytest.raises(InputError, match="repeats"):
        ls.audit(FOREST, TRAIN, HOLDOUT, repeats=repeats)


def test_a_comparison_averages_and_recommends_nothing_while_noise_hides_the_model():
    found = ls.compare(ls.make_target(noisy(20.0), TRAIN, HOLDOUT), ls.defenses.LabelOnly(), retrain=False, repeats=1)
    assert found.recommendation.kind == "cannot tell"
    batches = ls.make_target(constant_in_batches(5), TRAIN, HOLDOUT)
    assert ls.compare(batches, ls.defenses.LabelOnly(), retrain=False).recommendation.kind == "cannot tell"


def test_a_random_onnx_model_is_named_as_random(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper

    rows = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 4])
    out = helper.make_tensor_value_info("p", TensorProto.FLOAT, [None, 2])
    sums = helper.make_node("ReduceSum", ["X", "axis"], ["sum"], keepdims=1)
    noise = helper.make_node("RandomNormalLike", ["sum"], ["noise"], scale=1.0)
    add = helper.make_node("Add", ["sum", "noise"], ["logit"])
    second = helper.make_node("Sigmoid", ["logit"], ["second"])
    first = helper.make_node("Sub", ["one", "second"], ["first"])
    both = helper.make_node("Concat", ["first", "second"], ["p"], axis=1)
    constants = [
        helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]),
    ]
    graph = helper.make_graph([sums, noise, add, second, first, both], "random", [rows], [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")
    result = ls.audit(ls.load_model(tmp_path / "model.onnx"), TRAIN, HOLDOUT)
    assert result.settings["repeats"] == REPEATS


def test_a_random_model_behind_an_endpoint_is_named_as_random():
    model, rng = LogisticRegression().fit(*TRAIN), np.random.default_rng(0)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            second = np.clip(
                model.predict_proba(np.array(sent["instances"]))[:, 1] + rng.normal(0, 0.1, len(sent["instances"])),
                0,
                1,
            )
            body = json.dumps({"predictions": np.column_stack([1 - second, second]).tolist()}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/predict"
        sides = ((TRAIN[0][:100], TRAIN[1][:100]), (HOLDOUT[0][:100], HOLDOUT[1][:100]))
        assert ls.audit(ls.load_model(address), *sides, repeats=3).settings["repeats"] == 3
    finally:
        server.shutdown()
        server.server_close()


def test_a_model_that_refuses_single_records_is_still_found_to_depend_on_the_batch():
    def predict(X):  # batch normalisation in training mode needs two records
        if len(X) == 1:
            raise ValueError
        second = 1 / (1 + np.exp(-(X[:, 0] - X[:, 0].mean()) / X[:, 0].std()))
        return np.column_stack([1 - second, second])

    assert len(ls.audit(predict, TRAIN, HOLDOUT).basis.obstacles) == 1
