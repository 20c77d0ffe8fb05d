"""`make_target`: all kinds of models give the same known outputs, and unsuitable input is refused."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from leakscope.core.errors import InputError
from leakscope.models.target import Model, make_target, predict_in_blocks

rng = np.random.default_rng(3)
X = rng.normal(size=(80, 3))
y = (X[:, 0] > 0).astype(int)
TRAIN, HOLDOUT = (X[:40], y[:40]), (X[40:], y[40:])
FRAME = pd.DataFrame({"age": X[:, 0], "sex": np.where(X[:, 1] > 0, "f", "m"), "hours": X[:, 2]})
FRAME_TRAIN, FRAME_HOLDOUT = (FRAME[:40], y[:40]), (FRAME[40:], y[40:])
SIGMOID = 1 / (1 + np.exp(-X[:, 0]))


def sigmoid(X):
    return 1 / (1 + np.exp(-np.asarray(X)[:, 0].astype(float)))


def three_columns(X):
    powers = np.exp(np.asarray(X)[:, :3])
    return powers / powers.sum(axis=1, keepdims=True)


def text_pipeline(*steps):
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age", "hours"]))
    return make_pipeline(columns, *steps)


# --- known outputs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_column_is_the_probability_of_the_second_class(shape):
    target = make_target(lambda X: sigmoid(X).reshape(shape), TRAIN, HOLDOUT)
    assert np.array_equal(target.model.predict(X), np.column_stack([1 - SIGMOID, SIGMOID]))
    assert target.model.classes.tolist() == [0, 1]
    assert target.learner is None


def test_columns_of_a_callable_belong_to_the_sorted_labels_of_the_training_set():
    words = np.array(["c", "a", "b"])[X.argmax(axis=1)]
    target = make_target(three_columns, (X[:40], words[:40]), (X[40:], words[40:]))
    assert target.model.classes.tolist() == ["a", "b", "c"]
    assert target.members.y.tolist() == [["a", "b", "c"].index(word) for word in words[:40]]
    named = make_target(three_columns, (X[:40], words[:40]), (X[40:], words[40:]), classes=["c", "a", "b"])
    assert np.array_equal(named.nonmembers.y, X[40:].argmax(axis=1))
    # integers below the number of columns are positions, even if a class is absent
    assert make_target(three_columns, TRAIN, HOLDOUT).model.classes.tolist() == [0, 1, 2]


@pytest.mark.parametrize("labels", [y.astype(bool), y.astype(float), y.astype(np.uint8), pd.Series(y, dtype="Int64")])
def test_labels_of_any_type_become_codes(labels):
    target = make_target(sigmoid, (X[:40], labels[:40]), (X[40:], labels[40:]), task="classification")
    assert target.members.y.dtype == np.int64
    assert np.array_equal(target.members.y, y[:40])


def test_text_labels_of_a_pipeline_on_a_frame_with_text_columns():
    words = np.where(y == 1, ">50K", "<=50K")
    model = text_pipeline(LogisticRegression()).fit(FRAME, words)
    extra = FRAME[["hours", "sex", "age"]].assign(name="hidden")
    target = make_target(model, (extra[:40], words[:40]), (extra[40:], words[40:]), groups="name")
    assert list(target.members.X.columns) == ["age", "sex", "hours"]
    assert np.array_equal(target.model.predict(extra), model.predict_proba(FRAME))
    assert target.members.y.tolist() == y[:40].tolist()
    assert target.model.name == "Pipeline with LogisticRegression"


def test_labels_only_models_give_one_for_their_label():
    model = LinearSVC().fit(X, y)
    target = make_target(model, TRAIN, HOLDOUT)
    assert not target.model.gives_probabilities
    assert np.array_equal(target.model.predict(X), np.eye(2)[model.predict(X)])


def test_regression_gives_float_values():
    values = X @ [1.0, 2.0, 3.0]
    target = make_target(LinearRegression().fit(X, values), (X[:40], values[:40]), (X[40:], values[40:]))
    assert (target.model.task, target.model.classes) == ("regression", None)
    assert target.model.predict(X) == pytest.approx(values)
    column = make_target(lambda X: X[:, :1], (X[:40], values[:40]), (X[40:], values[40:]))
    assert np.array_equal(column.model.predict(X), X[:, 0])
    assert column.members.y.dtype == np.float64


@pytest.mark.parametrize("outputs", ["logits", "log-probabilities"])
def test_outputs_of_a_callable_may_be_logits_or_log_probabilities(outputs):
    def call(X):
        return X if outputs == "logits" else np.log(three_columns(X))

    target = make_target(call, TRAIN, HOLDOUT, outputs=outputs)
    assert target.model.predict(X) == pytest.approx(three_columns(X))


def test_one_column_of_logits_keeps_both_tails():
    target = make_target(lambda X: 50 * np.sign(X[:, :1]), TRAIN, HOLDOUT, outputs="logits")
    smallest = target.model.predict(X).min(axis=1)
    assert smallest == pytest.approx(np.full(80, np.exp(-50)), rel=1e-9, abs=0)


def test_sums_within_rounding_are_renormalised_and_others_refused():
    target = make_target(lambda X: three_columns(X).astype(np.float16), TRAIN, HOLDOUT)
    assert np.abs(target.model.predict(X).sum(axis=1) - 1).max() < 1e-15
    with pytest.raises(InputError, match=r"\b2\D+2\b"):
        make_target(lambda X: 2 * three_columns(X), TRAIN, HOLDOUT)
    with pytest.raises(InputError, match=r"-0\.5\D+1\.5"):
        make_target(lambda X: np.tile([-0.5, 1.5], (len(X), 1)), TRAIN, HOLDOUT)


def test_a_model_made_by_hand_is_checked_like_any_other():
    model = Model("handmade", "classification", np.array([0, 1]), True, lambda X: np.ones((len(X), 2)))
    with pytest.raises(InputError, match="handmade"):
        make_target(model, TRAIN, HOLDOUT)


def test_frames_for_models_fitted_on_arrays_and_arrays_for_models_fitted_on_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    on_array, on_frame = LogisticRegression().fit(X, y), LogisticRegression().fit(frame, y)
    pairs = (frame[:40], y[:40]), (frame[40:], y[40:])
    assert make_target(on_array, *pairs).model.predict(frame) == pytest.approx(on_array.predict_proba(X))
    assert make_target(on_frame, TRAIN, HOLDOUT).model.predict(X) == pytest.approx(on_array.predict_proba(X))


# --- torch ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def make_network(torch, *last, width=2, seed=0):
    torch.manual_seed(seed)
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, width), *last)


def test_torch_probabilities_and_training_flags_that_stay(torch):
    network = make_network(torch)
    network[2].eval()
    flags = [part.training for part in network.modules()]
    state = torch.get_rng_state()
    target = make_target(network, TRAIN, HOLDOUT)
    answers = target.model.predict(X)
    assert [part.training for part in network.modules()] == flags
    assert torch.equal(torch.get_rng_state(), state)
    assert network[1].num_batches_tracked == 0
    with torch.no_grad():
        expected = torch.softmax(network.eval()(torch.tensor(X, dtype=torch.float32)).double(), dim=1).numpy()
    assert answers == pytest.approx(expected, abs=1e-6)


def test_torch_flags_are_restored_when_the_module_fails(torch):
    network = make_network(torch)
    with pytest.raises(InputError, match=r"Sequential.*RuntimeError"):
        make_target(network, (X[:40, :2], y[:40]), (X[40:, :2], y[40:]))
    assert all(part.training for part in network.modules())


def test_torch_last_layer_says_what_the_outputs_are(torch):
    nn = torch.nn
    bare = make_target(make_network(torch), TRAIN, HOLDOUT).model.predict(X)
    for layer in (nn.Softmax(dim=1), nn.LogSoftmax(dim=1)):
        assert make_target(make_network(torch, layer), TRAIN, HOLDOUT).model.predict(X) == pytest.approx(bare, abs=1e-6)
    one = make_target(make_network(torch, width=1), TRAIN, HOLDOUT).model.predict(X)
    with_sigmoid = make_target(make_network(torch, nn.Sigmoid(), width=1), TRAIN, HOLDOUT).model.predict(X)
    assert with_sigmoid == pytest.approx(one, abs=1e-6)


def test_torch_outputs_that_could_be_either_are_refused(torch):
    class Ending(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = make_network(torch)

        def forward(self, X):
            return torch.softmax(self.network(X), dim=1)

    with pytest.raises(InputError, match=r'outputs="probabilities".*outputs="logits"'):
        make_target(Ending(), TRAIN, HOLDOUT)
    bare = make_target(make_network(torch), TRAIN, HOLDOUT).model.predict(X)
    said = make_target(Ending(), TRAIN, HOLDOUT, outputs="probabilities").model.predict(X)
    assert said == pytest.approx(bare, abs=1e-6)


def test_torch_embeddings_get_integers_and_tensors_are_records(torch):
    network = torch.nn.Sequential(torch.nn.Embedding(5, 2), torch.nn.Flatten(), torch.nn.Linear(6, 2))
    tokens = torch.tensor(rng.integers(5, size=(80, 3)))
    labels = torch.tensor(y)
    target = make_target(network, (tokens[:40], labels[:40]), (tokens[40:], labels[40:]))
    with torch.no_grad():
        expected = torch.softmax(network(tokens).double(), dim=1).numpy()
    assert target.model.predict(tokens.numpy()) == pytest.approx(expected, abs=1e-6)


def test_torch_regression_and_mixed_number_columns(torch):
    network = torch.nn.Linear(3, 1).double()
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "c": np.arange(80)})
    target = make_target(network, (frame[:40], X[:40, 0]), (frame[40:], X[40:, 0]))
    with torch.no_grad():
        expected = network(torch.tensor(frame.to_numpy(dtype=float))).numpy()[:, 0]
    assert target.model.predict(frame) == pytest.approx(expected)
    with pytest.raises(InputError, match="torch"):
        make_target(network, (FRAME[:40], X[:40, 0]), (FRAME[40:], X[40:, 0]))


def test_torch_is_retrained_by_fit_from_the_seed_alone(torch):
    def fit(X, y, rng):  # noqa: ARG001
        network = torch.nn.Linear(3, 2)
        step = torch.optim.SGD(network.parameters(), lr=0.1)
        loss = torch.nn.functional.cross_entropy(network(torch.tensor(X).float()), torch.tensor(y))
        loss.backward()
        step.step()
        return network

    target = make_target(torch.nn.Linear(3, 2), TRAIN, HOLDOUT, fit=fit)
    state = torch.get_rng_state()
    first, again, other = (target.learner.fit(*TRAIN, np.random.default_rng(s)).predict(X) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_no_library_is_imported_for_others():
    code = (
        "import sys, numpy as np\n"
        "from leakscope.models.target import make_target\n"
        "X, y = np.linspace(0, 1, 10)[:, None], np.arange(10) % 2\n"
        "make_target(lambda X: X, (X, y), (X, y))\n"
        "sys.exit(bool({'torch', 'sklearn', 'xgboost', 'lightgbm'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- retraining -------------------------------------------------------------------------------------------------------


def test_estimators_are_retrained_from_the_seed_alone_with_the_classes_of_the_target():
    words = np.array(["a", "b", "c"])[np.arange(80) % 3]
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(X, words)
    learner = make_target(model, (X[:40], words[:40]), (X[40:], words[40:])).learner
    learner = pickle.loads(pickle.dumps(learner))
    codes = np.arange(40) % 3
    first, again, other = (learner.fit(X[:40], codes, np.random.default_rng(s)).predict(X) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    partial = learner.fit(X[:40][codes != 1], codes[codes != 1], np.random.default_rng(1))
    assert partial.classes.tolist() == ["a", "b", "c"]
    assert (partial.predict(X)[:, 1] == 0).all()
    assert partial.predict(X).sum(axis=1) == pytest.approx(np.ones(80))


def test_the_model_and_the_records_are_left_as_they_were():
    state = np.random.RandomState(5)
    model = make_pipeline(StandardScaler(copy=False), RandomForestClassifier(3, random_state=state))
    model.fit(X.copy(), y)
    before, drawn, table, labels = pickle.dumps(model), state.get_state()[2], X.copy(), y.copy()
    target = make_target(model, TRAIN, HOLDOUT)
    list(predict_in_blocks(target.model, X))
    target.learner.fit(X[:40].copy(), y[:40], np.random.default_rng(0))
    assert pickle.dumps(model) == before
    assert state.get_state()[2] == drawn
    assert np.array_equal(X, table)
    assert np.array_equal(y, labels)


def test_fit_of_the_user_sees_the_original_labels_and_may_return_any_model():
    words = np.where(y == 1, "yes", "no")
    seen = []

    def fit(X, y, rng):  # noqa: ARG001
        seen.append(sorted(set(y)))
        return LogisticRegression().fit(X, y)

    target = make_target(sigmoid, (X[:40], words[:40]), (X[40:], words[40:]), fit=fit, classes=["yes", "no"])
    model = target.learner.fit(X[:40], target.members.y, np.random.default_rng(0))
    assert seen == [["no", "yes"]]
    assert model.classes.tolist() == ["yes", "no"]
    expected = LogisticRegression().fit(X[:40], words[:40]).predict_proba(X)[:, ::-1]
    assert np.array_equal(model.predict(X), expected)


def test_equal_learners_have_equal_keys():
    def key(**parameters):
        return make_target(LogisticRegression(**parameters).fit(X, y), TRAIN, HOLDOUT).learner.key

    assert key(C=1.0) == key(C=1.0)
    assert key(C=1.0) != key(C=2.0)


def test_a_learner_that_has_no_fingerprint_never_shares_its_key_with_another():
    with open(__file__) as file:

        def fit(X, y, rng):  # noqa: ARG001
            return file and LogisticRegression().fit(X, y)

        first, second = (make_target(sigmoid, TRAIN, HOLDOUT, fit=fit).learner.key for _ in range(2))
    assert first != second


@pytest.mark.parametrize("wrapped", [False, True])
def test_models_that_are_frozen_or_have_a_frozen_part_are_not_retrained_and_the_target_says_so(wrapped):
    model = FrozenEstimator(LogisticRegression().fit(X, y))
    if wrapped:
        model = CalibratedClassifierCV(model).fit(X, y)
    target = make_target(model, TRAIN, HOLDOUT)
    assert target.learner is None
    assert target.warnings[0].code == "frozen_parts"


def test_a_failing_fit_is_one_sentence():
    learner = make_target(LogisticRegression().fit(X, y), TRAIN, HOLDOUT).learner
    with pytest.raises(InputError, match=r"LogisticRegression.*\b5\b.*ValueError"):
        learner.fit(X[:5], np.zeros(5, dtype=int), np.random.default_rng(0))
    broken = make_target(sigmoid, TRAIN, HOLDOUT, fit=lambda X, y, rng: 1 / 0).learner
    with pytest.raises(InputError, match=r"fit=.*\b40\b.*ZeroDivisionError"):
        broken.fit(*TRAIN, np.random.default_rng(0))


# --- records, ids and groups ------------------------------------------------------------------------------------------


def test_take_keeps_rows_together():
    frame = FRAME.set_index(pd.Index([f"p{i}" for i in range(80)]))
    target = make_target(sigmoid, (frame[:40], y[:40]), (frame[40:], y[40:]), groups=["sex"])
    some = target.members.take([7, 3])
    assert target.members.take(np.arange(40) % 20 == 3).ids.tolist() == ["p3", "p23"]
    assert repr(target.members) == "<40 records>"
    assert some.ids.tolist() == ["p7", "p3"]
    assert some.groups["sex"].tolist() == FRAME["sex"].iloc[[7, 3]].tolist()
    assert some.y.tolist() == [y[7], y[3]]
    assert some.X["age"].tolist() == X[[7, 3], 0].tolist()


def test_ids_are_row_names_where_unique_or_positions_or_as_given():
    twice = FRAME.set_index(pd.Index([0] * 80))
    assert make_target(sigmoid, (twice[:40], y[:40]), FRAME_HOLDOUT).members.ids.tolist() == list(range(40))
    assert make_target(sigmoid, FRAME_TRAIN, FRAME_HOLDOUT).nonmembers.ids.tolist() == list(range(40, 80))
    given = make_target(sigmoid, TRAIN, HOLDOUT, ids=(np.arange(40) + 100, np.arange(40) + 200))
    assert (given.members.ids[0], given.nonmembers.ids[0]) == (100, 200)
    assert make_target(sigmoid, TRAIN, HOLDOUT, ids=[f"p{i}" for i in range(40)]).members.ids[3] == "p3"


@pytest.mark.parametrize(
    "groups",
    [
        "sex",
        ["sex"],
        FRAME["sex"][:40],
        FRAME[["sex"]][:40],
        (FRAME["sex"][:40], FRAME["sex"][40:]),
        (FRAME["sex"][:40].rename("sex"), FRAME["sex"][40:].to_numpy()),
        (FRAME[["sex"]][:40], FRAME[["sex"]][40:]),
    ],
)
def test_groups_in_every_form_give_the_same_levels(groups):
    target = make_target(sigmoid, FRAME_TRAIN, FRAME_HOLDOUT, groups=groups)
    assert target.members.groups["sex"].tolist() == FRAME["sex"][:40].tolist()
    assert target.nonmembers.groups["sex"].tolist() == FRAME["sex"][40:].tolist()


def test_missing_levels_are_named_and_a_whole_number_is_the_same_level_as_a_float():
    with_holes = pd.Series([1.0, np.nan] * 20, name="site")
    target = make_target(sigmoid, TRAIN, HOLDOUT, groups=(with_holes, pd.Series([1, 2] * 20)))
    assert target.members.groups["site"][:2].tolist() == ["1", "(missing)"]
    assert target.nonmembers.groups["site"][:2].tolist() == ["1", "2"]


def test_rows_named_differently_in_features_and_labels_are_warned_about():
    shuffled = pd.Series(y[:40], index=np.arange(40)[::-1])
    (warning,) = make_target(sigmoid, (FRAME[:40], shuffled), FRAME_HOLDOUT).warnings
    assert warning.code == "paired_by_position"


# --- missing and infinite values --------------------------------------------------------------------------------------


def with_value(value, rows=(50, 300), column="hours"):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 2)), columns=["age", "hours"])
    frame.loc[list(rows), column] = value
    return frame


LABELS = np.arange(400) % 2


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "missing"), (np.inf, "infinite")])
@pytest.mark.parametrize("rows", [(50, 300), (300, 301), range(400)])
def test_values_that_the_model_cannot_take_are_named_before_anything_is_run(value, kind, rows):
    clean = with_value(0.0)
    model = LogisticRegression().fit(clean, LABELS)
    with pytest.raises(InputError, match=rf"LogisticRegression.*{kind}.*holdout.*\b{len(rows)}\b.*\b400\b.*'hours'"):
        make_target(model, (clean, LABELS), (with_value(value, rows), LABELS))
    with pytest.raises(InputError, match=r"\b1:"):
        make_target(sigmoid_of_last, (clean.to_numpy(), LABELS), (with_value(value, rows).to_numpy(), LABELS))


def sigmoid_of_last(X):
    return np.where(np.isfinite(X[:, 1]), 0.25, np.nan)


def test_models_that_take_missing_values_work_and_only_infinity_is_blamed_where_an_imputer_stands():
    frame = with_value(np.nan)
    trees = HistGradientBoostingClassifier(max_iter=2).fit(frame, LABELS)
    imputed = make_pipeline(SimpleImputer(), LogisticRegression()).fit(frame, LABELS)
    for model in (trees, imputed):
        assert make_target(model, (frame, LABELS), (frame, LABELS)).warnings == ()
    both = frame.copy()
    both.loc[7, "age"] = -np.inf
    with pytest.raises(InputError, match=r"infinite.*\b1\b.*\b400\b.*'age'"):
        make_target(imputed, (both, LABELS), (frame, LABELS))


def test_blocks_cover_every_record_and_a_failure_names_its_cause():
    model = make_target(sigmoid, TRAIN, HOLDOUT).model
    calls = []
    parts = list(predict_in_blocks(model, X, block=33, progress=lambda *call: calls.append(call)))
    assert [(rows.start, rows.stop) for rows, _ in parts] == [(0, 33), (33, 66), (66, 80)]
    assert np.array_equal(np.vstack([values for _, values in parts]), model.predict(X))
    assert calls == [("predicting", 33, 80), ("predicting", 66, 80), ("predicting", 80, 80)]
    holes = X.copy()
    holes[70, 0] = np.nan
    with pytest.raises(InputError, match=r"callers.*\b1\b.*\b80\b.*\b0:"):
        list(predict_in_blocks(model, holes, block=33, where="callers"))


def test_missing_values_are_not_blamed_for_another_failure():
    def picky(X):
        if (X["age"] == 9).any():
            raise ValueError("nine is not an age\nsecond line")
        return np.full(len(X), 0.5)

    frame = with_value(np.nan)
    model = make_target(picky, (frame, LABELS), (frame, LABELS)).model
    frame.loc[399, "age"] = 9
    with pytest.raises(InputError, match=r"picky.*ValueError.*test_target\.py.*'age'") as caught:
        list(predict_in_blocks(model, frame))
    assert "nine" not in str(caught.value)


# --- refusals ---------------------------------------------------------------------------------------------------------

FITTED = LogisticRegression().fit(X, y)
ON_FRAME = text_pipeline(DecisionTreeClassifier()).fit(FRAME, y)
TWICE = pd.concat([FRAME, FRAME[["age"]]], axis=1)
WORDS = np.where(y == 1, "yes", "no")


@pytest.mark.parametrize(
    ("model", "train", "holdout", "options", "named"),
    [
        (FITTED, (X[:0], y[:0]), HOLDOUT, {}, "training"),
        (FITTED, TRAIN, (X[:0], y[:0]), {}, "holdout"),
        (FITTED, (X[:40], y[:39]), HOLDOUT, {}, "training.*40.*39"),
        (FITTED, X, HOLDOUT, {}, r"training.*\(X"),
        (sigmoid, FRAME_TRAIN, (FRAME[["age"]], y), {}, "holdout.*'sex'.*'hours'"),
        (sigmoid, (FRAME[["age"]], y), FRAME_HOLDOUT, {}, "training.*'sex'.*'hours'"),
        (sigmoid, TRAIN, (X[:, :2], y), {}, r"\(3,\).*\(2,\)"),
        (sigmoid, FRAME_TRAIN, HOLDOUT, {}, "DataFrame"),
        (FITTED, (X[:, :2], y), (X[:, :2], y), {}, r"\b3\b.*\b2\b"),
        (FITTED, (X[:, :, None], y), (X[:, :, None], y), {}, r"\(80,.3,.1\)"),
        (FITTED, (X, np.zeros(80, int)), HOLDOUT, {}, "training"),
        (FITTED, TRAIN, (X, np.ones(80, int)), {}, "holdout"),
        (FITTED, TRAIN, (X, y + 1), {}, rf"holdout.*\b{(y == 1).sum()}\b.*\b80\b.*\b{y.argmax()}\b.*\b2\b"),
        (FITTED, (X, y.astype(str)), HOLDOUT, {}, "training.*text.*numbers"),
        (FITTED, (X, np.where(y == 1, 1, np.nan)), HOLDOUT, {}, rf"training.*\b{(y == 0).sum()}\b"),
        (FITTED, TRAIN, (X, np.where(y == 1, 1, np.inf)), {}, rf"holdout.*\b{(y == 0).sum()}\b"),
        (FITTED, (X, np.array(["a", 1] * 40, dtype=object)), HOLDOUT, {}, "int.*str"),
        (FITTED, (X, np.eye(2)[y]), HOLDOUT, {}, r"\(80,.2\).*y\.argmax"),
        (LogisticRegression(), TRAIN, HOLDOUT, {}, r"LogisticRegression.*\bfit\b"),
        (make_pipeline(StandardScaler(), LogisticRegression()), TRAIN, HOLDOUT, {}, r"Pipeline.*\bfit\b"),
        (GridSearchCV(LogisticRegression(), {"C": [1]}), TRAIN, HOLDOUT, {}, r"GridSearchCV.*\bfit\b"),
        (LogisticRegression, TRAIN, HOLDOUT, {}, r"LogisticRegression.*\bclass\b"),
        (MultiOutputClassifier(FITTED).fit(X, np.eye(2)[y]), TRAIN, HOLDOUT, {}, "MultiOutputClassifier.*classes_"),
        (LinearRegression().fit(X, X), TRAIN, HOLDOUT, {}, r"LinearRegression.*\(3,\)"),
        (IsolationForest(), TRAIN, HOLDOUT, {}, "IsolationForest.*outlier"),
        (KMeans(2), TRAIN, HOLDOUT, {}, "KMeans.*clusterer"),
        (StandardScaler(), TRAIN, HOLDOUT, {}, "StandardScaler.*transformer"),
        ({"weights": 1}, TRAIN, HOLDOUT, {}, r"\bdict\b"),
        ("model.skops", TRAIN, HOLDOUT, {}, r"leakscope\.load_model"),
        (Path("model.skops"), TRAIN, HOLDOUT, {}, r"leakscope\.load_model"),
        (sigmoid, (TWICE, y), (TWICE, y), {}, "'age'"),
        (ON_FRAME, (FRAME[["age"]], y), (FRAME[["age"]], y), {}, "'sex'.*'hours'"),
        (FITTED, (csr_array(X), y), (X, y), {}, "sparse.*same type"),
        (FITTED, FRAME_TRAIN, FRAME_HOLDOUT, {}, "LogisticRegression.*ValueError"),
        (sigmoid, TRAIN, HOLDOUT, {"groups": "sex"}, "'sex'"),
        (sigmoid, TRAIN, HOLDOUT, {"groups": FRAME["sex"][:40]}, "'sex'.*groups="),
        (sigmoid, TRAIN, HOLDOUT, {"groups": np.arange(40)}, "groups="),
        (sigmoid, TRAIN, HOLDOUT, {"groups": (y[:40], y[:7])}, r"groups.*holdout.*\b7\b"),
        (sigmoid, TRAIN, HOLDOUT, {"groups": (y[:3], y[40:])}, r"groups.*training.*\b3\b"),
        (sigmoid, TRAIN, HOLDOUT, {"ids": [1] * 40}, r"ids.*\b39\b.*\b40\b.*\b0\b.*\b1\b"),
        (sigmoid, TRAIN, HOLDOUT, {"ids": [1, 2, 3]}, r"ids.*\(3,\).*\b40\b"),
        (sigmoid, TRAIN, HOLDOUT, {"task": "ranking"}, "task='ranking'"),
        (sigmoid, TRAIN, HOLDOUT, {"outputs": "odds"}, "outputs='odds'"),
        (sigmoid, TRAIN, HOLDOUT, {"fit": 3}, "fit="),
        (FITTED, TRAIN, HOLDOUT, {"task": "regression"}, "LogisticRegression.*task="),
        (FITTED, TRAIN, HOLDOUT, {"classes": [0, 1]}, "classes="),
        (sigmoid, TRAIN, HOLDOUT, {"classes": [0, 1, 2]}, r"classes=.*\b3\b.*\b2\b"),
        (sigmoid, TRAIN, HOLDOUT, {"classes": [1, 1]}, r"classes.*\b2\b.*\b1\b"),
        (three_columns, (X[:40], WORDS[:40]), (X[40:], WORDS[40:]), {}, "classes="),
        (sigmoid, (X, y.astype(float)), (X, y.astype(float)), {}, "task=.*--task"),
        (sigmoid, (X, WORDS), (X, WORDS), {"task": "regression"}, r"training.*\b0\b.*regression"),
        (lambda X: sigmoid(X)[:-1], TRAIN, HOLDOUT, {}, r"\(39,\).*\b40\b"),
        (lambda X: ["yes"] * len(X), TRAIN, HOLDOUT, {}, "callable"),
        (lambda X: np.zeros((len(X), 2, 2)), TRAIN, HOLDOUT, {}, r"\(40,.2,.2\)"),
        (lambda X: np.full(len(X), np.nan), TRAIN, HOLDOUT, {}, "nan.*--outputs"),
    ],
)
def test_refusals_say_what_is_wrong_in_one_sentence(model, train, holdout, options, named):
    with pytest.raises(InputError, match=named) as caught:
        make_target(model, train, holdout, **options)
    assert "\n" not in str(caught.value)


def test_a_label_or_column_as_long_as_a_page_is_cut_in_messages():
    labels = np.where(y == 1, "x" * 10_000, "no")
    with pytest.raises(InputError) as caught:
        make_target(FITTED, (X, labels), HOLDOUT)
    assert len(str(caught.value)) < 300
