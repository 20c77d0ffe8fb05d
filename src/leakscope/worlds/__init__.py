"""Retraining: which record is in which training set, and the models that are trained so, in parallel and cached."""
