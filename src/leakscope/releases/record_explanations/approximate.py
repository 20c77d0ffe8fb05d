r"""Approximate leave-one-out logistic regression, by one step from the model of all records.

With the notation of `leakscope.releases.record_explanations.logistic`, the residual :math:`r_i = p_i - y_i`, the
curvature :math:`d_i = p_i(1 - p_i)`, the Hessian H of the *summed* objective of all records and :math:`h_i = a_i^\top
H^{-1} a_i`, a Newton step from θ towards the model without record i is

.. math:: \theta_{-i} \approx \theta + H^{-1} a_i\, r_i \quad\text{(first order)}, \qquad
          \theta_{-i} \approx \theta + H^{-1} a_i \frac{r_i}{1 - d_i h_i} \quad\text{(one corrected step)} .

The first keeps the Hessian of all records: it is the influence function of Koh and Liang (2017, Eq. 1) for a record of
weight −1 in the sum of losses, or −1/n in their mean. The second removes the record from the Hessian too (Pregibon
1981). Koh and Liang also linearise the loss of the point, :math:`I_y(x) \approx \nabla L(y)^\top H^{-1} \nabla\ell(x)`;
here the loss is evaluated at the moved parameters, which agrees to first order, so that approximate models can replace
the exact ones everywhere. `leakscope.releases.record_explanations.functions` has the linear form for differentiable
models.

Neither is exact. Their agreement with exact explanations is measured by `leakscope.releases.record_explanations.rank_agreement`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from leakscope.releases.record_explanations.linear_models import formerly_l2
from leakscope.releases.record_explanations.logistic import BLOCK, LeaveOneOut, LogisticProblem


@formerly_l2
def first_order(X: Any, y: Any, penalty: float = 1.0) -> LeaveOneOut:
    """Approximate the models without each record by influence functions (Koh and Liang 2017).

    Parameters
    ----------
    X, y, penalty
        As for `leave_one_out`.

    Returns
    -------
    LeaveOneOut
        The approximate models; ``gradient_norm`` says how far from solved the worst of them is.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import leave_one_out
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> first_order(X, y).coef[1:3].ravel().round(3), leave_one_out(X, y).coef[1:3].ravel().round(3)
    (array([0.584, 0.584]), array([0.708, 0.708]))
    """
    return _step(X, y, penalty, corrected=False)


@formerly_l2
def one_step(X: Any, y: Any, penalty: float = 1.0) -> LeaveOneOut:
    """Approximate the models without each record by one Newton step with the Hessian of the others (Pregibon 1981).

    Parameters and result are those of `first_order`.

    Examples
    --------
    >>> one_step([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).coef[1:3].ravel().round(3)
    array([0.637, 0.637])
    """
    return _step(X, y, penalty, corrected=True)


def _step(X: Any, y: Any, penalty: float, corrected: bool) -> LeaveOneOut:
    problem = LogisticProblem(X, y, penalty)
    lengths = problem.residual / (1 - problem.curvature * problem.leverage) if corrected else problem.residual
    thetas = np.empty_like(problem.A)
    worst = problem.full_norm
    for start in range(0, len(thetas), BLOCK):
        removed = problem.first[start : start + BLOCK]
        moved = problem.theta[:, None] + cho_solve(problem.factor, problem.A[removed].T) * lengths[removed]
        worst = max(worst, float(np.linalg.norm(problem.gradients(moved, removed), axis=0).max()))
        thetas[start : start + BLOCK] = moved.T
    return problem.models(thetas, worst)
