"""Bounds: what no attack can exceed, lower bounds on ε, sensitivity, and private aggregation."""
