"""Plain data that any reader of JSON takes."""

from __future__ import annotations

import math
from typing import Any


def finite(thing: Any) -> Any:
    """The same lists, dicts, texts and numbers, with None in the place of numbers that are not finite.

    >>> finite({"low": float("-inf"), "points": (1.5, 2)})
    {'low': None, 'points': [1.5, 2]}
    """
    if isinstance(thing, dict):
        return {str(name): finite(value) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [finite(value) for value in thing]
    return None if isinstance(thing, float) and not math.isfinite(thing) else thing
