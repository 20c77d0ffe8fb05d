"""Two results compared: what changed, and whether the change is significant."""

from leakscope.studies.diff.result import Diff
from leakscope.studies.diff.run import diff

__all__ = ["Diff", "diff"]
