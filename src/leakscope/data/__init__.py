"""Data: records, tables in files, fingerprints, splits, and named data sets."""

__all__ = ["datasets", "fingerprints", "records"]
