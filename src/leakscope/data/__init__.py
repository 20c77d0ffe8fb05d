"""Records, tables in files, fingerprints, random splits, small groups and named data sets."""

__all__ = ["datasets", "fingerprints", "records"]
