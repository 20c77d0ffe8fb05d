"""What every layer shares: arrays, checks of arguments, estimates, the wording of numbers, and the result of a study."""

__all__ = ["arrays", "checks", "errors", "estimate", "intervals", "ranking", "result", "threads", "versions", "wording"]
