"""Dominance between versions, the recommendation and the claims of a comparison, and what its document decides."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from samples import around

from leakscope.bounds.guarantee import Guarantee
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat
from leakscope.evaluation.dominance import exact
from leakscope.evaluation.results import Largest, Verdict
from leakscope.report.document import Table, walk
from leakscope.report.documents import comparison, document
from leakscope.studies.compare.claims import comparison_claims, recommend
from leakscope.studies.compare.combining import RivalVersions
from leakscope.studies.compare.paired import PairedAucs
from leakscope.studies.compare.result import (
    AttackOnVersion,
    Comparison,
    GroupUtility,
    MetricChange,
    Recommendation,
    Version,
)

# (name, AUC, accuracy, guarantee, ε shown by attacks, status of the guarantee, significantly dominated by)
VERSIONS: tuple[tuple[str, float, float, Guarantee | None, float, str, str | None], ...] = (
    ("as it is", 0.71, 0.853, None, 0.92, "none", None),
    ("l2 1", 0.60, 0.850, None, 0.33, "none", None),
    ("l2 10", 0.56, 0.812, None, 0.10, "none", None),
    ("round 1", 0.71, 0.853, None, 0.92, "none", "l2 1"),
    ("noise 4", 0.62, 0.790, Guarantee(4.0, 1e-5, rests_on="the seed stays secret"), 0.4, "not refuted", "l2 1"),
    ("pate 1", 0.58, 0.805, Guarantee(0.2, 0.0, "swap", "answers"), 0.3, "in doubt", None),
    ("dp-sgd 1", 0.68, 0.801, Guarantee(0.25, 1e-5, "added or removed"), 0.8, "refuted", "l2 1"),
)
CANDIDATES = {"use": "l2 1", "utility_limit": "l2 1", "untested": "l2 10"}


def sample_comparison(kind: Any = "use", versions: int = 7, explained: bool = False) -> Comparison:
    """Versions of a made-up model; the guarantee of the last one is refuted."""
    doubt = Caveat("leak_inconclusive") if kind == "inconclusive" else None
    candidate = CANDIDATES.get(kind)
    numbers = {"members": 600, "held out": 600, "judged": 600, "utility_loss": 0.01, "confidence": 0.95}
    found = Comparison(
        compared=tuple(_version(*row, explained) for row in VERSIONS[:versions]),
        verdict=Verdict("inconclusive" if doubt else "leaks"),
        recommendation=Recommendation(kind, candidate if kind == "use" else None, candidate, doubt),
        utility_limit=0.01,
        faithfulness_limit=0.01,
        settings={"model": "model", "task": "classification", **numbers},
    )
    return replace(found, claims=tuple(comparison_claims(found)))


def _version(
    name: str, auc: float, accuracy: float, guarantee: Any, epsilon: float, status: Any, by: Any, explained: bool
) -> Version:
    first, lost = name == "as it is", accuracy - VERSIONS[0][2]
    change = exact(0.0) if first else around(lost, 0.004)
    risk = around(auc, 0.02)
    attacks = [AttackOnVersion(attack, "labels", risk, {}, around(0.5, 0.02), knows) for attack, knows in (("tree", ""), ("lira", "references"))]  # type: ignore[arg-type]  # fmt: skip
    faithful = MetricChange(
        "faithfulness of gradient", "more", around(0.4, 0.03), exact(0.0) if first else around(-0.04, 0.01)
    )
    return Version(
        name=name, defense="" if first else name.split()[0], setting_name="λ", setting=1, what="does something", source="Somebody 2020",
        changes="nothing" if first else "training", risk=Largest(risk, around(2 * auc - 1, 0.03), risk, {}),
        strongest="lira on labels", control=around(0.5, 0.02), control_kind="never trained", attacks=tuple(attacks),
        risk_change=None if first else around(auc - VERSIONS[0][1], 0.02),
        utility={"accuracy": MetricChange("accuracy", "more", around(accuracy, 0.009), change)},
        groups=(GroupUtility("race", "small", 60, "accuracy", "more", around(accuracy, 0.01), change),),
        faithfulness=(faithful,) if explained else (), retrained=None, guarantee=guarantee, epsilon=exact(epsilon),
        guarantee_status=status, notes=(), dominated_by=by, significantly_dominated_by=by, pareto_optimal=by is None,
    )  # fmt: skip


# --- dominance --------------------------------------------------------------------------------------------------------


def rivals(
    risks: Any, qualities: Any, limits: Any = (0.01,), alike: Any = None, deviation: float = 0.01
) -> RivalVersions:
    """Versions with one attack each, all differences of risk with the same standard error; a number is a quality of 400 records."""
    count, noise = len(risks), np.random.default_rng(0).normal(0, 0.01, 400)
    paired = PairedAucs(np.array(risks), deviation * (1 - np.eye(count)), 2.0, 1e-4, 0.95, 400)
    values = [[one + noise] if np.isscalar(one) else one for one in qualities]
    return RivalVersions(paired, [[place] for place in range(count)], values, 0.05, limits, alike or range(count))


def test_dominance_by_values_and_by_intervals():
    """0.1 apart with an error of 0.01 each is significant; 0.01 apart is not."""
    assert rivals([0.6, 0.5, 0.55, 0.6], [0.8, 0.8, 0.9, 0.8]).dominating() == [1, None, None, 1]
    assert rivals([0.6, 0.6 - 1e-12], [0.8, 0.8]).dominating() == [None, None]
    for risks, qualities, deviation, expected in (
        ([0.6, 0.5], [0.8, 0.8], 0.01, [1, None]),
        ([0.51, 0.5], [0.8, 0.8], 0.01, [None, None]),
        ([0.5, 0.5], [0.8, 0.9], 0.01, [1, None]),  # a better utility, with a risk significantly within the margin
        ([0.5, 0.5], [0.8, 0.9], 0.1, [None, None]),
        ([0.6, 0.5], [0.8, 0.7], 0.01, [None, None]),  # less risk at too large a loss of utility
    ):
        assert rivals(risks, qualities, deviation=deviation).significantly_dominating() == expected


def test_equal_right_answers_are_exact_only_where_they_are_the_same_by_construction():
    """Both are right about the same 400 people: of others a share of 1 - 0.025^(1/400) = 0.009 may still be lost."""
    right = [(np.arange(400) % 5 > 0).astype(float)]
    for alike, expected in (([0, 0], [1, None]), ([0, 1], [None, None])):
        assert rivals([0.6, 0.5], [right, right], (0.008,), alike).significantly_dominating() == expected


def test_every_quality_has_its_own_limit():
    flat, noisy = np.zeros(400), np.random.default_rng(1).normal(size=400)
    worse = rivals([0.6, 0.5], [[flat, flat], [flat, flat - 1]], (0.01, 0.01))
    assert worse.dominating() == worse.significantly_dominating() == [None, None]
    unsure = [[flat, flat], [flat, noisy - noisy.mean() + 1e-3]]  # as good by values, and worse by less than about 0.1
    for limits, expected in (((0.02, 1.0), [1, None]), ((1.0, 1e-4), [None, None])):
        assert rivals([0.6, 0.5], unsure, limits).significantly_dominating() == expected


# --- recommendations --------------------------------------------------------------------------------------------------

LOWER, KEPT = (-0.1, -0.2, -0.05), (0.0, -0.005, 0.005)


@pytest.mark.parametrize(
    ("lowered", "lost", "options", "kind"),
    [
        (LOWER, KEPT, {}, "use"),
        (LOWER, (0.0, -0.02, 0.02), {}, "utility_limit"),
        (LOWER, (0.0, -0.02, 0.02), {"limit": 0.03}, "use"),
        ((-0.1, -0.2, 0.01), KEPT, {}, "not_lowered"),
        (LOWER, KEPT, {"status": "refuted"}, "not_lowered"),
        (LOWER, KEPT, {"leaks": False}, "nothing_to_lower"),
        (LOWER, KEPT, {"doubt": Caveat("leak_inconclusive")}, "inconclusive"),
        (LOWER, KEPT, {"references": False}, "untested"),
        ((-0.1, -0.2, 0.01), KEPT, {"references": False}, "not_lowered"),
        (LOWER, (-9.0, -9.9, -8.0), {"limit": 1e6}, "use"),  # squared dollars
        (LOWER, (-9.0, -9.9, -8.0), {"limit": 1e6, "explained": True}, "utility_limit"),  # but not their explanations
    ],
)
def test_a_version_is_recommended_only_if_intervals_allow_it(lowered, lost, options, kind):
    explained, references = options.pop("explained", False), options.pop("references", True)
    first, other = sample_comparison(versions=2, explained=explained).compared
    utility = {"accuracy": MetricChange("accuracy", "more", Estimate(0.8, 0.7, 0.9), Estimate(*lost))}
    attacks = other.attacks if references else other.attacks[:1]
    status, limit = options.pop("status", "none"), options.pop("limit", 0.01)
    other = replace(other, risk_change=Estimate(*lowered), utility=utility, guarantee_status=status, attacks=attacks)
    found = recommend([first, other], (limit, 0.01), **options)
    assert (found.kind, found.version) == (kind, "l2 1" if kind == "use" else None)
    assert recommend([first], (limit, 0.01)).kind == "not_lowered"  # alone there is nothing to compare


def test_of_several_versions_the_least_risky_is_chosen_or_the_one_that_loses_least():
    """AUCs of 0.60 and 0.56 at losses of 0.003 and 0.041; the least loss decides where all exceed the limit."""
    versions = sample_comparison(versions=3).compared
    assert recommend(versions, (0.1, 0.1)).version == "l2 10"
    assert recommend(versions, (1e-4, 0.1)).candidate == "l2 1"
    without_references = [replace(version, attacks=version.attacks[:1]) for version in versions]
    assert recommend(without_references, (0.1, 0.1)).candidate == "l2 10"


# --- claims -----------------------------------------------------------------------------------------------------------


def outcomes(found, code):
    return {claim.subject.get("version"): claim.outcome for claim in found.claims if claim.code == code}


def test_claims_follow_the_intervals():
    found = sample_comparison()
    assert found.claims[0].code == "leak"
    assert [name for name, outcome in outcomes(found, "risk_lowered").items() if outcome != "yes"] == ["round 1"]
    kept = outcomes(found, "utility_kept")  # of l2 1, the accuracy changes by -0.003 [-0.007, 0.001]
    assert (kept["l2 1"], kept["l2 10"]) == ("yes", "no")
    faithful = outcomes(sample_comparison(explained=True), "utility_kept")  # -0.04 [-0.05, -0.03] of faithfulness
    assert faithful["l2 1"] == "no"
    refuted = {None: "yes", "noise 4": "no", "pate 1": "inconclusive", "dp-sgd 1": "yes"}
    assert outcomes(found, "guarantee_refuted") == refuted
    assert [version.name for version in found.refuted] == ["dp-sgd 1"]
    dominated = {name for name, outcome in outcomes(found, "dominated").items() if outcome == "yes"}
    assert dominated == {"round 1", "noise 4", "dp-sgd 1"}
    assert list(outcomes(found, "group_utility_lost")) == ["l2 10", "noise 4", "pate 1", "dp-sgd 1"]


def test_where_something_else_may_explain_the_risk_no_change_of_it_is_claimed():
    found = sample_comparison("inconclusive")
    assert set(outcomes(found, "risk_lowered").values()) == {"inconclusive"}
    assert found.claim("recommended").outcome == found.claim("leak").outcome == "inconclusive"


# --- the document -----------------------------------------------------------------------------------------------------


def test_a_refuted_guarantee_comes_first():
    refuted, kept = (document(sample_comparison(versions=versions)).answer for versions in (7, 6))
    assert (refuted.tone, kept.tone) == ("risk", "safe")
    assert refuted.sentences[0] == kept.headline
    assert len(comparison.advise(sample_comparison())) == 2


@pytest.mark.parametrize("kind", [*CANDIDATES, "not_lowered", "nothing_to_lower", "inconclusive"])
def test_only_the_recommended_version_is_tagged_so(kind):
    made = document(sample_comparison(kind, versions=6))
    (table,) = (block for block in walk(made.blocks) if isinstance(block, Table) and block.title == "Versions")
    assert [row.cells[0] for row in table.rows if row.tag == "recommended"] == (["2 l2 1"] if kind == "use" else [])


def test_the_chart_has_every_version_and_highlights_pareto_optimal_ones():
    (chart,) = document(sample_comparison()).charts()
    assert [mark.label for series in chart.series for mark in series.marks] == [
        "1 as it is", "2 l2 1", "3 l2 10", "4 round 1", "5 noise 4", "6 pate 1", "7 dp-sgd 1",
    ]  # fmt: skip
    assert chart.highlighted == ("1 as it is", "2 l2 1", "3 l2 10", "6 pate 1")


@pytest.mark.parametrize(("better", "side"), [("more", "right"), ("less", "left")])
def test_the_axis_names_the_side_that_is_better(better, side):
    found = sample_comparison()
    first = replace(found.as_it_is, utility={"loss": replace(found.as_it_is.main, better=better)})
    assert side in document(replace(found, compared=(first, *found.compared[1:]))).charts()[0].x.label
