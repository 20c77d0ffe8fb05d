"""Studies: each takes a target, and returns a result with claims."""
