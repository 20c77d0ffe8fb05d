"""Approximate leave-one-out: one literal Newton step, the influence function, and captum as the reference."""

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from leakscope.core.errors import InputError, MissingExtraError
from leakscope.core.threads import one_thread
from leakscope.releases.record_explanations import RecordExplanation, functions, influences, leave_one_out
from leakscope.releases.record_explanations.approximate import first_order, one_step
from leakscope.releases.record_explanations.functions import influence_functions
from leakscope.releases.record_explanations.rank_agreement import agreement

torch = pytest.importorskip("torch")
bce = torch.nn.functional.binary_cross_entropy_with_logits


def records(n: int = 80, d: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + rng.logistic(size=n) > 0).astype(int)


def literal_step(X: Any, y: Any, penalty: float, record: int, corrected: bool) -> Any:
    """A Newton step from the model of all records, its Hessian and gradient written out."""
    full = leave_one_out(X, y, penalty)
    A = np.column_stack([X, np.ones(len(X))])
    theta = np.append(full.coef_full, full.intercept_full)
    p = expit(A @ theta)
    others = np.delete(np.arange(len(y)), record)
    weights = np.diag([*[penalty] * X.shape[1], 0.0])
    curved = others if corrected else np.arange(len(y))
    hessian = sum(p[j] * (1 - p[j]) * np.outer(A[j], A[j]) for j in curved) + weights
    gradient = sum((p[j] - y[j]) * A[j] for j in others) + weights @ theta
    return theta - np.linalg.lstsq(hessian, gradient)[0]


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize(("n", "d", "penalty"), [(80, 4, 1.0), (80, 4, 0.01), (15, 30, 0.5)])
def test_each_model_is_one_newton_step_away(n: int, d: int, penalty: float, corrected: bool) -> None:
    X, y = records(n, d)
    found = (one_step if corrected else first_order)(X, y, penalty)
    for record in (0, 7, n - 1):
        expected = literal_step(X, y, penalty, record, corrected)
        # The model of all records is solved to a gradient of 1e-12, and the Hessian is at least penalty or 0.01.
        np.testing.assert_allclose(np.append(found.coef[record], found.intercept[record]), expected, atol=1e-9)


def test_the_gradient_norm_is_that_of_the_worst_model() -> None:
    X, y = records()
    A = np.column_stack([X, np.ones(len(X))])
    for found in (first_order(X, y, 0.1), one_step(X, y, 0.1)):
        norms = []
        for record in range(len(y)):
            theta = np.append(found.coef[record], found.intercept[record])
            others = np.delete(np.arange(len(y)), record)
            slope = A[others].T @ (expit(A[others] @ theta) - y[others]) + 0.1 * np.append(theta[:-1], 0.0)
            norms.append(np.linalg.norm(slope))
        assert found.gradient_norm == pytest.approx(max(norms), rel=1e-8)


def test_the_corrected_step_is_nearer() -> None:
    X, y = records(60, 10)
    exact = leave_one_out(X, y, 0.1)
    errors = [np.abs(found.coef - exact.coef).max() for found in (first_order(X, y, 0.1), one_step(X, y, 0.1))]
    assert errors[1] < errors[0]
    assert exact.gradient_norm < one_step(X, y, 0.1).gradient_norm


def test_approximate_models_explain_like_exact_ones_and_keep_ties() -> None:
    X, y = records()
    X[50], y[50] = X[2], y[2]
    for found in (first_order(X, y), one_step(X, y)):
        values = influences(found, X)
        assert (values[:, 50] == values[:, 2]).all()
        assert RecordExplanation(k=3).explain(found, X).records.shape == (80, 3)
        assert agreement(values, influences(leave_one_out(X, y), X)).top.value > 0.8


def linear(loo: Any) -> Any:
    """The model of all records as a torch module."""
    module = torch.nn.Linear(len(loo.coef_full), 1).double()
    with torch.no_grad():
        module.weight.copy_(torch.tensor(loo.coef_full)[None])
        module.bias.fill_(loo.intercept_full)
    return module


