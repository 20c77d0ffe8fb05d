"""The claims about a sensitive column, decided from the intervals of all attacks on it."""

from __future__ import annotations

from collections.abc import Iterator

from leakscope.attribute.result import AttributeRisk
from leakscope.core.estimate import largest
from leakscope.core.result import Claim, Outcome


def column_claims(risk: AttributeRisk, margin: float) -> Iterator[Claim]:
    """Decide whether the model reveals a column, by its own use of it, and more of it for training records.

    Parameters
    ----------
    margin
        The smallest gain that the outcome ``no`` excludes.
    """
    subject = {"column": risk.column.name}
    gain, auc = (largest([getattr(found, name) for found in risk.findings]) for name in ("gain", "gain_auc"))
    outcome: Outcome = "inconclusive"
    if gain.low > 0 or auc.low > 0:
        outcome = "yes"
    elif gain.high <= margin and auc.high <= margin:
        outcome = "no"
    yield Claim("attribute_leak", dict(subject), outcome, {"gain": gain, "gain_auc": auc})
    for code, name in (("uses_column", "beyond_control"), ("members_leak_more", "beyond_holdout")):
        known = [one for found in risk.findings if (one := getattr(found, name)) is not None]
        if known:
            most = largest(known)
            yield Claim(code, dict(subject), "yes" if most.low > 0 else "inconclusive", {name: most})
