"""The label-only attack, and the changed copies that it queries."""

import math

import numpy as np
import pandas as pd
import pytest
from samples import cross_judge
from scipy.spatial import cKDTree
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import leakscope as ls
from leakscope.attacks import bounded_loss, label_only
from leakscope.attacks.protocol import Evidence, Known
from leakscope.attacks.selection import select
from leakscope.defenses import apply
from leakscope.defenses.label_only import LabelOnly
from leakscope.defenses.memguard import MemGuard
from leakscope.defenses.rounding import Rounding
from leakscope.defenses.temperature import Temperature
from leakscope.models.target import Model, Records, make_target
from leakscope.releases import label_stability as stability
from leakscope.releases.label_stability import COPIES, NOISE, REPLACED, _changes
from leakscope.releases.release import RELEASES, observe

RELEASE = RELEASES["label_stability"]


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "height": rng.normal(170, 9, n),
            "age": rng.integers(18, 90, n),
            "job": rng.choice(["cook", "judge", "nurse"], n),
            "town": pd.Categorical(rng.choice(["A", "B"], n), categories=["A", "B", "C"]),
            "own": rng.random(n) < 0.5,
            "gain": np.where(rng.random(n) < 0.1, rng.gamma(2, 500, n), 0.0),
            "blood": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )


def pipeline(X, y, trees=10):
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job", "town"]), remainder="passthrough")
    return make_pipeline(encode, RandomForestClassifier(trees, random_state=0)).fit(X, y)


# --- the copies ---


def test_numbers_get_a_tenth_of_their_spread_and_other_columns_another_record_s_value():
    X = people()
    before = X.copy()
    copies = _changes(X)(np.arange(len(X)))
    pd.testing.assert_frame_equal(X, before)
    assert (copies.dtypes == X.dtypes).all()
    assert len(copies) == COPIES * len(X)
    own = pd.concat([X] * COPIES, ignore_index=True)
    n = len(own)
    added = (copies["height"] - own["height"]) / (
        NOISE * (X["height"].quantile(0.75) - X["height"].quantile(0.25)) / 1.349
    )
    assert abs(added.mean()) < 4 / math.sqrt(n)
    assert added.std() == pytest.approx(1, abs=4 / math.sqrt(2 * n))
    assert copies["blood"].isna().equals(own["blood"].isna())
    for name in ("age", "job", "town", "own", "gain"):
        shares = X[name].value_counts(normalize=True)
        share = (copies[name].to_numpy() != own[name].to_numpy()).mean()
        expected = REPLACED * (1 - (shares**2).sum())  # the other record may have the same value
        assert share == pytest.approx(expected, abs=4 * math.sqrt(expected / n)), name
        assert set(copies[name]) <= set(X[name])


def test_a_record_gets_the_same_noise_wherever_it_stands():
    X = np.random.default_rng(0).normal(size=(300, 4))
    order = np.random.default_rng(1).permutation(300)
    there, here = (_changes(part)(np.arange(len(part))).reshape(COPIES, 300, 4) for part in (X[order], X))
    np.testing.assert_allclose(there, here[:, order], rtol=1e-12)
    assert len(np.unique(here[:, 0], axis=0)) == COPIES


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool, object])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_arrays_of_any_kind_keep_their_kind(dtype, shape):
    X = (10 * np.random.default_rng(0).random((50, *shape)) - 5).clip(0).astype(dtype)
    copies = _changes(X)(np.arange(len(X)))
    assert copies.dtype == X.dtype
    assert copies.shape == (COPIES * 50, *shape)
    if len(np.unique(X.reshape(50, -1).astype(float), axis=0)) > 5:  # equal records have equal copies
        assert (np.concatenate([X] * COPIES) != copies).any()


@pytest.mark.filterwarnings("error")
def test_missing_and_infinite_values_are_no_trouble():
    X = np.column_stack([np.full(20, np.nan), np.r_[np.inf, np.arange(19) + 0.5]])
    copies = _changes(X)(np.arange(len(X)))
    assert np.isnan(copies[:, 0]).all()
    assert np.isinf(copies[:, 1]).sum() == COPIES


# --- the release ---


