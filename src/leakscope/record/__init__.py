"""Results in files: storage, schema, migration, and the gate for pipelines."""
