"""Retraining: which record is in which training set, and the models that are trained so, in parallel and cached."""

from leakscope.worlds.training import TrainingSets, leave_one_out, random_sets, retrain, with_and_without

__all__ = ["TrainingSets", "leave_one_out", "random_sets", "retrain", "with_and_without"]
