r"""Influence functions of any differentiable torch model (Koh and Liang 2017).

The parameters θ minimise :math:`\sum_j \ell(x_j, \theta) + R(\theta)`. Without record x they move, to first order, by
:math:`H^{-1}\nabla\ell(x)`, where H is the Hessian of this *sum*, and the loss of a point y changes by

.. math:: I_y(x) = L(y, \theta_{-x}) - L(y, \theta) \approx \nabla L(y)^\top H^{-1}\, \nabla\ell(x) ,

which is Koh and Liang's Eq. 2 for a record of weight −1/n, in the sign of [shokri2019, Eq. 4].

This assumes that θ is a minimum and H positive definite. A network is rarely at a minimum: its Hessian has negative
eigenvalues. H + δI with a damping δ above the lowest of them replaces it, as for a model that an additional penalty
keeps near θ. The Gauss-Newton matrix :math:`\sum_j J_j^\top (\nabla^2_{f}\ell_j)\, J_j`, with J the derivative of the
outputs f, omits the curvature of the network itself, has no negative eigenvalue if the loss is convex in the outputs,
and needs little damping. All computations are in float64.

captum 0.9's ``NaiveInfluenceFunction`` agrees to 1e-13 at full rank and takes 2 to 7 times as long (150 records and 81
parameters, 1,000 and 971, one thread); at its default rank of 50 its rank correlation with the formula is 0.81 to 1.00.
It drops negative eigenvalues silently, has no penalty, and reads its model from a file.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from leakscope.core.arrays import Floats
from leakscope.core.checks import check_number
from leakscope.core.errors import InputError
from leakscope.core.extras import import_torch
from leakscope.core.failures import cause, describe
from leakscope.core.threads import one_thread

Curvature = Literal["hessian", "gauss-newton"]

EXPLICIT = 2000  # parameters up to which the matrix is computed explicitly
ROWS, DIRECTIONS = 1024, 64  # records, and vectors that a matrix is multiplied by, at a time
STEPS, TOLERANCE = 2000, 1e-8  # of conjugate gradients: largest number of steps, and relative residual


def influence_functions(
    module: Any,
    loss: Callable[[Any, Any], Any],
    X: Any,
    y: Any,
    points: Any,
    labels: Any,
    *,
    penalty: float | Callable[[dict[str, Any]], Any] = 0.0,
    damping: float = 0.0,
    curvature: Curvature = "hessian",
    point_loss: Callable[[Any, Any], Any] | None = None,
) -> Floats:
    """Approximate the influence of every training record on every point, (points, n).

    Parameters
    ----------
    module
        A trained ``torch.nn.Module``; a copy is used, in evaluation mode. Parameters that need no gradient stay fixed.
    loss
        ``loss(outputs, labels)``, the training loss of a batch of one record, such as
        ``torch.nn.functional.cross_entropy``.
    X, y, points, labels
        The training records and the points, each with its labels, as the module and the loss take them.
    penalty
        Weight λ of the penalty λ/2·‖θ‖² over all parameters, added to the *sum* of losses, or a function of the named
        parameters that gives the whole penalty. A mean loss with the penalty c·‖θ‖² has λ = 2nc; its penalty has more
        weight without a record, and each row minus its mean is the influence.
    damping
        Number that is added to every eigenvalue of the matrix.
    curvature
        ``"hessian"``, or ``"gauss-newton"`` for networks whose Hessian has negative eigenvalues.
    point_loss
        The loss whose change is the influence, if not ``loss``.

    Notes
    -----
    Up to 2,000 parameters, the matrix is computed and decomposed. For more parameters, conjugate gradients solve for
    each point with matrix-vector products.

    Examples
    --------
    >>> import torch
    >>> line = torch.nn.Linear(1, 1, bias=False)
    >>> _ = torch.nn.init.constant_(line.weight, 2.0)  # the minimum of the sum of squares
    >>> squares = torch.nn.functional.mse_loss
    >>> X, y = np.array([[1.0], [2.0]]), np.array([[4.0], [3.0]])
    >>> influence_functions(line, squares, X, y, points=X, labels=y)
    array([[ 1.6, -1.6], [-1.6, 1.6]])
    """
    import_torch("the influence function of a network")
    if curvature not in ("hessian", "gauss-newton"):
        raise InputError(f"curvature must be 'hessian' or 'gauss-newton', not {curvature!r}")
    for name, value in (("damping", damping), *([] if callable(penalty) else [("penalty", penalty)])):
        check_number(name, value, 0)
    with one_thread():
        records, targets = _tensors(X, y, "X and y")
        asked, wanted = _tensors(points, labels, "points and labels")
        objective = _Objective(module, loss, penalty, (records, targets), curvature == "gauss-newton", float(damping))
        objective.check(records, targets, loss, "X and y")
        objective.check(asked, wanted, point_loss or loss, "points and labels")
        gradients = objective.gradients(asked, wanted, point_loss or loss)
        moves = _solve_explicit(objective, gradients) if objective.size <= EXPLICIT else _solve_cg(objective, gradients)
        found = np.empty((len(asked), len(records)))
        for start in range(0, len(records), ROWS):
            part = slice(start, start + ROWS)
            found[:, part] = (moves @ objective.gradients(records[part], targets[part], loss).T).numpy()
    return found


class _Objective:
    """The training objective as a function of all trained parameters in one vector, and its derivatives."""

    def __init__(
        self, module: Any, loss: Any, penalty: Any, data: tuple[Any, Any], gauss_newton: bool, damping: float
    ) -> None:
        torch = import_torch()
        if not isinstance(module, torch.nn.Module):
            raise InputError(f"module must be a trained torch.nn.Module, not a {type(module).__name__}")
        self.module = copy.deepcopy(module).to("cpu", torch.float64).eval()
        trained = {name: value.detach() for name, value in self.module.named_parameters() if value.requires_grad}
        if not trained:
            raise InputError("no parameter of the module needs a gradient: set requires_grad on those to be trained")
        self.shapes = {name: value.shape for name, value in trained.items()}
        self.sizes = [value.numel() for value in trained.values()]
        self.theta = torch.cat([value.reshape(-1) for value in trained.values()])
        self.size = len(self.theta)
        self.loss, self.penalty = loss, penalty
        self.records, self.targets = data
        self.gauss_newton, self.damping = gauss_newton, damping

    def named(self, theta: Any) -> dict[str, Any]:
        parts = theta.split(self.sizes)
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def outputs(self, theta: Any, records: Any) -> Any:
        return import_torch().func.functional_call(self.module, self.named(theta), (records,))

    def gradients(self, records: Any, targets: Any, loss: Any) -> Any:
        """Gradient of the loss of each record, (records, parameters)."""
        func = import_torch().func

        def of_one(theta: Any, record: Any, target: Any) -> Any:
            return loss(self.outputs(theta, record[None]), target[None]).sum()

        each = func.vmap(func.grad(of_one), (None, 0, 0), chunk_size=ROWS)
        return each(self.theta, records, targets)

    def products(self, directions: Any) -> Any:
        """The matrix times each of some directions, (directions, parameters)."""
        func = import_torch().func
        total = directions * self.damping
        for start in range(0, len(self.records), ROWS):
            records, targets = self.records[start : start + ROWS], self.targets[start : start + ROWS]
            one = self._gauss_newton(records, targets) if self.gauss_newton else self._hessian(records, targets)
            total = total + func.vmap(one, chunk_size=DIRECTIONS)(directions)
        if callable(self.penalty):
            once = _second_derivative(lambda theta: self.penalty(self.named(theta)), self.theta)
            return total + func.vmap(once, chunk_size=DIRECTIONS)(directions)
        return total + self.penalty * directions

    def _losses(self, outputs: Any, targets: Any) -> Any:
        """Sum of the losses, record by record, so that a loss that averages over its batch is correct too."""
        one = import_torch().func.vmap(lambda output, target: self.loss(output[None], target[None]).sum())
        return one(outputs, targets).sum()

    def _hessian(self, records: Any, targets: Any) -> Callable[[Any], Any]:
        return _second_derivative(lambda theta: self._losses(self.outputs(theta, records), targets), self.theta)

    def _gauss_newton(self, records: Any, targets: Any) -> Callable[[Any], Any]:
        func = import_torch().func
        outputs, backward = func.vjp(lambda theta: self.outputs(theta, records), self.theta)
        bend = _second_derivative(lambda values: self._losses(values, targets), outputs)
        # u ↦ Jᵀu is linear, and its own transpose is v ↦ Jv
        _, forward = func.vjp(lambda slopes: backward(slopes)[0], outputs)
        return lambda v: backward(bend(forward(v)[0]))[0]

    def check(self, records: Any, targets: Any, loss: Any, what: str) -> None:
        """Try the module and the loss on one record before the computation."""
        torch = import_torch()
        try:
            value = loss(self.outputs(self.theta, records[:1]), targets[:1])
        except Exception as error:
            raise InputError(
                f"{what} do not fit the module and the loss, which fail on the first record ({describe(error)}): "
                "pass the shapes and types that they expect"
            ) from cause(error)
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            raise InputError(
                "the loss of a batch of one record is not one number: pass a function loss(outputs, labels)"
            )


def _second_derivative(function: Callable[[Any], Any], at: Any) -> Callable[[Any], Any]:
    """Function that multiplies a vector by the (symmetric) Hessian of a function, by reverse over reverse mode."""
    func = import_torch().func
    _, product = func.vjp(func.grad(function), at)
    return lambda v: product(v)[0]


def _solve_explicit(objective: _Objective, right: Any) -> Any:
    """Solve for each row of ``right`` by the eigenvalues of the whole matrix."""
    torch = import_torch()
    blocks = torch.eye(objective.size, dtype=torch.float64).split(ROWS)
    matrix = torch.cat([objective.products(block) for block in blocks])
    values, vectors = torch.linalg.eigh((matrix + matrix.T) / 2)
    lowest, highest = float(values[0]), float(values[-1])
    if not lowest > objective.size * np.finfo(float).eps * highest:
        raise _not_definite(objective, f", its lowest eigenvalue is {lowest:.2g}", -lowest)
    return ((right @ vectors) / values) @ vectors.T


def _solve_cg(objective: _Objective, right: Any) -> Any:
    """Solve for each row of ``right`` by conjugate gradients (Hestenes and Stiefel 1952)."""
    torch = import_torch()
    solution, residual, direction = torch.zeros_like(right), right.clone(), right.clone()
    squared = (residual**2).sum(1)
    goal = squared * TOLERANCE**2
    for _ in range(STEPS):
        active = torch.nonzero(squared > goal)[:, 0]
        if not len(active):
            return solution
        product = objective.products(direction[active])
        bend = (direction[active] * product).sum(1)
        if (bend <= 0).any():
            raise _not_definite(objective)
        length = (squared[active] / bend)[:, None]
        solution[active] += length * direction[active]
        residual[active] -= length * product
        fresh = (residual[active] ** 2).sum(1)
        direction[active] = residual[active] + (fresh / squared[active])[:, None] * direction[active]
        squared[active] = fresh
    raise InputError(f"conjugate gradients have not converged in {STEPS:,} steps: raise damping or penalty")


def _not_definite(objective: _Objective, how: str = "", missing: float = 0.0) -> InputError:
    if objective.gauss_newton:
        return InputError(f"the Gauss-Newton matrix is not positive definite{how}: set damping or penalty above 0")
    least = f" above {objective.damping + missing:.2g}" if missing > 0 else ""
    return InputError(f"the Hessian is not positive definite{how}: set damping{least}, or curvature='gauss-newton'")


def _tensors(X: Any, y: Any, what: str) -> tuple[Any, Any]:
    """Records and labels as tensors on the CPU, numbers with a fraction as float64."""
    torch = import_torch()
    tensors = []
    for values in (X, y):
        if not isinstance(values, torch.Tensor):
            values = np.array(values)
            if values.dtype.kind not in "biuf":
                raise InputError(f"{what} must be numbers, not {values.dtype}: encode them first")
        found = torch.as_tensor(values).detach().cpu()
        if not torch.isfinite(found).all():
            raise InputError(f"{what} must be finite: fill or drop other values")
        tensors.append(found.double() if found.is_floating_point() else found)
    records, labels = tensors
    if not records.ndim or not labels.ndim or not len(records) or len(records) != len(labels):
        raise InputError(f"{what} have shapes {tuple(records.shape)}, {tuple(labels.shape)}: pass a label per record")
    return records, labels
