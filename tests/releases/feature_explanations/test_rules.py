"""LRP and DeepLIFT against their recursions written out, and against captum where it follows them."""

import copy
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from leakscope.core.errors import InputError
from leakscope.releases.feature_explanations import explain

torch = pytest.importorskip("torch")
from networks import Written  # noqa: E402

nn, functional = torch.nn, torch.nn.functional

RECORDS = np.random.default_rng(0).normal(size=(6, 4))
IMAGES = np.random.default_rng(1).normal(size=(5, 2, 9, 9))


def dense(activation: Callable[[], Any], bias: bool = True, depth: int = 2) -> Any:
    torch.manual_seed(0)
    widths = [4, *[7] * depth, 3]
    layers = [part for pair in pairwise(widths) for part in (nn.Linear(*pair, bias=bias), activation())]
    return nn.Sequential(*layers[:-1]).double()


def layers_of(module: Any) -> list[tuple[Any, Any]]:
    linear = [part for part in module if isinstance(part, nn.Linear)]
    return [(part.weight.detach().numpy().T, part.bias.detach().numpy()) for part in linear]


FUNCTIONS = {nn.Tanh: np.tanh, nn.ReLU: lambda z: np.maximum(z, 0), nn.Sigmoid: lambda z: 1 / (1 + np.exp(-z))}


def forward(layers: Any, f: Any, x: Any) -> tuple[list[Any], list[Any]]:
    """Activities that go into each layer, and sums that come out of it."""
    activities, sums = [x], []
    for number, (weights, bias) in enumerate(layers):
        sums.append([sum(a * w for a, w in zip(activities[-1], column, strict=True)) for column in weights.T] + bias)
        if number < len(layers) - 1:
            activities.append(f(sums[-1]))
    return activities, sums


def literal_lrp(layers: Any, f: Any, x: Any, epsilon: float) -> Any:
    """The recursion of appendix C, neuron by neuron, with the bias of neuron j in its sum once."""
    activities, sums = forward(layers, f, x)
    relevance = np.where(np.arange(len(sums[-1])) == np.argmax(sums[-1]), sums[-1], 0.0)
    for (weights, _), a, z in zip(layers[::-1], activities[::-1], sums[::-1], strict=True):
        passed = np.zeros(len(a))
        for i in range(len(a)):
            for j in range(len(z)):
                passed[i] += a[i] * weights[i, j] / (z[j] + epsilon * (1 if z[j] >= 0 else -1)) * relevance[j]
        relevance = passed
    return relevance


def literal_deeplift(layers: Any, f: Any, x: Any, baseline: Any) -> Any:
    """The recursion of appendix C, neuron by neuron."""
    (activities, sums), (at_start, sums_at_start) = forward(layers, f, x), forward(layers, f, baseline)
    change = sums[-1] - sums_at_start[-1]
    relevance = np.where(np.arange(len(change)) == np.argmax(sums[-1]), change, 0.0)
    for (weights, _), a, b in zip(layers[::-1], activities[::-1], at_start[::-1], strict=True):
        passed = np.zeros(len(a))
        for j in range(weights.shape[1]):
            total = sum((a[i] - b[i]) * weights[i, j] for i in range(len(a)))
            for i in range(len(a)):
                passed[i] += (a[i] - b[i]) * weights[i, j] / total * relevance[j]
        relevance = passed
    return relevance


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
@pytest.mark.parametrize("epsilon", [1e-7, 0.25])
@pytest.mark.parametrize("depth", [1, 2])
def test_lrp_is_the_recursion_of_the_paper(activation: Any, epsilon: float, depth: int) -> None:
    module = dense(activation, depth=depth)
    expected = [literal_lrp(layers_of(module), FUNCTIONS[activation], x, epsilon) for x in RECORDS]
    found = explain(module, RECORDS, f"lrp:epsilon={epsilon}", outputs="logits")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU, nn.Sigmoid])
