"""Two audits compared: no change where there is none, a change where there is one, and words that anybody can trust."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import assert_same_output, check_refused, shown
from samples import around, sample_audit, with_claims
from scipy import stats

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.intervals import auc as auc_interval
from leakscope.core.intervals import difference, proportion
from leakscope.core.ranking import Ranking, split
from leakscope.core.result import Caveat
from leakscope.evaluation.exposed_records import most_exposed
from leakscope.evaluation.results import Audit, Control, Risk
from leakscope.evaluation.risk import score
from leakscope.studies.diff import Diff, diff
from leakscope.studies.diff.changes import SIGNED, at_confidence, change_of_one, change_of_strongest
from leakscope.studies.diff.facts import rank_correlation

N = 400
MEMBER = np.repeat([True, False], N)
BASE = replace(
    sample_audit(),
    records=pd.DataFrame({"id": ["ann"], "score": [0.5], "rank": [1]}),
    settings={"margin": 0.05},
    basis=None,  # these audits differ in single parts, which a record with a basis is refused for
    claims=(),
)


def measured(release: str, attack: str, scores: Any, unseen: Any) -> Risk:
    """A risk whose figures come from scores, as in an audit; ``unseen`` are those of the control."""
    figures, control = (score(values, MEMBER, fprs=(0.1,)) for values in (scores, unseen))
    values = {name: getattr(figures, name) for name in ("auc", "advantage", "accuracy", "tpr_at_fpr")}
    values["control"] = Control("never trained", control.auc, control.advantage, control.tpr_at_fpr)
    return replace(BASE.risks[0], release=release, attack=attack, by_group=(), blind=None, beyond_blind=None, **values)


def audit_of(
    shifts: dict[tuple[str, str], float], rng: np.random.Generator, *, shared: float = 0.8, data: float = 0.0
) -> Audit:
    """An audit of fresh records: members score higher by ``shift``, and attacks see mostly the same noise.

    By ``data`` members score higher whether or not they were trained on.
    """
    noise, rest = rng.normal(size=2 * N), np.sqrt(1 - shared**2)

    def see(shift: float) -> Any:
        return shared * noise + rest * rng.normal(size=2 * N) + shift * MEMBER

    risks = [measured(*name, see(shift + data), see(data)) for name, shift in shifts.items()]
    return replace(BASE, risks=tuple(risks), strongest=risks[0])


def score_audit(
    rng: np.random.Generator, shift: float, data: float = 0.0, *, control: bool = False, random_split: bool = False
) -> Audit:
    """An audit of scores alone, of 150 members and as many others."""
    member = np.repeat([True, False], 150)
    scores, unseen = (rng.normal(size=300) + gain * member for gain in (shift + data, data))
    return ls.audit_scores(
        scores, member, control=unseen if control else None, random_split=random_split, seed=int(rng.integers(2**31))
    )


def outcomes(found: Diff) -> set[str]:
    return {change.outcome for release in found.releases for change in release.changes}


# --- noise and change -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shifts", "repeats"),
    [
        ({("labels", "one"): 0.7}, 200),
        ({("labels", "one"): 0.0, ("p", "one"): 0.3, ("p", "two"): 0.35, ("p", "three"): 1.5}, 100),
    ],
    ids=["one attack", "many attacks"],
)
def test_two_audits_of_one_model_rarely_differ(shifts: dict[tuple[str, str], float], repeats: int) -> None:
    rng = np.random.default_rng(1)
    false = sum(
        outcomes(diff(audit_of(shifts, rng), audit_of(shifts, rng))) != {"not_significant"} for _ in range(repeats)
    )
    assert false <= stats.binom.ppf(0.999, repeats, 0.05)


def test_the_choice_of_the_strongest_is_no_change() -> None:
    """One attack with a narrow interval, one slightly better with a wide one: chance decides which looks strongest."""
    rng, width, deviation, repeats = np.random.default_rng(2), 1.96 * 0.03, 0.03, 2000
    narrow = Estimate(0.6, 0.599, 0.601)
    false, naive = 0, 0
    for _ in range(repeats):
        old, new = (around(0.6 + width + deviation * rng.normal(), width) for _ in range(2))
        false += change_of_strongest("AUC", [(narrow, narrow), (old, new)], 0.95).outcome != "not_significant"
        picked = [max((narrow, vague), key=lambda one: one.low) for vague in (old, new)]
        gap = difference(picked[1], picked[0])
        naive += gap.low > 0 or gap.high < 0
    assert false / repeats <= 0.05
    assert naive / repeats > 0.2


@pytest.mark.parametrize(("before", "after", "kind"), [(0.0, 1.0, "increased"), (1.0, 0.0, "decreased")])
def test_a_real_change_is_found(before: float, after: float, kind: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        steady = {("labels", "one"): 0.1}
        found = diff(audit_of(steady | {("p", "one"): before}, rng), audit_of(steady | {("p", "one"): after}, rng))
        assert found.outcome == kind
        assert found.worse == (kind == "increased")
        assert found.releases[0].auc.outcome == "not_significant"


# --- the model, or the records ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [0.0, 0.5, 1.5, 3.0])
def test_another_holdout_is_no_change_of_the_model(leak: float) -> None:
    """Shifts that nobody sees in a control, those that everybody sees, and such that move the AUC further than the control."""
    rng, moved = np.random.default_rng(7), 0
    for before, after in ((0.0, 0.2), (-0.1, 0.1), (0.0, 1.0), (0.0, -1.0), (0.0, -leak), (0.0, -2 * leak), (-3, -2)):
        for _ in range(10):
            old, new = (audit_of({("p", "a"): leak}, rng, data=data) for data in (before, after))
            found = diff(old, new)
            assert found.outcome in ("not_significant", "shift_possible")
            assert not found.worse
            moved += found.outcome == "shift_possible"
    assert moved >= 30


@pytest.mark.parametrize("control", [True, False])
def test_another_holdout_of_scores_is_no_change_of_the_model(control: bool) -> None:
    rng, moved = np.random.default_rng(8), 0
    for _ in range(15):
        old = score_audit(rng, 0.4, control=control, random_split=not control)
        for data in (-1.2, 0.8):
            new = score_audit(rng, 0.4, data, control=control)
            found = diff(old, new)
            assert found.outcome in ("not_significant", "shift_possible")
            moved += found.outcome == "shift_possible"
    assert moved >= 10
    assert found.releases[0].doubt is not None
    assert found.releases[0].doubt.code in ("no_rival", "not_beyond_rival")


def test_real_changes_of_scores_are_found() -> None:
    rng = np.random.default_rng(9)
    for control in (True, False):
        old, new = (score_audit(rng, shift, control=control, random_split=not control) for shift in (0.0, 1.5))
        assert (diff(old, new).outcome, diff(new, old).outcome) == ("increased", "decreased")
    mixed = diff(score_audit(rng, 0.0, random_split=True), score_audit(rng, 1.5, control=True))
    assert (mixed.outcome, mixed.releases[0].doubt) == ("increased", None)


def test_a_holdout_from_elsewhere_with_a_model() -> None:
    """One model and one training set; near the border of the classes every record looks like a stranger."""
    from sklearn.linear_model import LogisticRegression

    rng, n = np.random.default_rng(0), 300
    X = rng.normal(size=(2 * n, 3))
    y = (X[:, 0] + rng.normal(size=2 * n) > 0).astype(int)
    model = LogisticRegression().fit(X[:n], y[:n])
    near = X[n:] * [0.1, 1, 1]
    elsewhere = near, (near[:, 0] + rng.normal(size=n) > 0).astype(int)
    for retrain, name in ((True, "beyond_control"), (False, "beyond_blind")):
        old, new = (
            ls.audit(model, (X[:n], y[:n]), holdout, retrain=retrain) for holdout in ((X[n:], y[n:]), elsewhere)
        )
        for found in (diff(old, new), diff(new, old)):
            assert found.outcome == "shift_possible"
            assert outcomes(found) <= {"shift_possible", "not_significant"}
            assert name in {change.figure for change in found.releases[1].beyond}
            assert not found.worse


def test_the_same_records_may_differ_from_each_other_and_a_change_is_found() -> None:
    """Both audits have a holdout that is off by as much as an AUC of 0.6: only where it is one holdout does that cancel."""
    rng = np.random.default_rng(10)
    old, new = (audit_of({("p", "a"): leak}, rng, data=0.36) for leak in (0.0, 1.0))
    assert diff(old, new).outcome == "shift_possible"
    prints = {"training records": "a", "held-out records": "b"}
    same = [replace(side, fingerprints=prints) for side in (old, new)]
    assert diff(*same).outcome == "increased"
    assert diff(*same[::-1]).outcome == "decreased"


def test_the_gate_lets_two_audits_of_one_model_pass() -> None:
    """Near the limit of the verdict, which then turns from audit to audit."""
    rng, repeats, worse, turned = np.random.default_rng(11), 40, 0, 0
    for _ in range(repeats):
        old, new = (score_audit(rng, 0.35, random_split=True) for _ in range(2))
        found = diff(old, new)
        worse += found.worse
        turned += (found.old_outcomes["leak"], found.new_outcomes["leak"]) == ("inconclusive", "yes")
    assert worse <= stats.binom.ppf(0.999, repeats, 0.05)
    assert turned > 4


def test_intervals_of_the_difference_cover_the_truth() -> None:
    rng, truth, repeats = np.random.default_rng(4), stats.norm.cdf(0.6 / np.sqrt(2)) - 0.5, 150
    covered = 0
    for _ in range(repeats):
        gain = diff(audit_of({("p", "a"): 0.0}, rng), audit_of({("p", "a"): 0.6}, rng)).releases[0].auc.difference
        covered += gain.low <= truth <= gain.high
    assert covered >= stats.binom.ppf(0.001, repeats, 0.95)


# --- stretching -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.97, 0.999, 0.99995])
def test_the_interval_of_an_auc_is_stretched_exactly(confidence: float) -> None:
    ranking = Ranking.of(split(np.random.default_rng(0).normal(0.8 * MEMBER, 1.0), MEMBER))
    stretched, exact = at_confidence(auc_interval(ranking), confidence), auc_interval(ranking, confidence)
    assert (stretched.low, stretched.high) == pytest.approx((exact.low, exact.high), abs=1e-12)


@pytest.mark.parametrize("hits", [0, 1, 20, 150, 299, 300])
@pytest.mark.parametrize("confidence", [0.99, 0.9995])
def test_the_interval_of_a_share_is_stretched_far_enough(hits: int, confidence: float) -> None:
    stretched, exact = at_confidence(proportion(hits, 300), confidence), proportion(hits, 300, confidence)
    slack = 0.06 * (exact.high - exact.low)
    assert stretched.low <= exact.low + slack
    assert stretched.high >= exact.high - slack


def test_stretching_stays_on_the_scale_and_never_shrinks() -> None:
    wide = at_confidence(Estimate(0.9, 0.3, 1.0), 0.9999, SIGNED)
    assert -1 <= wide.low < 0.3
    assert wide.high == 1.0
    sure = Estimate(0.5, 0.4, 0.6, confidence=0.9999)
    assert at_confidence(sure, 0.95) is sure
    assert at_confidence(Estimate(1.0, 1.0, 1.0, kind="exact"), 0.999).low == 1.0
    assert at_confidence(Estimate(5.0, 4.0, 6.0), 0.999, None).high == pytest.approx(5 + 3.2905 / 1.96, abs=1e-3)


def test_one_figure_in_both_audits() -> None:
    assert change_of_one("gap", around(0.0, 0.01), around(0.2, 0.01), 0.99, SIGNED).outcome == "increased"
    assert change_of_one("gap", around(0.2, 0.01), around(0.0, 0.01), 0.99, SIGNED).outcome == "decreased"
    assert change_of_one("gap", around(0.2, 0.3), around(0.0, 0.3), 0.99, SIGNED).outcome == "not_significant"


# --- what else changed ------------------------------------------------------------------------------------------------


def test_an_audit_is_not_unlike_itself() -> None:
    audit = replace(sample_audit(), fingerprints={"training records": "a", "held-out records": "b", "learner": "c"})
    found = diff(audit, audit)
    assert (found.outcome, found.worse) == ("not_significant", False)
    assert (found.changed_settings, found.changed_versions, found.attacks.added, found.caveats.gone) == ((), (), (), ())
    assert set(found.data.values()) == {True}
    assert [caveat.code for caveat in found.warnings] == ["same_records"]
    assert found.exposure is not None
    assert (found.exposure.newly_exposed, found.exposure.shared) == (0, 30_162)
    assert found.exposure.correlation is not None
    assert found.exposure.correlation.value == pytest.approx(1.0)


def test_every_comparison_is_paid_for() -> None:
    found = diff(sample_audit(), sample_audit())
    # Six attacks with AUC, advantage, two rates that the sample carries, and six groups; accuracy on two sets.
    assert found.comparisons == 6 * (2 + 2 + 6) + 2
    assert found.releases[0].auc.difference.confidence == pytest.approx(1 - 0.05 / 62)
    assert found.releases[0].bounds_only == (0.001,)


def test_attacks_of_one_audit_only_are_named_and_not_compared() -> None:
    old = sample_audit()
    new = replace(old, risks=(*old.risks, replace(old.risks[0], attack="new one", auc=around(0.99, 0.001))))
    found = diff(old, new)
    assert found.outcome == "not_significant"
    assert found.attacks.added == ("new one on labels",)


def test_groups_settings_warnings_and_versions() -> None:
    prints = {"training records": "a", "held-out records": "b"}
    old = replace(sample_audit(), fingerprints=prints)
    worse = tuple(
        replace(group, gap=around(0.5, 0.01)) if group.level == "Black" else group
        for group in old.strongest.by_group[1:]
    )
    risks = tuple(replace(risk, by_group=worse) if risk.attack == old.strongest.attack else risk for risk in old.risks)
    new = replace(
        old,
        risks=risks,
        strongest=replace(old.strongest, by_group=worse),
        warnings=(Caveat("constant_score"),),
        settings=old.settings | {"seed": 7},
        versions=old.versions | {"numpy": "9"},
    )
    found = diff(old, new)
    (risen,) = [claim for claim in found.claims if claim.outcome == "yes"]
    assert risen.subject == {"column": "race", "level": "Black", "figure": "gap"}
    assert risen.estimates["difference"].value == pytest.approx(0.5 - 0.07, abs=0.005)
    assert found.worse
    elsewhere = diff(old, replace(new, fingerprints=prints | {"held-out records": "c"}))
    assert (elsewhere.worse, elsewhere.maybe_worse) == (False, True)
    assert found.group_names.gone == ("race = White",)
    assert (found.caveats.added, "copies_in_holdout" in found.caveats.gone) == (("constant_score",), True)
    assert [(fact.name, fact.old, fact.new) for fact in found.changed_settings] == [("seed", "0", "7")]
    assert [fact.new for fact in found.changed_versions] == ["9"]
    assert max(map(len, str(found).splitlines())) <= 100


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"target": replace(BASE.target, task="regression")}, "other_task"),
        ({"settings": {"margin": 0.1}}, "other_margin"),
        ({"risks": (replace(BASE.risks[0], release="other"),)}, "no_common_attack"),
        (
            {"risks": tuple(replace(risk, auc=replace(risk.auc, confidence=0.9)) for risk in BASE.risks)},
            "other_confidence",
        ),
    ],
)
def test_what_can_not_be_compared_is_not(change: dict[str, Any], reason: str) -> None:
    found = diff(BASE, replace(BASE, **change))
    assert found.outcome == "not_comparable"
    assert [caveat.code for caveat in found.not_comparable] == [reason]
    assert found.releases == ()
    assert found.groups == ()


def test_a_verdict_that_turns_to_leaks_is_stated_and_is_not_worse() -> None:
    new = with_claims(sample_audit())
    old = with_claims(new, verdict=replace(new.verdict, kind="inconclusive"))
    found = diff(old, new)
    assert not found.worse
    assert (found.old_outcomes["leak"], found.new_outcomes["leak"]) == ("inconclusive", "yes")


def test_what_has_nothing_to_compare_is_refused() -> None:
    empty = replace(BASE, risks=(), claims=())
    for sides in ((BASE, empty), (empty, BASE)):
        with pytest.raises(InputError, match="compare"):
            diff(*sides)
    with pytest.raises(InputError, match="kind"):
        diff(BASE, diff(BASE, BASE))


# --- records ----------------------------------------------------------------------------------------------------------


def table(ids: list[Any], rng: np.random.Generator) -> pd.DataFrame:
    scores = pd.Series(rng.uniform(size=len(ids)))
    return pd.DataFrame({"id": ids, "score": scores, "rank": scores.rank(ascending=False).astype("int64")})


def test_row_numbers_name_the_same_people_only_if_the_records_are_the_same() -> None:
    rng = np.random.default_rng(0)
    old, other = (replace(BASE, records=table(list(range(50)), rng)) for _ in range(2))
    new = replace(other, fingerprints=BASE.fingerprints | {"training records": "new"})
    old = replace(old, fingerprints=BASE.fingerprints | {"training records": "old"})
    assert diff(old, new).exposure is None
    same = diff(old, replace(new, fingerprints=old.fingerprints)).exposure
    assert same is not None
    assert same.shared == 50
    named = [replace(side, records=table([f"p{at}" for at in range(50)], rng)) for side in (old, new)]
    found = diff(*named).exposure
    assert found is not None
    assert found.correlation is not None
    assert found.correlation.low < 0 < found.correlation.high


def test_records_that_share_the_last_rank_are_not_new() -> None:
    rng, ids = np.random.default_rng(0), [f"p{at}" for at in range(40)]
    tied = pd.DataFrame({"id": ids, "score": 0.5, "rank": 1})
    sharp = table(ids, rng)
    old, new = (replace(BASE, records=records, exposed=most_exposed(records)) for records in (tied, sharp))
    found = diff(old, new).exposure
    assert found is not None
    assert (found.newly_exposed, found.correlation) == (0, None)
    last = replace(BASE, records=sharp.iloc[::-1].assign(rank=41 - sharp["rank"], score=1 - sharp["score"]))
    turned = diff(new, replace(last, exposed=most_exposed(last.records))).exposure
    assert turned is not None
    assert turned.newly_exposed == 10
    assert turned.correlation is not None
    assert turned.correlation.value == pytest.approx(-1.0)


def test_the_interval_of_a_rank_correlation_covers_it() -> None:
    """Of normal pairs Spearman's correlation is 6/pi asin(r/2)."""
    rng, r, repeats = np.random.default_rng(5), 0.6, 1000
    truth, covered = 6 / np.pi * np.arcsin(r / 2), 0
    for _ in range(repeats):
        x = rng.normal(size=200)
        found = rank_correlation(x, r * x + np.sqrt(1 - r**2) * rng.normal(size=200), 0.95)
        assert found is not None
        covered += found.low <= truth <= found.high
    assert stats.binom.ppf(0.001, repeats, 0.95) <= covered
    assert rank_correlation(np.ones(20), np.arange(20.0), 0.95) is None
    assert rank_correlation(np.arange(5.0), np.arange(5.0), 0.95) is None


