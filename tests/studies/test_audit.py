"""The whole path: toys with known answers, controls by construction, warnings, and nothing that should not be there."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import leakscope as ls
from leakscope import selfcheck, toys
from leakscope.attacks import bounded_loss, learned, lira, loss_threshold, rmia
from leakscope.attacks.protocol import Scores
from leakscope.core.ranking import Scale
from leakscope.core.result import Caveat
from leakscope.data.small_groups import SMALLEST_GROUP
from leakscope.evaluation.audited_target import trained_share
from leakscope.evaluation.risk import Judged


def audit_toy(toy, **options):
    return ls.audit(toy.model, toy.train, toy.holdout, fit=toy.fit, **options)


def people(n, seed=0, shift=0.0):
    """A table with text and numbers, a label that follows from them with noise, and two groups."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float) + shift,
            "job": rng.choice(["nurse", "smith", "clerk"], n),
            "income": rng.lognormal(3, 1, n),
            "race": rng.choice(["a", "b", "c"], n, p=[0.7, 0.28, 0.02]),
        }
    )
    label = np.where(table["age"] / 30 + (table["job"] == "nurse") + rng.normal(0, 1, n) > 2, "yes", "no")
    return table, label


def forest():
    columns = ColumnTransformer(
        [("text", OneHotEncoder(handle_unknown="ignore"), ["job", "race"])], remainder="passthrough"
    )
    return make_pipeline(columns, ExtraTreesClassifier(50, random_state=0))


@pytest.mark.parametrize("seed", [0, 1])
def test_selfcheck_passes(seed):
    checks = selfcheck.run(seed)
    assert [str(check) for check in checks if not check.passed] == []
    assert len(checks) > 25


def test_selfcheck_notices_an_attack_that_is_reversed(monkeypatch):
    backwards = loss_threshold("log_loss")
    true_guess = backwards.guess

    def guess(evidence, rng):
        found = true_guess(evidence, rng)
        return replace(found, score=-found.score)

    reversed_attacks = tuple(
        replace(attack, guess=guess) if attack.name == backwards.name else attack
        for attack in ls.attacks.ATTACKS["classification"]
    )
    monkeypatch.setitem(ls.attacks.ATTACKS, "classification", reversed_attacks)
    assert any(not check.passed for check in selfcheck.run(0))


def test_the_lookup_table_leaks_everything_and_its_control_nothing():
    result = audit_toy(toys.lookup(400), confidence=0.9999)
    assert result.verdict.kind == "leaks"
    assert result.strongest.auc.value == 1.0
    assert result.strongest.control.kind == "never trained"
    for risk in result.risks:
        assert risk.control.auc.low <= 0.5 <= risk.control.auc.high
        assert risk.permuted.auc.low <= 0.5 <= risk.permuted.auc.high
    # Likelihood 1 with the record and 1/2 without it, each in half of the models; and no non-member scores as high.
    assert (result.records["score"] == 0.25).all()
    assert np.allclose(result.records["p_value"], 1 / 401)


def test_the_constant_model_exposes_nobody():
    result = audit_toy(toys.constant(400), attacks=[loss_threshold("log_loss"), bounded_loss("likelihood_loss")])
    assert (result.records["score"] == 0).all()
    assert (result.records["rank"] == 1).all()
    assert result.strongest.auc.value == 0.5


def test_attacks_are_named_and_default_adds_the_default_ones():
    def ran(**options):
        return [(risk.attack, risk.release) for risk in audit_toy(toys.lookup(120), references=2, **options).risks]

    usual = ran()
    assert ran(attacks=["default"]) == usual
    assert set(ran(attacks=["default", "lira-offline", rmia()])) == {*usual, (lira(online=False).name, "log_loss")}
    assert ran(attacks="lira offline") == [(lira(online=False).name, "log_loss")]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"attacks": ["boundry"]}, "boundary"),
        ({"attacks": ["default", ""]}, "default"),
        ({"attacks": [3]}, "attacks"),
        ({"attacks": []}, "attacks"),
        ({"attacks": ["default", "rmia"], "references": 0}, "references=4"),
        ({"attacks": ["default"], "releases": ["labels"]}, "releases"),
    ],
)
def test_attacks_that_can_not_be_named_are_refused(options, says):
    with pytest.raises(ls.InputError, match=says):
        audit_toy(toys.lookup(120), **options)


