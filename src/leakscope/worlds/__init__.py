"""Designs of training sets, and retraining on them in parallel with a cache."""

from leakscope.worlds.cache import Cache, open_cache
from leakscope.worlds.training import Progress, TrainingSets, leave_one_out, random_sets, retrain, with_and_without
from leakscope.worlds.workers import run_tasks

__all__ = [
    "Cache", "Progress", "TrainingSets", "leave_one_out", "open_cache", "random_sets", "retrain", "run_tasks", "with_and_without",
]  # fmt: skip
