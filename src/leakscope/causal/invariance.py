r"""Invariant causal prediction: find causes of Y from data of several environments without a graph.

If no environment acts on Y itself, then Y given its causes has the same distribution in every environment. So for every set S
of the candidate features the hypothesis

.. math:: H_{0,S}:\ Y \mid X_S \text{ has the same distribution in every environment}

is tested at level :math:`\alpha`, and the result is the intersection of all accepted sets [Peters, Bühlmann and Meinshausen
2016, section 3]:

.. math:: \hat S = \bigcap_{S:\ H_{0,S} \text{ accepted}} S, \qquad
          P(\hat S \subseteq \text{causes of } Y) \ge 1 - \alpha \quad [\text{Theorem 1}].

This requires that one true hypothesis, that of the causes themselves, is accepted, so that the tests need no multiplicity
correction. There are three assumptions: no environment changes how Y depends on its causes; no hidden variable acts on both Y
and a feature; the causes are among the candidates. A feature that is *not* in the result may still be a cause: if environments
have the same distribution, every set is accepted, and the result is empty.

The p-value of feature j is the largest p-value of any set without j: if it is at most :math:`\alpha`, j is in the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Literal, NamedTuple

from leakscope.causal.conditional_tests import ConditionalTest, CountTest
from leakscope.causal.invariance_data import Column, Data, check_levels, importances, read_data, regressors
from leakscope.core.checks import check_confidence, check_count, check_seed
from leakscope.core.errors import InputError
from leakscope.data.records import list_names

Test = Literal["auto", "counts", "linear", "logistic"]

MOST_SETS = 20_000  # largest number of sets to test
SCREENED_ROWS = 20_000  # rows used to screen many columns
ASSUMES = {
    "counts": "counts in each configuration of the features, without assumptions on the form of dependence",
    "linear": "linear regression, which assumes a linear effect and noise that does not depend on the features",
    "logistic": "logistic regression, which assumes log-odds that are linear in the features",
}


class InvariantSet(NamedTuple):
    """An accepted set of features, its p-value, and the BIC of the label (lower is better)."""

    features: tuple[Column, ...]
    p_value: float
    bic: float


@dataclass(frozen=True)
class Invariance:
    """The result of `invariant_features`; ``str()`` describes it.

    Parameters
    ----------
    features
        The intersection of all accepted sets. With probability ``confidence``, all of these features are causes of the label.
    accepted
        The sets for which invariance is not rejected, small ones first.
    p_values
        Candidate to the largest p-value of any set without it: a small value is evidence for a cause.
        They have no meaning if all sets are rejected.
    tested
        Number of sets tested.
    candidates, columns
        The features whose sets were tested, and all features.
    screening
        How candidates were selected from the columns; empty without selection.
    test
        ``counts``, ``linear`` or ``logistic``.
    rejected_all
        Whether all sets are rejected: an assumption does not hold, and causes cannot be identified.
    plausible
        The accepted set with the best BIC: a suggestion, not significant. None if no set is accepted.
    environments
        Environment to the number of its records.
    """

    features: tuple[Column, ...]
    accepted: tuple[InvariantSet, ...]
    p_values: dict[Column, float]
    confidence: float
    tested: int
    candidates: tuple[Column, ...]
    columns: tuple[Column, ...]
    screening: str
    test: str
    rejected_all: bool
    plausible: tuple[Column, ...] | None
    environments: dict[Any, int]

    @property
    def alike(self) -> bool:
        """Whether the label has the same distribution in all environments, so that causes cannot be identified."""
        return any(not found.features for found in self.accepted)

    def __str__(self) -> str:
        return "\n".join([*self._finding(), *self._basis()])

    def _finding(self) -> list[str]:
        level = f"{100 * self.confidence:g} % confidence"
        if self.rejected_all:
            return [
                "No set of these features predicts the label in the same way in all environments.",
                "An assumption fails: an environment changes the label itself, a cause is not among the candidates, a hidden "
                "variable acts on label and features, or the model of the test does not fit. Causes cannot be identified.",
            ]
        if self.features:
            return [f"Causes of the label at {level}: {_names(self.features)}.", "Other features may be causes too."]
        suggestion = (
            f"Suggestion, not significant: {_names(self.plausible or ())}, the invariant set with the best BIC."
        )
        if self.alike:
            return ["No cause is identified: the label has the same distribution in all environments.", suggestion]
        shown = ", ".join("{" + _names(found) + "}" for found in _disagreeing(self.accepted))
        return [f"No cause is identified at {level}: no feature is in all invariant sets, such as {shown}.", suggestion]

    def _basis(self) -> list[str]:
        records = sum(self.environments.values())
        lines = [
            f"{len(self.accepted):,} of {self.tested:,} sets of {len(self.candidates)} features are invariant over "
            f"{len(self.environments)} environments of {records:,} records (test: {ASSUMES[self.test]})."
        ]
        if not self.rejected_all:
            each = ", ".join(f"{_name(column)} {_shown(value)}" for column, value in self.p_values.items())
            lines += [
                f"P-values (small: evidence for a cause if the assumptions hold): {each}.",
                "Assumptions: no environment acts on the label itself, no hidden variable acts on label and features, and the "
                "causes are among the features tested.",
            ]
        if self.tested < 2 ** len(self.candidates):
            lines.append("Larger sets were not tested: if there are more causes, the result may be wrong.")
        return [*lines, self.screening] if self.screening else lines


def invariant_features(
    X: Any,
    y: Any,
    environment: Any,
    *,
    confidence: float = 0.95,
    candidates: Sequence[Column] | None = None,
    most_candidates: int = 8,
    largest_set: int | None = None,
    test: Test = "auto",
    seed: int = 0,
) -> Invariance:
    """Find causes of the label from data of several environments; see the module for the assumptions.

    Parameters
    ----------
    X
        Features: a DataFrame, or an array with one row per record. Texts, categories and booleans are levels.
    y
        Labels: classes, or numbers for regression.
    environment
        Origin of each record: a site, a year, an experiment.
    confidence
        Probability that all returned features are causes.
    candidates
        Columns whose sets are tested; by default all. If there are more than ``most_candidates``, those that predict the
        label best, which may miss a cause.
    largest_set
        Largest set to test; this assumes that there are no more causes.
    test
        ``counts``, ``linear``, ``logistic``, or ``auto``: counts if the label and all candidates have few levels, logistic
        if only the label has, linear if the label is a number. Whole numbers of at most 20 values count as levels.

    Source: Peters, Bühlmann and Meinshausen 2016, section 3 and Theorem 1; the future work of [tople2020, section 6].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat(["A", "B"], 500)
    >>> cause = rng.normal(size=1000) * np.where(site == "A", 1, 2) + (site == "B")
    >>> y = cause + rng.normal(size=1000)
    >>> effect = y + rng.normal(size=1000) * np.where(site == "A", 1, 2)
    >>> invariant_features(np.column_stack([cause, effect]), y, site).features
    (0,)
    """
    check_confidence(confidence)
    if test not in ("auto", *ASSUMES):
        raise InputError(f"test must be auto, counts, linear or logistic, not {test!r}")
    seed = check_seed(seed)
    data = read_data(X, y, environment, numbers=test == "linear")
    chosen, screening = _candidates(data, candidates, most_candidates, seed)
    sets = _sets(len(chosen), largest_set)
    kind = _kind(data, chosen, test)
    check = _prepared(data, chosen, kind, 1 - confidence, len(sets[-1]), seed)
    outcomes = [check(columns) for columns in sets]
    names = [data.names[column] for column in chosen]
    kept = [
        InvariantSet(tuple(names[column] for column in columns), outcome.p_value, outcome.bic)
        for columns, outcome in zip(sets, outcomes, strict=True)
        if outcome.p_value > 1 - confidence
    ]
    shared = [name for name in names if kept and all(name in found.features for found in kept)]
    p_values = {
        name: max(outcome.p_value for columns, outcome in zip(sets, outcomes, strict=True) if number not in columns)
        for number, name in enumerate(names)
    }
    return Invariance(
        features=tuple(shared),
        accepted=tuple(kept),
        p_values=p_values,
        confidence=float(confidence),
        tested=len(sets),
        candidates=tuple(names),
        columns=data.names,
        screening=screening,
        test=kind,
        rejected_all=not kept,
        plausible=min(kept, key=lambda found: found.bic).features if kept else None,
        environments=data.environments,
    )


def alternatives(invariance: Invariance) -> dict[str, tuple[Column, ...]]:
    """Return sets of features to train models on, to measure the effect of a wrong choice.

    ``chosen`` is the result, or the plausible set if the result is empty. The others are: it without the feature of the largest
    p-value; it with the most plausible other feature (in the plausible set, else of the smallest p-value, else with the best BIC
    together with the chosen); and all features.

    Examples
    --------
    >>> found = Invariance(("a",), (), {"a": 0.01, "b": 0.6, "c": 0.2}, 0.95, 8, ("a", "b", "c"), ("a", "b", "c", "d"), "",
    ...                    "counts", False, ("a",), {})
    >>> alternatives(found)
    {'chosen': ('a',), 'without a': (), 'with c': ('a', 'c'), 'all features': ('a', 'b', 'c', 'd')}
    """
    if invariance.rejected_all:
        raise InputError(
            "no set of features is invariant in these environments: remove an environment that changes the label itself, "
            "or add a missing cause"
        )
    chosen = invariance.features or invariance.plausible or ()
    found: dict[str, tuple[Column, ...]] = {"chosen": chosen}
    if chosen:
        weakest = max(chosen, key=lambda name: invariance.p_values[name])
        found[f"without {_name(weakest)}"] = tuple(name for name in chosen if name != weakest)
    if others := [name for name in invariance.candidates if name not in chosen]:
        suggested = invariance.plausible or ()
        fits = {frozenset(accepted.features): accepted.bic for accepted in invariance.accepted}

        def doubt(name: Column) -> tuple[bool, float, float]:
            return name not in suggested, invariance.p_values[name], fits.get(frozenset((*chosen, name)), math.inf)

        more = min(others, key=doubt)
        found[f"with {_name(more)}"] = (*chosen, more)
    found["all features"] = invariance.columns
    return found


def _candidates(data: Data, candidates: Sequence[Column] | None, most: int, seed: int) -> tuple[tuple[int, ...], str]:
    """Return the positions of the columns whose sets are tested, and how they were selected."""
    if candidates is not None:
        if isinstance(candidates, str | int):
            raise InputError(f"candidates must be a list of columns: pass [{candidates!r}]")
        if unknown := [name for name in candidates if name not in data.names]:
            raise InputError(f"unknown column {list_names(unknown)}: the columns are {list_names(data.names, 12)}")
        return tuple(sorted({data.names.index(name) for name in candidates})), ""
    check_count("most_candidates", most)
    if len(data.names) <= most:
        return tuple(range(len(data.names))), ""
    order = sorted(enumerate(importances(data, SCREENED_ROWS, seed)), key=lambda item: -item[1])
    chosen = tuple(sorted(column for column, _ in order[:most]))
    left = [data.names[column] for column, _ in order[most:]]
    return chosen, (
        f"Of {len(data.names)} columns, the {most} most important for predicting the label were tested (cross-fitted permutation "
        f"importance of boosted trees). If a cause is among the other {len(left)} ({list_names(left)}), the result may be wrong."
    )


def _sets(candidates: int, largest: int | None) -> list[tuple[int, ...]]:
    """Return all sets of positions, small ones first."""
    if largest is not None:
        check_count("largest_set", largest, least=0)
    if not candidates:
        raise InputError("candidates is empty: name at least one column")
    most = candidates if largest is None else min(largest, candidates)
    count = sum(math.comb(candidates, size) for size in range(most + 1))
    if count > MOST_SETS:
        raise InputError(
            f"{candidates} candidates have {count:,} sets, more than {MOST_SETS:,}: name fewer candidates, or set largest_set"
        )
    return list(chain.from_iterable(combinations(range(candidates), size) for size in range(most + 1)))


def _kind(data: Data, chosen: Sequence[int], test: Test) -> str:
    """Return the test that fits the data; raise an error if the requested one does not."""
    check_levels(data, chosen)
    numbers = [data.names[column] for column in chosen if data.levels[column] is None]
    if test in ("counts", "logistic") and data.classes is None:
        raise InputError(f"test={test!r} needs a label of a few classes: use test='linear', or bin the label")
    if test == "counts" and numbers:
        raise InputError(f"test='counts' needs columns of few levels, and {list_names(numbers)} are numbers: bin them")
    if test != "auto":
        return test
    return "linear" if data.classes is None else "logistic" if numbers else "counts"


def _prepared(data: Data, chosen: Sequence[int], kind: str, level: float, largest: int, seed: int) -> ConditionalTest:
    """Build the test for the chosen columns."""
    if kind == "counts":
        return CountTest.of(data.codes(chosen), data.label, data.environment, level=level, seed=seed)
    from leakscope.causal.conditional_regressions import LinearTest, LogisticTest

    blocks = regressors(data, chosen, largest)
    if kind == "linear":
        return LinearTest.of(blocks, data.label, data.environment)
    return LogisticTest.of(blocks, data.label, data.environment)


def _name(column: Column) -> str:
    return column if isinstance(column, str) else f"column {column}"


def _names(columns: Sequence[Column]) -> str:
    return ", ".join(map(_name, columns)) if columns else "no feature"


def _shown(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.2g}"


def _disagreeing(accepted: Sequence[InvariantSet]) -> list[tuple[Column, ...]]:
    """Return a few accepted sets with an empty intersection: each makes that of those before it smaller."""
    found = [accepted[0].features]
    common = set(found[0])
    for other in accepted[1:]:
        if not common <= set(other.features):
            common &= set(other.features)
            found.append(other.features)
    return found
