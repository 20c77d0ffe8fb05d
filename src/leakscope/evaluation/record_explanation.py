"""Evaluation of the membership inference attacks on record explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakscope.attacks.membership_record_explanation import RELEASE, ask, influence_value, read_numbers, self_revelation
from leakscope.attacks.protocol import Attack
from leakscope.core.errors import InputError
from leakscope.core.threads import one_thread
from leakscope.data.fingerprints import row_hashes
from leakscope.data.records import Records
from leakscope.data.small_groups import pool_small_groups
from leakscope.evaluation.blind_baseline import blind_guesses
from leakscope.evaluation.crossfit import Sample
from leakscope.evaluation.evaluate import Cohort, ControlOutputs, Observed, evaluate
from leakscope.evaluation.prepare import FEWEST
from leakscope.evaluation.results import Risk
from leakscope.evaluation.risk import FALSE_POSITIVE_RATES
from leakscope.releases.oracle import Oracle


def membership_risks(
    oracle: Oracle,
    members: Records,
    nonmembers: Records,
    *,
    never_trained: Oracle | None = None,
    attacks: Sequence[Attack] | None = None,
    confidence: float = 0.95,
    fprs: tuple[float, ...] = FALSE_POSITIVE_RATES,
    seed: int = 0,
) -> tuple[Risk, ...]:
    """Evaluate each attack on an oracle's record explanations, with its controls.

    Equally many members and non-members are queried once each; an attack is fitted to one half of them and judged on
    the other. The permuted control shuffles memberships.

    Parameters
    ----------
    oracle
        Oracle whose training records include ``members``.
    members, nonmembers
        Records with numeric features; their groups are reported if both have the column.
    never_trained
        An oracle of the same kind whose models were trained on none of these records: the never-trained control.
    attacks
        By default `self_revelation` and `influence_value`.

    Examples
    --------
    >>> from leakscope.releases.record_explanations import RecordExplanation, leave_one_out
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(120, 40)), rng.integers(0, 2, 120)
    >>> inside, outside = (Records(X[part], y[part], np.arange(60)) for part in (slice(60), slice(60, 120)))
    >>> oracle = Oracle.of(leave_one_out(X[:60], y[:60]), X[:60], y[:60], RecordExplanation(k=1))
    >>> membership_risks(oracle, inside, outside)[0].advantage
    0.75 [0.61, 0.84]
    """
    chosen = (self_revelation(), influence_value()) if attacks is None else attacks
    drawing, guessing = np.random.default_rng(seed).spawn(2)
    sample = Sample.draw(row_hashes(members.X), row_hashes(nonmembers.X), drawing)
    if sample.judged < FEWEST:
        raise InputError(f"there are {sample.judged} different records on each side: pass at least {FEWEST}")
    with one_thread():
        blind = blind_guesses(members, nonmembers, sample, guessing)
    groups = {
        name: pool_small_groups(sample.judge(levels, nonmembers.groups[name]), sample.member)[0]
        for name, levels in members.groups.items()
        if name in nonmembers.groups
    }
    asked = sample.judge(read_numbers(members.X), read_numbers(nonmembers.X))
    control = None
    if never_trained is not None:
        control = ControlOutputs({RELEASE: ask(never_trained, asked)}, np.zeros(len(asked), np.intp))
    # Each query is answered once: only the judged records are queried, and they are the whole case.
    seen, everyone = ask(oracle, asked), np.arange(sample.judged)
    observed = Observed({RELEASE: seen[: sample.judged]}, {RELEASE: seen[sample.judged :]}, control)
    alone = Sample(everyone, everyone, sample.judged, sample.half, sample.half[:0])
    no_labels = np.zeros(sample.judged, np.int64)  # these attacks don't read labels
    case = Cohort(alone, (no_labels, no_labels), blind, groups, seed, fprs)
    return tuple(evaluate(attack, case, observed, (confidence,)).risks[0] for attack in chosen)
