"""What an audit of record explanations claims, decided from its intervals, and what limits it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leakscope.attacks.membership_record_explanation import GroupShare
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, Claim, Outcome, Scalar
from leakscope.evaluation.results import Risk
from leakscope.studies.reconstruct.result import DefendedRelease, Reconstructed, ReconstructionAudit


def claims(found: ReconstructionAudit, membership: Sequence[Risk]) -> Iterator[Claim]:
    """Decide the claims; ``membership`` are the risks of membership inference attacks with simultaneous intervals."""
    yield Claim("recovered", {}, _recovers(found.strongest), _figures(found.strongest))
    for attack in found.attacks:
        yield Claim("recovered", {"attack": attack.attack}, _recovers(attack), _figures(attack))
    for k, share in found.self_revealing.items():
        yield Claim("self_revealing", {"k": k}, "yes" if share.low > 0 else "inconclusive", {"self_revealing": share})
    for risk in membership:
        subject = {"attack": risk.attack}
        yield Claim("membership", dict(subject), _leaks(risk), {"auc": risk.auc, "advantage": risk.advantage})
    yield from _gaps(found.groups, {})
    yield from _gaps(found.strongest.by_group, {"attack": found.strongest.attack})
    for release in found.defended:
        if release.share is not None:
            shares = {"share_defended": release.share, "share_before": found.strongest.share}
            yield Claim("less_recovered", {"release": release.release}, _less(found, release), shares)


def _gaps(groups: Sequence[GroupShare], about: dict[str, Scalar]) -> Iterator[Claim]:
    """Decide which groups are significantly more exposed than all others; the intervals of the gaps are simultaneous."""
    for group in groups:
        outcome: Outcome = "yes" if group.gap.low > 0 else "no" if group.gap.high < 0 else "inconclusive"
        subject = {"column": group.column, "level": group.level, **about}
        yield Claim("group_gap", subject, outcome, {"group_gap": group.gap})


def _recovers(attack: Reconstructed) -> Outcome:
    return "yes" if attack.share.low > 0 else "no" if attack.share.high == 0 else "inconclusive"


def _figures(attack: Reconstructed) -> dict[str, Estimate]:
    return {"share": attack.share, "queries": attack.queries}


def _leaks(risk: Risk) -> Outcome:
    """Decide whether an attack is significantly better than chance and than its rival: never-trained control, otherwise blind baseline."""
    rival = risk.beyond_control if risk.control.kind == "never trained" else risk.beyond_blind
    return "yes" if risk.auc.low > 0.5 and rival is not None and rival.low > 0 else "inconclusive"


def _less(found: ReconstructionAudit, release: DefendedRelease) -> Outcome:
    """Decide whether every attack recovers significantly less through a release. Runs that agree have an interval without width; one run has none."""
    if found.settings["repeats"] < 2:
        return "inconclusive"
    here, shares = found.strongest.share, list(release.shares.values())
    if max(share.high for share in shares) < here.low:
        return "yes"
    return "no" if max(share.low for share in shares) > here.high else "inconclusive"


def caveats(found: ReconstructionAudit, left_out: int) -> Iterator[Caveat]:
    """Yield what limits the result; ``left_out`` records of the holdout equal a training record."""
    if broken := [attack.attack for attack in found.attacks if attack.wrong]:
        yield Caveat("wrong_records", {"attacks": list(broken)})
    if left_out:
        yield Caveat("copies_removed_from_holdout", {"records": left_out})
    if found.settings["release"]["noise"]:
        yield Caveat("noisy_explanations")
    if found.settings["repeats"] == 1:
        yield Caveat("one_run")
    elif len(found.attacks) > 1:
        yield Caveat("selection_not_corrected", {"attacks": len(found.attacks)})
