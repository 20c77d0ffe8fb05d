"""Explanations of networks: by hand, against captum, completeness, independence of the batch, and memory."""

import copy
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from leakscope.core.errors import InputError
from leakscope.data.fingerprints import row_hashes
from leakscope.models.adapters import function_model
from leakscope.releases.feature_explanations import METHODS, explain, explain_model, parse
from leakscope.releases.feature_explanations.linear import quadrature
from leakscope.releases.feature_explanations.noise import mixed

torch = pytest.importorskip("torch")
from networks import Written  # noqa: E402

from leakscope.releases.feature_explanations import network  # noqa: E402
from leakscope.releases.feature_explanations.scikit_networks import module_of  # noqa: E402

nn = torch.nn
RECORDS = np.random.default_rng(0).normal(size=(9, 4))
IMAGES = np.random.default_rng(1).normal(size=(6, 2, 8, 8))


def dense(activation: Any = nn.Tanh, outputs: int = 3, dtype: Any = torch.float64) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), activation(), nn.Linear(6, outputs)).to(dtype)


def hidden_softmax() -> Any:
    """Probabilities whose softmax is not a layer of its own."""
    return Written(lambda net, x: net.inner(x).softmax(dim=1), inner=dense())


def convolutional() -> Any:
    torch.manual_seed(0)
    parts = [nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 3, 3), nn.Tanh(), nn.MaxPool2d(2)]
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(3, 3)).double()


# --- by hand ---


def literal_gradient(module: Any, x: Any, code: int) -> Any:
    """The derivative of a probability of a network of two layers, number by number."""
    (w1, b1), (w2, b2) = ((part.weight.tolist(), part.bias.tolist()) for part in (module[0], module[2]))
    z1 = [sum(w * a for w, a in zip(row, x, strict=True)) + b for row, b in zip(w1, b1, strict=True)]
    tanh = isinstance(module[1], nn.Tanh)
    a1 = [math.tanh(z) if tanh else max(z, 0.0) for z in z1]
    slope = [1 - a * a if tanh else float(a > 0) for a in a1]
    z2 = [sum(w * a for w, a in zip(row, a1, strict=True)) + b for row, b in zip(w2, b2, strict=True)]
    p = [math.exp(z) / sum(map(math.exp, z2)) for z in z2]
    found = []
    for i in range(len(x)):
        by_logit = [sum(row[j] * slope[j] * w1[j][i] for j in range(len(a1))) for row in w2]
        found.append(sum(p[code] * ((c == code) - p[c]) * by_logit[c] for c in range(len(p))))
    return found


def codes(module: Any, X: Any) -> list[int]:
    return module(torch.from_numpy(X)).argmax(dim=1).tolist()


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
def test_gradient_and_its_kin_by_hand(activation: Any) -> None:
    module = dense(activation)
    predicted = codes(module, RECORDS)
    gradient = np.array([literal_gradient(module, x, code) for x, code in zip(RECORDS, predicted, strict=True)])
    np.testing.assert_allclose(explain(module, RECORDS, outputs="logits"), gradient, rtol=0, atol=1e-12)
    with_input = explain(module, RECORDS, "gradient_x_input", outputs="logits")
    np.testing.assert_allclose(with_input, gradient * RECORDS, rtol=0, atol=1e-12)


@pytest.mark.parametrize("baseline", [0.0, -0.5])
def test_integrated_gradients_by_hand(baseline: float) -> None:
    """The path leads from the baseline to the record, and the class is that of the record."""
    module = dense()
    nodes, weights = quadrature(20)
    found = explain(module, RECORDS, f"integrated_gradients:steps=20:baseline={baseline}", outputs="logits")
    for x, code, ours in zip(RECORDS, codes(module, RECORDS), found, strict=True):
        total = np.zeros(4)
        for node, weight in zip(nodes, weights, strict=True):
            total += weight * np.array(literal_gradient(module, baseline + node * (x - baseline), code))
        np.testing.assert_allclose(ours, (x - baseline) * total, rtol=0, atol=1e-12)


def test_smoothgrad_by_hand() -> None:
    """The mean of gradients at moved records, with the noise that the record's own hash seeds."""
    module = dense()
    found = explain(module, RECORDS, "smoothgrad:sigma=0.3:samples=5:seed=2", outputs="logits")
    seeds = mixed(row_hashes(RECORDS), 2).tolist()
    for x, code, seed, ours in zip(RECORDS, codes(module, RECORDS), seeds, found, strict=True):
        noise = torch.empty(5, 4, dtype=torch.float64).normal_(0, 0.3, generator=torch.Generator().manual_seed(seed))
        expected = np.mean([literal_gradient(module, x + moved, code) for moved in noise.numpy()], axis=0)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)


