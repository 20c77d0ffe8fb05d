"""Evaluation of membership inference attacks: controls, baselines, risks with intervals, and the verdict."""

__all__ = ["crossfit", "membership_experiment", "risk"]