@pytest.mark.parametrize("copies", ["none", "within the training set", "in both sets"])
def test_the_never_trained_control_saw_none_of_the_records_it_is_asked_about(copies):
    """Models that note which records they trained on and which they are asked about."""
    (X, y), (Z, z) = toys.lookup(300).train, toys.lookup(300).holdout
    if copies == "within the training set":
        X, y = np.concatenate([X, X[:150]]), np.concatenate([y, y[:150]])
    if copies == "in both sets":
        Z, z = np.concatenate([Z, X[:100]]), np.concatenate([z, y[:100]])
    asked = []

    def fit(X, y, rng):
        del rng
        own = toys.lookup_model(X, y)
        seen = {row.tobytes() for row in np.ascontiguousarray(X)}

        def predict(rows):
            asked.append(np.mean([row.tobytes() in seen for row in np.ascontiguousarray(rows)]))
            return own.predict(rows)

        return replace(own, predict=predict)

    result = ls.audit(toys.lookup_model(X, y), (X, y), (Z, z), fit=fit, workers=1, references=0)
    assert asked == [0.0] * len(asked)
    assert len(asked) >= 2
    control = result.strongest.control.auc
    assert control.low <= 0.5 <= control.high


def test_copies_in_the_training_set_do_not_hide_a_leak_nor_make_one():
    """Rows five times over: a copy would tell an attack, the baseline and the control who is a member."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(150, 5)), rng.normal(size=(750, 5))
    y, z = rng.integers(0, 2, 150), rng.integers(0, 2, 750)
    train = (np.repeat(X, 5, axis=0), np.repeat(y, 5))
    memory = ls.audit(ExtraTreesClassifier(20, random_state=0).fit(*train), train, (Z, z))
    assert memory.verdict.kind == "leaks"
    assert Caveat("copies_in_training", {"records": 600}) in memory.warnings
    innocent = ls.audit(
        LogisticRegression().fit(rng.normal(size=(50, 5)), np.arange(50) % 2), train, (Z, z), confidence=0.9999
    )
    assert innocent.strongest.auc.low <= 0.5
    assert all(risk.auc.low <= 0.5 <= risk.auc.high for risk in innocent.risks)
    assert innocent.risks[0].blind.low <= 0.5


def test_without_a_way_to_train_again_the_permuted_control_stands_in_and_the_result_says_so():
    toy = toys.lookup(300)
    result = ls.audit(toy.model, toy.train, toy.holdout)
    assert {risk.control.kind for risk in result.risks} == {"permuted"}
    assert Caveat("permuted_control", {"retrainable": False}) in result.warnings
    assert result.target.control_models is None


def test_a_shifted_holdout_is_not_taken_for_a_leak():
    """A model that never trained on anyone, members and others from different places: the blind baseline sees it."""
    rng = np.random.default_rng(0)
    X, shifted = rng.normal(0, 1, (1500, 1)), rng.normal(1.5, 1, (1500, 1))

    def model(X):
        return 1 / (1 + np.exp(-X[:, 0]))

    y, other = ((rng.random(1500) < model(Z)).astype(int) for Z in (X, shifted))
    result = ls.audit(model, (X, y), (shifted, other))
    assert result.strongest.auc.low > 0.5
    assert result.strongest.blind.value > 0.8
    assert result.verdict.kind == "inconclusive"
    assert [(doubt.code, doubt.remedy) for doubt in result.verdict.doubts] == [("not_above_blind", "matched_holdout")]


@pytest.mark.parametrize("retrain", [True, False])
def test_records_that_are_easier_for_any_model_are_not_taken_for_members(retrain):
    """A model that never trained on the "members", who lie farther from its border: a difference of the two sets."""
    direction = np.ones(20) / np.sqrt(20)

    def draw(n, stretch, rng):
        X = rng.normal(size=(n, 20))
        X += (stretch - 1) * (X @ direction)[:, None] * direction
        return X, (rng.random(n) < 1 / (1 + np.exp(-3 * X @ direction))).astype(int)

    kinds = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model = LogisticRegression(C=0.1).fit(*draw(1000, 1.0, rng))
        result = ls.audit(model, draw(600, 1.4, rng), draw(600, 1.0, rng), seed=seed, retrain=retrain)
        kinds.append((result.verdict.kind, result.strongest.auc.low > 0.5))
    assert sum(found for _, found in kinds) >= 6  # an attack does tell the two sets apart
    assert "leaks" not in {kind for kind, _ in kinds}


@pytest.mark.parametrize("kind", ["names", "dates", "lists", "infinite"])
def test_the_blind_baseline_does_not_see_the_order_of_the_records(kind):
    """Columns that differ in every record say nothing of membership, whatever order the records come in."""
    rng = np.random.default_rng(1)
    n = 600
    unique = {
        "names": [f"person {number}" for number in rng.permutation(n)],
        "dates": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.permutation(n), unit="D"),
        "lists": [[number, 1] for number in rng.permutation(n)],
        "infinite": np.where(np.arange(n) % 7 == 0, np.inf, rng.normal(size=n)),
    }[kind]
    table, y = pd.DataFrame({"x": rng.normal(size=n), "unique": unique}), rng.integers(0, 2, n)
    tree = ColumnTransformer([("x", "passthrough", ["x"])])
    model = make_pipeline(tree, ExtraTreesClassifier(20, random_state=0)).fit(table[:300], y[:300])
    result = ls.audit(model, (table[:300], y[:300]), (table[300:], y[300:]), confidence=0.9999)
    assert result.strongest.blind.low <= 0.5 <= result.strongest.blind.high
    assert result.verdict.kind == "leaks"


def test_the_training_set_as_its_own_holdout_is_not_called_safe():
    table, label = people(3000)
    X = table[["age", "income"]]
    result = ls.audit(ExtraTreesClassifier(10, random_state=0).fit(X, label), (X, label), (X, label))
    assert result.verdict.kind == "inconclusive"
    assert [doubt.code for doubt in result.verdict.doubts] == ["copies_in_holdout"]
    assert result.verdict.not_excluded == 1.0


def test_infinity_in_an_array_is_the_models_affair():
    toy = toys.lookup(200)
    X = toy.train[0].copy()
    X[3, 1] = np.inf
    assert ls.audit(toys.lookup_model(X, toy.train[1]), (X, toy.train[1]), toy.holdout).verdict.kind == "leaks"


def test_a_pipeline_on_text_columns_with_groups():
    table, label = people(1600)
    train, holdout = (table[:800], label[:800]), (table[800:], label[800:])
    model = forest().fit(*train)
    result = ls.audit(model, train, holdout, groups=table[:800]["race"], seed=3)
    assert result.verdict.kind == "leaks"
    levels = {group.level for group in result.strongest.by_group if group.column == "race"}
    assert {"a", "b"} <= levels
    assert "c" not in levels  # too small to be shown
    assert Caveat("pooled_groups", {"column": "race", "groups": 1, "smallest": SMALLEST_GROUP}) in result.warnings
    assert result.target.performance.train.value == 1.0
    assert result.target.control_models.records == 600
    columns = ["id", "score", "low", "high", "rank", "p_value", "loss", "label", "group: race"]
    assert list(result.records.columns) == columns
    assert result.records["id"].tolist() == list(range(800))
    assert result.records["score"].between(0, 1).all()
    by_score = result.records.sort_values("score", ascending=False)
    assert by_score["rank"].is_monotonic_increasing


def test_every_training_record_gets_a_score_also_when_the_holdout_is_small():
    toy = toys.lookup(1000)
    result = ls.audit(toy.model, toy.train, (toy.holdout[0][:200], toy.holdout[1][:200]), fit=toy.fit)
    assert result.target.judged == 200
    assert len(result.records) == 1000
    assert (result.records["score"] == 0.25).all()
    judged = result.records["p_value"].notna()
    assert judged.sum() == 200
    assert np.allclose(result.records["p_value"][judged], 1 / 201)


def test_regression_is_audited():
    table, _ = people(1200)
    X, y = table[["age", "income"]], table["age"] * 2 + np.random.default_rng(1).normal(0, 5, 1200)
    model = RandomForestRegressor(30, random_state=0).fit(X[:600], y[:600])
    result = ls.audit(model, (X[:600], y[:600]), (X[600:], y[600:]))
    assert result.verdict.kind == "leaks"
    assert result.target.performance.metric == "mean squared error"
    assert result.target.performance.train.value < result.target.performance.holdout.value
    assert rmia("regression").name in [risk.attack for risk in result.risks]


def test_a_model_that_gives_labels_only_lists_what_was_not_run():
    table, label = people(600)
    X = table[["age", "income"]]
    model = LinearSVC().fit(X[:300], label[:300])
    result = ls.audit(model, (X[:300], label[:300]), (X[300:], label[300:]))
    assert {risk.release for risk in result.risks} == {"labels"}
    assert len(result.not_run) == len(ls.attacks.ATTACKS["classification"]) - 1
    with pytest.raises(ls.InputError, match="log_loss"):
        ls.audit(model, (X[:300], label[:300]), (X[300:], label[300:]), attacks=[loss_threshold("log_loss")])


def test_many_classes():
    X, y = ls.datasets.load("digits").X, np.asarray(ls.datasets.load("digits").y)
    model = ExtraTreesClassifier(30, random_state=0).fit(X[:800], y[:800])
    result = ls.audit(model, (X[:800], y[:800]), (X[800:1600], y[800:1600]), retrain=False)
    assert result.target.classes == 10
    assert result.verdict.kind == "leaks"


def test_a_torch_module_is_audited():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 20)).astype(np.float32), rng.integers(0, 3, 600)

    def fit(X, y, rng):
        del rng
        module = torch.nn.Sequential(torch.nn.Linear(20, 128), torch.nn.ReLU(), torch.nn.Linear(128, 3))
        optimizer = torch.optim.Adam(module.parameters(), 0.01)
        for _ in range(120):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(torch.as_tensor(X)), torch.as_tensor(y)).backward()
            optimizer.step()
        return module

    torch.manual_seed(0)
    module = fit(X[:300], y[:300], None)
    result = ls.audit(module, (X[:300], y[:300]), (X[300:], y[300:]), fit=fit)
    assert result.verdict.kind == "leaks"
    assert result.strongest.control.kind == "never trained"


# --- warnings ---------------------------------------------------------------------------------------------------------


def test_records_in_both_sets_are_counted_named_and_removed_only_when_asked():
    toy = toys.never_trained(400)
    holdout = (np.concatenate([toy.holdout[0], toy.train[0][:7]]), np.concatenate([toy.holdout[1], toy.train[1][:7]]))
    kept, removed = (ls.audit(toy.model, toy.train, holdout, drop_overlap=drop) for drop in (False, True))
    assert kept.overlap.count == removed.overlap.count == 7
    assert kept.overlap.ids == tuple("0123456")
    assert (kept.target.nonmembers, removed.target.nonmembers) == (407, 400)
    for audit, gone in ((kept, False), (removed, True)):
        assert Caveat("copies_in_holdout", {"records": 7, "removed": gone}) in audit.warnings


def test_overlap_is_about_whole_records():
    """The same features with another label are another record."""
    toy = toys.never_trained(400)
    other = (np.concatenate([toy.holdout[0], toy.train[0][:7]]), np.concatenate([toy.holdout[1], 1 - toy.train[1][:7]]))
    assert ls.audit(toy.model, toy.train, other).overlap.count == 0


def test_a_holdout_that_is_all_overlap_is_refused_when_overlap_is_dropped():
    toy = toys.never_trained(200)
    with pytest.raises(ls.InputError, match="training"):
        ls.audit(toy.model, toy.train, toy.train, drop_overlap=True)


def test_a_small_holdout_says_what_it_cannot_tell():
    toy = toys.never_trained(400)
    result = ls.audit(toy.model, toy.train, (toy.holdout[0][:60], toy.holdout[1][:60]))
    assert result.verdict.kind == "inconclusive"
    assert ("small_sample", 60) in [(caveat.code, caveat.values.get("judged")) for caveat in result.warnings]
    for fpr in (0.01, 0.001):
        assert result.strongest.tpr_at_fpr[fpr].kind == "upper bound"


def test_a_control_trained_unlike_the_model_is_pointed_out():
    table, label = people(1600)
    X = table[["age", "income"]]
    model = ExtraTreesClassifier(30, random_state=0).fit(X[:800], label[:800])

    def fit(X, y, rng):
        del rng
        return LogisticRegression().fit(X, np.where(y == "yes", "no", "yes"))

    result = ls.audit(model, (X[:800], label[:800]), (X[800:], label[800:]), fit=fit)
    assert "control_differs" in {caveat.code for caveat in result.warnings}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        *(({"confidence": wrong}, "confidence") for wrong in (1.0, 0.9999999999, "0.95")),
        *(({"seed": wrong}, "seed") for wrong in (-1, None, 1.5)),
        *(({"workers": wrong}, "workers") for wrong in (0, 1.5)),
        ({"margin": 0.6}, "margin"),
        ({"fprs": [0.0]}, "fprs"),
        ({"attacks": []}, "attack"),
        ({"attacks": ["loss threshold"]}, "loss tree"),
        ({"cache": 5}, "cache"),
        ({"fprs": "x"}, "fprs"),
        ({"cluster": "here"}, "tcp://host:port"),
    ],
)
def test_settings_out_of_range_are_bad_input(options, says):
    with pytest.raises(ls.InputError, match=says):
        audit_toy(toys.lookup(200), **options)


def test_groups_of_one_level_and_empty_names_are_not_passed_over_in_silence():
    toy = toys.lookup(300)
    one = np.full(300, "all")
    result = ls.audit(toy.model, toy.train, toy.holdout, groups=(one, one))
    assert Caveat("no_groups_to_compare", {"column": "group"}) in result.warnings
    two = np.tile(["", "b"], 150)
    result = ls.audit(toy.model, toy.train, toy.holdout, groups=(two, two))
    assert {group.level for group in result.strongest.by_group if group.column == "group"} == {"(empty)", "b"}


def test_groups_and_ids_in_another_order_than_the_features_and_missing_ids_are_refused():
    table, label = people(400)
    model = LogisticRegression().fit(table[["age", "income"]][:200], label[:200])
    pair = (table[:200], label[:200]), (table[200:], label[200:])
    with pytest.raises(ls.InputError, match="groups"):
        ls.audit(model, *pair, groups=table["race"][:200].sample(frac=1, random_state=0))
    with pytest.raises(ls.InputError, match="ids"):
        ls.audit(model, *pair, ids=pd.Series(range(200)).sample(frac=1, random_state=0).rename("id"))
    with pytest.raises(ls.InputError, match="ids"):
        ls.audit(model, *pair, ids=[np.nan, *range(199)])


def test_a_rare_class_is_split_between_the_control_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.zeros(600, int)
    y[[1, 2, 301, 302]] = 1
    model = LogisticRegression().fit(X[:300], y[:300])
    for seed in range(5):
        assert ls.audit(model, (X[:300], y[:300]), (X[300:], y[300:]), seed=seed).target.control_models.models == 4


def test_a_learner_without_a_seed_of_its_own_repeats_itself():
    toy = toys.never_trained(200)

    def fit(X, y, rng):
        del rng
        return ExtraTreesClassifier(5).fit(X, y)

    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    first, second = (ls.audit(toy.model, toy.train, toy.holdout, fit=fit) for _ in range(2))
    assert comparable(first) == comparable(second)
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002


def test_texts_are_records_too():
    rng = np.random.default_rng(0)
    texts = np.array([" ".join(rng.choice(["ill", "well", "old", "young", "rich", "poor"], 6)) for _ in range(400)])
    y = np.char.count(texts, "ill") > 1
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:200], y[:200])
    assert ls.audit(model, (texts[:200], y[:200]), (texts[200:], y[200:])).target.members == 200


# --- the record -------------------------------------------------------------------------------------------------------


def comparable(audit):
    """The audit without what may differ between two runs: when it was made and how long it took."""
    return replace(audit, created="", seconds={})


def test_the_same_seed_gives_the_same_audit_with_any_number_of_workers():
    table, label = people(400)
    train, holdout = (table[:200], label[:200]), (table[200:], label[200:])
    model = forest().fit(*train)
    first = ls.audit(model, train, holdout, groups=["race"], seed=5, workers=1)
    second = ls.audit(model, train, holdout, groups=["race"], seed=5, workers=2)
    assert comparable(first) == comparable(second)
    other = ls.audit(model, train, holdout, groups=["race"], seed=6)
    assert other.strongest.control.auc != first.strongest.control.auc


def test_the_cache_gives_the_same_audit(tmp_path):
    toy = toys.lookup(200)
    first, second = (audit_toy(toy, cache=tmp_path) for _ in range(2))
    assert comparable(first) == comparable(second)
    assert len(list(tmp_path.glob("*.npz"))) == 10


def test_the_record_says_how_it_was_made():
    result = audit_toy(toys.lookup(200), seed=11)
    assert result.settings["seed"] == 11
    assert set(result.versions) >= {"python", "leakscope", "numpy", "scikit-learn"}
    names = {"training records", "held-out records", "learner", "model parameters", "leakscope code"}
    assert set(result.fingerprints) == names
    assert len(result.settings["attacks"]) == len(result.risks)
    assert result.seconds["predict"] >= 0


def test_the_strongest_risk_pays_for_the_choice():
    result = audit_toy(toys.randomized_response(600))
    twin = next(r for r in result.risks if (r.attack, r.release) == (result.strongest.attack, result.strongest.release))
    assert result.strongest.auc.value == twin.auc.value
    assert result.strongest.auc.low < twin.auc.low
    assert result.strongest.auc.confidence == result.settings["confidence after the choice"] > 0.95


def test_a_seed_of_numpys_is_saved(tmp_path):
    result = audit_toy(toys.lookup(100), seed=np.int64(3), fprs=0.1)
    result.save(tmp_path)
    assert ls.load(tmp_path).settings["seed"] == 3


@pytest.mark.parametrize(
    ("attack", "given"),
    [(loss_threshold, ["labels"]), (loss_threshold, ["nonsense"]), (bounded_loss, ["probabilities"]),
     (learned, ["labels", "confidences"]), (learned, ["probabilities", "loss"])],
)  # fmt: skip
def test_attacks_refuse_releases_that_they_can_not_read(attack, given):
    with pytest.raises(ls.InputError, match=given[0]):
        attack(*given)


def test_own_attacks_run_like_those_of_the_package():
    attacks = [learned("probabilities", "confidences", "network"), bounded_loss("squared_error")]
    result = audit_toy(toys.lookup(300), attacks=attacks)
    assert [risk.attack for risk in result.risks] == ["learned on confidences (network)", "bounded loss"]


def test_the_callers_data_are_left_alone():
    table, label = people(400)
    before, labels = table.copy(deep=True), label.copy()
    model = forest().fit(table[:200], label[:200])
    ls.audit(model, (table[:200], label[:200]), (table[200:], label[200:]), groups=["race"])
    pd.testing.assert_frame_equal(table, before)
    np.testing.assert_array_equal(label, labels)


def test_many_records_run_in_bounded_memory():
    """Beyond the data themselves (4 MB), 250,000 records take a few hundred megabytes at most."""
    script = """
