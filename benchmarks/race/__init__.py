"""Strength and cost of the default audit: ``make race``."""
