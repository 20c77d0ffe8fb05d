"""Upper bounds on any attack, lower bounds on ε, sensitivity, guarantees, and private aggregation."""

from leakscope.bounds.any_attack import (
    advantage_from_epsilon,
    advantage_from_kl,
    gaussian_noise,
    information_ceiling,
    laplace_noise,
    success_from_advantage,
)

__all__ = [
    "advantage_from_epsilon", "advantage_from_kl", "gaussian_noise", "information_ceiling", "laplace_noise", "pate", "sensitivity",
    "success_from_advantage",
]  # fmt: skip