def network(*widths: int, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    layers: list[Any] = []
    for inputs, outputs in pairwise(widths):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def log_loss(outputs: Any, labels: Any) -> Any:
    return bce(outputs[:, 0], labels.double())


@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
def test_for_logistic_regression_it_is_the_closed_form(curvature: Any) -> None:
    # The model is linear in its parameters, so that Gauss-Newton is the Hessian.
    X, y = records()
    points, labels = records(20, seed=1)
    loo = first_order(X, y, 0.5)
    found = influence_functions(
        linear(loo), log_loss, X, y, points, labels, penalty=lambda named: 0.25 * (named["weight"] ** 2).sum(),
        curvature=curvature,
    )  # fmt: skip
    moves = np.column_stack([loo.coef - loo.coef_full, loo.intercept - loo.intercept_full])
    slopes = (loo.probabilities(points) - labels)[:, None] * np.column_stack([points, np.ones(20)])
    np.testing.assert_allclose(found, slopes @ moves.T, atol=1e-10)


def literal(module: Any, X: Any, y: Any, points: Any, labels: Any, penalty: float) -> Any:
    """∇L(y)ᵀ H⁻¹ ∇ℓ(x), every derivative taken by torch.autograd on its own."""
    module = module.double()
    parameters = list(module.parameters())
    shapes = [value.shape for value in parameters]
    theta = torch.cat([value.detach().reshape(-1) for value in parameters])

    def total(flat: Any, rows: Any, targets: Any, weight: float = 0.0) -> Any:
        parts = flat.split([shape.numel() for shape in shapes])
        named = {name: part.view(shape) for (name, _), part, shape in
                 zip(module.named_parameters(), parts, shapes, strict=True)}  # fmt: skip
        outputs = torch.func.functional_call(module, named, (torch.tensor(rows),))
        return bce(outputs[:, 0], torch.tensor(targets).double(), reduction="sum") + weight / 2 * (flat**2).sum()

    hessian = torch.autograd.functional.hessian(lambda flat: total(flat, X, y, penalty), theta)

    def gradients(rows: Any, targets: Any) -> Any:
        each = [torch.autograd.functional.jacobian(lambda flat, i=i: total(flat, rows[i : i + 1], targets[i : i + 1]), theta)
                for i in range(len(rows))]  # fmt: skip
        return torch.stack(each)

    return (gradients(points, labels) @ torch.linalg.solve(hessian, gradients(X, y).T)).numpy()


def test_for_a_network_it_is_the_literal_formula_by_either_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = records(40)
    points, labels = records(5, seed=1)
    module = network(4, 6, 3, 1)
    with one_thread():
        expected = literal(network(4, 6, 3, 1), X, y, points, labels, 30.0)
    found = influence_functions(module, log_loss, X, y, points, labels, penalty=30.0)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    same = influence_functions(module, log_loss, X, y, points, labels, damping=30.0)
    np.testing.assert_allclose(same, expected, atol=1e-9 * np.abs(expected).max())
    monkeypatch.setattr(functions, "EXPLICIT", 0)
    monkeypatch.setattr(functions, "ROWS", 7)
    by_steps = influence_functions(module, log_loss, X, y, points, labels, penalty=30.0)
    # A relative residual of 1e-8 is an error of 1e-8 times the condition, which is below 10 here.
    np.testing.assert_allclose(by_steps, expected, atol=1e-6 * np.abs(expected).max())


def test_gauss_newton_of_a_network_is_the_sum_of_outer_products() -> None:
    X, y = records(30)
    module = network(4, 5, 1).double()
    theta = dict(module.named_parameters())
    jacobian = torch.func.jacrev(lambda named: torch.func.functional_call(module, named, (torch.tensor(X),))[:, 0])(
        theta
    )
    J = torch.cat([part.reshape(len(X), -1) for part in jacobian.values()], dim=1).detach().numpy()
    p = expit(module(torch.tensor(X))[:, 0].detach().numpy())
    slopes = (p - y)[:, None] * J
    expected = slopes @ np.linalg.solve((J * (p * (1 - p))[:, None]).T @ J + 0.1 * np.eye(J.shape[1]), slopes.T)
    found = influence_functions(module, log_loss, X, y, X, y, damping=0.1, curvature="gauss-newton")
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_captum_agrees_at_full_rank(tmp_path: Path) -> None:
    captum = pytest.importorskip("captum.influence")
    X, y = records(40)
    points, labels = records(6, seed=1)
    module = network(4, 5, 1).double()
    torch.save(module.state_dict(), tmp_path / "model.pt")
    dataset = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(y).double()[:, None])
    with one_thread():
        peer = captum.NaiveInfluenceFunction(
            module, dataset, str(tmp_path / "model.pt"), loss_fn=torch.nn.BCEWithLogitsLoss(reduction="none"), batch_size=40,
            projection_dim=31, hessian_reg=20.0, hessian_inverse_tol=0.0,
        )  # fmt: skip
        expected = peer.influence((torch.tensor(points), torch.tensor(labels).double()[:, None])).detach().numpy()
    found = influence_functions(module, log_loss, X, y, points, labels, damping=20.0)
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_another_loss_of_the_point_and_fixed_layers() -> None:
    X, y = records(30)
    module = network(4, 5, 1)
    module[0].requires_grad_(False)

    def doubled(outputs: Any, labels: Any) -> Any:
        return 2 * log_loss(outputs, labels)

    once = influence_functions(module, log_loss, X, y, X[:3], y[:3], penalty=1.0)
    twice = influence_functions(module, log_loss, X, y, X[:3], y[:3], penalty=1.0, point_loss=doubled)
    np.testing.assert_allclose(twice, 2 * once, rtol=1e-12)
    hidden = module[1](module[0](torch.tensor(X).float())).detach().double()
    head = torch.nn.Sequential(module[2])
    last = influence_functions(head, log_loss, hidden, y, hidden[:3], y[:3], penalty=1.0)
    np.testing.assert_allclose(once, last, atol=1e-5 * np.abs(last).max())  # the hidden layer was run in float32
    assert module[2].weight.dtype == torch.float32
    assert module.training


