"""Data: records, tables in files, fingerprints, splits, and named data sets."""
