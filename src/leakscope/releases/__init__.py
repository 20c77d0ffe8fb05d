"""Releases: outputs of a model that are made available, from labels to explanations."""

__all__ = ["oracle", "release"]
