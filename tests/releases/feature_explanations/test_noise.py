"""Noise is a function of the record and the seed; SmoothGrad of simple models has the mean and variance of theory."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from leakscope.data.fingerprints import row_hashes
from leakscope.models.adapters import estimator_model, function_model
from leakscope.releases.feature_explanations import explain, explain_model, parse
from leakscope.releases.feature_explanations.noise import draw, mixed

KEYS = np.random.default_rng(0).integers(0, 2**63, 4000, dtype=np.uint64)
RECORDS = np.random.default_rng(1).normal(size=(40, 3))


def logistic(X):
    return estimator_model(LogisticRegression(C=10).fit(X, X[:, 0] - X[:, 1] ** 2 > 0))


@pytest.fixture(params=["network", "logistic"])
def model(request):
    if request.param == "logistic":
        return logistic(RECORDS)
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    return function_model(module, "classification", np.arange(2), "logits")


def test_draws_depend_on_record_seed_and_stream_alone() -> None:
    first = draw(KEYS[:3], (4, 5), seed=1)
    np.testing.assert_array_equal(draw(KEYS[2::-1], (4, 5), seed=1)[::-1], first)
    for other in (draw(KEYS[3:6], (4, 5), 1), draw(KEYS[:3], (4, 5), 2), draw(KEYS[:3], (4, 5), 1, stream=1)):
        assert not (other == first).any()


def test_draws_are_standard_normal_and_those_of_two_records_uncorrelated() -> None:
    drawn = draw(KEYS, (10,), seed=0).astype(np.float64)
    count = drawn.size
    assert abs(drawn.mean()) < 4 / np.sqrt(count)
    assert abs(drawn.var() - 1) < 4 * np.sqrt(2 / count)
    assert abs((drawn[1:] * drawn[:-1]).mean()) < 4 / np.sqrt(count)
    assert abs((drawn**4).mean() - 3) < 4 * np.sqrt(96 / count)


def test_seeds_of_records_differ_in_the_bits_that_torch_uses() -> None:
    """The generator of torch reads the last 32 bits of a seed. Of 4,000 records 4000²/2³³ ≈ 0.002 pairs agree by chance."""
    close = np.arange(4000, dtype=np.uint64)
    for keys in (KEYS, close, close << np.uint64(32), close << np.uint64(48)):
        for seed in (0, 1):
            assert len(np.unique(mixed(keys, seed) & np.uint64(0xFFFFFFFF))) == len(keys)
    assert not (mixed(KEYS, 0) == mixed(KEYS, 1)).any()


def test_smoothgrad_is_the_same_for_the_same_record_whoever_stands_beside(model) -> None:
    X = RECORDS.copy()
    X[7] = X[3]
    one = explain_model(model, X, parse("smoothgrad:samples=5"))
    np.testing.assert_array_equal(one[7], one[3])
    # the noise is the same to the bit; products of other batch sizes may round differently
    alone = np.concatenate([explain_model(model, X[[row]], parse("smoothgrad:samples=5")) for row in range(40)])
    np.testing.assert_allclose(alone, one, rtol=0, atol=1e-6 if one.dtype == np.float32 else 1e-15)
    other = explain_model(model, X, parse("smoothgrad:samples=5:seed=1"))
    assert (np.abs(other - one).max(axis=1) > 1e-5).all()


def test_without_noise_it_is_the_gradient(model) -> None:
    smooth = explain_model(model, RECORDS, parse("smoothgrad:sigma=0:samples=4"))
    np.testing.assert_allclose(smooth, explain_model(model, RECORDS, parse("gradient")), rtol=0, atol=1e-7)


def test_closed_form_draws_the_noise_of_the_definition() -> None:
    """The literal mean over draws at moved records, with the same noise."""
    model, how = logistic(RECORDS), parse("smoothgrad:sigma=0.4:samples=6:seed=3")
    noise = draw(row_hashes(RECORDS), (6, 3), seed=3)
    estimator = model.predict.estimator  # type: ignore[attr-defined]
    for row, found in enumerate(explain_model(model, RECORDS, how)):
        code = int(estimator.decision_function(RECORDS[[row]])[0] > 0)
        total = np.zeros(3)
        for drawn in noise[row]:
            p = estimator.predict_proba([RECORDS[row] + 0.4 * drawn])[0, code]
            total += p * (1 - p) * (2 * code - 1) * estimator.coef_[0] / 6
        np.testing.assert_allclose(found, total, rtol=0, atol=1e-12)


def test_added_noise_is_not_that_of_smoothgrad() -> None:
    X = np.random.default_rng(1).normal(size=(400, 3))
    model = logistic(X)
    plain, noisy = (explain(model, X, name) for name in ("smoothgrad:samples=1", "smoothgrad:samples=1:noise=0.3"))
    added = (noisy - plain) / 0.3
    assert abs(added.mean()) < 4 / np.sqrt(added.size)
    assert abs(added.var() - 1) < 4 * np.sqrt(2 / added.size)
    drawn = draw(row_hashes(X), (3,), seed=0)
    assert abs((added * drawn).mean()) < 4 / np.sqrt(added.size)
