r"""How much information about one record's membership a trained model carries (farokhi2020).

Training sets of size n are drawn uniformly without replacement from a universe of N records; :math:`z_i = 1` where record i
is in it. :math:`p_1` is the law of the parameters :math:`\theta` given :math:`z_i = 1`, :math:`p_0` that given
:math:`z_i = 0`, and :math:`\alpha_1 = P\{z_i = 1\} = n/N` (the paper prints :math:`\alpha_0` for it). Then

.. math::

   \rho_{KL} &= E_i[D(p_1\|p_0) + D(p_0\|p_1)] && \text{[Definition 2]}\\
   \rho_{MI} &= E_i[I(\theta; z_i)] && \text{[Definition 1]}\\
   \rho_{MI} &\le \alpha_0\alpha_1\rho_{KL} \le \rho_{KL}/4,\quad \rho_{MI}\le H(\alpha_1) && \text{[Corollary 1]}\\
   E|2P-1| &\le E_i[TV(p_1,p_0)] \le \tfrac12\sqrt{\rho_{KL}} && \text{[Theorem 1, corrected: the advantage, not the success]}

all in nats. The two laws are sampled by training many models with and without the record and taken for Gaussian (Remark 3);
nearest neighbours check that. Divergence does not change when the parameters are scaled: without noise, leakage does not
vanish with growing regularisation, it tends to that of the mean gradient at zero. Theorem 3 says otherwise of parameters kept
to finite precision; rounding to steps of width h is close to noise of standard deviation :math:`h/\sqrt{12}`.

==================  ===================================================================
membership_leakage  the measure, for a learner and data
gaussian_leakage    the measure for one record, from draws of its two laws
sweep               over sizes, regularisation and noise, with what an attack achieves
==================  ===================================================================
"""

from leakscope.studies.leakage.measure import gaussian_leakage, membership_leakage
from leakscope.studies.leakage.result import Goal, Leakage, LeakagePoint, NotMeasured, Renyi
from leakscope.studies.leakage.sweeping import sweep

__all__ = [
    "Goal", "Leakage", "LeakagePoint", "NotMeasured", "Renyi", "gaussian_leakage", "membership_leakage", "sweep",
]  # fmt: skip
