"""From attacks to what an audit says of them: the strongest, the verdict and the records. The same for models and for scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from leakscope.attacks.protocol import Attack
from leakscope.core.versions import versions
from leakscope.data.records import Records
from leakscope.evaluation.crossfit import Sample
from leakscope.evaluation.evaluate import Evaluated, EvaluationCase, Observed, evaluate
from leakscope.evaluation.exposed_records import most_exposed
from leakscope.evaluation.exposure import Exposures, count_named, p_values, record_table
from leakscope.evaluation.results import Basis, Risk
from leakscope.evaluation.risk import Confidence, JudgedAttack, with_band
from leakscope.evaluation.settings import Clock, Settings
from leakscope.evaluation.verdict import (
    choose_strongest,
    confidences_for_choice,
    judge,
    largest_figures,
    strongest_by_release,
)
from leakscope.releases.release import Progress

#: Judged records up to which the scores of all attacks are kept.
MOST_KEPT = 20_000


@dataclass(frozen=True, eq=False)
class Tried:
    """All attacks of an audit, each evaluated at the confidence of one interval and at that of all intervals together."""

    found: tuple[Evaluated, ...]
    chances: tuple[Confidence, ...]

    @cached_property
    def careful(self) -> list[Risk]:
        """Risks whose intervals hold together."""
        return [one.risks[1] for one in self.found]

    def trial(self, at: int) -> JudgedAttack:
        """Give the scores of the attack at a position; where they were not kept, it runs again."""
        return self.found[at].trial

    @cached_property
    def best(self) -> int:
        """Position of the strongest attack."""
        return choose_strongest(self.careful)

    @property
    def strongest(self) -> Evaluated:
        return self.found[self.best]

    def conclude(
        self,
        basis: Basis,
        members: Records,
        sample: Sample,
        settings: Settings,
        exposures: Exposures | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the fields of an `Audit` that follow from the attacks.

        Parameters
        ----------
        exposures
            Those from reference models, where there are any; otherwise they follow from the strongest attack.
        more
            Further columns of the table of records.
        """
        careful = self.careful[self.best]
        named = count_named(self.strongest.trial.target, settings.confidence, settings.seed)
        verdict = judge(careful, basis, named)
        ranking = self.strongest.trial.target.ranking
        evidence = p_values(sample, self.strongest, judged_only=exposures is not None)
        if exposures is None:
            unknown = np.full(len(evidence), np.nan)
            exposures = Exposures(1 - evidence, unknown, unknown)
        records = record_table(members, exposures, evidence, {} if more is None else more)
        return {
            "verdict": verdict,
            "basis": basis,
            "strongest": replace(careful, roc=with_band(careful.roc, ranking, self.chances[self.best].rates)),
            "risks": tuple(one.risks[0] for one in self.found),
            "by_release": strongest_by_release(self.careful),
            "largest": largest_figures(self.careful),
            "exposed": most_exposed(records),
            "records": records,
            "named": named if verdict.leaks else None,
            "versions": versions(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }


def try_attacks(
    attacks: Sequence[Attack],
    case: EvaluationCase,
    observed: Observed,
    settings: Settings,
    clock: Clock,
    progress: Progress | None = None,
    kept: Collection[int] = (),
) -> Tried:
    """Evaluate every attack.

    With more than `MOST_KEPT` judged records, scores are kept of the strongest attack alone, and of those at the positions ``kept``.
    Other scores are computed again where they are needed.
    """
    chances, found = confidences_for_choice(settings.confidence, attacks, len(settings.fprs)), []
    for done, (attack, chance) in enumerate(zip(attacks, chances, strict=True), start=1):
        with clock("attack"):
            found.append(evaluate(attack, case, observed, (settings.confidence, chance)))
        if 2 * case.sample.judged > MOST_KEPT:
            needed = {choose_strongest([one.risks[1] for one in found]), *kept}
            found = [one if at in needed else one.without_scores() for at, one in enumerate(found)]
        if progress is not None:
            progress("attacking", done, len(attacks))
    return Tried(tuple(found), tuple(chances))
