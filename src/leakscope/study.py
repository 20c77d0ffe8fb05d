"""Other measurements beside the attacks of an audit: read from a folder, attached to the record, shown in the report.

A result of `leakage.sweep`, `reconstruct`, `frontier`, `causal.study`, `attribute_inference` or `compare` says with ``.study()``
what a reader of an audit needs of it (`results.Study`): an answer in words, numbers with intervals, pictures as numbers, what no
attack can pass, and advice drawn from measured comparisons. Its ``save`` writes that as ``study.json``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakscope.bounds import advantage_from_epsilon
from leakscope.errors import InputError
from leakscope.failures import cause
from leakscope.results import Audit, Bound, Estimate, Study

FILE = "study.json"


def promised(epsilon: float, delta: float = 0.0) -> Bound:
    """What no attack can pass if training is (ε, δ)-differentially private, as whoever asks for the audit says it is.

    Examples
    --------
    >>> promised(1.0).advantage
    at most 0.46
    """
    most = float(advantage_from_epsilon(epsilon, delta))
    given = f"ε = {epsilon:g}" + (f", δ = {delta:g}" if delta else "")
    return Bound(
        Estimate(most, 0.0, most, 1.0, "upper bound", method="follows from the guarantee"),
        f"the training is said to be differentially private with {given}; this is a statement of the caller",
        "Kairouz, Oh and Viswanath 2015",
        float(epsilon),
        float(delta),
    )


def attach(audit: Audit, results: Sequence[Any]) -> Audit:
    """The audit with studies beside it; a new one takes the place of an old one of the same kind, release and model.

    Examples
    --------
    >>> from leakscope.toys import lookup
    >>> from leakscope.auditing import audit
    >>> toy = lookup(n=100)
    >>> found = audit(toy.model, toy.train, toy.holdout, fit=toy.fit)
    >>> study = Study("leakage", "parameters", "How much?", "A little.")
    >>> [one.kind for one in attach(found, [study]).studies]
    ['leakage']
    """
    studies = {study.key: study for study in audit.studies}
    for result in results:
        study = make_study(result)
        studies[study.key] = study
    return replace(audit, studies=tuple(studies.values()))


def make_study(result: Any) -> Study:
    """What a reader of an audit needs of a result; a `Study` is passed through."""
    if isinstance(result, Study):
        return result
    if not callable(getattr(result, "study", None)):
        raise InputError(
            f"{type(result).__name__} can't stand beside an audit: give what leakage.sweep, reconstruct, frontier, "
            "causal.study, attribute_inference or compare returned"
        )
    return result.study()  # type: ignore[no-any-return]


def study_to_json(study: Study) -> bytes:
    """What ``study.json`` holds."""
    from pydantic import TypeAdapter

    document = TypeAdapter(Study).dump_python(study, mode="json")
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode()


def load_study(folder: str | Path) -> Study:
    """The study that a command wrote into a folder.

    Examples
    --------
    >>> load_study("no/such/folder")
    Traceback (most recent call last):
    leakscope.errors.InputError: no study in no/such/folder: it has no study.json, which leakscope leakage, reconstruct, frontier, causal, attributes and compare write with --out
    """
    from pydantic import TypeAdapter

    path = Path(folder) / FILE
    if not path.is_file():
        raise InputError(
            f"no study in {folder}: it has no {FILE}, which leakscope leakage, reconstruct, frontier, causal, attributes and "
            "compare write with --out"
        )
    try:
        return TypeAdapter(Study).validate_python(json.loads(path.read_bytes(), parse_constant=_no_number))
    except (ValueError, OSError, RecursionError) as error:
        first = str(error).splitlines()[0]
        raise InputError(f"{path} is broken: run the command that wrote it again ({first})") from cause(error)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")
