"""Models of all frameworks as one type, model files, HTTP endpoints, and the target of a study."""

__all__ = ["adapters", "model", "provenance"]
