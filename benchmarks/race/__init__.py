"""Strength, soundness of verdicts and cost of the default audit, beside other tools: ``make race``."""