def test_records_that_changed_sides_are_told() -> None:
    swapped = {"training records": "b", "held-out records": "a"}
    old = replace(BASE, fingerprints={"training records": "a", "held-out records": "b"})
    assert [caveat.code for caveat in diff(old, replace(BASE, fingerprints=swapped)).warnings] == ["changed_sides"]


# --- the command --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder, rng = tmp_path_factory.mktemp("diff"), np.random.default_rng(6)
    for name, shift in (("calm", 0.0), ("leaky", 1.0)):
        audit_of({("p", "a"): shift}, rng).save(folder / name)
    replace(audit_of({("p", "a"): 0.0}, rng), settings={"margin": 0.2}).save(folder / "other")
    return folder


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    return shown(capsys, "diff", *arguments)


def test_the_command_gates_on_a_significant_increase(capsys: Any, folders: Any) -> None:
    calm, leaky, other = (folders / name for name in ("calm", "leaky", "other"))
    code, out, err = run(capsys, calm, leaky)
    assert (code, err) == (0, "")
    assert out.startswith("Risk increased.")
    code, out, err = run(capsys, calm, leaky, "--fail-if-worse", "--json")
    assert (code, err) == (1, "leakscope: worse: p, auc\n")
    assert json.loads(out)["outcome"] == "increased"
    assert run(capsys, leaky, calm, "--fail-if-worse")[0] == 0
    assert run(capsys, calm, other)[1].startswith("Not comparable.")
    code, out, err = run(capsys, calm, other, "--fail-if-worse")
    assert (code, out, err) == (2, "", "leakscope: can't determine whether it is worse: other margin\n")


