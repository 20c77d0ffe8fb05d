r"""Attribute inference by inversion: query the model with every level of the sensitive feature and compare the outputs.

With :math:`x_K` the known features and v a level, the attacker's probability of v is

.. math:: \Pr(v \mid \text{seen}) \propto \Pr(v \mid x_K)\; L(\text{seen} \mid h(x_K, v)).

The attacker observes one of two things:

- ``output``: the model's answer h(x) about the record. L is 1 for the levels at which the model gives that answer and 0
  for the others (Fredrikson, Jha and Ristenpart 2015, for an answer without noise). The prior is that of the baseline,
  so that the attack is the Bayes rule of an attacker who knows all other features.
- ``label``: the true label y, and no answer about the record. L is the model's probability of y, or for a regression the
  normal density of the error with the model's mean squared error (Yeom et al. 2018, Adversary 4). The prior does not use
  the label, which would count twice. This attacker can therefore do worse than a baseline that uses the label.

Unknown columns are filled several times from reference records of level v, and L is the mean over the fillings. Answers
then have the weight :math:`e^{-d/0.02}`, with d the total variation distance between them (of values: the difference in
standard deviations). This assumes that unknown and known columns are independent given v.

A likelihood that is equal for all levels leaves the prior unchanged, to the last bit. If the model does not use the
sensitive feature and the attacker knows the features that it uses, the gain of ``output`` is exactly 0 [tople2020, Thm
7].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from leakscope.attacks.attribute_learned import boosted_trees
from leakscope.attacks.attributes import AttributeAttack, AttributeEvidence
from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError

Sees = Literal["output", "label"]

#: Answers of one model about one record differ by less than this where only the size of the batch differs.
SAME = 1e-6
#: Total variation distance over which the weight of an answer falls by e, where columns had to be filled.
WIDTH = 0.02
#: Likelihood of a level that does not fit: if none fits, the prior remains.
FLOOR = 1e-12
#: Records asked about at a time.
BLOCK = 2_048


def inversion(sees: Sees) -> AttributeAttack:
    """Return the attack that tries every level and keeps those that fit the model's output, or the true label.

    Parameters
    ----------
    sees
        ``"output"`` or ``"label"``; see the module.

    Examples
    --------
    >>> inversion("label").uses_label
    True
    >>> posterior(np.array([[0.8, 0.2]]), np.array([[0.1, 0.9]])).round(2)
    array([[0.31, 0.69]])
    """
    if sees == "output":
        return AttributeAttack("inversion of the output", "Fredrikson et al. 2015", _by_output)
    if sees == "label":
        source = "Yeom et al. 2018, Adversary 4; Fredrikson et al. 2015"
        return AttributeAttack("inversion by the label", source, _by_label, uses_label=True)
    raise InputError(f"sees must be 'output' or 'label', not {sees!r}")


def posterior(prior: Floats, likelihood: Floats) -> Floats:
    """Apply the Bayes rule to each row; a likelihood that is equal for all levels leaves the prior unchanged."""
    raised = likelihood + FLOOR
    flat = raised.max(axis=1) - raised.min(axis=1) <= 1e-9 * raised.max(axis=1)
    product = prior * raised
    total = product.sum(axis=1, keepdims=True)
    return np.where(flat[:, None] | (total == 0), prior, product / np.where(total == 0, 1.0, total))


def _by_output(evidence: AttributeEvidence, rng: np.random.Generator) -> Floats:  # noqa: ARG001
    # Half the sum of differences is the total variation distance; values are compared in standard deviations.
    scale = 0.5 if evidence.classes else 1 / (float(np.std(evidence.reference.output)) or 1.0)

    def likelihood(answers: Floats, rows: slice) -> Floats:
        distance = scale * np.abs(answers - evidence.output[rows, None, :]).sum(axis=2)
        fits = distance <= SAME if evidence.knows_all else np.exp(-distance / WIDTH)
        return np.asarray(np.mean(fits, axis=1), dtype=np.float64)

    return posterior(evidence.prior, _over_levels(evidence, likelihood))


def _by_label(evidence: AttributeEvidence, rng: np.random.Generator) -> Floats:
    labels, reference = evidence.labels, evidence.reference
    if labels is None or reference.labels is None:
        raise InputError("inversion by the label needs true labels: pass knows_label=True, or use another attack")
    known, asked = reference.features, evidence.features
    prior = boosted_trees(known, reference.level, asked, evidence.categorical, evidence.levels, rng)
    if evidence.classes:

        def likelihood(answers: Floats, rows: slice) -> Floats:
            codes = np.asarray(labels[rows], np.intp)[:, None, None]
            return np.asarray(np.take_along_axis(answers, codes, axis=2)[:, :, 0].mean(axis=1), np.float64)
    else:
        variance = float(np.mean((reference.output[:, 0] - reference.labels) ** 2)) or FLOOR

        def likelihood(answers: Floats, rows: slice) -> Floats:
            squares = (answers[:, :, 0] - labels[rows, None]) ** 2
            return np.asarray(np.exp(-squares / (2 * variance)).mean(axis=1), np.float64)

    return posterior(prior, _over_levels(evidence, likelihood))


def _over_levels(evidence: AttributeEvidence, likelihood: Callable[[Floats, slice], Floats]) -> Floats:
    """The likelihood of every level for every record, a block of records at a time."""
    found = np.empty((len(evidence), evidence.levels))
    for start in range(0, len(evidence), BLOCK):
        rows = slice(start, min(start + BLOCK, len(evidence)))
        for level in range(evidence.levels):
            found[rows, level] = likelihood(evidence.ask(rows, level), rows)
    return found
