r"""DP-SGD: clip each record's gradient and add noise to the sum (Abadi et al. 2016, Algorithm 1).

Each of T steps draws every record independently with probability q (Poisson sampling), and with learning rate η

.. math:: \theta \leftarrow \theta - \frac{\eta}{qn}\Bigl(\sum_{i \in B} g_i \min\bigl(1, C/\lVert g_i\rVert\bigr)
   + \mathcal{N}(0, \sigma^2 C^2 I)\Bigr), \qquad g_i = \nabla_\theta\,\ell(\theta; x_i, y_i).

Opacus clips and adds the noise. Its PRV accountant (the numerical composition of Gopi, Lee, Wutschitz 2021, with bounded
error) finds the smallest σ that keeps T steps within (ε, δ). The guarantee states its upper bound on ε.
q and T are fixed rather than the size of a batch, so that σ is the same for training sets of any size and is computed once.

Opacus composes the privacy loss for a removed record only. Under composition, a single step does not show which direction is
worse (Lebeda et al. 2025 describe such pitfalls). The tests compose both and find an added record no worse at the default and
other settings. This is not proven; the guarantee lists it as a condition.

The draws are a function of the seed, which an audit needs. A model for release needs a secret seed and Opacus' secure mode,
which is not used here: floating-point noise has gaps that an attacker could exploit (Mironov 2012).
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakscope.bounds.guarantee import Guarantee
from leakscope.core.checks import check_number, check_share
from leakscope.core.errors import InputError
from leakscope.core.extras import import_extra, import_torch
from leakscope.defenses.bounded_linear import why_no_rows
from leakscope.defenses.defense import Allowed, Defended, Tunable, make_learner
from leakscope.defenses.torch_training import NetworkPlan, make_plan, read_hidden
from leakscope.models.adapters import seeded_torch
from leakscope.models.encoding import PUBLIC_ENCODING
from leakscope.models.model import Model
from leakscope.models.target import Target

SMALLEST, LARGEST = 0.05, 50.0  # the accountant's grid is too coarse below and its range too wide above
SPENT = 0.99  # the search for σ stops when the accounted ε is this share of the requested one
#: Conditions of the guarantee.
CLASSES, SCALE = "the classes are public", "the mean and standard deviation of the labels are public"
ALWAYS = (
    "the number of training records is public; the seed is secret; each step draws every record independently; floating-point "
    "noise is as private as exact noise; a removed record is the worse case, not an added one (computed for common settings, "
    "not proven)"
)


@dataclass(frozen=True)
class DPSGD(Tunable):
    """Train with clipped, noisy gradients and a guarantee of (ε, δ)-differential privacy.

    Parameters
    ----------
    epsilon, delta
        Privacy budget of training, for one record that is added or removed.
    clip
        Largest norm C of a record's gradient.
    share
        Probability q that a record is drawn in a step.
    epochs
        Average number of times that a record is drawn: there are epochs / share steps.
    rate
        Learning rate η.
    hidden
        Widths of hidden layers; by default those of the audited model, none if it is not a network.

    Examples
    --------
    >>> DPSGD([1, 4]).settings
    (1, 4)
    >>> DPSGD(0)
    Traceback (most recent call last):
    leakscope.core.errors.InputError: ε must be 0.05 to 50, not 0
    """

    epsilon: Any = (1.0, 4.0, 8.0)
    delta: float = 1e-5
    clip: float = 2.0
    share: float = 0.05
    epochs: float = 10.0
    rate: float = 1.0
    hidden: Any = None

    name: ClassVar[str] = "dp-sgd"
    setting_name: ClassVar[str] = "ε"
    what: ClassVar[str] = "training limits the effect of each record on the model and adds noise"
    source: ClassVar[str] = "Abadi et al. 2016, Algorithm 1"
    allowed = Allowed("ε", lambda value: SMALLEST <= value <= LARGEST, f"{SMALLEST:g} to {LARGEST:g}")
    refuse = staticmethod(why_no_rows)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("delta", self.delta)
        for name in ("clip", "epochs", "rate"):
            check_number(name, getattr(self, name), least=0, open_ends=True)
        if self.share != 1:
            check_share("share", self.share)
        read_hidden(self.hidden)

    @property
    def steps(self) -> int:
        """Number of steps T."""
        return max(1, round(self.epochs / self.share))

    def defend(self, target: Target, setting: Any) -> Defended:
        """Train with the noise that this ε requires."""
        plan, notes = make_plan(target, read_hidden(self.hidden))
        noise, spent = find_noise(float(setting), self.delta, self.share, self.steps)
        guarantee = Guarantee(
            spent,
            self.delta,
            neighbours="added or removed",
            covers="parameters",
            rests_on="; ".join([PUBLIC_ENCODING, SCALE if plan.classes is None else CLASSES, ALWAYS]),
            source="Abadi et al. 2016, Algorithm 1; Gopi, Lee, Wutschitz 2021",
        )
        fit = DPSGDFit(plan, noise, self.clip, self.share, self.steps, self.rate)
        return Defended(learner=make_learner(self.name, fit), guarantee=guarantee, notes=notes)


@dataclass(frozen=True, eq=False)
class DPSGDFit:
    """One training with DP-SGD; ``noise`` is σ in units of the largest norm ``clip``."""

    plan: NetworkPlan
    noise: float
    clip: float
    share: float
    steps: int
    rate: float

    def __call__(self, X: Any, y: NDArray[Any], rng: np.random.Generator) -> Model:
        with seeded_torch(rng):
            network = self.plan.network()
            records, labels = self.plan.tensors(X, y)
            self.train(network, records, labels)
        return self.plan.model(network, DPSGD.name)

    def train(self, network: Any, records: Any, labels: Any) -> None:
        """Train the network in place; random numbers come from torch's own generator."""
        torch, opacus = import_torch(), import_opacus()
        module = opacus.GradSampleModule(network, loss_reduction="sum")
        optimizer = opacus.optimizers.DPOptimizer(
            torch.optim.SGD(module.parameters(), lr=self.rate),
            noise_multiplier=self.noise,
            max_grad_norm=self.clip,
            expected_batch_size=self.share * len(labels),
        )
        for batch in poisson_batches(len(labels), self.share, self.steps):
            # torch warns about backward hooks unless an input requires a gradient
            scores = module(records[batch].requires_grad_())
            self.plan.losses(scores, labels[batch]).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        module.to_standard_module()  # removes the hooks from the network


