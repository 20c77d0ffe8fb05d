"""DP-SGD: the sampling, the clipping, the noise and the accounting, each against a literal reference, and an audit of all."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from leakscope.bounds.epsilon import epsilon_lower_bound
from leakscope.core.errors import InputError, MissingExtraError
from leakscope.defenses import DPSGD
from leakscope.defenses import dp_sgd as module
from leakscope.defenses.dp_sgd import DPSGDFit, accounted, find_noise, poisson_batches
from leakscope.models.encoding import PUBLIC_ENCODING
from leakscope.models.target import make_target

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

SHARE, STEPS, DELTA = 0.05, 200, 1e-5  # the defaults


def blobs(n=300, k=2, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, d)) + 3.0 * np.eye(k, d)[y], y


def target_of(estimator, k=2, seed=0):
    train, holdout = blobs(k=k, seed=seed), blobs(k=k, seed=seed + 1)
    return make_target(estimator.fit(*train), train, holdout)


def plain(target, **changes):
    """A fit without the search for its noise."""
    plan, _ = module.make_plan(target, changes.pop("hidden", None))
    settings = {"noise": 1.0, "clip": 1.0, "share": 0.2, "steps": 10, "rate": 0.5} | changes
    return DPSGDFit(plan, **settings)


# --- accounting -------------------------------------------------------------------------------------------------------


def gaussian_delta(epsilon, noise):
    """Balle, Wang 2018, Theorem 8: δ of one Gaussian mechanism of sensitivity 1."""
    return stats.norm.cdf(0.5 / noise - epsilon * noise) - np.exp(epsilon) * stats.norm.cdf(
        -0.5 / noise - epsilon * noise
    )


@pytest.mark.parametrize(("epsilon", "steps"), [(0.5, 1), (1.0, 30), (8.0, 10)])
def test_without_sampling_the_accounted_epsilon_is_that_of_the_gaussian_mechanism(epsilon, steps):
    noise, spent = find_noise(epsilon, DELTA, 1.0, steps)
    one = noise / np.sqrt(steps)  # T releases with noise σ tell as much as one with σ/√T
    error = max(0.001, 0.002 * epsilon)
    assert gaussian_delta(spent, one) <= DELTA
    assert gaussian_delta(spent - 3 * error, one) > DELTA


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_what_is_spent_is_at_most_what_is_allowed_and_not_much_less(epsilon):
    noise, spent = find_noise(epsilon, DELTA, SHARE, STEPS)
    assert 0.99 * epsilon <= spent <= epsilon
    assert accounted(noise, DELTA, SHARE, STEPS, error=0.01) == pytest.approx(spent, abs=0.04)


def composed_deltas(epsilon, noise, share, steps, step=2e-4, reach=40.0):
    """δ(ε) of a removed and of an added record: both losses on a grid, composed by Fourier transform."""
    z = np.linspace(-14 * noise, 14 * noise + 1, 400_001)
    width = z[1] - z[0]
    alone, beside = stats.norm.pdf(z, 0, noise), stats.norm.pdf(z, 1, noise)
    mixed = (1 - share) * alone + share * beside
    size = int(2 * reach / step)
    deltas = []
    for first, second in ((mixed, alone), (alone, mixed)):
        loss = np.log(first) - np.log(second)
        cells = np.rint(loss / step).astype(int) % size
        law = np.bincount(cells, weights=first * width, minlength=size)
        total = np.fft.irfft(np.fft.rfft(law) ** steps, size)
        grid = np.arange(size) * step
        grid[size // 2 :] -= 2 * reach
        deltas.append(float(np.sum(total * np.maximum(0, -np.expm1(epsilon - grid)) * (grid > epsilon))))
    return deltas


@pytest.mark.parametrize(
    ("epsilon", "delta", "share", "steps"),
    [(1.0, DELTA, SHARE, STEPS), (8.0, DELTA, SHARE, STEPS), (1.0, 1e-3, 0.5, 3)],
)
def test_both_directions_composed_by_hand_stay_within_delta(epsilon, delta, share, steps):
    noise, spent = find_noise(epsilon, delta, share, steps)
    # the grid moves the sum of 200 losses by some 2e-4·√(200/12) = 0.0008; the accountant adds 0.004 to ε at the least
    removed, added = composed_deltas(spent, noise, share, steps)
    assert removed <= delta
    assert added <= removed
    assert composed_deltas(0.97 * spent, noise, share, steps)[0] > delta  # the claim is not idle either


def test_the_guarantee_says_what_was_accounted_and_what_it_rests_on():
    target = target_of(LogisticRegression())
    made = DPSGD([4.0], share=1.0, epochs=20, delta=1e-4).defend(target, 4.0)
    noise, spent = find_noise(4.0, 1e-4, 1.0, 20)
    assert made.learner.fit.noise == noise
    assert (made.guarantee.epsilon, made.guarantee.delta) == (spent, 1e-4)
    assert made.guarantee.neighbours == "added or removed"
    assert made.guarantee.covers == "parameters"
    for condition in (PUBLIC_ENCODING, module.CLASSES, module.ALWAYS):
        assert condition in made.guarantee.rests_on


# --- the mechanism ----------------------------------------------------------------------------------------------------


def test_batches_are_poisson():
    torch.manual_seed(0)
    records, share, steps = 20, 0.3, 6000
    drawn = np.zeros((steps, records))
    for row, batch in zip(drawn, poisson_batches(records, share, steps), strict=True):
        row[batch.numpy()] = 1
    variance = share * (1 - share)
    assert np.abs(drawn.mean(axis=0) - share).max() < 4.5 * np.sqrt(variance / steps)  # 20 records
    sizes = drawn.sum(axis=1)
    counts = np.bincount(sizes.astype(int), minlength=records + 1)
    expected = steps * stats.binom.pmf(np.arange(records + 1), records, share)
    common = expected > 5
    merged = [np.append(values[common], values[~common].sum()) for values in (counts, expected)]
    assert stats.chisquare(*merged).pvalue > 1e-3
    correlations = np.corrcoef(drawn.T)[np.triu_indices(records, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(steps)  # 190 pairs of records
    after = np.corrcoef(sizes[1:], sizes[:-1])[0, 1]
    assert abs(after) < 4 / np.sqrt(steps)


def test_one_step_is_the_sum_of_clipped_gradients():
    target = target_of(LogisticRegression(), k=3)
    fit = plain(target, noise=0.0, share=1.0, steps=1, rate=0.5, hidden=(5,))
    torch.manual_seed(1)
    network = fit.plan.network()
    before = [parameter.detach().clone() for parameter in network.parameters()]
    records, labels = fit.plan.tensors(target.members.X, target.members.y)
    gradients, norms = [], []
    for record, label in zip(records, labels, strict=True):
        loss = torch.nn.functional.cross_entropy(network(record[None]), label[None])
        gradients.append(torch.autograd.grad(loss, list(network.parameters())))
        norms.append(float(torch.sqrt(sum((part**2).sum() for part in gradients[-1]))))
    clip = float(np.median(norms))  # half of the records are clipped
    fit = replace(fit, clip=clip)
    fit.train(network, records, labels)
    for place, (old, new) in enumerate(zip(before, network.parameters(), strict=True)):
        total = sum(gradient[place] * min(1, clip / norm) for gradient, norm in zip(gradients, norms, strict=True))
        torch.testing.assert_close(new.detach(), old - 0.5 * total / len(labels), rtol=1e-4, atol=1e-6)


def test_empty_batches_move_the_model_by_noise_of_the_stated_spread():
    X, y = np.random.default_rng(0).normal(size=(10, 2000)), np.arange(10) % 2
    target = make_target(LogisticRegression().fit(X, y), (X, y), (X, y))
    fit = plain(target, noise=3.0, clip=0.5, share=1e-9, steps=4, rate=0.1)
    weights = fit(X, y, np.random.default_rng(0)).predict.layers[0][0].ravel()
    spread = np.sqrt(4) * 0.1 * 3.0 * 0.5 / (1e-9 * 10)
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], len(weights))
    assert low < np.sum((weights / spread) ** 2) < high
    assert stats.kstest(weights / spread, "norm").pvalue > 1e-3


# --- an audit of the whole --------------------------------------------------------------------------------------------


def canary_scores(noise, runs, *, inside, steps=3, share=0.5):
    """How far the real training moves the one weight that the canary alone has a gradient for, in units of its clip."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[:, 0] = 0.0
    y = np.arange(20) % 2
    target = make_target(lambda X: np.full((len(X), 2), 0.5), (X, y), (X, y), classes=[0, 1])
    plan = replace(module.make_plan(target, None)[0], encoding=as_given)
    fit = DPSGDFit(plan, noise, clip=1.0, share=share, steps=steps, rate=1e-6)
    records = X.copy()
    records[1, 0] = 1000.0 if inside else 0.0  # the number of records is public: without it, an empty record
    unit = 1e-6 / (share * len(y))
    rng = np.random.default_rng(1 + inside)
    return np.array([fit(records, y, rng).predict.layers[0][0][0, 0] / unit for _ in range(runs)])


