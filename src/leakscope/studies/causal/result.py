"""The result of a comparison of causal and associational models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from leakscope.causal.membership import Blind
from leakscope.core.estimate import Estimate
from leakscope.core.result import Outcome, Result

#: The two distributions of non-members: that of the training data, and shifted ones.
SAME, SHIFTED = "P", "P*"
Source = Literal["graph", "named", "invariant", "suggested"]


@dataclass(frozen=True)
class Compared:
    """One kind of model and its utility.

    Parameters
    ----------
    name, columns
        Kind of model, and the columns that it uses.
    training, test, shifted
        Utility on its training sample, on other records of P, and on P* (mean over shifted distributions): accuracy, or
        1 - squared error / variance of the label.
    in_distribution, out_of_distribution
        Generalisation errors IDE and ODE [tople2020, Defs. 1 and 2] of a loss in [0, 1]: half the sum of squared errors of
        the probabilities; None for a regression.
    unseen
        Share of records of P* whose values of the causes no training record had; 0 except for tables.
    """

    name: str
    columns: tuple[str, ...]
    training: Estimate
    test: Estimate
    shifted: Estimate | None
    in_distribution: Estimate | None
    out_of_distribution: Estimate | None
    unseen: float = 0.0

    def utility(self, law: str) -> Estimate | None:
        """Give the utility on records of P or P*."""
        return self.test if law == SAME else self.shifted


@dataclass(frozen=True)
class ModelAttack:
    """One attack on one kind of model, against non-members of one distribution (`causal.membership.Membership`).

    Intervals are simultaneous over the attacks.
    """

    model: str
    law: str
    attack: str
    release: str
    accuracy: Estimate
    auc: Estimate
    control_accuracy: Estimate
    control_auc: Estimate
    excess_accuracy: Estimate
    excess_auc: Estimate


@dataclass(frozen=True)
class Noise:
    """L1 sensitivity of regularised least squares on the causes and on all columns [tople2020, Lemma 1, Theorem 3].

    ``ratio`` is ε of the causal learner over ε of the other at equal Laplace noise. It is the ratio of the sensitivities, each a
    lower bound from ``swaps`` random swaps of one record among ``size``.
    """

    causal: Estimate
    associational: Estimate
    ratio: Estimate
    size: int
    l2: float
    swaps: int


@dataclass(frozen=True)
class Attribute:
    """What the predictions of one kind of model add to inferring one sensitive column (`leakscope.studies.attributes`).

    ``baseline`` is the advantage of an attacker who has the other columns and the label but no model, ``advantage`` that of
    the strongest attack with the model, and ``gain`` their difference.
    """

    column: str
    model: str
    is_cause: bool
    baseline: Estimate
    attack: str
    advantage: Estimate
    gain: Estimate
    gain_auc: Estimate


@dataclass(frozen=True)
class Choice:
    """How the causes were chosen from environments (`causal.invariant_features`).

    Parameters
    ----------
    significant
        Columns in every accepted set: causes at the stated confidence, all of them together.
    suggested
        The accepted set that predicts best.
    p_values
        Column to the largest p-value of any set without it.
    accepted, tested
        Number of sets of columns that are invariant, and that were tested.
    alike
        Whether the label has the same distribution in all environments, so that they identify no cause.
    """

    significant: tuple[str, ...]
    suggested: tuple[str, ...]
    p_values: dict[str, float]
    accepted: int
    tested: int
    environments: int
    alike: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CausalStudy(Result):
    """Causal and associational models compared.

    Parameters
    ----------
    label, causes, causes_from
        What is predicted, the columns that cause it, and where these come from.
    models
        The causal model first, then one that uses all columns, then others.
    attacks
        What each attack found on each model, against non-members of ``"P"`` and ``"P*"``.
    blind
        ``"P"`` and ``"P*"`` to the blind baseline.
    noise
        What differential privacy needs for both; None where it was not measured.
    attributes
        What an attacker who infers a sensitive column gains from the predictions of each model.
    choice
        How the causes were chosen from environments; None where they were given.
    """

    kind = "causal"
    table = "attacks"
    codes: ClassVar[Mapping[str, Outcome | None]] = {
        "causal_leaks_less": "no",
        "shift_increases_leak": "yes",
        "shift_explains_accuracy": None,
        "causal_predicts_better": None,
        "causal_needs_less_noise": "no",
        "helps_to_infer": "yes",
    }

    label: str
    causes: tuple[str, ...]
    causes_from: Source
    models: tuple[Compared, ...]
    attacks: tuple[ModelAttack, ...]
    blind: dict[str, Blind]
    noise: Noise | None = None
    attributes: tuple[Attribute, ...] = ()
    choice: Choice | None = None

    @property
    def studied(self) -> str:
        """Name of the kind of model that uses all columns."""
        return self.models[1].name

    def model(self, name: str) -> Compared:
        """Give one of the models by name."""
        return next(model for model in self.models if model.name == name)

    def strongest(self, model: str, law: str) -> ModelAttack | None:
        """Give the attack with the largest excess AUC over the control; None where none was run."""
        return max(self.found(model, law), key=lambda one: one.excess_auc.value, default=None)

    def found(self, model: str, law: str) -> list[ModelAttack]:
        """Give the attacks on a model with non-members of one distribution."""
        return [one for one in self.attacks if (one.model, one.law) == (model, law)]
