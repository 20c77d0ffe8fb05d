"""What a reader of an audit needs of explanations by records: who is revealed, what an outsider recovers, what helps."""

from __future__ import annotations

from leakscope.core.estimate import Estimate
from leakscope.reconstruction.result import DefendedRelease, ReconstructionAudit
from leakscope.report.words import count, out_of, safe_text
from leakscope.report.words import describe as words
from leakscope.results import Figure, Number, Point, Risk, Series, Study
from leakscope.telling import LONGEST, MOST_POINTS, finite, plain, shown, thinned

QUESTION = "What do explanations that show training records reveal about the people in the training data?"
MOST_ADVICE = 3


def tell(audit: ReconstructionAudit) -> Study:
    """The study of an audit of explanations by records.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscope.reconstruction import reconstruct
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 4))
    >>> y = X[:, 0] + rng.normal(0, 0.3, 60) > 0.5
    >>> found = reconstruct(X, y, attacks=["uniform", "subspace"], budget=100)
    >>> tell(found).numbers[0].estimate == found.strongest.share
    True
    """
    return Study(
        kind="reconstruction",
        release="record explanations",
        question=QUESTION,
        answer=_answer(audit),
        numbers=tuple(_numbers(audit)),
        figures=(_figure(audit),),
        advice=tuple(_advice(audit)),
        warnings=tuple(_warnings(audit)),
        settings=_settings(audit),
    )


def _answer(audit: ReconstructionAudit) -> str:
    settings = audit.settings
    own = audit.self_revealing[settings["release"]["k"]]
    once = "once " if settings["release"]["noise"] else ""
    tried, best = len(audit.attacks), f"“{safe_text(audit.strongest.attack)}”"
    which = f"the strongest of {tried} attacks, {best}" if tried > 1 else f"the attack {best}"
    run = ", in one run" if settings["repeats"] == 1 else ""
    return (
        f"Of 100 people in the training data, {out_of(100, own)} are shown when their own case is explained: whoever asks "
        f"{once}about such a person learns for certain that they were trained on. With at most {count(settings['budget'])} "
        f"questions an outsider recovers the records of {out_of(100, audit.strongest.share)} of 100, with {which}{run}."
    )


def _numbers(audit: ReconstructionAudit) -> list[Number]:
    best, k = audit.strongest, audit.settings["release"]["k"]
    shown_records = "the one record" if k == 1 else f"the {k} records"
    found = [
        Number(
            f"share of the training records recovered by {safe_text(best.attack)}",
            finite(best.share),
            f"after {_whole(best.queries)} questions; it took {count(best.wrong)} records for training records that are none",
        ),
        Number(
            "share of people who are shown when their own case is explained",
            finite(audit.self_revealing[k]),
            f"by {shown_records} of an explanation; 0 would reveal nobody for certain",
        ),
    ]
    found += [_membership(risk) for risk in audit.membership]
    exposed = max((group for group in audit.groups if group.gap.low > 0), key=lambda one: one.gap.low, default=None)
    if exposed is not None:
        found.append(
            Number(
                f"the same among {safe_text(exposed.column, 20)} = {safe_text(exposed.level, 20)}",
                finite(exposed.share),
                f"more than among everybody else, by {shown(exposed.gap)}",
            )
        )
    if audit.accuracy is not None:
        found.append(
            Number("right predictions on held-out people", finite(audit.accuracy), "what the model is good for")
        )
    return found


def _membership(risk: Risk) -> Number:
    never = risk.control.kind == "never trained"
    other = "on a model that never saw the members" if never else "with shuffled memberships"
    return Number(
        f"AUC of telling members from others by {safe_text(risk.attack, 40)}",
        finite(risk.auc),
        f"0.5 is a coin and 1 certainty; the same attack {other}: {shown(risk.control.auc)}",
    )


def _whole(estimate: Estimate) -> str:
    low, high = (count(round(end)) for end in (estimate.low, estimate.high))
    return low if low == high else f"{low} to {high}"


def _figure(audit: ReconstructionAudit) -> Figure:
    most = max(2, MOST_POINTS // len(audit.attacks))
    return Figure(
        title="Training records recovered through explanations",
        description=f"Share of {count(audit.settings['records'])} training records that each attack has recovered after a "
        f"number of questions; {safe_text(audit.release, 200)}.",
        kind="lines",
        x_label="Questions",
        y_label="Share of the training records",
        series=tuple(
            Series(
                safe_text(found.attack),
                tuple(Point(float(at), finite(share)) for at, share in thinned(found.curve, most)),
            )
            for found in audit.attacks
        ),
        logarithmic_x=True,
    )


def _advice(audit: ReconstructionAudit) -> list[str]:
    """Releases through which every attack surely recovers less than the strongest does through this one.

    Runs of an attack that all agree have an interval without width; a single run has none, and proves nothing.
    """
    if audit.settings["repeats"] < 2:
        return []
    least = audit.strongest.share.low
    better = [
        one
        for one in audit.defended
        if one.share is not None and max(share.high for share in one.shares.values()) < least
    ]
    better.sort(key=lambda one: (_recovered(one).value, -one.usefulness.found.value))
    return [safe_text(_advise(audit, one), LONGEST) for one in better[:MOST_ADVICE]]


def _recovered(one: DefendedRelease) -> Estimate:
    assert one.share is not None
    return one.share


def _advise(audit: ReconstructionAudit, one: DefendedRelease) -> str:
    useful = one.usefulness
    return (
        f"Show “{safe_text(one.release, 200)}” instead of “{safe_text(audit.release, 200)}”: the strongest attack then recovers "
        f"{out_of(100, _recovered(one))} of 100 records instead of {out_of(100, audit.strongest.share)}. An honest user gets "
        f"an answer to {words(useful.answered, 'percent')['text']} of the questions, and sees "
        f"{words(useful.found, 'percent')['text']} of the {useful.best} records that matter most."
    )


def _warnings(audit: ReconstructionAudit) -> list[str]:
    said = []
    if broken := [found.attack for found in audit.attacks if found.wrong]:
        said.append(f"broken: {', '.join(broken)} gave records that are not in the training set")
    if audit.settings["repeats"] == 1:
        said.append("each attack was run once: there is no interval, and nothing is advised")
    elif len(audit.attacks) > 1:
        said.append("intervals are over runs of one attack, and do not pay for the choice of the strongest")
    said += [f"not run: {item.attack}, {item.reason}" for item in audit.not_run]
    return [safe_text(warning, LONGEST) for warning in said]


def _settings(audit: ReconstructionAudit) -> dict[str, object]:
    settings, release = audit.settings, audit.settings["release"]
    names = ("records", "features", "holdout", "l2", "budget", "repeats", "seed", "confidence")
    return plain(
        {
            "model": "logistic regression",
            **{name: settings[name] for name in names},
            "release": audit.release,
            "k": release["k"],
            "source": "shokri2019",
        }
    )
