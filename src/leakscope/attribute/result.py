"""What an attribute inference leaves: plain data with intervals, and a few lines of text. No record is in it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from leakscope.core.estimate import Estimate
from leakscope.results import Study


@dataclass(frozen=True)
class AttributeFinding:
    """One attack on one set of records.

    Parameters
    ----------
    advantage, auc
        Attribute advantage [tople2020, Def. 8] and AUC, each a mean over the levels against the rest.
    gain, gain_auc
        The same minus the baseline's, who knows the same but not the model, on the same records: what the model gives away.
        The intervals of the gains of all attacks on all records of a run hold together.
    control
        Gain where the model is asked about the record with a random level in the place of the true one: 0 up to chance if
        the attacker knows all other features, else what the model tells by those that the attacker does not know. None for
        attacks that are not fitted to the model's answers.
    beyond_control
        Gain over the control, on the same records: what the model tells by its own use of the feature.
    """

    attack: str
    source: str
    advantage: Estimate
    auc: Estimate
    gain: Estimate
    gain_auc: Estimate
    control: Estimate | None = None
    beyond_control: Estimate | None = None

    @property
    def gains(self) -> bool:
        """Whether the model surely helps this attack, by advantage or by AUC."""
        return self.gain.low > 0 or self.gain_auc.low > 0


@dataclass(frozen=True)
class AttributeSide:
    """One set of records: the baseline, and every attack beside it."""

    records: int
    baseline_advantage: Estimate
    baseline_auc: Estimate
    attacks: tuple[AttributeFinding, ...]

    @property
    def strongest(self) -> AttributeFinding:
        """The attack with the largest gain."""
        return max(self.attacks, key=lambda found: (found.gain.value, found.gain_auc.value))

    def attack(self, words: str) -> AttributeFinding:
        """The first attack whose name holds these words."""
        return next(found for found in self.attacks if words in found.attack)


@dataclass(frozen=True)
class AttributeRisk:
    """What a model tells about one feature to an attacker who knows others.

    Parameters
    ----------
    sensitive, levels
        The feature, and the levels that are guessed.
    known
        Features that the attacker knows.
    knows_label
        Whether the attacker knows the records' true labels.
    records
        The findings on the records given; they were not trained on where a training set was given too.
    members
        The same on training records, or None.
    membership
        For each attack its gain on training records minus that on the others: what being trained on adds (the attribute
        advantage of Yeom et al. 2018, beyond the baseline's). Empty without training records.
    settings
        All that the numbers depend on.
    """

    model: str
    sensitive: str
    levels: tuple[str, ...]
    known: tuple[str, ...]
    knows_label: bool
    records: AttributeSide
    members: AttributeSide | None
    membership: dict[str, Estimate]
    settings: dict[str, Any]

    @property
    def leaks(self) -> bool:
        """Whether the model surely helps some attack on some of the records."""
        sides = [self.records] if self.members is None else [self.records, self.members]
        return any(found.gains for side in sides for found in side.attacks)

    @property
    def sentence(self) -> str:
        """The answer in words, drawn from the intervals."""
        from leakscope.attribute.show import sentence

        return sentence(self)

    def __str__(self) -> str:
        from leakscope.attribute.show import describe

        return describe(self)

    def __repr__(self) -> str:
        best = self.records.strongest
        return f"<AttributeRisk of {self.sensitive} by {self.model}: {best.attack} gains {best.gain}>"

    def study(self) -> Study:
        """What a reader of an audit needs of this: see `Audit.with_studies`; `attribute.telling.tell_all` is for several columns."""
        from leakscope.attribute.telling import tell

        return tell(self)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON takes it."""
        return asdict(self) | {"leaks": self.leaks, "sentence": self.sentence}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False, allow_nan=False)