def poisson_batches(records: int, share: float, steps: int) -> Iterator[Any]:
    """Yield batches of positions: each record is in each batch independently with probability ``share``."""
    torch = import_torch()
    for _ in range(steps):
        yield torch.nonzero(torch.rand(records, dtype=torch.float64) < share).flatten()


# --- accounting -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def find_noise(epsilon: float, delta: float, share: float, steps: int) -> tuple[float, float]:
    """Find the noise σ whose accounted ε is at most ``epsilon`` and at least 99 % of it, and return both.

    Uses the secant method on log ε over log σ, which is almost linear.

    Examples
    --------
    >>> noise, spent = find_noise(1.0, 1e-5, 1.0, 1)
    >>> 3.70 < noise < 3.80 and 0.99 <= spent <= 1  # the analytic Gaussian mechanism needs 3.7306
    True
    """
    aim = math.log(epsilon * (1 + SPENT) / 2)
    place = math.log(max(0.5, 2 * share * math.sqrt(steps * math.log(1 / delta)) / epsilon))
    slope, known = -1.0, None
    for _ in range(30):
        try:
            spent = accounted(math.exp(place), delta, share, steps, error=max(0.001, 0.002 * epsilon))
        except (ValueError, RuntimeError, OverflowError):  # δ or ε is too small for the accountant's grid
            break
        if not spent > 0:
            break
        if SPENT * epsilon <= spent <= epsilon:
            return math.exp(place), spent
        height = math.log(spent)
        if known is not None:
            slope = min(-0.1, (height - known[1]) / (place - known[0]))
        known = (place, height)
        place += min(1.0, max(-0.5, (aim - height) / slope))  # small steps down: accounting is slow for little noise
    raise InputError(
        f"no noise found for epsilon={epsilon:g} and delta={delta:g} over {steps} steps: reduce epochs, or use a delta near 1e-5"
    )


def accounted(noise: float, delta: float, share: float, steps: int, error: float) -> float:
    """Return the PRV accountant's upper bound on ε, within ``error`` of its estimate."""
    opacus = import_opacus()
    accountant = opacus.accountants.PRVAccountant()
    accountant.history = [(noise, share, steps)]
    with warnings.catch_warnings(), np.errstate(divide="ignore"):  # log 0 is intended if every record is drawn
        # these moments determine only the width of the accountant's grid
        warnings.filterwarnings("ignore", message="Optimal order is the (largest|smallest) alpha", category=UserWarning)
        return float(accountant.get_epsilon(delta, eps_error=error))


def import_opacus() -> Any:
    """Import Opacus without the handler that it sets on the root logger."""
    with _same_logging():
        return import_extra("opacus", "DP-SGD", "torch")


@contextmanager
def _same_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
