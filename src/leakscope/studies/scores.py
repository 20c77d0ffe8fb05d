"""Scores only: an audit of a number per record (a loss, a confidence, an attack's own score) from any program.

No model and no record is seen. Two attacks read the score: the score itself, and a small tree on it, fitted on some records and
judged on others, which also finds members in the middle or at both ends. Whatever they find may be a difference between the two
sets of records: only a random split, which is a statement of the caller, rules that out. The same score on a model that never saw the
members shows such a difference, but a model that was trained on fewer records shows less of it. Of rows that can't be distinguished from
copies one is judged: see `repeats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from leakscope.attacks.membership_given_score import given_score, tree_on_score
from leakscope.core.arrays import Booleans, Floats
from leakscope.core.errors import InputError
from leakscope.core.failures import cause
from leakscope.core.result import Caveat, NotRun
from leakscope.core.wording import name as safe_text
from leakscope.data.fingerprints import fingerprint
from leakscope.data.records import Records, as_array, read_groups, read_ids, row_name
from leakscope.evaluation.audit_claims import audit_claims
from leakscope.evaluation.audited_target import few_judged
from leakscope.evaluation.concluding import try_attacks
from leakscope.evaluation.crossfit import Sample
from leakscope.evaluation.evaluate import Cohort, ControlOutputs, Observed
from leakscope.evaluation.prepare import FEWEST, judged_groups
from leakscope.evaluation.repeated_scores import Repeats, find_repeats
from leakscope.evaluation.results import Audit, AuditedModel, Basis, Overlap, Risk
from leakscope.evaluation.risk import FALSE_POSITIVE_RATES, most_exposed_group
from leakscope.evaluation.settings import MARGIN, Clock, Settings, read_rates
from leakscope.models.provenance import CODE, code_digest
from leakscope.studies.audit import recorded
from leakscope.studies.one_run_bound import bound_epsilon, stand_alone

#: Names of a score that tell a reader nothing.
PLAIN_NAMES = ("score", "scores")
#: What a column may say of who is a member; capitals don't matter.
MEMBER_WORDS = ("1", "1.0", "true", "yes", "member")
OTHER_WORDS = ("0", "0.0", "false", "no", "nonmember", "non-member")


def audit_scores(
    scores: Any,
    member: Any,
    *,
    higher_is_member: bool = True,
    control: Any = None,
    groups: Any = None,
    bins: Mapping[str, Sequence[float] | None] | None = None,
    ids: Any = None,
    random_split: bool = False,
    name: str = "scores",
    confidence: float = 0.95,
    margin: float = MARGIN,
    fprs: Sequence[float] = FALSE_POSITIVE_RATES,
    seed: int = 0,
    command: str = "",
) -> Audit:
    """Measure what one score per record reveals about who was in the training data.

    Parameters
    ----------
    scores
        One finite number per record, such as the model's loss on it. Only their order counts, and which are equal.
    member
        Whether each record was trained on: truth values, 1 and 0, or the words true and false, yes and no, member and
        nonmember.
    higher_is_member
        Whether members have the higher scores. Of losses it is False.
    control
        The same score on a model that never saw the record: what is found there is a difference between the two sets.
    groups
        Groups to compare: a Series, a DataFrame, or an array with one level per record.
    bins
        Ends of the bins of numeric groups by name, as for :func:`leakscope.audit`.
    ids
        What each record is called; all different. By default its position.
    random_split
        Your statement that chance alone decided who was trained on. Without it the verdict is never "leaks".
    name
        What the score is called in the report.
    confidence, margin, fprs, seed, command
        See :func:`~leakscope.studies.audit.audit`.

    Returns
    -------
    Audit
        As of a model, without what only a model or its records can tell: performance, and the blind baseline.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> member = np.repeat([True, False], 1000)
    >>> loss = rng.normal(1.0 - 0.5 * member, 1.0)
    >>> audit_scores(loss, member, higher_is_member=False).verdict.kind
    'inconclusive'
    >>> result = audit_scores(loss, member, higher_is_member=False, random_split=True)
    >>> result.verdict.kind, result.strongest.attack, result.strongest.auc
    ('leaks', 'the given score', 0.65 [0.61, 0.69])
    """
    settings = Settings(seed, confidence, margin, read_rates(fprs), retrain=False, references=0).checked()
    for values, what in ((member, "memberships"), (control, "control scores"), (groups, "groups"), (ids, "ids")):
        _check_row_names(scores, values, what)
    given = _read(scores, member, control, groups, bins, ids, 1.0 if higher_is_member else -1.0)
    words = {"higher is member": bool(higher_is_member), "random split": bool(random_split)}
    return _run(given, safe_text(name), settings, words, str(command))


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _GivenScores:
    """The two sides: their scores (as features of the records), ids and groups, and the control scores of both."""

    members: Records
    nonmembers: Records
    control: tuple[Floats, Floats] | None


def _check_row_names(scores: Any, values: Any, what: str) -> None:
    """Refuse a Series or DataFrame whose rows are named otherwise than the scores: pairing it by position is a guess."""
    named = (
        isinstance(scores, pd.Series) and isinstance(values, pd.Series | pd.DataFrame) and len(scores) == len(values)
    )
    if named and not values.index.equals(scores.index):
        raise InputError(f"{what} have other row names than the scores: bring them into the same order, or pass arrays")


def _read(scores: Any, member: Any, control: Any, groups: Any, bins: Any, ids: Any, sign: float) -> _GivenScores:
    values = _numbers(scores, "scores", sign)
    inside = read_members(member)
    others = None if control is None else _numbers(control, "control scores", sign)
    for what, values_of in (("memberships", inside), ("control scores", others)):
        if values_of is not None and len(values_of) != len(values):
            raise InputError(f"there are {len(values)} scores and {len(values_of)} {what}: give one for each record")
    for side, what in ((inside, "members"), (~inside, "non-members")):
        if side.sum() < FEWEST:
            raise InputError(f"there are only {side.sum()} {what}: an audit needs at least {FEWEST} on each side")
    names = np.arange(len(values)) if ids is None else read_ids(ids, values, "the scores")
    levels = _levels(groups, bins, inside)
    members, nonmembers = (
        Records(values[side][:, None], np.zeros(int(side.sum())), names[side], level)
        for side, level in zip((inside, ~inside), levels, strict=True)
    )
    unseen = None if others is None else (others[inside][:, None], others[~inside][:, None])
    return _GivenScores(members, nonmembers, unseen)


def _numbers(values: Any, what: str, sign: float) -> Floats:
    """One finite number per record, times the sign."""
    array = as_array(values)
    if array.ndim != 1:
        raise InputError(f"{what} have shape {array.shape}: give one number for each record")
    if array.dtype.kind not in "biuf":
        try:
            read = pd.to_numeric(pd.Series(array))
            array = read.to_numpy() if read.dtype.kind in "iu" else read.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            row = int(pd.to_numeric(pd.Series(array), errors="coerce").isna().argmax())
            raise InputError(
                f"{what} hold something that is not a number, first in {row_name(row)}: give one number for each record"
            ) from cause(error)
    numbers = sign * array.astype(np.float64)
    if array.dtype.kind in "iu" and len(np.unique(numbers)) < len(np.unique(array)):
        raise InputError(
            f"{what} hold whole numbers too long to be distinguished: give their ranks, since only the order counts"
        )
    for bad, kind, hint in (
        (np.isnan(numbers), "missing", "leave those records out"),
        (np.isinf(numbers), "infinite", "put a number larger than all others in their place, or smaller"),
    ):
        if bad.any():
            raise InputError(f"{bad.sum():,} of {len(numbers):,} {what} are {kind}: {hint}")
    return np.asarray(numbers)


def read_members(member: Any) -> Booleans:
    """Who is a member, from truth values, numbers or words.

    Examples
    --------
    >>> read_members(["Yes", "no", "yes"]), read_members([1, 0])
    (array([ True, False,  True]), array([ True, False]))
    """
    array = as_array(member)
    if array.ndim != 1:
        raise InputError(f"memberships have shape {array.shape}: give one for each record")
    if array.dtype == bool:
        return array.copy()
    codes, words = pd.factorize(array)
    known = dict.fromkeys(MEMBER_WORDS, True) | dict.fromkeys(OTHER_WORDS, False)
    meanings = [known.get(str(word).strip().lower()) for word in words]
    if (codes < 0).any():
        raise InputError(f"{(codes < 0).sum():,} records don't say whether they are members: write 1 or 0")
    if None in meanings:
        unknown = np.array([meaning is None for meaning in meanings])[codes]
        raise InputError(
            f"memberships hold {meanings.count(None)} words that are not known, first in {row_name(int(unknown.argmax()))}: say "
            "1 or 0, true or false, yes or no, member or nonmember"
        )
    return np.array(meanings, dtype=bool)[codes]


def _levels(groups: Any, bins: Any, inside: Booleans) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if groups is None:
        return {}, {}
    table = pd.DataFrame(groups) if isinstance(groups, Mapping) else groups
    rows = table if isinstance(table, pd.Series | pd.DataFrame) else as_array(table)
    if rows.ndim == 0 or len(rows) != len(inside):
        given = len(rows) if rows.ndim else "no"
        raise InputError(f"there are {len(inside)} scores and {given} rows of groups: give one for each record")
    return read_groups((rows[inside], rows[~inside]), inside[inside], inside[~inside], bins)


# --- the audit --------------------------------------------------------------------------------------------------------


def _run(given: _GivenScores, name: str, settings: Settings, words: dict[str, bool], command: str) -> Audit:
    clock, attacks = Clock(), (given_score(name), tree_on_score(name))
    inside, outside = len(given.members), len(given.nonmembers)
    repeats = find_repeats(*(_all_known(given, number) for number in (0, 1)))
    sample = Sample.draw(repeats.members, repeats.nonmembers, np.random.default_rng(settings.seed))
    if sample.judged < FEWEST:
        raise InputError(
            f"one side has only {sample.judged} different scores, each of them several times: an audit needs at least {FEWEST} "
            "different records on each side"
        )
    groups, pooled = judged_groups(given.members, given.nonmembers, sample)
    case = Cohort(sample, (given.members.y, given.nonmembers.y), None, groups, settings.seed, settings.fprs)
    tried = try_attacks(attacks, case, _observed(given, sample, name), settings, clock)
    claim = None
    if words["random split"]:
        alone = stand_alone((repeats.members, repeats.nonmembers), sample)
        claim = bound_epsilon(attacks, tried.trial, sample, alone, None, settings.confidence)
    exposed = most_exposed_group(tried.careful, tried.trial, None, groups)
    basis = Basis(settings.margin, random_split=words["random split"], claim=claim, exposed=exposed)
    result = Audit(
        **tried.conclude(basis, given.members, sample, settings),
        not_run=_not_run(given),
        warnings=(*_warnings(given, sample, repeats, words, tried.careful[0]), *pooled),
        target=AuditedModel(
            model="scores" if name in PLAIN_NAMES else name, task="scores", classes=None, features=None,
            members=inside, nonmembers=outside, judged=sample.judged, performance=None, control_models=None,
        ),
        overlap=Overlap(0),
        settings=recorded(settings, words | {"groups": list(given.members.groups)}, tried),
        fingerprints=_fingerprints(given),
        seconds=clock.seconds,
        command=command,
    )  # fmt: skip
    return replace(result, claims=audit_claims(result))


def _observed(given: _GivenScores, sample: Sample, name: str) -> Observed:
    """The scores as a release, with those of a model that never saw the members as the control."""
    control = None
    if given.control is not None:
        control = ControlOutputs({name: sample.judge(*given.control)}, np.zeros(2 * sample.judged, np.intp))
    return Observed({name: given.members.X}, {name: given.nonmembers.X}, control)


def _all_known(given: _GivenScores, number: int) -> pd.DataFrame:
    """All that is known of the records of one side (0 for the members), by which copies of a record are equal."""
    side = (given.members, given.nonmembers)[number]
    columns = [side.X[:, 0], *(() if given.control is None else (given.control[number][:, 0],)), *side.groups.values()]
    return pd.DataFrame(dict(enumerate(columns)))


def _not_run(given: _GivenScores) -> tuple[NotRun, ...]:
    missing = [NotRun("the records themselves", "blind baseline", "the records were not given, only scores")]
    if given.control is None:
        missing.append(NotRun("a model that never saw the members", "the same attacks", "no control scores were given"))
    return tuple(missing)


def _warnings(
    given: _GivenScores, sample: Sample, repeats: Repeats, words: dict[str, bool], risk: Risk
) -> list[Caveat]:
    """Collect what these scores can't tell, and what may be a mistake; ``risk`` is that of the score as it was given."""
    found = []
    if words["random split"]:
        found.append(Caveat("stated_random_split"))
    elif given.control is None:
        found.append(Caveat("scores_only"))
    found += _mistakes(given, words["higher is member"], risk)
    found += repeats.warnings()
    left = [
        len(side) - lost - sample.judged
        for side, lost in zip((given.members, given.nonmembers), repeats.copies, strict=True)
    ]
    if any(left):
        side = "members" if left[0] else "non-members"
        found.append(Caveat("not_all_judged", {"judged": sample.judged, "left_out": sum(left), "side": side}))
    return found + few_judged(sample.judged)


def _mistakes(given: _GivenScores, higher: bool, risk: Risk) -> list[Caveat]:
    """A score that is the same for all, or that points the other way."""
    everyone = np.concatenate([given.members.X, given.nonmembers.X])
    if np.ptp(everyone) == 0:
        return [Caveat("constant_score")]
    return [Caveat("reversed_score", {"higher_is_member": higher, "auc": risk.auc})] if risk.auc.high < 0.5 else []


def _fingerprints(given: _GivenScores) -> dict[str, str]:
    control = "none" if given.control is None else fingerprint(*given.control)
    sides = {"member scores": given.members.X, "non-member scores": given.nonmembers.X}
    prints = {what: fingerprint(scores) for what, scores in sides.items()}
    return prints | {"control scores": control, CODE: code_digest()}
