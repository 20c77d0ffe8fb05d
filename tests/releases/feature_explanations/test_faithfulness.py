"""Deletion, insertion and infidelity against values by hand, a literal loop, and captum."""

import numpy as np
import pytest
import torch
from captum.metrics import infidelity
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from leakscope.core.errors import InputError
from leakscope.models.adapters import estimator_model, function_model
from leakscope.releases.feature_explanations import FeatureExplanation, explain, parse
from leakscope.releases.feature_explanations.faithfulness import Bench, curve_counts, measure_faithfulness, output_of


def linear(weights, bias=0.0):
    model = LinearRegression()
    model.coef_, model.intercept_, model.n_features_in_ = np.asarray(weights, float), bias, len(weights)
    return model


def network(features=6, classes=3, seed=0):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(features, 16), torch.nn.Tanh(), torch.nn.Linear(16, classes)]
    module = torch.nn.Sequential(*layers).double()
    return module, function_model(module, "classification", np.arange(classes), "logits")


def rows(n, features, seed=1):
    return np.random.default_rng(seed).normal(size=(n, features))


def test_areas_of_a_linear_model_by_hand():
    X = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, -1.0]])
    bench = Bench(estimator_model(linear([3.0, 2.0, -1.0], 10.0)), X)
    found = bench.score(bench.explain(parse("gradient")), "probability")
    # The first: 14, 11, 9, 10 while 3, 2 and -1 go; 10, 13, 15, 14 while they come. Each step is a third wide.
    # The second, contributions 6, 0, 1: 17, 11, 10, 10 and 10, 16, 17, 17.
    np.testing.assert_allclose(found.deletion, [(7 + 11 + 9 + 5) / 3, (8.5 + 11 + 10 + 5) / 3])
    np.testing.assert_allclose(found.insertion, [(5 + 13 + 15 + 7) / 3, (5 + 16 + 17 + 8.5) / 3])
    assert found.scale == pytest.approx(np.std([14, 17]))
    np.testing.assert_allclose(found.order, (found.insertion - found.deletion) / 1.5)


def literal(bench, function, contributions):
    """Curves and infidelity feature by feature, record by record."""
    sets = np.unpackbits(bench.packed, axis=2, count=bench.flat.shape[1])
    for x, code, own, ties, chosen in zip(bench.flat, bench.code, contributions, bench.ties, sets, strict=True):
        order = sorted(range(len(x)), key=lambda i: (-own[i], ties[i]))

        def value(kept):
            return function(np.where(kept, x, bench.baseline)[None])[0, code]  # noqa: B023

        areas = []
        for keep in (lambda k: order[k:], lambda k: order[:k]):  # noqa: B023
            heights = [value(np.isin(np.arange(len(x)), keep(k))) for k in bench.counts]
            areas.append(np.trapezoid(heights, bench.counts / len(x)))
        change = [value(np.ones(len(x), bool)) - value(one == 0) for one in chosen]
        errors = [own[one == 1].sum() - moved for one, moved in zip(chosen, change, strict=True)]
        yield *areas, np.mean(np.square(errors))


@pytest.mark.parametrize(
    "name", ["gradient", "integrated_gradients", "lrp", "gradient:top=2", "smoothgrad:sigma=0.5:digits=1"]
)
def test_all_figures_equal_a_literal_loop(name, monkeypatch):
    _, model = network()
    how = parse(name)
    monkeypatch.setattr(
        "leakscope.releases.feature_explanations.faithfulness.NUMBERS", 700
    )  # blocks of one to seven records
    bench = Bench(model, rows(15, 6), baseline=0.3, samples=7, steps=4)
    contributions = bench.explain(how)
    found = bench.score(contributions, how.explains)
    expected = np.array(list(literal(bench, output_of(model, "probability"), contributions)))
    np.testing.assert_allclose(np.column_stack([found.deletion, found.insertion]), expected[:, :2], atol=1e-12)
    if how.explains == "logit":
        expected = np.array(list(literal(bench, output_of(model, "logit"), contributions)))
    np.testing.assert_allclose(found.infidelity, expected[:, 2], atol=1e-12)


@pytest.mark.parametrize("name", ["gradient", "deeplift", "integrated_gradients:normalised"])
def test_infidelity_is_captums(name):
    module, model = network()
    how, X = parse(name), rows(12, 6)
    bench = Bench(model, X, baseline=-0.5, samples=9)
    contributions = bench.explain(how)
    inputs, code = torch.from_numpy(bench.flat), torch.from_numpy(bench.code)
    sets = torch.from_numpy(np.unpackbits(bench.packed, axis=2, count=6).reshape(-1, 6))

    def remove(x):
        return sets.double(), torch.where(sets == 1, -0.5, x)

    def forward(x):
        logits = module(x)
        return logits if how.explains == "logit" else torch.softmax(logits, dim=1)

    options = {"target": code, "n_perturb_samples": 9}
    plain, best = (
        infidelity(forward, remove, inputs, torch.from_numpy(contributions), normalize=normalize, **options)
        for normalize in (False, True)
    )
    found = bench.score(contributions, how.explains)
    np.testing.assert_allclose(found.infidelity, plain, atol=1e-12)
    np.testing.assert_allclose(found.left, best, atol=1e-12)


