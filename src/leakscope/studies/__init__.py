"""Studies: each takes a target, or a model with its records, and returns a result with claims."""
