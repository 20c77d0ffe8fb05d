"""Shared definitions: array types, checks, errors, estimates, intervals, number formatting and study results."""
