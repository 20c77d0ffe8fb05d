"""Models: anything that predicts as one type, model files, endpoints, and the target of a study."""

__all__ = ["adapters", "model", "provenance"]
