r"""Threshold attacks on a loss, in two forms (Yeom, Giacomelli, Fredrikson and Jha, CSF 2018).

1. *Loss threshold*: "member" where the loss is at most the mean loss of the training records.
2. *Likelihood ratio*: with errors :math:`\varepsilon \sim N(0, \sigma_S^2)` for members and :math:`N(0, \sigma_D^2)` for
   non-members (their Adversary 2), "member" where the first is the likelier: where

   .. math:: \ln\frac{\sigma_D}{\sigma_S} > \frac{\varepsilon^2}{2}\Bigl(\frac1{\sigma_S^2} - \frac1{\sigma_D^2}\Bigr).

   With :math:`r = \sigma_D/\sigma_S` its advantage is :math:`\operatorname{erf}(r\,u) - \operatorname{erf}(u)`,
   :math:`u^2 = \ln r/(r^2-1)` (Yeom et al. 2018, Theorem 3), and its AUC is :math:`\tfrac2\pi\arctan r`.

The means and deviations are taken from the records that the attacker knows.
"""

from __future__ import annotations

import numpy as np

from leakscope.attacks.protocol import Attack, Evidence, Scores
from leakscope.core.arrays import Floats
from leakscope.releases.release import LOSSES

SOURCE = "Yeom et al. 2018"


def loss_threshold(release: str) -> Attack:
    """Return the loss threshold attack (form 1) on a release that is a loss.

    Examples
    --------
    >>> loss_threshold("log_loss").name
    'loss threshold'
    """
    return Attack("loss threshold", release, f"{SOURCE}, section 6", _guess_by_mean, fixed_scale=True).reads(*LOSSES)


def _guess_by_mean(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
    loss, known = evidence.observed[:, 0], evidence.known
    return Scores(-loss, (loss <= known.observed[known.member, 0].mean()).astype(np.float64))


def likelihood_ratio(release: str) -> Attack:
    """Return the likelihood-ratio attack (form 2) on ``squared_error`` or ``likelihood_loss``.

    Examples
    --------
    >>> likelihood_ratio("squared_error").name
    'likelihood ratio'
    """
    power = 1 if release == "squared_error" else 2

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:  # noqa: ARG001
        return _guess_by_ratio(evidence.observed[:, 0] ** power, evidence.known.observed[:, 0] ** power, evidence)

    return Attack("likelihood ratio", release, f"{SOURCE}, Adversary 2 and Theorem 3", guess).reads(
        "squared_error", "likelihood_loss"
    )


def _guess_by_ratio(squared: Floats, known_squared: Floats, evidence: Evidence) -> Scores:
    member = evidence.known.member
    # A model without any error on its known members would divide by zero: hold the variances above rounding error.
    smallest = np.finfo(np.float64).tiny + 1e-24 * known_squared.max()
    variance_in = max(float(known_squared[member].mean()), smallest)
    variance_out = max(float(known_squared[~member].mean()), smallest)
    slope = 1 / variance_in - 1 / variance_out
    says_member = np.log(variance_out / variance_in) > squared * slope
    # The ratio ranks records as the squared error does, downwards or, where members have the larger errors, upwards.
    return Scores(-np.sign(slope) * squared, says_member.astype(np.float64))