class AsGiven:
    """Records as they are."""

    width = 2

    def __call__(self, X):
        return X


as_given = AsGiven()


def test_the_real_training_is_the_mechanism_that_is_accounted_for():
    runs, noise, steps, share = 100, 1.5, 3, 0.5
    for inside in (True, False):
        scores = canary_scores(noise, runs, inside=inside)
        variance = steps * (noise**2 + inside * share * (1 - share))
        assert abs(scores.mean() - inside * steps * share) < 4 * np.sqrt(variance / runs)
        low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], runs - 1) / (runs - 1)
        assert low < scores.var(ddof=1) / variance < high


def test_forgotten_noise_is_caught_and_the_right_noise_is_not():
    claimed, delta, steps, share = 1.0, 1e-3, 3, 0.5
    noise, spent = find_noise(claimed, delta, share, steps)
    broken = [canary_scores(0.0, 100, inside=inside) for inside in (True, False)]
    assert epsilon_lower_bound(*broken, delta, 0.99).low > claimed
    right = [canary_scores(noise, 100, inside=inside) for inside in (True, False)]
    assert epsilon_lower_bound(*right, delta, 0.99).low <= spent


# --- house rules ------------------------------------------------------------------------------------------------------


def test_the_shape_follows_the_audited_model():
    network = target_of(MLPClassifier((7, 3), activation="tanh", max_iter=3000), k=3)
    plan, notes = module.make_plan(network, None)
    assert (plan.hidden, plan.activation, plan.outputs, notes) == ((7, 3), "tanh", 3, ())
    tree, notes = module.make_plan(target_of(DecisionTreeClassifier()), None)
    assert tree.hidden == ()
    assert "DecisionTreeClassifier" in notes[0]
    assert module.make_plan(target_of(DecisionTreeClassifier()), (4,))[0].hidden == (4,)


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_answers_are_those_of_the_network(activation):
    target = target_of(LogisticRegression(), k=3)
    plan = replace(module.make_plan(target, (5, 4))[0], activation=activation)
    torch.manual_seed(0)
    network = plan.network()
    records, _ = plan.tensors(target.members.X, target.members.y)
    expected = torch.softmax(network(records), dim=1).detach().numpy()
    np.testing.assert_allclose(plan.model(network, "it").predict(target.members.X), expected, atol=1e-6)


