"""Records, tables in files, fingerprints, random splits, small groups and named data sets."""