@pytest.mark.parametrize("baseline", [0.0, 0.5])
@pytest.mark.parametrize("depth", [1, 2])
def test_deeplift_is_the_recursion_of_the_paper(activation: Any, baseline: float, depth: int) -> None:
    module = dense(activation, depth=depth)
    start = np.full(4, baseline)
    expected = [literal_deeplift(layers_of(module), FUNCTIONS[activation], x, start) for x in RECORDS]
    found = explain(module, RECORDS, f"deeplift:baseline={baseline}", outputs="logits")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_lrp_at_a_sum_of_zero() -> None:
    """ε keeps the quotient finite, and sign(0) = 1."""
    module = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 2, bias=False)).double()
    module[0].weight.data = torch.tensor([[1.0, -1.0], [1.0, 1.0]], dtype=torch.float64)
    module[2].weight.data = torch.tensor([[5.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    found = explain(module, np.ones((1, 2)), "lrp", outputs="logits")
    np.testing.assert_allclose(found, [[1.0, 1.0]], rtol=0, atol=1e-6)


# --- captum as the reference ---


def quietly(attribute: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum says that it sets hooks
        return attribute().detach().numpy()


def captum_deeplift(module: Any, X: Any, baseline: float = 0.0) -> Any:
    attr = pytest.importorskip("captum.attr")
    x = torch.from_numpy(X)
    code = module(x).argmax(dim=1)
    return quietly(lambda: attr.DeepLift(copy.deepcopy(module)).attribute(x, torch.full_like(x, baseline), target=code))


def change_of_output(module: Any, X: Any) -> Any:
    with torch.no_grad():
        end, start = module(torch.from_numpy(X)), module(torch.zeros_like(torch.from_numpy(X[:1])))
    return (end - start).gather(1, end.argmax(dim=1, keepdim=True))[:, 0].numpy()


def misses(module: Any, X: Any, found: Any) -> float:
    return float(np.abs(found.reshape(len(X), -1).sum(axis=1) - change_of_output(module, X)).max())


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
def test_lrp_is_captum_s(activation: Any) -> None:
    attr = pytest.importorskip("captum.attr")
    rules = pytest.importorskip("captum.attr._utils.lrp_rules")
    module = dense(activation)
    reference = copy.deepcopy(module)
    for part in reference:
        if isinstance(part, nn.Linear):
            part.rule = rules.EpsilonRule(epsilon=1e-9)
    x = torch.from_numpy(RECORDS)
    theirs = quietly(lambda: attr.LRP(reference).attribute(x, target=module(x).argmax(dim=1)))
    found = explain(module, RECORDS, "lrp:epsilon=1e-09", outputs="logits")
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-10)


class TimesOne(nn.Module):
    """A linear layer that changes nothing."""

    def forward(self, x: Any) -> Any:
        return x * 1.0


def convolutional(between: Callable[[], Any]) -> Any:
    torch.manual_seed(0)
    first = [nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), between(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(4, 5, 3, padding=1), nn.MaxPool2d(2), between(), nn.Tanh()]
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(20, 3)).double()


def test_deeplift_of_a_convolutional_network_where_captum_loses_a_rule() -> None:
    """Two functions in a row that are not linear: captum passes the second one by, we do not.

    It sets the hook of the second one on the very tensor from which the first one has already read its gradient. The
    evidence: captum misses the change of the output, we don't; and with a factor of one between the two, which is the same
    function, captum gives what we give with and without it.
    """
    plain, parted = convolutional(nn.Identity), convolutional(TimesOne)
    ours = explain(plain, IMAGES, "deeplift", outputs="logits")
    assert misses(plain, IMAGES, ours) < 1e-14
    np.testing.assert_allclose(explain(parted, IMAGES, "deeplift", outputs="logits"), ours, rtol=0, atol=1e-15)
    np.testing.assert_allclose(captum_deeplift(parted, IMAGES), ours, rtol=0, atol=1e-14)
    theirs = captum_deeplift(plain, IMAGES)
    assert misses(plain, IMAGES, theirs) > 1e-3
    assert np.abs(theirs - ours).max() > 0.1 * np.abs(ours).max()


def test_deeplift_of_overlapping_windows_where_captum_loses_some() -> None:
    """A winner of two windows gets the gradient of both; captum's unpooling keeps the last one."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.MaxPool2d(3, stride=1), nn.Flatten(), nn.Linear(100, 3)).double()
    ours = explain(module, IMAGES, "deeplift", outputs="logits")
    assert misses(module, IMAGES, ours) < 1e-14
    assert misses(module, IMAGES, captum_deeplift(module, IMAGES)) > 0.01


def literal_maximum(x: Any, start: Any, incoming: Any, size: int) -> Any:
    """Multipliers of windows in one row: the winner at x gets what lies above the old maximum, else the old winner."""
    found = np.zeros(len(x))
    for window in range(len(x) // size):
        rows = range(window * size, (window + 1) * size)
        new, old = max(rows, key=lambda i: x[i]), max(rows, key=lambda i: start[i])
        change = x[new] - start[old]
        winner = new if change > 0 else old
        found[winner] += incoming[window] * change / (x[winner] - start[winner])
    return found


def test_deeplift_of_a_maximum_by_hand() -> None:
    torch.manual_seed(0)
    lift = nn.Sequential(nn.Unflatten(1, (1, 6)), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(3, 2)).double()
    shift = nn.Parameter(torch.tensor([0.3, -0.2, 0.1, 0.4, -0.5, 0.6], dtype=torch.float64))

    module = Written(lambda net, x: net.lift(x + net.shift), shift=shift, lift=lift)
    X = np.random.default_rng(3).normal(size=(20, 6))
    found = explain(module, X, "deeplift", outputs="logits")
    start, weights = shift.detach().numpy(), lift[3].weight.detach().numpy()
    for x, ours in zip(X, found, strict=True):
        code = int(module(torch.from_numpy(x[None])).argmax())
        np.testing.assert_allclose(ours, x * literal_maximum(x + start, start, weights[code], 2), rtol=0, atol=1e-12)


@pytest.mark.parametrize("pool", [nn.MaxPool2d(3, 2, padding=1), nn.MaxPool2d(2, dilation=2, ceil_mode=True)])
def test_lrp_and_deeplift_of_a_maximum_of_any_form(pool: Any) -> None:
    """LRP follows the winner: without biases nothing is lost. DeepLIFT is complete."""
    torch.manual_seed(0)
    parts = [nn.Conv2d(2, 4, 3, bias=False), nn.ReLU(), pool, nn.Flatten(), nn.LazyLinear(3, bias=False)]
    module = nn.Sequential(*parts).double()
    output = module(torch.from_numpy(IMAGES)).detach().numpy().max(axis=1)
    relevance = explain(module, IMAGES, "lrp:epsilon=1e-12", outputs="logits")
    np.testing.assert_allclose(relevance.reshape(5, -1).sum(axis=1), output, rtol=0, atol=1e-7)
    assert misses(module, IMAGES, explain(module, IMAGES, "deeplift", outputs="logits")) < 1e-13


def test_deeplift_where_nothing_changes() -> None:
    """Where a neuron is what it is at the baseline, its slope is the derivative."""
    for parts in ([nn.Tanh()], [nn.Unflatten(1, (1, 2)), nn.MaxPool1d(1), nn.Flatten()]):
        module = nn.Sequential(nn.Linear(2, 2, bias=False), *parts, nn.Linear(2, 2, bias=False)).double()
        module[0].weight.data = torch.tensor([[1.0, -1.0], [0.0, 1.0]], dtype=torch.float64)
        module[-1].weight.data = torch.tensor([[1.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
        found = explain(module, np.array([[0.8, 0.8]]), "deeplift", outputs="logits")
        second = float(np.tanh(0.8)) if len(parts) == 1 else 0.8
        np.testing.assert_allclose(found, [[0.8, second - 0.8]], rtol=0, atol=1e-12)


# --- every way to write the same network ---


def written(run: Callable[[Any, Any], Any]) -> Any:
    """A network of three layers whose forward pass is given."""
    torch.manual_seed(0)
    layers = {"first": nn.Linear(4, 4), "second": nn.Linear(4, 4), "third": nn.Linear(4, 3)}
    return Written(run, activation=nn.ReLU(), **layers).double()


def ignoring_results(net: Any, x: Any) -> Any:
    h = net.first(x)
    functional.relu(h, inplace=True)
    h = net.second(h)
    h.relu_()
    return net.third(h)


def written_in_place(net: Any, x: Any) -> Any:
    x *= 2
    x /= 2
    return net.third(torch.relu_(net.second(functional.relu_(net.first(x)))))


WAYS = {
    "modules": lambda net, x: net.third(nn.ReLU()(net.second(nn.ReLU()(net.first(x))))),
    "one module twice": lambda net, x: net.third(net.activation(net.second(net.activation(net.first(x))))),
    "functions": lambda net, x: net.third(functional.relu(net.second(torch.relu(net.first(x))))),
    "methods": lambda net, x: net.third(net.second(net.first(x).relu()).relu()),
    "named argument": lambda net, x: net.third(torch.relu(input=net.second(torch.relu(input=net.first(x))))),
    "in place": lambda net, x: net.third(nn.ReLU(inplace=True)(net.second(nn.ReLU(inplace=True)(net.first(x))))),
    "in place, results ignored": ignoring_results,
    "in place, from the input on": written_in_place,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["lrp", "deeplift", "gradient", "integrated_gradients"])
def test_the_way_a_network_is_written_makes_no_difference(way: str, method: str) -> None:
    keep = RECORDS.copy()
    expected = explain(written(WAYS["modules"]), RECORDS, method, outputs="logits")
    found = explain(written(WAYS[way]), RECORDS, method, outputs="logits")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(RECORDS, keep)


COMPLETE = {
    "functions": WAYS["functions"],
    "residual sum": lambda net, x: net.third(x + functional.relu(net.first(x)) - 0.5 * torch.tanh(net.second(x))),
    "concatenation": lambda net, x: net.third(torch.cat([net.first(x).relu(), net.second(x).tanh()], 1)[:, 1:5]),
    "neurons in the first axis": lambda net, x: net.third(net.first(x).T.tanh().T),
    "constant factor": lambda net, x: net.third((net.first(x) * net.second.bias / 3).tanh()),
    "matrix products": lambda net, x: (x @ net.first.weight).tanh().matmul(net.third.weight.T),
    "rows folded": lambda net, x: net.third(
        (net.first(x.repeat(1, 3).reshape(-1, 4)) + torch.arange(3.0).repeat(len(x))[:, None]).tanh().reshape(len(x), 3, 4).sum(1)
    ),
    "records in the second axis": lambda net, x: net.third(
        (net.first(x)[None] + torch.arange(3.0)[:, None, None]).tanh().transpose(0, 1).mean(1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", COMPLETE)
def test_deeplift_is_complete(way: str) -> None:
    module = written(COMPLETE[way])
    assert misses(module, RECORDS, explain(module, RECORDS, "deeplift", outputs="logits")) < 1e-13


def test_batch_norm_and_dropout_in_evaluation() -> None:
    torch.manual_seed(0)
    parts = [nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(), nn.Linear(5, 3)]
    module = nn.Sequential(*parts).double()
    module(torch.randn(50, 4, dtype=torch.float64))  # moves the running statistics
    found = explain(module, RECORDS, "deeplift", outputs="logits")
    assert module.training
    assert module[3].training
    assert misses(module.eval(), RECORDS, found) < 1e-14
    # batch norm is a linear layer: folded into the one before it, LRP is the same but for what goes to the bias
    folded = nn.utils.fusion.fuse_linear_bn_eval(module[0], module[1])
    merged = nn.Sequential(folded, *module[2:])
    for method in ("lrp", "deeplift"):
        np.testing.assert_allclose(
            explain(merged, RECORDS, method, outputs="logits"),
            explain(module, RECORDS, method, outputs="logits"),
            rtol=0,
            atol=1e-12,
        )


# --- refusals ---


class Reversed(torch.autograd.Function):
    """The identity, with a gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:  # noqa: ARG004
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, incoming: Any) -> Any:  # noqa: ARG004
        return -incoming


def attend(net: Any, x: Any) -> Any:
    return net.attention(x[:, None], x[:, None], x[:, None])[0][:, 0]


NO_RULE = {
    "layer_norm": nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 3)),
    "multi_head_attention_forward": Written(attend, attention=nn.MultiheadAttention(4, 2, batch_first=True)),
    "lstm": Written(lambda net, x: net.lstm(x[:, None])[0][:, 0], lstm=nn.LSTM(4, 3, batch_first=True)),
    "batch_norm": nn.Sequential(  # with statistics of the batch
        nn.Unflatten(1, (1, 4)), nn.BatchNorm1d(1, track_running_stats=False), nn.Flatten(), nn.Linear(4, 3)
    ),
    "softmax": nn.Sequential(nn.Linear(4, 4), nn.Softmax(dim=1), nn.Linear(4, 3)),
    "mul": written(lambda net, x: net.third(net.first(x) * net.second(x))),
    "div": written(lambda net, x: net.third(1 + net.first(x) / (1 + x.sum(1, keepdim=True)))),
    "pow": written(lambda net, x: net.third(net.first(x) ** 2)),
    "maximum": written(lambda net, x: net.third(torch.maximum(net.first(x), net.second(x)))),
    "gt": written(lambda net, x: net.third(net.first(x) if x.sum() > 0 else net.second(x))),
    "setitem": written(lambda net, x: assign(net.first(x), net)),
    "dropout": written(lambda net, x: net.third(functional.dropout(net.first(x), 0.0))),
}


