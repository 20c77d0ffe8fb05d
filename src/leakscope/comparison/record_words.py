"""Explanations by records in a comparison, as rows for the terminal and as what the page shows of them."""

from __future__ import annotations

from typing import Any

from leakscope.comparison import words
from leakscope.comparison.record_explanations import RecordComparison, RecordVersion
from leakscope.core.estimate import Estimate
from leakscope.report.axes import short_number
from leakscope.report.words import SENTENCE_LENGTH, count, describe, described, safe_text
from leakscope.telling import finite

CEILING = "One asker can't see more than the questions times the records shown; that alone is certain of any attack."


def rows(found: RecordComparison) -> list[list[str]]:
    """A header and a row for each release.

    Examples
    --------
    >>> import leakscope as ls
    >>> toy = ls.toys.lookup(n=300)
    >>> target = ls.make_target(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> found = ls.compare(target, "round", record_explanations=True, references=0, retrain=False).record_explanations
    >>> [row[:2] for row in rows(found)]
    [['  release', 'questions'], ['* as it is', '2,000']]
    """
    best = found.as_it_is.usefulness.best
    head = [
        "  release",
        "questions",
        "recovered",
        "its change",
        f"best {best} shown",
        "influences off by",
    ]
    return [head, *(_row(version) for version in found.versions)]


def _row(version: RecordVersion) -> list[str]:
    return [
        f"{'*' if version.beaten_by is None else ' '} {safe_text(version.name, 24)}",
        count(version.budget),
        words.said(version.share),
        "" if version.change is None else words.said_change(version.change),
        short_number(version.usefulness.found.value),
        "hidden" if version.usefulness.error is None else short_number(version.usefulness.error.value),
    ]


def remarks(found: RecordComparison) -> list[str]:
    """How it was measured, what was left out, notes and warnings: one sentence each."""
    notes = dict.fromkeys(note for version in found.versions for note in version.notes)
    return [
        _measured(found),
        CEILING,
        *(safe_text(note, SENTENCE_LENGTH) for note in notes),
        *(f"not run: {safe_text(item.attack)}, since {safe_text(item.reason)}." for item in found.not_run),
        *(f"warning: {safe_text(warning, SENTENCE_LENGTH)}" for warning in found.warnings),
    ]


def _measured(found: RecordComparison) -> str:
    settings = found.settings
    return (
        f"Recovered: the largest share of {count(settings['records'])} training records that any attack gets to see through "
        f"explanations, over {count(settings['repeats'])} runs; the attacker has {count(settings['holdout'])} records of its own. "
        "Ranges are over the attacks' own randomness, and all hold at once."
    )


def summarize_records(found: RecordComparison | None) -> dict[str, Any] | None:
    """What the page shows, or None where no explanations by records are released."""
    if found is None:
        return None
    return {
        "sentence": safe_text(found.recommendation.sentence, SENTENCE_LENGTH),
        "best": f"Best {count(found.as_it_is.usefulness.best)} records shown",
        "remarks": remarks(found),
        "rows": [_summarize(version, found.recommendation.version) for version in found.versions],
    }


def _summarize(version: RecordVersion, recommended: str | None) -> dict[str, Any]:
    return {
        "name": safe_text(version.name),
        "recommended": version.name == recommended,
        "release": f"{safe_text(version.release)}; {count(version.budget)} question{'s' if version.budget > 1 else ''}",
        "standing": words.standing(version),
        "strongest": safe_text(version.strongest),
        "share": _described(version.share),
        "ceiling": describe(Estimate(version.ceiling, version.ceiling, version.ceiling, kind="exact"))["shown"],
        "change": None if version.change is None else words.signed(version.change),
        "found": _described(version.usefulness.found),
        "answered": _described(version.usefulness.answered),
        "error": _described(version.usefulness.error),
    }


def _described(estimate: Estimate | None) -> Any:
    return described(None if estimate is None else finite(estimate))
