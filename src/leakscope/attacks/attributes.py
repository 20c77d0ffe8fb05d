"""Attribute inference attacks: the evidence that they read, and their common type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakscope.core.arrays import Booleans, Floats, Indices, Labels

#: ``ask(rows, level)``: outputs of the model for these of the judged records with that level in the sensitive column,
#: (records, fillings, outputs); columns that the attacker does not know are filled from other records of that level.
Ask = Callable[[slice, int], Floats]


@dataclass(frozen=True)
class Reference:
    """Reference records, whose level of the sensitive feature the attacker knows."""

    features: Floats
    labels: Labels | None
    output: Floats
    level: Indices


@dataclass(frozen=True, eq=False)
class AttributeEvidence:
    """What the attacker knows about the judged records. It never contains their level of the sensitive feature.

    Parameters
    ----------
    features, categorical
        The known features as numbers, and which of them are codes without an order.
    labels
        True labels, codes of classes or values, or None where the attacker does not know them.
    output
        Outputs of the model for the records: probabilities (n, classes), or values (n, 1).
    reference
        Records whose level is known.
    levels
        Number of levels.
    prior
        Probability of each level given features and labels, (n, levels): the baseline's answer.
    ask
        Queries to the model.
    knows_all
        Whether every other column is known, so that one of the answers to the queries is about the record itself.
    classes
        Whether the model classifies.
    """

    features: Floats
    categorical: Booleans
    labels: Labels | None
    output: Floats
    reference: Reference
    levels: int
    prior: Floats
    ask: Ask
    knows_all: bool
    classes: bool

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class AttributeAttack:
    """An attribute inference attack: it maps evidence to the probability of each level, (n, levels).

    Parameters
    ----------
    name, source
        Name, and where it was published.
    guess
        ``guess(evidence, rng)``.
    uses_label
        Whether it needs the true labels.
    has_control
        Whether the control is meaningful. An attack that is fitted to a model's outputs gains nothing from uninformative
        ones; an attack with fixed rules can lose by them.
    """

    name: str
    source: str
    guess: Callable[[AttributeEvidence, np.random.Generator], NDArray[np.float64]]
    uses_label: bool = False
    has_control: bool = False
