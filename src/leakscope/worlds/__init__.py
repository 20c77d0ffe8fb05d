"""Retraining: which record is in which training set, and the models that are trained so, in parallel and cached."""

from leakscope.worlds.cache import Cache, open_cache
from leakscope.worlds.training import Progress, Worlds, leave_one_out, random_sets, retrain, with_and_without
from leakscope.worlds.workers import run_tasks

__all__ = [
    "Cache", "Progress", "Worlds", "leave_one_out", "open_cache", "random_sets", "retrain", "run_tasks", "with_and_without",
]  # fmt: skip
