"""Strength, soundness of verdicts and cost of the default audit, compared with other tools: ``make race``."""