import json, resource, sys
import numpy as np
import leakscope as ls, sklearn.ensemble, sklearn.tree, sklearn.linear_model
X = np.random.default_rng(0).normal(size=(250_000, 2))
y = (X[:, 0] > 0).astype(int)
largest = 0
def model(X):
    global largest
    largest = max(largest, len(X))
    return 1 / (1 + np.exp(-X[:, 0]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
result = ls.audit(model, (X[:125_000], y[:125_000]), (X[125_000:], y[125_000:]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([largest, (after - before) / 1024, result.verdict.kind, len(result.records)]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    largest, megabytes, kind, records = json.loads(done.stdout)
    assert largest <= 65_536
    assert megabytes < 300
    assert (kind, records) == ("not_detected", 125_000)


@pytest.mark.parametrize("scale", [1e-49, 1e-20, 1e20, 1e49])
def test_the_scale_of_regression_labels_changes_nothing(scale):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.normal(size=600)
    model = RandomForestRegressor(10, random_state=0).fit(X[:300], y[:300])

    def audit_scaled(unit):
        def predict(X):
            return model.predict(X) * unit

        return ls.audit(predict, (X[:300], y[:300] * unit), (X[300:], y[300:] * unit), task="regression")

    first, second = audit_scaled(1.0), audit_scaled(scale)
    assert (first.verdict.kind, first.strongest.attack) == (second.verdict.kind, second.strongest.attack)
    assert [risk.auc.value for risk in first.risks] == pytest.approx([risk.auc.value for risk in second.risks])


@pytest.mark.parametrize(
    ("scale", "labels"), [(1e200, 1.0), *((one, one) for one in (1e-300, 1e-160, 1e-80, 1e80, 1e160, 1e300))]
)
def test_labels_whose_squared_errors_leave_the_range_of_numbers_are_refused(scale, labels):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40) * labels
    with pytest.raises(ls.InputError, match="labels"):
        ls.audit(lambda X: X[:, 0] * scale, (X[:20], y[:20]), (X[20:], y[20:]), task="regression")


def test_a_hundred_tiny_audits_end_without_a_crash():
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    learners = (LogisticRegression(), DecisionTreeClassifier(), GaussianNB(), KNeighborsClassifier(2))
    refused = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        sizes, classes = rng.integers(10, 15, 2), int(rng.integers(2, 4))
        (X, y), holdout = ((rng.normal(size=(n, 2)).round(1), rng.integers(0, classes, n)) for n in sizes)
        try:
            ls.audit(learners[seed % 4].fit(X, y), (X, y), holdout, seed=seed, workers=1)
        except ls.InputError:  # a label that is in one set only, or a class that one control model has no record of
            refused += 1
    assert refused < 10


@pytest.mark.parametrize(("trained", "shift", "warnings"), [(0.2, 6.0, 1), (0.0, 6.0, 0), (0.9, 6.0, 0), (1.0, 1.0, 0)])
def test_a_list_of_members_of_whom_few_were_trained_on_is_warned_of(trained, shift, warnings):
    score, member = np.random.default_rng(0).normal(size=8000), np.repeat([True, False], 4000)
    score[: int(4000 * trained)] += shift
    judged = Judged(Scores(score, (score > 0) * 1.0), member, Scale.of_one(8000))
    assert len(trained_share(judged)) == warnings


def test_the_warning_reaches_the_audit():
    toy = toys.lookup(n=3000)
    model = toys.lookup_model(toy.train[0][:600], toy.train[1][:600])
    plain = ls.audit(toy.model, toy.train, toy.holdout, retrain=False)
    partly = ls.audit(model, toy.train, toy.holdout, retrain=False)
    assert len(partly.warnings) == len(plain.warnings) + 1


def test_a_learner_that_fails_says_so_and_how_to_go_on():
    toy = toys.lookup(200)

    def fit(*_):
        raise OSError("no licence for this solver")

    with pytest.raises(ls.InputError, match=r"OSError.*--no-retrain"):
        ls.audit(toy.model, toy.train, toy.holdout, fit=fit)
