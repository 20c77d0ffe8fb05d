"""Definitions that every package uses: array types, argument checks, errors, estimates, intervals, number formatting and study results."""

__all__ = [
    "arrays",
    "checks",
    "errors",
    "estimate",
    "extras",
    "intervals",
    "ranking",
    "result",
    "threads",
    "versions",
    "wording",
]
