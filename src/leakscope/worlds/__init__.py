"""Designs of training sets, and retraining on them in parallel with a cache."""

from leakscope.worlds.training import TrainingSets, leave_one_out, random_sets, retrain, with_and_without

__all__ = ["TrainingSets", "leave_one_out", "random_sets", "retrain", "with_and_without"]