def test_a_subset_without_a_class_keeps_its_column():
    target = target_of(LogisticRegression(), k=3)
    rows = np.flatnonzero(target.members.y < 2)[:30]
    model = plain(target)(target.members.X[rows], target.members.y[rows], np.random.default_rng(0))
    assert model.predict(target.nonmembers.X).shape == (300, 3)
    np.testing.assert_array_equal(model.classes, target.model.classes)


def test_a_regression_is_learnt_on_scaled_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = 1000 + 50 * X @ [1.0, 2.0, 0.0]
    target = make_target(LinearRegression().fit(X, y), (X, y), (X, y))
    model = plain(target, noise=0.0, clip=100.0, steps=200)(X, y, rng)
    np.testing.assert_allclose(model.predict(X), y, atol=0.5)
    assert module.SCALE in DPSGD(1.0).defend(target, 1.0).guarantee.rests_on


def test_a_model_that_says_labels_only_stays_so():
    target = target_of(LinearSVC())
    model = plain(target)(target.members.X, target.members.y, np.random.default_rng(0))
    assert not model.gives_probabilities
    assert set(model.predict(target.members.X).ravel()) == {0.0, 1.0}


def test_diverged_training_and_missing_opacus_end_in_a_sentence(monkeypatch):
    target = target_of(LogisticRegression())
    with pytest.raises(InputError, match="rate"):
        plain(target, rate=1e38, clip=1e6, noise=1e6)(target.members.X, target.members.y, np.random.default_rng(0))
    monkeypatch.setitem(__import__("sys").modules, "opacus", None)
    with pytest.raises(MissingExtraError, match="DP-SGD"):
        module.import_opacus()


def test_one_extreme_record_does_not_stop_the_training():
    """If it did, that training failed would tell of the record, and no guarantee covers that."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    target = make_target(LogisticRegression().fit(X, y), (X, y), (X, y))
    fit = DPSGD(1.0, epochs=1).defend(target, 1.0).learner.fit
    for extreme in (1e10, 1e39, 1e300):
        odd = X.copy()
        odd[0] = extreme
        assert np.isfinite(fit(odd, y, np.random.default_rng(1)).predict(X)).all()
