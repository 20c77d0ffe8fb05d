"""Definitions that every package uses: array types, argument checks, errors, estimates, intervals, number formatting and study results."""
