"""Adversarial regularisation: its steps against literal ones, and what it buys on a toy that a plain network learns by heart."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from leakscope.core.errors import InputError
from leakscope.defenses import AdversarialRegularisation
from leakscope.defenses.adversarial import NO_GUARANTEE, REFERENCE, Attacker
from leakscope.models.adapters import seeded_torch
from leakscope.models.target import make_target

torch = pytest.importorskip("torch")


def noisy(n=200, d=50, seed=0):
    """Labels that a network can only learn by heart, but for what the first column says."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, d))
    y = (rng.random(2 * n) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    return make_target(LogisticRegression().fit(X[:n], y[:n]), (X[:n], y[:n]), (X[n:], y[n:]))


def fit_of(target, weight, **settings):
    return AdversarialRegularisation(weight, **settings).defend(target, weight).learner.fit


def parts(seed, n):
    """Which records are trained on, and which are set aside."""
    order = np.random.default_rng(seed).spawn(2)[0].permutation(n)
    return order[n // 3 :], order[: n // 3]


def test_weight_zero_is_plain_training_bit_for_bit():
    target = noisy()
    X, y = target.members.X, target.members.y
    fit = fit_of(target, 0.0, hidden=(8,), steps=25, batch=32)
    found = fit(X, y, np.random.default_rng(3)).predict.layers
    draws = np.random.default_rng(3).spawn(2)[0]
    used = draws.permutation(len(y))[len(y) // 3 :]
    with seeded_torch(draws):
        network = fit.plan.network()
        records, labels = (values[used] for values in fit.plan.tensors(X, y))
        optimizer = torch.optim.Adam(network.parameters(), lr=fit.rate)
        for _ in range(5):
            order = draws.permutation(len(used))
            for start in range(0, len(used), 32):
                batch = order[start : start + 32]
                optimizer.zero_grad()
                fit.plan.losses(network(records[batch]), labels[batch]).mean().backward()
                optimizer.step()
    for (weights, bias), part in zip(found, (network[0], network[2]), strict=True):
        np.testing.assert_array_equal(weights, part.weight.detach().double().numpy().T)
        np.testing.assert_array_equal(bias, part.bias.detach().double().numpy())


def test_reference_records_do_not_train_the_model():
    target = noisy()
    X, y = target.members.X, target.members.y
    trained, reference = parts(0, len(y))
    answers = {}
    for weight in (0.0, 1.0):
        fit = fit_of(target, weight, steps=6)
        for name, rows in (("none", []), ("reference", reference), ("trained", trained[:1])):
            labels = y.copy()
            labels[rows] = 1 - labels[rows]
            answers[weight, name] = fit(X, labels, np.random.default_rng(0)).predict(X)
    np.testing.assert_array_equal(answers[0.0, "none"], answers[0.0, "reference"])
    assert np.abs(answers[0.0, "none"] - answers[0.0, "trained"]).max() > 1e-6
    assert np.abs(answers[1.0, "none"] - answers[1.0, "reference"]).max() > 1e-6  # the attacker does see them


def attacker_of(target, seed=0):
    fit = fit_of(target, 1.0, batch=1000, rate=0.01, attacks=40)
    records, labels = fit.plan.tensors(target.members.X, target.members.y)
    other, other_labels = fit.plan.tensors(target.nonmembers.X, target.nonmembers.y)
    torch.manual_seed(seed)
    return Attacker(fit.plan, (records, labels), (other, other_labels), fit, np.random.default_rng(seed))


def gain(attacker, model):
    """The definition, over all records of both sides."""
    views = [attacker.network(attacker.view(model(records), labels))[:, 0] for records, labels in attacker.sides]
    h, other = (torch.sigmoid(view) for view in views)
    return (torch.log(h).mean() / 2 + torch.log(1 - other).mean() / 2).item()


def test_the_attacker_climbs_its_gain_and_leaves_the_model_alone():
    target = noisy()
    with torch.random.fork_rng():
        attacker = attacker_of(target)
        model = torch.nn.Linear(50, 1)
        with torch.no_grad():  # least squares of 50 weights on 200 records: the members' losses are lower
            records, labels = attacker.sides[0]
            model.weight[0] = torch.linalg.lstsq(records, 8.0 * labels[:, None].float() - 4).solution[:, 0]
            model.bias.zero_()
        before, weights = gain(attacker, model), model.weight.detach().clone()
        attacker.learn(model)
        # knowing nothing gains log ½
        assert gain(attacker, model) > max(before, np.log(0.5) + 0.01)
    assert torch.equal(model.weight.detach(), weights)
    assert model.weight.grad is None


def test_log_membership_is_that_of_a_sigmoid_over_prediction_and_label():
    target = noisy()
    with torch.random.fork_rng():
        attacker = attacker_of(target)
    scores, labels = torch.tensor([[2.0], [-1.0]]), torch.tensor([0, 1])
    p = 1 / (1 + np.exp(-np.array([2.0, -1.0])))
    seen = attacker.view(scores, labels).numpy()
    np.testing.assert_allclose(seen, [[1 - p[0], p[0], 1, 0], [1 - p[1], p[1], 0, 1]], rtol=1e-6)
    member = attacker.log_membership(scores, labels).exp() + attacker.log_membership(scores, labels, -1).exp()
    np.testing.assert_allclose(member.detach().numpy(), 1.0, rtol=1e-6)


def looked_at(weight, seed):
    """Gap of the losses, advantage of the best threshold on them, and accuracy on new records."""
    target = noisy(seed=seed)
    X, y = target.members.X, target.members.y
    model = fit_of(target, weight, hidden=(32,), steps=120, batch=128, rate=0.01, attacks=2)(
        X, y, np.random.default_rng(seed)
    )
    used, _ = parts(seed, len(y))

    def losses(X, y):
        return -np.log(np.maximum(model.predict(X)[np.arange(len(y)), y], 1e-12))

    inside, outside = losses(X[used], y[used]), losses(target.nonmembers.X, target.nonmembers.y)
    thresholds = np.append(inside, outside)[:, None]
    advantage = ((inside <= thresholds).mean(axis=1) - (outside <= thresholds).mean(axis=1)).max()
    right = model.predict(target.nonmembers.X).argmax(axis=1) == target.nonmembers.y
    return outside.mean() - inside.mean(), advantage, right.mean()


def test_a_larger_weight_narrows_the_gap_and_the_advantage():
    seeds = range(5)
    found = {weight: np.array([looked_at(weight, seed) for seed in seeds]) for weight in (0.0, 1.0, 3.0)}
    assert found[0.0][:, 1].min() > 0.4  # the plain network gives its training records away
    for smaller, larger in ((0.0, 1.0), (1.0, 3.0), (0.0, 3.0)):
        change = (found[larger] - found[smaller])[:, :2]
        margin = 2 * change.std(axis=0, ddof=1) / np.sqrt(len(seeds))
        assert (change.mean(axis=0) < -margin).all()
    # and accuracy on new records does not rise: it is what the defense costs here
    cost = found[0.0][:, 2] - found[3.0][:, 2]
    assert cost.mean() > -2 * cost.std(ddof=1) / np.sqrt(len(seeds))


def test_a_regression_is_defended_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = 1000 + 50 * X @ [1.0, 2.0, 0.0]
    target = make_target(LinearRegression().fit(X, y), (X, y), (X, y))
    model = fit_of(target, 0.1, steps=200, rate=0.02)(X, y, rng)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.95


def test_it_claims_nothing_and_needs_records_to_set_aside():
    target, defense = noisy(), AdversarialRegularisation()
    made = defense.defend(target, 1.0)
    assert made.guarantee is None
    assert made.notes[:2] == (NO_GUARANTEE, REFERENCE)
    assert defense.refuse(target) is None
    assert "12" in defense.refuse(replace(target, members=target.members.take(np.arange(8))))
    with pytest.raises(InputError, match=r"3.*2"):
        fit_of(target, 1.0)(target.members.X[:2], target.members.y[:2], np.random.default_rng(0))