@pytest.mark.parametrize("cells", [1 << 21, 2000])
def test_the_stability_is_the_share_of_right_labels(cells, monkeypatch):
    monkeypatch.setattr(stability, "CELLS", cells)
    X = people(80)
    y = np.random.default_rng(0).integers(0, 3, 80)
    target = make_target(pipeline(X, y, trees=3), (X, y), (X, y))
    copies, predict = _changes(X)(np.arange(len(X))), target.model.predict
    stable = RELEASE(target.model, X, y)[:, 0]
    for i in range(0, 80, 11):
        labels = [predict(X.iloc[[i]]).argmax(), *(predict(copies.iloc[[m * 80 + i]]).argmax() for m in range(COPIES))]
        assert stable[i] == pytest.approx(sum(label == y[i] for label in labels) / 9)


def test_it_needs_labels_only_and_no_regression():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    svm = make_target(LinearSVC().fit(X, y), (X, y), (X, y))
    assert label_only().refuse(svm.model) is None
    assert ((RELEASE(svm.model, X, svm.members.y) * 9) % 1 == 0).all()
    values = make_target(LinearRegression().fit(X, X[:, 0]), (X, X[:, 0]), (X, X[:, 0]))
    assert "regression" in label_only().refuse(values.model).reason


def test_masked_confidences_leave_it_as_it_was():
    """All defenses of the answers keep the predicted class, and so hide nothing from this attack."""
    X = people(200)
    y = np.random.default_rng(0).integers(0, 4, 200)
    target = make_target(pipeline(X, y), (X, y), (people(200, seed=1), y))
    raw = observe(target.model, target.members, ["label_stability"])["label_stability"]
    assert len(np.unique(raw)) > 3
    for defense in (Rounding(0), Temperature(9.0), MemGuard(2.0), LabelOnly()):
        model = apply(defense, target, defense.settings[0]).model
        np.testing.assert_array_equal(observe(model, target.members, ["label_stability"])["label_stability"], raw)


# --- the attack ---


def bubbles(n=400, seed=0):
    """Every record's own label is correct; around members it is correct too, and around non-members it is wrong."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2 * n, 10)), rng.integers(0, 2, 2 * n)
    near, radius = cKDTree(X), np.repeat([np.inf, 1e-9], n)

    def predict(asked):
        distance, place = near.query(asked)
        return np.eye(2)[np.where(distance <= radius[place], y[place], 1 - y[place])]

    return Model("bubbles", "classification", np.arange(2), False, predict), X, y


def judged(attack, model, X, y):
    """AUC and mean decision of members minus that of non-members, which come second; half of the records are known."""
    seen = observe(model, Records(X, y, np.arange(len(y))), [attack.release])[attack.release]
    found = cross_judge(attack, seen, np.arange(len(y)) < len(y) // 2, labels=y)
    says = found.attack_scores.says_member
    return found.ranking.auc, says[found.member].mean() - says[~found.member].mean()


def test_copies_find_what_the_label_alone_hides():
    model, X, y = bubbles()
    assert judged(bounded_loss("labels"), model, X, y) == (0.5, 0.0)
    assert judged(label_only(), model, X, y) == (1.0, 1.0)


def test_the_score_is_the_stability_and_the_decision_the_best_cut_of_the_known():
    known = Known(np.array([[1.0], [8 / 9], [8 / 9], [5 / 9]]), None, np.array([True, True, False, False]))
    evidence = Evidence(np.array([[1.0], [8 / 9], [5 / 9]]), None, known)
    guesses = label_only().guess(evidence, np.random.default_rng(0))
    assert guesses.score.tolist() == [1.0, 8 / 9, 5 / 9]
    # 8/9 finds all members and half of the non-members; 1 finds half of the members and no others: as good, but later.
    cuts = {cut: np.mean(known.observed[:2] >= cut) - np.mean(known.observed[2:] >= cut) for cut in (5 / 9, 8 / 9, 1.0)}
    assert max(cuts.values()) == cuts[8 / 9] == 0.5
    assert guesses.says_member.tolist() == [1.0, 1.0, 0.0]


def test_an_audit_runs_it_where_the_release_is_asked_for():
    X, y = np.random.default_rng(0).normal(size=(120, 2)), np.arange(120) % 2
    svm = LinearSVC().fit(X, y)
    target = make_target(svm, (X, y), (X + 0.1, y))
    assert label_only().name not in [attack.name for attack in select(target, None, None).attacks]
    chosen = select(target, None, ["label_stability"]).attacks
    assert [attack.release for attack in chosen] == ["labels", "label_stability"]
    result = ls.audit(svm, (X, y), (X + 0.1, y), releases=["label_stability"], retrain=False)
    assert {risk.release for risk in result.risks} == {"labels", "label_stability"}