# --- what a module gives ---


@pytest.mark.parametrize("method", ["gradient", "integrated_gradients", "smoothgrad:sigma=0"])
def test_outputs_of_every_kind_give_the_same_probability(method: str) -> None:
    several, single = dense(), dense(outputs=1)
    pairs = [
        (several, [("logits", ()), ("probabilities", (nn.Softmax(1),)), ("log-probabilities", (nn.LogSoftmax(1),))]),
        (single, [("logits", ()), ("probabilities", (nn.Sigmoid(),))]),
        (nn.Sequential(single, nn.Flatten(0)), [("logits", ()), ("probabilities", (nn.Sigmoid(),))]),
    ]
    for module, ways in pairs:
        found = [explain(nn.Sequential(*module, *last), RECORDS, method, outputs=kind) for kind, last in ways]
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-12)


def test_one_logit_is_explained_for_the_class_that_is_predicted() -> None:
    module = dense(outputs=1)
    by_logit = explain(module, RECORDS, "gradient:output=logit", outputs="logits")
    output = module(torch.from_numpy(RECORDS)).detach().numpy()
    two = nn.Sequential(*module, nn.Linear(1, 2, bias=False).double())
    two[-1].weight.data = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
    np.testing.assert_allclose(by_logit, explain(two, RECORDS, "gradient:output=logit", outputs="logits"), atol=1e-14)
    by_probability = explain(module, RECORDS, outputs="logits")
    p = 1 / (1 + np.exp(-output))
    np.testing.assert_allclose(by_probability, p * (1 - p) * by_logit, rtol=0, atol=1e-14)
    assert {-1, 1} == set(np.sign(output).ravel())


@pytest.mark.parametrize("method", METHODS)
def test_the_logit_before_a_softmax_is_found(method: str) -> None:
    module = dense()
    how = method if method in ("lrp", "deeplift") else f"{method}:output=logit"
    expected = explain(module, RECORDS, how, outputs="logits")
    for last in (nn.Softmax(1), nn.LogSoftmax(1)):
        np.testing.assert_allclose(explain(nn.Sequential(*module, last), RECORDS, how), expected, rtol=0, atol=1e-14)
    with pytest.raises(InputError, match='outputs="logits"'):
        explain(hidden_softmax(), RECORDS, how, outputs="probabilities")


@pytest.mark.parametrize("method", METHODS)
def test_values_of_a_regression(method: str) -> None:
    module = nn.Sequential(dense(outputs=1), nn.Flatten(0))
    model = function_model(module, "regression", None, "logits")
    found = explain_model(model, RECORDS, parse(method))
    assert found.shape == RECORDS.shape
    if method in ("integrated_gradients", "deeplift"):
        with torch.no_grad():
            change = module(torch.from_numpy(RECORDS)) - module(torch.zeros(1, 4, dtype=torch.float64))
        np.testing.assert_allclose(found.sum(axis=1), change.numpy(), rtol=0, atol=1e-12)


def test_networks_of_our_own_learner_give_the_probabilities_that_it_gives() -> None:
    from leakscope.learners import MLP

    labels = np.arange(9) % 3
    learner, X, y = MLP(widths=(5, 4), steps=30, task="classification").prepare(RECORDS, labels)
    model = learner.fit(X, y, np.random.default_rng(0))
    module = module_of(learner, model)
    log_odds = np.column_stack([np.zeros(9), learner.outputs(model, X)])
    logits = module(torch.from_numpy(X).float()).detach().numpy()
    np.testing.assert_allclose(logits, log_odds, rtol=0, atol=1e-5)
    for method in METHODS:
        assert explain(module, X, method, outputs="logits").shape == X.shape


# --- captum as the reference ---


@pytest.mark.parametrize("kind", ["dense", "convolutional"])
def test_gradient_methods_are_captum_s(kind: str) -> None:
    attr = pytest.importorskip("captum.attr")
    module, X = (dense(), RECORDS) if kind == "dense" else (convolutional(), IMAGES)
    probability = nn.Sequential(*module, nn.Softmax(1))
    x, target = torch.from_numpy(X), torch.tensor(codes(module, X))
    x.requires_grad_()
    theirs = {
        "gradient": attr.Saliency(probability).attribute(x, target=target, abs=False),
        "gradient_x_input": attr.InputXGradient(probability).attribute(x, target=target),
    }
    if kind == "dense":  # a network with kinks gets more steps from us
        theirs["integrated_gradients:steps=30:baseline=0.1"] = attr.IntegratedGradients(probability).attribute(
            x, 0.1, target=target, n_steps=30, method="gausslegendre"
        )
    for method, expected in theirs.items():
        found = explain(module, X, method, outputs="logits")
        exact = 1e-8 if "steps" in method else 1e-10  # captum's points on the path are rounded to float32
        np.testing.assert_allclose(found, expected.detach().numpy(), rtol=0, atol=exact)


