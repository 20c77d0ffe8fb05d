"""The predicted label against reference models, on a distribution that is enumerated."""

import math

import numpy as np
import pytest
from samples import ask_known

from leakscope.attacks import bounded_loss, label_references
from leakscope.attacks.references import reference_statistics
from leakscope.evaluation.risk import score

N = 4000
ERROR = 4 * math.sqrt(0.25 / N)


def test_a_right_answer_counts_most_where_other_models_are_wrong():
    """Half of the records are easy (0.9), half hard (0.2). Members get the correct label, non-members with that probability."""
    rng = np.random.default_rng(0)
    member, p = np.repeat([True, False], N), rng.choice([0.9, 0.2], 2 * N)
    right = member | (rng.random(2 * N) < p)
    answers = np.tile(np.column_stack([1 - p, p]), (2, 1, 1))
    table = reference_statistics(answers, np.ones(2 * N, int), np.eye(2, 2 * N, dtype=bool), "classification")
    observed, labels = right[:, None].astype(float), np.ones(2 * N, int)
    attacks = (label_references(), bounded_loss("labels"))
    guesses = {attack.name: ask_known(attack, observed, labels, table) for attack in attacks}
    found = {name: score(one.score, member).auc.value for name, one in guesses.items()}
    # Scores: right and hard 0.8, right and easy 0.1, wrong and hard -0.2, wrong and easy -0.9.
    inside = {0.8: 0.5, 0.1: 0.5}
    outside = {0.8: 0.5 * 0.2, 0.1: 0.5 * 0.9, -0.2: 0.5 * 0.8, -0.9: 0.5 * 0.1}
    auc = sum(a * b * (0.5 + 0.5 * np.sign(s - t)) for s, a in inside.items() for t, b in outside.items())
    assert found["label against reference models"] == pytest.approx(auc, abs=ERROR)
    # Without the references: right or not, where 0.55 of the non-members are right.
    assert found["bounded loss"] == pytest.approx(0.5 + 0.45 / 2, abs=ERROR)
    assert auc > 0.5 + 0.45 / 2 + ERROR
