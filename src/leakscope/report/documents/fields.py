"""Sentences with fields: how an estimate, a count, a list or a name of user data is written in one."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import Any

from leakscope.core.estimate import Estimate
from leakscope.core.wording import count, listing, name, number, percent, sentence, write

_WRITERS: dict[str, Callable[[Any], str]] = {"percent": percent, "number": number, "sentence": sentence, "text": str}


class _Fields(Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, Estimate):
            return write(value, spec or "number")  # type: ignore[arg-type]
        if spec in _WRITERS:
            return _WRITERS[spec](value)
        if isinstance(value, list | tuple):
            return listing(value, int(spec or 3))
        if isinstance(value, str):
            return name(value, int(spec or 80))
        if isinstance(value, int) and not isinstance(value, bool):
            return count(value, *filter(None, spec.split("|")))
        return format(value, spec)


def fill(template: str, **values: Any) -> str:
    """Fill the fields of a sentence: an estimate in its style, an integer with its noun, a name, a list, or a number.

    Examples
    --------
    >>> fill("{share:percent} of {of:record} ({records:record is|records are} left).", share=0.5, of=2000, records=1)
    '50 % of 2,000 records (1 record is left).'
    >>> fill("{auc} on {columns}", auc=Estimate(0.6, 0.5, 0.7), columns=["age", "sex"])
    '0.60 [0.50, 0.70] on age and sex'
    """
    return _Fields().vformat(template, (), values)