# --- completeness of integrated gradients ---


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
@pytest.mark.parametrize("output", ["probability", "logit"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_integrated_gradients_are_complete_whatever_the_steps(activation: Any, output: str, scale: float) -> None:
    module = dense(activation)
    with torch.no_grad():
        module[2].weight *= scale
        module[2].bias *= scale
    found = explain(module, RECORDS, f"integrated_gradients:steps=3:output={output}", outputs="logits")
    with torch.no_grad():
        ends = [module(torch.from_numpy(part)) for part in (RECORDS, np.zeros((1, 4)))]
        at_end, at_start = (end.softmax(dim=1) if output == "probability" else end for end in ends)
    code = at_end.argmax(dim=1)
    end, start = at_end[range(9), code].numpy(), at_start[0, code].numpy()
    size = np.maximum(np.maximum(np.abs(end), np.abs(start)), np.abs(found).sum(axis=1))
    assert (np.abs(found.sum(axis=1) - (end - start)) <= 1e-3 * size).all()


def test_pieces_of_the_path_are_exact_around_a_kink() -> None:
    """F(x) = relu(x₁ − c) from 0 to x: the integral is x₁ − c, with its kink at c/x₁ of the path."""
    module = nn.Linear(1, 1).double()
    module.weight.data[:], module.bias.data[:] = 1.0, -0.7345
    model = function_model(nn.Sequential(module, nn.ReLU()), "regression", None, "logits")
    X = np.linspace(0.8, 3, 40)[:, None]
    found = explain_model(model, X, parse("integrated_gradients:steps=4"))
    np.testing.assert_allclose(found, X - 0.7345, rtol=0, atol=1e-3)


def test_an_output_that_jumps_along_the_path_is_refused() -> None:
    weight = nn.Parameter(torch.ones(4, dtype=torch.float64))
    jump = Written(lambda net, x: x @ net.weight + (x[:, 0] > 0.1).double(), weight=weight)
    model = function_model(jump, "regression", None, "logits")
    with pytest.raises(InputError, match=r"double\(\)"):
        explain_model(model, np.abs(RECORDS) + 0.2, parse("integrated_gradients"))


# --- company, modes, memory ---


@pytest.mark.parametrize("method", [*METHODS, "integrated_gradients:output=logit", "integrated_gradients:steps=3"])
@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
def test_an_explanation_does_not_depend_on_the_records_beside_it(method: str, activation: Any) -> None:
    """Up to rounding: matrix products of another number of rows may add up in another order."""
    module = dense(activation)
    together = explain(module, RECORDS, method, outputs="logits")
    alone = np.concatenate([explain(module, RECORDS[[row]], method, outputs="logits") for row in range(9)])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-13)
    far = np.concatenate([RECORDS, 1e4 * RECORDS])  # a neighbour of another size has no effect either
    np.testing.assert_allclose(explain(module, far, method, outputs="logits")[:9], together, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(explain(module, RECORDS, method, outputs="logits"), together)


@pytest.mark.parametrize(
    "method",
    ["gradient", "gradient_x_input", "lrp", "deeplift", "integrated_gradients:steps=8", "smoothgrad:samples=8"],
)
@pytest.mark.parametrize("kind", ["dense", "convolutional"])
def test_no_pass_keeps_more_numbers_than_the_bound(method: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a single record needs more points or draws than rows of a pass."""
    module, X = (dense(), RECORDS) if kind == "dense" else (convolutional(), IMAGES[:3])
    expected = explain(module, X, method, outputs="logits")
    kept, most, fixed = [], 5, copy.deepcopy(module).requires_grad_(False)

    def count(part: Any) -> Any:
        kept.append(0 if part.data_ptr() in {own.data_ptr() for own in fixed.parameters()} else part.numel())
        return part

    with torch.autograd.graph.saved_tensors_hooks(count, lambda part: part):
        fixed(torch.from_numpy(X[:1]).requires_grad_())
    monkeypatch.setattr(network, "NUMBERS", most * max(sum(kept), X[0].size))
    seen: list[int] = []
    with module.register_forward_pre_hook(lambda _, args: seen.append(len(args[0]))):
        found = explain(module, X, method, outputs="logits")
    assert max(seen) == (most if kind == "dense" or "_gradients" in method or "smooth" in method else 3)
    if "smoothgrad" not in method:  # the draws of a record fall into other parts, and so out differently
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_rows_of_a_pass_through_the_network_of_the_paper() -> None:
    """10,000 records of 600 columns: a pass keeps 1024 + 512 + 256 numbers of each, and 32 MB in all."""
    widths = (600, 1024, 512, 256, 100)
    layers = [part for pair in pairwise(widths) for part in (nn.Linear(*pair), nn.Tanh())]
    view = network.NetworkView(nn.Sequential(*layers[:-1]), "logits")
    work = network._MethodRun(view, parse("gradient"), np.zeros((1, 600), np.float32))
    assert work.rows == network.NUMBERS // (1024 + 512 + 256)
    assert 4 * network.NUMBERS == 2**25
    small = network.NetworkView(dense(dtype=torch.float32), "logits")
    assert network._MethodRun(small, parse("gradient"), np.zeros((1, 4), np.float32)).rows == network.ROWS


@pytest.mark.parametrize("method", METHODS)
def test_the_network_is_left_as_it_was(method: str) -> None:
    module = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(), nn.Linear(5, 3)).double()
    module(torch.from_numpy(RECORDS)).sum().backward()
    module[3].eval()
    module[0].weight.requires_grad_(False)
    state = {name: part.clone() for name, part in module.state_dict().items()}
    slopes = [None if part.grad is None else part.grad.clone() for part in module.parameters()]
    with torch.no_grad():  # the caller's own setting
        first, again = (explain(module, RECORDS, method, outputs="logits") for _ in range(2))
        assert not torch.is_grad_enabled()
    np.testing.assert_array_equal(first, again)
    assert [part.training for part in module] == [True, True, True, False, True]
    assert [part.requires_grad for part in module.parameters()] == [False] + 5 * [True]
    assert all(torch.equal(part, state[name]) for name, part in module.state_dict().items())
    for part, slope in zip(module.parameters(), slopes, strict=True):
        assert (part.grad is None and slope is None) or torch.equal(part.grad, slope)


@pytest.mark.parametrize("method", METHODS)
def test_precision_is_that_of_the_network(method: str) -> None:
    single, double = dense(dtype=torch.float32), dense(dtype=torch.float32).double()
    found = [explain(module, RECORDS, method, outputs="logits") for module in (single, double)]
    assert [part.dtype for part in found] == [np.float32, np.float64]
    if method != "smoothgrad":  # whose noise is drawn in the precision of the network
        np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_images_keep_their_shape(method: str) -> None:
    found = explain(convolutional(), IMAGES, method, outputs="logits")
    assert found.shape == IMAGES.shape
    assert np.isfinite(found).all()


def test_records_of_any_layout_in_memory() -> None:
    module = dense()
    expected = explain(module, RECORDS, outputs="logits")
    frozen = RECORDS.copy()
    frozen.flags.writeable = False
    wide = np.repeat(RECORDS, 2, axis=1)
    for X in (frozen, np.asfortranarray(RECORDS), wide[:, ::2], RECORDS[::-1][::-1], RECORDS.tolist()):
        np.testing.assert_array_equal(explain(module, X, outputs="logits"), expected)


# --- refusals ---


@pytest.mark.parametrize(
    ("run", "named"),
    [
        (lambda net, x: (net.linear(x), x), "tuple"),
        (lambda net, x: {"logits": net.linear(x)}, "dict"),
        (lambda net, x: net.linear(x.detach()), "detach"),
        (lambda net, x: net.linear(x.round().long().double()), "detach"),
        (lambda net, x: net.linear(x)[:0], r"\(0,.*9"),
        (lambda net, x: net.linear(x[:, :2]), r"\(4,\).*RuntimeError"),
        (lambda net, x: net.linear(x).exp_().exp_(), "RuntimeError"),
    ],
)
def test_networks_that_can_not_be_explained(run: Any, named: str) -> None:
    with pytest.raises(InputError, match=named) as refused:
        explain(Written(run, linear=nn.Linear(4, 3).double()), RECORDS, outputs="logits")
    assert "\n" not in str(refused.value)


def test_whole_numbers_that_are_looked_up() -> None:
    module = nn.Sequential(nn.Embedding(9, 2), nn.Flatten(), nn.Linear(6, 2))
    with pytest.raises(InputError, match="Embedding"):
        explain(module, np.ones((3, 3), int), outputs="logits")
    with pytest.raises(InputError, match=r"Sequential|Embedding"):
        explain(module, np.ones((3, 3), int))


def test_outputs_that_can_be_read_in_two_ways() -> None:
    with pytest.raises(InputError, match='outputs="probabilities"'):
        explain(hidden_softmax(), RECORDS)