def test_the_gate_does_not_pass_what_a_shift_may_explain(capsys: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    for name, data in (("old", 0.0), ("new", 1.5)):
        score_audit(rng, 0.3, data).save(tmp_path / name)
    old, new = tmp_path / "old", tmp_path / "new"
    code, out, err = run(capsys, old, new, "--fail-if-worse")
    assert (code, err.count("\n")) == (2, 1)
    assert out.startswith("Changed, cause unknown.")
    assert "scores, auc" in err
    assert run(capsys, new, old, "--fail-if-worse")[0] == 0


def test_the_command_writes_every_format(capsys: Any, folders: Any, tmp_path: Any) -> None:
    calm, leaky = folders / "calm", folders / "leaky"
    code, out, _ = run(capsys, calm, leaky, "--json")
    document = json.loads(out, parse_constant=pytest.fail)
    assert (code, document["kind"], document["outcome"]) == (0, "diff", "increased")
    same = ls.diff(ls.load(calm), ls.load(leaky)).as_dict()
    assert {**document, "created": ""} == {**json.loads(json.dumps(same, allow_nan=False)), "created": ""}
    for form in ("md", "html", "text", "csv"):
        code, out, _ = run(capsys, calm, leaky, "--format", form, "--out", tmp_path / "new" / f"diff.{form}")
        assert (code, out) == (0, f"written: {tmp_path / 'new' / f'diff.{form}'}\n")
    assert (tmp_path / "new" / "diff.md").read_text().startswith("# Changes between two results")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("calm", "nowhere"), "no result in"),
        (("calm", "leaky", "--format", "pdf"), "--format must be html, md, text, json or csv, not pdf"),
        (("calm", "leaky", "--json", "--format", "md"), "--json and --format md contradict each other"),
        (("calm", "leaky", "--out", "calm"), "is a folder"),
        (("calm", "leaky", "--out", "calm/result.json"), "is part of the result: name another file"),
        (("calm", "leaky", "--out", "leaky/table.csv"), "is part of the result: name another file"),
        (("calm", "leaky", "--out", "other/records.csv"), "is part of a saved result: name another file"),
    ],
)
def test_wrong_input_is_one_sentence(capsys: Any, folders: Any, arguments: tuple[str, ...], said: str) -> None:
    before = (folders / "calm" / "result.json").read_bytes()
    paths = [
        argument if argument[:2] == "--" or argument in ("pdf", "md") else folders / argument for argument in arguments
    ]
    check_refused(capsys, said, "diff", *paths)
    assert (folders / "calm" / "result.json").read_bytes() == before


def test_the_example_of_the_page_prints_what_the_page_shows(capsys: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "diff.md").read_text()
    example, expected = (page.split(f"```{kind}\n")[1].split("```")[0] for kind in ("python", "text"))
    exec(example, {})
    # Matrix products round differently on other processors: an end of an interval may be shown one hundredth away.
    assert_same_output(capsys.readouterr().out, expected, tolerance=0.0101)
