"""Evaluation: what an attack on membership finds, and where it would find the same without a leak."""

__all__ = ["crossfit", "membership_experiment", "risk"]
