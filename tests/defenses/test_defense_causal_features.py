"""Causal features: other columns do not reach the model, shifts in them do not hurt it, and causes are found where they can be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from leakscope.defenses import CausalFeatures, apply
from leakscope.defenses.causal_features import positions
from leakscope.models.target import make_target


def world(records, seed=0, agrees=0.95):
    """A cause that is right in 80 % of the records, an effect that agrees with the label as often as said, and noise."""
    rng = np.random.default_rng(seed)
    cause = rng.integers(2, size=records)
    y = np.where(rng.random(records) < 0.8, cause, 1 - cause)
    effect = np.where(rng.random(records) < agrees, y, 1 - y)
    return np.column_stack([cause, effect, rng.normal(size=records)]), y


def fitted(model, records=2000):
    train = world(records)
    return make_target(model.fit(*train), train, world(2000, seed=1))


def losses(model, records):
    return (model.predict(records[0]).argmax(axis=1) != records[1]).astype(float)


def test_the_worst_advantage_under_shift_is_not_above_that_of_all_columns():
    # [tople2020, Thm 5] with the loss 0 or 1 (B = 1): Adv = mean loss on P* − mean loss on the training set [Thm 5, Eq. 7].
    # A tree of one split takes the effect: 0.05 on P and 0.95 where the effect is turned round. The cause's loss is 0.2 anywhere.
    target = fitted(DecisionTreeClassifier(max_depth=1))
    causal = apply(CausalFeatures([0]), target, "0")
    shifts = [world(4000, seed=2, agrees=agrees) for agrees in (0.0, 0.25, 0.5, 0.75, 1.0)]
    train = target.members.X, target.members.y
    worst = [
        max(losses(model, shift).mean() for shift in shifts) - losses(model, train).mean()
        for model in (causal.model, target.model)
    ]
    error = 4 * (np.sqrt(0.16 / 2000) + np.sqrt(0.16 / 4000))
    assert worst[0] == pytest.approx(0.0, abs=error)
    assert worst[1] == pytest.approx(0.9, abs=error)


def test_nothing_of_the_other_columns_passes_the_model():
    # [tople2020, Thm 7] as far as it holds: the answer is a function of the kept columns
    target = fitted(DecisionTreeClassifier(random_state=0))
    model = apply(CausalFeatures([0]), target, "0").model
    X = target.nonmembers.X
    changed = np.column_stack([X[:, 0], 1 - X[:, 1], np.random.default_rng(0).normal(size=len(X))])
    np.testing.assert_array_equal(model.predict(X), model.predict(changed))
    assert (target.model.predict(X) != target.model.predict(changed)).any()
    assert len(np.unique(model.predict(X)[:, 1])) == 2  # one probability for each level of the cause


def test_the_model_is_that_of_the_kept_columns_alone():
    target = fitted(LogisticRegression(C=1e6, tol=1e-10))
    X, y = target.members.X, target.members.y
    model = apply(CausalFeatures([0, 2]), target, "0, 2").model
    alone = LogisticRegression(C=1e6, tol=1e-10).fit(X[:, [0, 2]], y)
    np.testing.assert_allclose(model.predict(X), alone.predict_proba(X[:, [0, 2]]), atol=1e-6)


def table(records, seed, site=None):
    X, y = world(records, seed)
    frame = pd.DataFrame({"sure": np.array(["low", "high"])[X[:, 0].astype(int)], "effect": X[:, 1], "noise": X[:, 2]})
    return (frame if site is None else frame.assign(site=site)), np.where(y == 1, "yes", "no")


def pipeline(texts=("sure",), numbers=("effect", "noise")):
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), list(texts)), (StandardScaler(), list(numbers))
    )
    return make_pipeline(encode, LogisticRegression())


def test_tables_and_pipelines_keep_their_columns():
    train, holdout = table(500, 0), table(500, 1)
    target = make_target(pipeline().fit(*train), train, holdout)
    defense = CausalFeatures("sure")
    assert defense.refuse(target) is None
    model = apply(defense, target, "sure").model
    before = holdout[0].copy()
    answers = model.predict(holdout[0])
    pd.testing.assert_frame_equal(holdout[0], before)
    assert len(np.unique(answers[:, 1])) == 2
    np.testing.assert_array_equal(answers, model.predict(holdout[0].assign(effect=0.0, noise=9.0)))
    assert defense.defend(target, "sure").guarantee is None


# --- causes that are looked for ---


def sites(records, seed=0, differ=True):
    """Two sites: the cause has other frequencies, the effect another noise; the label depends on the cause alike in both."""
    rng = np.random.default_rng(seed)
    site = rng.integers(2, size=records)
    cause = rng.random(records) < np.where(site & differ, 0.8, 0.3)
    y = np.where(rng.random(records) < 0.85, cause, ~cause)
    effect = np.where(rng.random(records) < np.where(site & differ, 0.95, 0.6), y, ~y)
    frame = pd.DataFrame({"cause": cause.astype(int), "effect": effect.astype(int), "fixed": 1, "site": site})
    return frame, y.astype(int)


def kept(target, environment):
    """Positions of the columns that are taken for causes."""
    learner, columns = CausalFeatures(environment=environment).defend(target, "invariant").learner.fit.args
    assert learner is target.learner
    return columns


def test_the_cause_is_found_from_a_column_of_environments():
    train = sites(4000)
    target = make_target(DecisionTreeClassifier().fit(*train), train, sites(500, seed=1))
    defense = CausalFeatures(environment="site")
    assert defense.refuse(target) is None
    assert defense.settings == ("invariant",)
    assert kept(target, "site") == (0,)


def test_the_cause_is_found_from_a_group_beside_the_columns_and_in_arrays():
    (frame, y), (other, other_y) = sites(4000), sites(500, seed=1)
    train, holdout = (frame[["effect", "cause"]], y), (other[["effect", "cause"]], other_y)
    target = make_target(
        DecisionTreeClassifier().fit(*train), train, holdout, groups=(frame[["site"]], other[["site"]])
    )
    assert kept(target, "site") == (1,)
    X, Z = frame.to_numpy(), other.to_numpy()
    arrays = make_target(DecisionTreeClassifier().fit(X, y), (X, y), (Z, other_y))
    for place in (3, "3"):
        assert kept(arrays, place) == (0,)


def test_environments_that_are_alike_or_break_the_label_are_refused_with_the_reason():
    frame, y = sites(2000)
    reasons = set()
    for train in (
        sites(2000, differ=False),  # alike
        (frame, np.where(frame["site"] == 1, 1 - y, y)),  # no set predicts the label in the same way
        (frame.assign(site=0), y),  # one environment
    ):
        reason = CausalFeatures(environment="site").refuse(
            make_target(DecisionTreeClassifier().fit(*train), train, train)
        )
        assert not reason.endswith(".")
        reasons.add(reason)
    assert len(reasons) == 3


def test_regression_has_causes_too():
    rng = np.random.default_rng(0)
    site = np.repeat([0, 1], 500)
    cause = rng.normal(size=1000) * (1 + site) + site
    y = cause + rng.normal(size=1000)
    X = np.column_stack([cause, y + rng.normal(size=1000) * (1 + site)])
    target = make_target(LinearRegression().fit(X, y), (X, y), (X + 0.1, y), groups=(site, site))
    assert kept(target, "group") == (0,)
    made = CausalFeatures(environment="group").defend(target, "invariant")
    slope = np.polyfit(cause, y, 1)
    np.testing.assert_allclose(made.learner.fit(X, y, rng).predict(X), np.polyval(slope, cause), atol=1e-9)


# --- refusals ---


def test_what_cannot_be_defended_is_refused_by_name():
    target = fitted(LogisticRegression())
    images, labels = np.zeros((20, 2, 2)) + np.arange(20)[:, None, None], np.arange(20) % 2
    flat = make_target(
        lambda X: np.full((len(X), 2), 0.5),
        (images, labels),
        (images, labels),
        classes=[0, 1],
        fit=lambda X, y, rng: lambda X: np.full((len(X), 2), 0.5),
    )
    for defense, given, named in [
        (CausalFeatures(), target, "--causes"),
        (CausalFeatures([0]), flat, ""),  # images have no columns
        (CausalFeatures(["age"]), target, "'age'"),
        (CausalFeatures([0, 1, 2]), target, ""),  # none is left out
        (CausalFeatures(environment="site"), target, "'site'"),
    ]:
        reason = defense.refuse(given)
        assert named in reason
        assert "\n" not in reason


def test_a_name_comes_before_a_position():
    frame = pd.DataFrame([[1, 2, 3]], columns=[2, "b", "0"])
    assert positions(frame, [2, "b", 1]) == (0, 1)
    assert positions(frame, [0]) == (2,)
