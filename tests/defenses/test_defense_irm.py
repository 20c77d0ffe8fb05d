"""IRM as a defense: environments from columns and groups, the network of the house on them, and what a shift does to it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from leakscope.causal import irm as invariant
from leakscope.core.errors import InputError
from leakscope.defenses import IRM, apply
from leakscope.defenses.irm import FEWEST, pool, read_environments
from leakscope.models.target import make_target

QUICK = invariant.IRMLearner(anneal=20, steps=60, rate=0.03, widths=(4,))


def world(records, seed=0, noise=(0.3, 1.0)):
    """A cause x of the label, and an effect z that is less noisy at the first site than at the second."""
    rng = np.random.default_rng(seed)
    site = rng.integers(2, size=records)
    x = rng.normal(size=records)
    y = (x + rng.normal(size=records) > 0).astype(int)
    z = y - 0.5 + rng.normal(size=records) * np.take(noise, site)
    return pd.DataFrame({"x": x, "z": z, "site": site}), y


def fitted(records):
    train, holdout = world(records), world(500, seed=1)
    return make_target(LogisticRegression().fit(*train), train, holdout)


def beside(records=600):
    """The same, but the site is a group that the model never sees."""
    (X, y), (Z, w) = world(records), world(500, seed=1)
    features = ["x", "z"]
    model = LogisticRegression().fit(X[features], y)
    return make_target(model, (X[features], y), (Z[features], w), groups=(X[["site"]], Z[["site"]]))


def accuracy(model, X, y):
    return (model.predict(X).argmax(axis=1) == y).mean()


def log_odds(model, X):
    p = model.predict(X)
    return np.log(p[:, 1] / p[:, 0])


def test_the_penalty_makes_it_invariant_and_safe_under_shift_on_the_same_seed():
    target = fitted(2000)
    shifted = world(8000, seed=2, noise=(3.0, 3.0))
    baseline, penalised = (apply(IRM(environment="site"), target, penalty).model for penalty in (0, 1000.0))
    # x has the sign of x + e in 1/2 + arcsin(1/√2)/π = 3/4 of the records, for normal x and e of equal variance
    assert (
        accuracy(penalised, *shifted) > 0.75 - 4 * np.sqrt(0.1875 / 8000) - 0.01
    )  # the last for 2,000 training records
    assert accuracy(baseline, *shifted) < accuracy(penalised, *shifted) - 4 * np.sqrt(0.25 / 8000)
    X, y = target.members.X, target.members.y
    slopes = {
        model: max(
            abs(invariant.dummy_gradient(log_odds(model, X[X["site"] == k]), y[X["site"] == k]).value) for k in (0, 1)
        )
        for model in (baseline, penalised)
    }
    assert slopes[penalised] < 0.25 * slopes[baseline]


def test_it_is_the_network_of_the_house_on_the_two_sites():
    target = fitted(600)
    X, y = target.members.X, target.members.y
    model = (
        IRM(10.0, environment="site", network=QUICK).defend(target, 10.0).learner.fit(X, y, np.random.default_rng(3))
    )
    encoded = StandardScaler().fit_transform(X[["x", "z", "site"]])
    encoded[:, 2] = 0.0  # blanked, and centred
    order = [int(site) for site in X["site"].value_counts().index]  # the largest site is the first
    parts = [(encoded[X["site"] == site], y[X["site"] == site]) for site in order]
    network = invariant.IRMLearner(penalty=10.0, anneal=20, steps=60, rate=0.03, widths=(4,))
    trained = network.fit(parts, np.random.default_rng(3))
    np.testing.assert_allclose(model.predict(X), network.probabilities(trained, encoded), atol=1e-4)


def test_the_network_does_not_see_the_environment():
    target = fitted(600)
    model = apply(IRM(10.0, environment="site", network=QUICK), target, 10.0).model
    X = target.nonmembers.X
    before = X.copy()
    np.testing.assert_array_equal(model.predict(X), model.predict(X.assign(site=1 - X["site"])))
    pd.testing.assert_frame_equal(X, before)


def test_a_group_beside_the_columns_gives_the_same_environments_as_a_column():
    inside, outside = fitted(600), beside(600)
    column, group = read_environments(inside, "site"), read_environments(outside, "site")
    assert (column.column, group.column) == (2, None)
    for records, others in ((inside.members, outside.members), (inside.nonmembers, outside.nonmembers)):
        rows = np.random.default_rng(0).permutation(len(records))[:100]
        np.testing.assert_array_equal(column(records.X.iloc[rows]), group(others.X.iloc[rows]))
        np.testing.assert_array_equal(
            column(records.X) == column(records.X)[0], records.X["site"] == records.X["site"].iloc[0]
        )
    mixed = pd.concat([outside.members.X, outside.nonmembers.X], ignore_index=True)  # as shadow models are trained
    assert set(group(mixed)) == {0, 1}
    model = apply(IRM(0, environment="site", network=QUICK), outside, 0).model
    assert accuracy(model, outside.nonmembers.X, outside.nonmembers.y) > 0.7


def test_levels_are_pooled_as_a_literal_count_says():
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.repeat(np.arange(4), [300, 500, 45, 30]), [4, 4, 5]])
    y = rng.integers(2, size=len(codes))
    counts = [[np.sum((codes == k) & (y == c)) for c in (0, 1)] for k in range(6)]
    small = [k for k in range(6) if min(counts[k]) < FEWEST]
    assert small == [2, 3, 4, 5]
    assert pool(codes, y).tolist() == [1, 0, 2, 2, 2, 2]
    large = (codes < 2) | (codes > 3)  # without levels 2 and 3 the rest is too few for an environment
    assert pool(np.unique(codes[large], return_inverse=True)[1], y[large]).tolist() == [1, 0, 0, 0]


def test_unknown_and_small_environments_still_train():
    train = world(600)
    train[0].loc[:4, "site"] = 7  # five records of a site of their own
    target = make_target(GaussianNB().fit(*train), train, world(300, seed=1))
    environments = read_environments(target, "site")
    assert environments.count == 2
    largest = int(train[0]["site"].value_counts().index[0])
    X = pd.DataFrame({"x": 0.0, "z": 0.0, "site": [largest, 7, 99]})
    assert environments(X).tolist() == [0, 0, 0]
    learner = IRM(10.0, environment="site", network=QUICK).defend(target, 10.0).learner
    for half in (slice(0, 300), slice(300, 600)):
        model = learner.fit(target.members.X.iloc[half], target.members.y[half], np.random.default_rng(0))
        np.testing.assert_allclose(model.predict(target.members.X).sum(axis=1), 1)


def test_an_environment_of_one_class_joins_the_largest_and_one_alone_says_so():
    target = fitted(600)
    fit = IRM(10.0, environment="site", network=QUICK).defend(target, 10.0).learner.fit
    X, y = target.members.X, target.members.y
    three = (X["site"] == 0) | (y == 1)  # site 1 has one class here
    with pytest.raises(InputError, match="environment"):
        fit(X[three], y[three], np.random.default_rng(0))
    plain = IRM(0, environment="site", network=QUICK).defend(target, 0).learner.fit
    assert plain(X[three], y[three], np.random.default_rng(0)).predict(X[:3]).shape == (3, 2)


def test_pipelines_and_labels_of_words():
    (X, y), (Z, w) = world(400), world(300, seed=1)
    sites, words = np.array(["north", "south"]), np.array(["no", "yes"])
    X, Z = (table.assign(site=sites[table["site"]], wide=1e6 * table["x"]) for table in (X, Z))
    encode = make_column_transformer((OneHotEncoder(), ["site"]), ("passthrough", ["x", "z", "wide"]))
    model = make_pipeline(encode, GaussianNB()).fit(X, words[y])
    target = make_target(model, (X, words[y]), (Z, words[w]))
    defense = IRM(10.0, environment="site", network=QUICK)
    assert defense.refuse(target) is None
    found = apply(defense, target, 10.0).model
    assert found.classes.tolist() == ["no", "yes"]
    assert accuracy(found, Z, w) > 0.7
    assert defense.defend(target, 10.0).guarantee is None


def test_arrays_name_the_environment_by_its_position():
    (X, y), (Z, w) = world(400), world(300, seed=1)
    target = make_target(GaussianNB().fit(X.to_numpy(), y), (X.to_numpy(), y), (Z.to_numpy(), w))
    model = apply(IRM(10.0, environment=2, network=QUICK), target, 10.0).model
    assert accuracy(model, Z.to_numpy(), w) > 0.7


def test_what_cannot_be_defended_is_refused_by_name():
    X, y = world(400)
    target = fitted(400)
    three = make_target(GaussianNB().fit(X, np.arange(400) % 3), (X, np.arange(400) % 3), (X, np.arange(400) % 3))
    values = make_target(LinearRegression().fit(X, X["x"]), (X, X["x"]), (X, X["x"]))
    one = X.assign(site=0)
    alone = make_target(GaussianNB().fit(one, y), (one, y), (one, y))
    for defense, given, named in [
        (IRM(), target, "--environments"),
        (IRM(environment="town"), target, "'town'"),
        (IRM(environment="site"), three, "classes"),
        (IRM(environment="site"), values, "classes"),
        (IRM(environment="site"), alone, "site"),
    ]:
        reason = defense.refuse(given)
        assert named in reason
        assert "\n" not in reason


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("leakscope.defenses.irm.find_spec", lambda name: None)
    assert "leakscope[torch]" in IRM(environment="site").refuse(fitted(400))
