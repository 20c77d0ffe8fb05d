"""Invariant risk minimisation and colored digits: closed forms, a literal reference, and the two-bit problem."""

import sys
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import optimize, special

from leakscope.causal.irm import IRMLearner, dummy_gradient, objective_slope
from leakscope.core.errors import MissingExtraError
from leakscope.papers.colored_mnist import environment, environments


def literal_objective(outputs, targets, weight, halves):
    """IRMv1 with a dummy that is differentiated automatically; ``halves``: product of two derivatives, else the square."""
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    total = 0.0
    for z, y in zip(outputs.split([len(y) for y in targets]), targets, strict=True):
        dummy = torch.ones((), dtype=z.dtype, requires_grad=True)
        cuts = [(z[: len(y) // 2], y[: len(y) // 2]), (z[len(y) // 2 :], y[len(y) // 2 :])] if halves else [(z, y)] * 2
        first, second = (
            torch.autograd.grad(loss(part * dummy, true), dummy, create_graph=True)[0] for part, true in cuts
        )
        total = total + loss(z, y) + weight * first * second
    return total / (len(targets) * max(1.0, weight))


def some_batch(sizes=(7, 12), seed=0):
    rng = np.random.default_rng(seed)
    outputs = torch.from_numpy(rng.normal(0, 2, sum(sizes)))
    return outputs, [torch.from_numpy((rng.random(size) < 0.5).astype(np.float64)) for size in sizes]


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 1e4])
@pytest.mark.parametrize("halves", [True, False])
def test_the_closed_form_is_the_automatic_derivative(weight, halves):
    outputs, targets = some_batch()
    outputs.requires_grad_()
    literal_objective(outputs, targets, weight, halves).backward()
    ours = objective_slope(outputs.detach(), targets, weight, [not halves] * 2)
    np.testing.assert_allclose(ours, outputs.grad, rtol=1e-10, atol=1e-14)


def test_the_product_of_halves_has_the_mean_of_the_whole_and_the_square_has_not():
    """All batches of two, drawn with replacement from three records, of a model whose log-odds are θ u at θ = 1."""
    u, y = np.array([0.5, -1.0, 2.0]), np.array([1.0, 1.0, 0.0])

    def derivative(rows, complete):
        rows = list(rows)
        slope = objective_slope(torch.from_numpy(u[rows]), [torch.from_numpy(y[rows])], 1.0, [complete])
        return float(slope.numpy() @ u[rows])

    whole = derivative(range(3), True)
    batches = list(product(range(3), repeat=2))
    assert np.mean([derivative(rows, False) for rows in batches]) == pytest.approx(whole, rel=1e-12)
    assert np.mean([derivative(rows, True) for rows in batches]) > whole + 0.1


def test_the_dummy_gradient_is_the_derivative_of_the_loss():
    rng = np.random.default_rng(0)
    z, y = rng.normal(0, 2, 500), rng.integers(0, 2, 500)

    def risk(w):
        return np.mean(np.logaddexp(0, w * z) - y * w * z)

    found = dummy_gradient(z[:, None], y)
    assert found.value == pytest.approx((risk(1 + 1e-5) - risk(1 - 1e-5)) / 2e-5, rel=1e-7)
    assert found.low < found.value < found.high


def literal_training(learner, tables, rng):
    """Whole environments, automatic derivatives, torch's own layers, and Adam as it is written."""
    sizes = [tables[0][0].shape[1], *learner.widths, 1]
    layers = []
    for inputs, outputs in pairwise(sizes):
        layer = torch.nn.Linear(inputs, outputs, dtype=torch.float64)
        bound = np.sqrt(6 / (inputs + outputs))
        layer.weight.data = torch.from_numpy(rng.uniform(-bound, bound, (inputs, outputs)).T.copy())
        layer.bias.data.zero_()
        layers += [layer, torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    parameters = list(network.parameters())
    means, squares = ([torch.zeros_like(part) for part in parameters] for _ in range(2))
    X = torch.from_numpy(np.concatenate([X for X, _ in tables]))
    targets = [torch.from_numpy(y.astype(np.float64)) for _, y in tables]
    for step in range(learner.steps):
        weight = learner.penalty if step >= learner.anneal else min(1.0, learner.penalty)
        size = sum((part**2).sum() for part in parameters)
        loss = literal_objective(network(X)[:, 0], targets, weight, False) + learner.l2 * size / max(1.0, weight)
        slopes = torch.autograd.grad(loss, parameters)
        for part, slope, mean, square in zip(parameters, slopes, means, squares, strict=True):
            mean.mul_(0.9).add_(0.1 * slope)
            square.mul_(0.999).add_(0.001 * slope**2)
            size_of_step = (square / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8
            part.data -= learner.rate * mean / (1 - 0.9 ** (step + 1)) / size_of_step
    with torch.no_grad():
        return network(X).numpy()


def shifted_tables(seed=0, sizes=(40, 60)):
    rng = np.random.default_rng(seed)
    tables = []
    for size, scale in zip(sizes, (0.3, 1.0), strict=True):
        x = rng.normal(size=size)
        y = (x + rng.normal(size=size) > 0).astype(np.int64)
        tables.append((np.column_stack([x, y - 0.5 + scale * rng.normal(size=size)]), y))
    return tables


@pytest.mark.parametrize("penalty", [0.0, 100.0])
def test_training_is_that_of_a_literal_loop(penalty):
    tables = shifted_tables()
    learner = IRMLearner(penalty=penalty, anneal=20, steps=60, batch=1000, rate=0.01, widths=(6, 4), l2=0.01)
    model = learner.fit(tables, np.random.default_rng(5))
    ours = learner.outputs(model, np.concatenate([X for X, _ in tables]))
    theirs = literal_training(learner, tables, np.random.default_rng(5))
    assert np.abs(theirs).max() > 0.5
    # rounding to 32 bits, 6e-8, carried through 60 steps whose size does not shrink with the gradient
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def two_bits(flip, noise=0.25, n=400):
    """Shape and colour as ±1 in exact proportions: shape goes with the label at 1 - noise, colour at 1 - flip."""
    rows = []
    for label, shape_right, colour_right in product((-1, 1), (1, -1), (1, -1)):
        share = (1 - noise if shape_right > 0 else noise) * (1 - flip if colour_right > 0 else flip)
        rows += [(label * shape_right, label * colour_right, (label + 1) // 2)] * round(n * share)
    table = np.array(rows, np.float64)
    return table[:, :2], table[:, 2].astype(np.int64)


TWO_BITS = [two_bits(0.1), two_bits(0.2)]


def two_bit_solution(penalty):
    """The least objective of log-odds a · shape + b · colour in the two environments, by 64-bit arithmetic."""

    def objective(coefficients):
        total = 0.0
        for X, y in TWO_BITS:
            z = X @ coefficients
            total += np.mean(np.logaddexp(0, z) - y * z) + penalty * dummy_gradient(z, y).value ** 2
        return total

    return optimize.minimize(objective, [1.0, 0.1], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12}).x


def test_two_bits_end_at_the_shape_alone():
    """The derivatives are 0 in both environments only for (a, b) = (ln 3, 0) and (0, 0): the more penalty, the nearer."""
    np.testing.assert_allclose(two_bit_solution(1e6), [np.log(3), 0.0], atol=1e-3)
    np.testing.assert_allclose(two_bit_solution(0.0), [np.log(3), np.log(0.85 / 0.15)], atol=1e-3)
    colours = [two_bit_solution(penalty)[1] for penalty in (10.0, 100.0, 1e3, 1e4)]
    assert colours == sorted(colours, reverse=True)


@pytest.mark.parametrize("penalty", [0.0, 10.0])
def test_training_ends_at_the_least_objective(penalty):
    learner = IRMLearner(penalty=penalty, anneal=0, steps=600, batch=1000, rate=0.02, widths=(), l2=0.0)
    model = learner.fit(TWO_BITS, np.random.default_rng(0))
    # Adam goes in steps of 0.02 and less: it is nearer to the end than one of them
    np.testing.assert_allclose(model.layers[0][0][:, 0], two_bit_solution(penalty), atol=0.02)


def test_the_same_seed_gives_the_same_model_and_nothing_is_edited():
    tables = shifted_tables(sizes=(200, 300))
    before = [(X.copy(), y.copy()) for X, y in tables]
    learner = IRMLearner(steps=30, batch=64, anneal=10, widths=(8,))
    first, same, other = (learner.fit(tables, np.random.default_rng(seed)) for seed in (0, 0, 1))
    for ours, again in zip(first.layers, same.layers, strict=True):
        assert all(np.array_equal(*parts) for parts in zip(ours, again, strict=True))
    assert not np.array_equal(first.layers[0][0], other.layers[0][0])
    for (X, y), (old_X, old_y) in zip(tables, before, strict=True):
        assert np.array_equal(X, old_X)
        assert np.array_equal(y, old_y)


def test_mini_batches_go_for_the_same_objective():
    """Parts of an environment at a time end near the model of whole ones."""
    tables = shifted_tables(sizes=(4000, 4000))
    settings = {"penalty": 10.0, "anneal": 0, "steps": 400, "rate": 0.02, "widths": ()}
    X = np.concatenate([X for X, _ in tables])
    parts, whole = (
        learner.probabilities(learner.fit(tables, np.random.default_rng(0)), X)[:, 1]
        for learner in (IRMLearner(batch=500, **settings), IRMLearner(batch=4000, **settings))
    )
    assert np.abs(parts - whole).mean() < 0.03
    assert np.abs(whole - 0.5).mean() > 0.1


def test_tables_images_and_named_classes():
    tables = shifted_tables()
    learner = IRMLearner(steps=5, widths=(3,))
    plain = learner.fit(tables, np.random.default_rng(0))
    named = learner.fit(
        [(pd.DataFrame(X, columns=["x", "z"]), np.where(y == 1, "yes", "no")) for X, y in tables],
        np.random.default_rng(0),
    )
    images = learner.fit([(X.reshape(-1, 1, 1, 2), y) for X, y in tables], np.random.default_rng(0))
    X, y = tables[0]
    assert named.classes.tolist() == ["no", "yes"]
    assert np.array_equal(learner.outputs(plain, X), learner.outputs(named, pd.DataFrame(X, columns=["x", "z"])))
    assert np.array_equal(learner.outputs(plain, X), learner.outputs(named, X))
    assert np.array_equal(learner.outputs(plain, X), learner.outputs(images, X.reshape(-1, 1, 1, 2)))
    assert learner.accuracy(plain, X, y) == learner.accuracy(named, X, np.where(y == 1, "yes", "no"))
    shares = learner.probabilities(plain, X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(special.logit(shares[:, 1]), learner.outputs(plain, X)[:, 0], rtol=1e-9)
    assert learner.outputs(plain, X[:0]).shape == (0, 1)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"leakscope\[torch\]"):
        IRMLearner(steps=2).fit(shifted_tables(), np.random.default_rng(0))


# --- colored digits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("flip", "noise"), [(0.1, 0.25), (0.9, 0.25), (0.0, 0.0), (1.0, 1.0)])
def test_labels_and_colours_follow_their_probabilities(flip, noise):
    n = 20_000
    rng = np.random.default_rng(0)
    digits = rng.integers(0, 10, n)
    images = rng.integers(1, 256, (n, 2, 3)).astype(np.uint8)
    X, y = environment(images, digits, flip, rng, noise)
    channels = X.reshape(n, 2, 6)
    colour = (channels[:, 1].sum(axis=1) > 0).astype(np.int64)
    assert X.dtype == np.float32
    np.testing.assert_allclose(channels.sum(axis=1), images.reshape(n, 6) / 255, rtol=1e-6)
    assert not (channels[:, 0] * channels[:, 1]).any()
    for share, expected in ((np.mean(y != (digits >= 5)), noise), (np.mean(colour != y), flip)):
        assert abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)
    wrong = y != (digits >= 5)
    if 0 < noise < 1:  # the colour follows the label, whether or not that follows the digit
        assert abs(np.mean(colour[wrong] != y[wrong]) - flip) <= 5 * np.sqrt(flip * (1 - flip) / wrong.sum())


def test_environments_share_no_image():
    images = np.arange(1, 101).reshape(100, 1, 1) / 100
    dealt = environments(images, np.arange(100) % 10, (0.1, 0.2, 0.9), (30, 30, 40), np.random.default_rng(0))
    shown = np.concatenate([X.sum(axis=1) for X, _ in dealt])
    np.testing.assert_allclose(np.sort(shown), images[:, 0, 0], rtol=1e-6)