@pytest.mark.parametrize("solver", ["explicit", "conjugate gradients"])
def test_a_hessian_that_is_not_positive_definite_is_refused(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if solver != "explicit":
        monkeypatch.setattr(functions, "EXPLICIT", 0)
    X, y = records(30)
    with pytest.raises(InputError, match=r"Hessian.*damping.*curvature='gauss-newton'"):
        influence_functions(network(4, 5, 1), log_loss, X, y, X, 1 - y)
    assert influence_functions(network(4, 5, 1), log_loss, X, y, X, y, damping=50.0).shape == (30, 30)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"module": "net"}, "module.*str"),
        ({"curvature": "fisher"}, "curvature.*'fisher'"),
        ({"damping": -1.0}, "damping"),
        ({"penalty": "strong"}, "penalty"),
        ({"X": np.ones((30, 3))}, "^X.*RuntimeError"),
        ({"points": np.ones((30, 3))}, "^points.*RuntimeError"),
        ({"X": np.full((30, 4), "a")}, "^X.*<U1"),
        ({"X": np.full((30, 4), np.nan)}, "^X"),
        ({"y": np.ones(3)}, r"^X.*\(3,\)"),
        ({"loss": lambda outputs, labels: outputs.expand(1, 2)}, r"loss\(outputs"),
        ({"module": network(4, 1).requires_grad_(False)}, "requires_grad"),
    ],
)
def test_bad_input_to_influence_functions(change: dict[str, Any], named: str) -> None:
    X, y = records(30)
    good = {"module": network(4, 1), "loss": log_loss, "X": X, "y": y, "points": X, "labels": y, "penalty": 1.0}
    with pytest.raises(InputError, match=named):
        influence_functions(**{**good, **change})


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"leakscope\[torch\]"):
        influence_functions(None, log_loss, [[1.0]], [1], [[1.0]], [1])
