"""Two results compared: what changed, and whether the change is significant."""

from leakscope.audit_diff.result import Diff
from leakscope.audit_diff.run import diff

__all__ = ["Diff", "diff"]
