"""The result of attribute inference: estimates for each attack on each sensitive column, and its claims. It holds no value of a record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from leakscope.core.estimate import Estimate, largest
from leakscope.core.result import Claim, Outcome, Result

Side = Literal["holdout", "training"]


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column: its name, the number of its levels, and the columns that the attacker knows."""

    name: str
    levels: int
    known: tuple[str, ...]


@dataclass(frozen=True)
class AttributeFinding:
    """One attack on one sensitive column of one set of records.

    Parameters
    ----------
    column, side, records
        The sensitive column, the set, and the number of records judged.
    baseline_advantage, baseline_auc
        The figures of the baseline: an attacker who knows the same but does not have the model.
    advantage, auc
        Attribute advantage [tople2020, Def. 8] and AUC, each a mean over the levels against the rest.
    gain, gain_auc
        The same minus the baseline's, on the same records: what the model reveals. The intervals of the gains of all attacks on all records of one
        column are simultaneous.
    control
        Gain if the model is queried with a random level in place of the true one: 0 up to chance if the attacker knows all other features, otherwise what
        the model reveals through features that the attacker does not know. None for attacks that are not fitted to the model's outputs.
    beyond_control
        Gain over the control, on the same records: what the model reveals by its own use of the column.
    beyond_holdout
        Gain on training records minus the gain on held-out ones, the attribute advantage of Yeom et al. (2018) beyond the baseline's. None on the holdout.
    """

    column: str
    side: Side
    records: int
    attack: str
    source: str
    baseline_advantage: Estimate
    baseline_auc: Estimate
    advantage: Estimate
    auc: Estimate
    gain: Estimate
    gain_auc: Estimate
    control: Estimate | None = None
    beyond_control: Estimate | None = None
    beyond_holdout: Estimate | None = None


def strongest(findings: tuple[AttributeFinding, ...]) -> AttributeFinding:
    """Give the attack with the largest gain, of those with a significant one if there are any."""
    significant = [found for found in findings if found.gain.low > 0 or found.gain_auc.low > 0]
    return max(significant or findings, key=lambda found: (found.gain.value, found.gain_auc.value))


@dataclass(frozen=True)
class AttributeSide:
    """All attacks on one set of records."""

    attacks: tuple[AttributeFinding, ...]

    @property
    def records(self) -> int:
        """The number of records judged."""
        return self.attacks[0].records

    @property
    def baseline_advantage(self) -> Estimate:
        """The advantage of the attacker without the model."""
        return self.attacks[0].baseline_advantage

    @property
    def baseline_auc(self) -> Estimate:
        """The AUC of the attacker without the model."""
        return self.attacks[0].baseline_auc

    @property
    def strongest(self) -> AttributeFinding:
        """The strongest attack; see `strongest`."""
        return strongest(self.attacks)

    def attack(self, words: str) -> AttributeFinding:
        """Give the first attack whose name holds these words."""
        return next(found for found in self.attacks if words in found.attack)


@dataclass(frozen=True)
class AttributeRisk:
    """What a model reveals about one column: every attack on the held-out records and, if they were given, on the training records."""

    model: str
    column: SensitiveColumn
    findings: tuple[AttributeFinding, ...]

    @property
    def records(self) -> AttributeSide:
        """The attacks on the held-out records."""
        return AttributeSide(tuple(found for found in self.findings if found.side == "holdout"))

    @property
    def members(self) -> AttributeSide | None:
        """The attacks on the training records, or None."""
        found = tuple(found for found in self.findings if found.side == "training")
        return AttributeSide(found) if found else None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Attributes(Result):
    """What a model reveals about sensitive columns to an attacker who knows others.

    Claims, for each column:

    - ``attribute_leak``: some attack with the model is significantly better than the baseline, by advantage or by AUC; ``no`` if gains above the margin are
      excluded.
    - ``uses_column``: some attack is significantly better than its control, so that the model's own use of the column reveals it.
    - ``members_leak_more``: the gain of some attack is significantly larger on training records than on held-out ones.

    Parameters
    ----------
    columns
        The sensitive columns.
    findings
        Every attack on every column and set of records.
    """

    kind: ClassVar[str] = "attributes"
    codes = {"attribute_leak": "yes", "uses_column": None, "members_leak_more": "yes"}  # noqa: RUF012
    table = "findings"

    columns: tuple[SensitiveColumn, ...]
    findings: tuple[AttributeFinding, ...]

    def of(self, column: str) -> tuple[AttributeFinding, ...]:
        """Give all attacks on one column."""
        return tuple(found for found in self.findings if found.column == column)


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
