"""Argument checks of public functions: each check returns a Python number or raises an `InputError`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leakscope.core.errors import InputError

#: Largest confidence: beyond it, the normal approximation of an interval is not justified.
HIGHEST_CONFIDENCE = 0.99999


def check_count(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Check an integer.

    Parameters
    ----------
    name
        Name of the argument, used in the message.
    least, most
        Smallest and largest value allowed.

    Examples
    --------
    >>> check_count("draws", np.int64(200))
    200
    >>> check_count("draws", 0.5)
    Traceback (most recent call last):
    leakscope.core.errors.InputError: draws must be a whole number of at least 1, not 0.5
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} must be a whole number {limits}, not {value!r}")
    return int(value)


def check_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf, *, open_ends: bool = False
) -> float:
    """Check a finite number; with ``open_ends`` it must lie strictly between ``least`` and ``most``.

    Examples
    --------
    >>> check_number("noise", 0, least=0)
    0.0
    >>> check_number("tolerance", "0.1", least=0, most=1, open_ends=True)
    Traceback (most recent call last):
    leakscope.core.errors.InputError: tolerance must be a number strictly between 0 and 1, not '0.1'
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    inside = number and (least < value < most if open_ends else least <= value <= most)
    if not inside or not math.isfinite(value):
        raise InputError(f"{name} must be a {_range(least, most, open_ends)}, not {value!r}")
    return float(value)


def check_share(name: str, value: Any) -> float:
    """Check a number strictly between 0 and 1."""
    return check_number(name, value, 0, 1, open_ends=True)


def check_seed(seed: Any) -> int:
    """Check a seed."""
    return check_count("seed", seed, least=0)


def check_confidence(confidence: Any) -> float:
    """Check a confidence level.

    Examples
    --------
    >>> check_confidence(95)
    Traceback (most recent call last):
    leakscope.core.errors.InputError: confidence must be a number from 0.5 to 0.99999, not 95
    """
    return check_number("confidence", confidence, 0.5, HIGHEST_CONFIDENCE)


def _range(least: float, most: float, open_ends: bool) -> str:
    if least == -math.inf and most == math.inf:
        return "finite number"
    if most == math.inf:
        return f"finite number {'above' if open_ends else 'of at least'} {least:g}"
    return f"number {'strictly between' if open_ends else 'from'} {least:g} {'and' if open_ends else 'to'} {most:g}"
