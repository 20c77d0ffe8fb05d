"""Results in files: storage, schema, migration, and the gate that pipelines obey."""

__all__ = ["schema"]