def test_infidelity_of_a_linear_model_is_zero_and_does_not_care_for_size_at_its_best():
    model, X = linear([1.0, -2.0, 0.5, 3.0], 7.0), rows(50, 4)
    names = ["gradient", "integrated_gradients:baseline=1.0", "deeplift:baseline=1.0", "gradient:normalised"]
    found = measure_faithfulness(model, X, names, baseline=1.0)
    for name in names[:3]:
        assert found[name].infidelity.high < 1e-20
    assert found["gradient:normalised"].infidelity.low > 1.0
    assert all(found[name].unexplained.high < 1e-12 for name in names)
    assert len({found[name].order.value.__round__(9) for name in names}) == 1


def test_a_random_or_empty_explanation_scores_zero_within_its_interval():
    _, model = network(12)
    bench = Bench(model, rows(400, 12), records=400)
    rng = np.random.default_rng(5)
    random = bench.score(rng.normal(size=bench.flat.shape), "probability").summary(0.999)
    nothing = bench.score(np.zeros(bench.flat.shape), "probability").summary(0.999)
    for found in (random, nothing):
        assert found.order.low < 0 < found.order.high
        assert found.order.high - found.order.low < 0.1
    assert nothing.unexplained.value == 1  # no explanation leaves everything unexplained
    best = bench.score(bench.explain(parse("integrated_gradients")), "probability").summary(0.999)
    assert best.order.low > random.order.high
    assert best.unexplained.high < random.unexplained.low


def test_derivatives_are_read_with_the_record_and_contributions_as_they_are():
    _, model = network()
    bench = Bench(model, rows(5, 6), baseline=2.0)
    gradient, times = bench.explain(parse("gradient")), bench.explain(parse("gradient_x_input"))
    np.testing.assert_allclose(gradient * bench.flat, times * (bench.flat - 2.0), atol=1e-6)
    np.testing.assert_allclose(times, explain(model, bench.drawn, "gradient_x_input"), atol=1e-6)


def test_a_pipeline_is_judged_on_what_its_last_step_sees():
    X = rows(60, 3) * [1.0, 50.0, 0.01] + 7
    y = (X[:, 0] + X[:, 1] / 50 > 8).astype(int)
    both = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    inner = measure_faithfulness(both[-1], both[:-1].transform(X), ["gradient"])
    assert measure_faithfulness(both, X, ["gradient"]) == inner


def test_models_without_probabilities_are_judged_by_their_score():
    X = rows(200, 3)
    model = LinearSVC().fit(X, (X[:, 0] > 0).astype(int))
    found = measure_faithfulness(model, X, ["gradient:output=logit"])["gradient:output=logit"]
    assert found.order.low > 0.5
    assert found.infidelity.high < 1e-12


def test_images_keep_their_shape():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(72, 3))
    X = np.random.default_rng(0).random((40, 1, 8, 8)).astype(np.float32)
    found = measure_faithfulness(module, X, ["integrated_gradients", "gradient"], outputs="logits")
    assert found["integrated_gradients"].order.low > 0


def test_the_same_seed_gives_the_same_and_a_subset_is_drawn():
    module, _ = network()
    X = rows(500, 6)
    first, again, other = (
        measure_faithfulness(module, X, ["gradient"], outputs="logits", records=100, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert first["gradient"].order.n == 100


@pytest.mark.parametrize(("features", "steps"), [(1, 2), (2, 2), (7, 2), (100, 20), (101, 20), (446, 20), (3072, 21)])
def test_counts_hold_both_ends_and_mirror(features, steps):
    counts = curve_counts(features, steps)
    assert counts[0] == 0
    assert counts[-1] == features
    assert (np.diff(counts) > 0).all()
    assert set(counts) == set(features - counts)
    assert len(counts) <= steps + 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("records", 1), ("steps", 0), ("samples", 2.5), ("baseline", float("nan")), ("baseline", "mean")],
)
def test_wrong_input_is_told_in_a_sentence(name, value):
    with pytest.raises(InputError, match=f"^{name}") as refusal:
        measure_faithfulness(linear([1.0, 2.0]), rows(5, 2), [FeatureExplanation("gradient")], **{name: value})
    assert "\n" not in str(refusal.value)