def assign(h: Any, net: Any) -> Any:
    h[:, 0] = h[:, 1]
    return net.third(h)


@pytest.mark.parametrize("method", ["lrp", "deeplift"])
@pytest.mark.parametrize("function", NO_RULE)
def test_functions_without_a_rule_are_named(method: str, function: str) -> None:
    with pytest.raises(InputError, match=rf"^{method}.*\b{function}\b.*smoothgrad"):
        explain(NO_RULE[function].double(), RECORDS, method, outputs="logits")


def test_lrp_refuses_what_does_not_go_through_zero() -> None:
    with pytest.raises(InputError, match=r"lrp.*sigmoid"):
        explain(dense(nn.Sigmoid), RECORDS, "lrp", outputs="logits")


@pytest.mark.parametrize("method", ["lrp", "deeplift"])
def test_code_that_can_not_be_seen_is_refused(method: str) -> None:
    within = written(lambda net, x: net.third(Reversed.apply(net.first(x)).relu()))
    for hidden in (within, written(lambda net, x: Reversed.apply(net.third(x)))):
        with pytest.raises(InputError, match=f"^{method}.*ReversedBackward"):
            explain(hidden, RECORDS, method, outputs="logits")


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning", "ignore:.*torch.jit.*:FutureWarning")
@pytest.mark.parametrize("method", ["lrp", "deeplift"])
def test_torchscript_is_refused_and_not_taken_for_linear(method: str) -> None:
    module = dense(nn.ReLU)
    traced = torch.jit.trace(module, torch.from_numpy(RECORDS))
    for hidden in (traced, nn.Sequential(traced, nn.Linear(3, 3).double())):
        with pytest.raises(InputError, match=f"^{method}.*TorchScript"):
            explain(hidden, RECORDS, method, outputs="logits")
    np.testing.assert_allclose(
        explain(traced, RECORDS, outputs="logits"), explain(module, RECORDS, outputs="logits"), rtol=0, atol=1e-15
    )


def test_a_way_that_differs_at_the_baseline_is_refused() -> None:
    def run(net: Any, x: Any) -> Any:
        h = net.first(x)
        return net.third(h.tanh().relu() if len(x) > 1 else h.tanh())

    with pytest.raises(InputError, match=r"baseline.*deeplift"):
        explain(written(run), RECORDS, "deeplift", outputs="logits")


def test_deeplift_says_when_it_is_not_complete() -> None:
    """Rows of all records folded in another order than those of the baseline alone."""

    def run(net: Any, x: Any) -> Any:
        steps = net.first(x)[None] + torch.arange(3.0)[:, None, None]
        return net.third(steps.reshape(-1, 4).tanh().reshape(3, -1, 4).sum(0))

    with pytest.raises(InputError, match=r"^deeplift.*0\.\d"):
        explain(written(run), RECORDS, "deeplift", outputs="logits")
