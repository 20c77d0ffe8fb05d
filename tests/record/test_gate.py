"""Conditions, policies and the gate: three outcomes, drawn from a record."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import sample_audit, with_claims, with_names

import leakscope as ls
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate, largest
from leakscope.core.result import NotRun
from leakscope.evaluation.results import Bound, Extra, Largest, ReleaseRisk
from leakscope.evaluation.verdict import largest_figures
from leakscope.record.conditions import Condition, Scope, audit_scope, parse_condition
from leakscope.record.junit import check_junit, junit_xml
from leakscope.record.policy import make_policy

SAMPLE = sample_audit()
SCOPE = Scope.of(SAMPLE)


def released(release, auc):
    """The strongest attack on a release, all of its figures alike."""
    largest = Largest(auc, auc, auc, {0.1: auc})
    return ReleaseRisk(release, "an attack", auc, auc, auc, {0.1: auc}, "permuted", auc, None, None, auc, largest)


def judged(text, estimate):
    """The outcome of a condition on the AUC where the AUC is this."""
    one = replace(SAMPLE.claims[0], estimates={"auc": estimate})
    return parse_condition(text).judge(replace(SAMPLE, claims=(one,))).outcome


def upper(number):
    return Estimate(number, 0.0, number, kind="upper bound")


def lower(number):
    return Estimate(number, number, 1.0, kind="lower bound")


@pytest.mark.parametrize(
    "text",
    [
        "auc.high > 0.6", "advantage>=0.1", " accuracy.low<0.5 ", "tpr_at_fpr[0.01].high <= 0.05", "group_gap.value > 1e-1",
        "largest_group.auc > 0.6", "largest_group . auc .high > 0.6", "labels: auc.high > 0.6", "bound > 0.1",
        "smoothgrad:sigma=0.1:samples=20:auc > 0.6", "verdict = leaks", "verdict=='cannot tell'", 'verdict != "not_detected"',
    ],
)  # fmt: skip
def test_conditions_are_read(text):
    assert parse_condition(text).text == text.strip()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *((text, "cannot read") for text in ("", "auc", "auc = 0.6", "0.6 < auc", "verdict = \"leaks'")),
        ("auc = high", "unknown outcome"),
        ("auc.middle > 0.6", "unknown part"),
        ("auc[0.1] > 0.6", "with tpr_at_fpr"),
        ("tpr_at_fpr > 0.6", "with tpr_at_fpr"),
        ("tpr_at_fpr[x] > 0.6", "not a number"),
        ("auc > high", "not a number"),
        ("auc > inf", "not a number"),
        ("auc.__class__ > 0", "unknown part"),
        (": auc > 0", "before the colon"),
        ("verdict > 0.6", "not a number"),
        ("verdict = maybe", "unknown verdict"),
        (None, "must be a text"),
    ],
)
def test_unknown_conditions_are_bad_input(text, says):
    with pytest.raises(InputError, match=says):
        parse_condition(text)


words = st.sampled_from(
    ["auc", "verdict", "tpr_at_fpr", "group_gap", "bound", "labels", ".", ".high", "[", "]", "0.1", ">", "<=", "=", "!=",
     ":", " ", "\n", '"', "leaks", "not_detected", "nan", "1e999", "\ud800"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(words, max_size=8).map("".join)))
def test_any_text_is_a_condition_or_bad_input(text):
    try:
        condition = parse_condition(text)
        condition.check(SCOPE)
    except InputError:
        return
    assert condition.judge(SAMPLE).outcome in ("failed", "passed", "uncertain")
    assert parse_condition(condition.text) == condition


# The AUC is 0.7 [0.6, 0.8]: where does the limit lie, and what does each sign make of it?
@pytest.mark.parametrize(
    ("limit", "above", "at_least", "below", "at_most"),
    [
        (0.5, "failed", "failed", "passed", "passed"),
        (0.6, "uncertain", "failed", "passed", "uncertain"),
        (0.7, "uncertain", "uncertain", "uncertain", "uncertain"),
        (0.8, "passed", "uncertain", "uncertain", "failed"),
        (0.9, "passed", "passed", "failed", "failed"),
    ],
)
def test_without_a_part_the_whole_interval_decides(limit, above, at_least, below, at_most):
    auc = Estimate(0.7, 0.6, 0.8)
    found = [judged(f"auc {sign} {limit}", auc) for sign in (">", ">=", "<", "<=")]
    assert found == [above, at_least, below, at_most]


@pytest.mark.parametrize("part", ["value", "low", "high"])
def test_with_a_part_that_number_alone_decides(part):
    auc = Estimate(0.7, 0.6, 0.8)
    number = getattr(auc, part)
    assert judged(f"auc.{part} >= {number!r}", auc) == "failed"
    assert judged(f"auc.{part} <= {number!r}", auc) == "failed"
    assert judged(f"auc.{part} > {number!r}", auc) == "passed"
    assert judged(f"auc.{part} < {number!r}", auc) == "passed"


@pytest.mark.parametrize(
    ("condition", "bound", "outcome"),
    [
        ("auc > 0.05", upper(0.2), "uncertain"),
        ("auc > 0.05", upper(0.03), "passed"),
        ("auc < 0.05", upper(0.03), "failed"),
        ("auc.high > 0.05", upper(0.2), "failed"),
        ("auc.high > 0.05", upper(0.03), "passed"),
        ("auc.value > 0.05", upper(0.2), "uncertain"),
        ("auc.low > 0.05", upper(0.2), "uncertain"),
        ("auc.low < 0.05", upper(0.2), "uncertain"),
        ("auc.low > 0.05", upper(0.03), "passed"),
        ("auc > 0.05", lower(0.2), "failed"),
        ("auc > 0.05", lower(0.03), "uncertain"),
        ("auc < 0.05", lower(0.2), "passed"),
        ("auc.low > 0.05", lower(0.03), "passed"),
        ("auc.value > 0.05", lower(0.03), "uncertain"),
        ("auc.high > 0.05", lower(0.03), "uncertain"),
        ("auc.high > 0.05", lower(0.2), "failed"),
        ("auc > 0.05", Estimate(0.2, 0.2, 0.2, kind="exact"), "failed"),
        ("auc >= 0.2", Estimate(0.2, 0.2, 0.2, kind="exact"), "failed"),
        ("auc > 0.2", Estimate(0.2, 0.2, 0.2, kind="exact"), "passed"),
    ],
)
def test_nothing_is_assumed_beyond_a_bound(condition, bound, outcome):
    assert judged(condition, bound) == outcome


@given(
    ends=st.tuples(*[st.floats(-1, 1)] * 3).map(sorted),
    limit=st.floats(-1, 1),
    sign=st.sampled_from([">", ">=", "<", "<="]),
)
def test_uncertain_is_where_the_two_ends_disagree(ends, limit, sign):
    """A condition and its opposite can't both fail, nor both pass; they are uncertain together."""
    opposite = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}[sign]
    auc = Estimate(ends[1], ends[0], ends[2])
    pair = {judged(f"auc {one} {limit!r}", auc) for one in (sign, opposite)}
    assert pair in ({"failed", "passed"}, {"uncertain"})
    low, high = (judged(f"auc.{part} {sign} {limit!r}", auc) for part in ("low", "high"))
    assert judged(f"auc {sign} {limit!r}", auc) == (low if low == high else "uncertain")


@pytest.mark.parametrize(
    ("condition", "leaks", "no_evidence", "cannot_tell"),
    [
        ("verdict = leaks", "failed", "passed", "uncertain"),
        ("leak = yes", "failed", "passed", "uncertain"),
        ("probabilities: leak = yes", "failed", "passed", "uncertain"),
        ("verdict != leaks", "passed", "failed", "uncertain"),
        ('verdict = "not_detected"', "passed", "failed", "uncertain"),
        ('verdict != "not detected"', "failed", "passed", "failed"),
        ('verdict = "inconclusive"', "passed", "passed", "failed"),
    ],
)
def test_conditions_on_the_verdict(condition, leaks, no_evidence, cannot_tell):
    audits = [sample_audit(kind) for kind in ("leaks", "not_detected", "inconclusive")]
    found = [parse_condition(condition).judge(audit).outcome for audit in audits]
    assert found == [leaks, no_evidence, cannot_tell]


@pytest.mark.parametrize(
    "text", ["tpr_at_fpr[0.02] > 0", "roc > 0.6", "group_gap > 0", "extra > 0", "lrp: auc > 0", "bounded_by = yes"]
)
def test_what_an_audit_will_not_have_is_refused_before_it_is_run(text):
    scope = audit_scope(("labels", "gradient"), groups=False, explanations=False)
    with pytest.raises(InputError, match=re.escape(text)):
        parse_condition(text).check(scope)
    Condition.parse("labels: auc > 0").check(scope)


def test_a_release_is_looked_up_by_its_name():
    audit = with_claims(
        sample_audit(),
        by_release=(released("labels", Estimate(0.5, 0.4, 0.6)), released("gradient:top=5", Estimate(0.8, 0.7, 0.9))),
        not_run=(NotRun("lrp", "any", "the model has no layers"),),
    )
    assert Condition.parse("labels: auc > 0.65").judge(audit).outcome == "passed"
    assert Condition.parse("gradient:top=5: auc > 0.65").judge(audit).outcome == "failed"
    missing = Condition.parse("lrp: auc > 0.65").judge(audit)
    assert (missing.outcome, missing.estimate) == ("uncertain", None)
    assert "the model has no layers" in missing.reason


def test_no_attack_is_overlooked_that_is_strong_at_a_low_rate_only():
    weak = replace(SAMPLE.risks[0], auc=Estimate(0.51, 0.49, 0.53), tpr_at_fpr={0.01: Estimate(0.3, 0.25, 0.35)})
    strong = replace(SAMPLE.strongest, tpr_at_fpr={0.01: Estimate(0.02, 0.01, 0.03)})
    audit = with_claims(SAMPLE, strongest=strong, largest=largest_figures([weak, strong]), by_release=())
    assert Condition.parse("tpr_at_fpr[0.01].low > 0.2").judge(audit).outcome == "failed"


def test_a_group_gap_is_the_largest_that_any_group_can_have():
    audit = sample_audit()
    gaps = [group.gap for group in audit.strongest.by_group]
    highest = max(gap.high for gap in gaps)
    assert Condition.parse(f"group_gap.high >= {highest!r}").judge(audit).outcome == "failed"
    assert Condition.parse(f"group_gap.high > {highest!r}").judge(audit).outcome == "passed"
    none = Condition.parse("group_gap > 0").judge(sample_audit(groups=False))
    assert (none.outcome, none.estimate) == ("uncertain", None)


def test_groups_that_are_too_small_are_not_spoken_for_by_others():
    audit = with_claims(SAMPLE, settings=SAMPLE.settings | {"groups": ["race", "sex", "town"]})
    for condition in ("group_gap.high > 0.9", "largest_group.auc.high > 0.99"):
        assert Condition.parse(condition).judge(SAMPLE).outcome == "passed"
        assert Condition.parse(condition).judge(audit).outcome == "uncertain"
    assert Condition.parse("group_gap.high > 0").judge(audit).outcome == "failed"


def test_the_largest_auc_of_a_group_is_judged_by_its_ends():
    audit = sample_audit()
    found = audit.largest.group_auc
    assert Condition.parse(f"largest_group.auc.low >= {found.low!r}").judge(audit).outcome == "failed"
    assert Condition.parse(f"largest_group.auc.high > {found.high!r}").judge(audit).outcome == "passed"
    assert Condition.parse(f"largest_group.auc > {found.value!r}").judge(audit).outcome == "uncertain"
    none = Condition.parse("largest_group.auc > 0.5").judge(sample_audit(groups=False))
    assert (none.outcome, none.estimate) == ("uncertain", None)


def test_the_largest_of_numbers_lies_where_all_intervals_let_it():
    gaps = [Estimate(0.05, 0.04, 0.06), Estimate(0.04, 0.01, 0.07), Estimate(-0.2, -0.3, -0.1)]
    found = largest(gaps)
    assert (found.value, found.low, found.high) == (0.05, 0.04, 0.07)
    assert largest(gaps[:1]) == gaps[0]


def test_extra_is_that_of_the_explanation_that_adds_the_most():
    small, wide = (
        Extra(name, "probabilities", Estimate(value, value - half, value + half), *[Estimate(0, 0, 0)] * 3, None, None)
        for name, value, half in (("gradient", 0.05, 0.01), ("lrp", 0.04, 0.03))
    )
    audit = with_claims(sample_audit(), extras=(small, wide))
    assert Condition.parse("extra.value >= 0.05").judge(audit).outcome == "failed"
    assert Condition.parse("extra.high > 0.065").judge(audit).outcome == "failed"
    assert Condition.parse("extra.low > 0.045").judge(audit).outcome == "passed"
    assert ls.gate(sample_audit(), "extra > 0").conditions[0].outcome == "uncertain"


def test_the_bound_is_the_smallest_that_was_promised():
    audit = sample_audit()
    assert Condition.parse("bound > 0.3").judge(audit).outcome == "uncertain"
    contradicted = with_claims(audit, bounds=(Bound(upper(0.2), "", contradicted=True),))
    assert Condition.parse("bound > 0.3").judge(contradicted).outcome == "uncertain"
    audit = with_claims(audit, bounds=tuple(Bound(upper(most), "") for most in (0.46, 0.2)))
    assert Condition.parse("bound > 0.3").judge(audit).outcome == "passed"
    assert Condition.parse("bound > 0.1").judge(audit).outcome == "failed"
    assert Condition.parse("bound.high > 0.1").judge(audit).outcome == "failed"


def test_a_rate_that_was_not_measured_is_refused():
    with pytest.raises(InputError, match=r"tpr_at_fpr\[0\.1\]"):
        ls.gate(sample_audit(), "tpr_at_fpr[0.5] > 0.5")


# --- the gate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "conditions", "choice", "outcome"),
    [
        ("leaks", ["auc > 0.99"], "fail", "passed"),
        ("leaks", ["auc > 0.99", "auc > 0.5"], "pass", "failed"),
        ("leaks", ["tpr_at_fpr[0.001] > 0"], "fail", "failed"),
        ("leaks", ["tpr_at_fpr[0.001] > 0"], "pass", "passed"),
        ("inconclusive", ["auc > 0.99"], "fail", "failed"),
        ("inconclusive", ["auc > 0.99"], "pass", "passed"),
        ("inconclusive", ["verdict = leaks"], "fail", "failed"),
        ("inconclusive", ["verdict = leaks"], "pass", "passed"),
        ("inconclusive", ["verdict = 'cannot tell'"], "pass", "failed"),
        ("not_detected", ["verdict = leaks", "auc > 0.6"], "fail", "passed"),
    ],
)
def test_uncertain_fails_or_passes_by_choice(kind, conditions, choice, outcome):
    result = ls.gate(sample_audit(kind), conditions, on_uncertain=choice)
    assert result.outcome == outcome
    assert result.as_dict()["outcome"] == outcome
    failures = ElementTree.fromstring(junit_xml(result, sample_audit(kind))).findall(".//failure")
    assert bool(failures) == (outcome == "failed")


def test_an_audit_that_cannot_tell_is_an_entry_of_its_own_unless_a_condition_asks():
    audit = sample_audit("inconclusive")
    (first, told) = ls.gate(audit, "auc > 0.99").conditions
    assert (first.outcome, told.outcome) == ("passed", "uncertain")
    assert told.reason == "leak is inconclusive"
    assert len(ls.gate(audit, "verdict = leaks").conditions) == 1


def test_the_gate_as_data_has_the_number_of_each_condition():
    (condition,) = ls.gate(SAMPLE, "advantage > 0.1").as_dict()["conditions"]
    assert set(condition) == {"condition", "outcome", "estimate", "because", "reason"}
    assert condition["estimate"]["low"] == SAMPLE.largest.advantage.low


def test_a_result_without_claims_is_refused():
    with pytest.raises(InputError, match="claims"):
        ls.gate(replace(SAMPLE, claims=(), basis=None), "auc > 0.6")


# --- the policy -----------------------------------------------------------------------------------------------------


def write(folder, text):
    path = folder / "policy.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_policy_is_read_and_the_option_wins(tmp_path):
    tables = (
        'on_uncertain = "pass"\n[[fail_if]]\ncondition = "auc > 0.6"\nbecause = "it is public"\n'
        '[[fail_if]]\ncondition = "verdict = leaks"\n'
    )
    policy = make_policy("auc>0.60", write(tmp_path, tables))
    assert [(rule.condition.text, rule.because) for rule in policy.rules] == [
        ("auc>0.60", "it is public"),
        ("verdict = leaks", ""),
    ]
    assert policy.on_uncertain == "pass"
    assert make_policy((), tmp_path / "policy.toml", "fail").on_uncertain == "fail"
    result = ls.gate(sample_audit(), policy=tmp_path / "policy.toml")
    assert "it is public" in str(result)
    plain = make_policy((), write(tmp_path, 'fail_if = ["auc > 0.6", {condition = "auc > 0.7", because = "why"}]'))
    assert [rule.because for rule in plain.rules] == ["", "why"]
    assert plain.on_uncertain == "fail"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no condition"),
        ("fail_if = []", "no condition"),
        ("on_uncertain = 'pass'", "no condition"),
        ("fail_if = 'auc > 0.6'", "fail_if .* must be a list"),
        ("fail_if = [3]", "condition of fail_if 1"),
        ("fail_if = [['auc > 0.6']]", "condition of fail_if 1"),
        ("fail_if = ['auc > 0.6', 'auc.middle > 1']", "fail_if 2 .* unknown part"),
        ("[[fail_if]]\nbecause = 'x'", "condition of fail_if 1"),
        ("[[fail_if]]\ncondition = 'auc > 1'\nbecause = 3", "because of fail_if 1 .* text"),
        ("[[fail_if]]\ncondition = 'auc > 1'\nwhy = 'x'", "unknown key 'why': use condition and because"),
        ("fail_when = ['auc > 1']", "unknown key 'fail_when': use on_uncertain and fail_if"),
        ("on_uncertain = 'maybe'\nfail_if = ['auc > 1']", "on_uncertain .* must be fail or pass, not maybe"),
        ("on_uncertain = []\nfail_if = ['auc > 1']", "must be fail or pass"),
        ("on_uncertain = fail", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        ("fail_if = " + "[" * 100_000, "is not TOML"),
    ],
)
def test_a_policy_that_is_none_says_which_file_and_key(tmp_path, text, says):
    with pytest.raises(InputError, match=says) as error:
        make_policy((), write(tmp_path, text))
    assert "policy.toml" in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_no_policy_and_no_condition_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="--fail-if"):
        ls.gate(sample_audit())
    with pytest.raises(InputError, match=r"none\.toml"):
        make_policy((), tmp_path / "none.toml")
    with pytest.raises(InputError, match="pass"):
        ls.gate(sample_audit(), "auc > 1", on_uncertain="never")


# --- JUnit ----------------------------------------------------------------------------------------------------------


def test_junit_has_one_case_per_condition():
    audit = sample_audit()
    texts = ["auc.high > 0.6", "accuracy > 0.9", "tpr_at_fpr[0.001] > 0.0001"]
    for choice, failures, skipped in (("fail", 2, 0), ("pass", 1, 1)):
        root = ElementTree.fromstring(junit_xml(ls.gate(audit, texts, on_uncertain=choice), audit))
        (suite,) = root.findall("testsuite")
        assert suite.get("name") == "leakscope"
        assert [case.get("name") for case in suite.findall("testcase")] == texts
        assert {case.get("classname") for case in suite.findall("testcase")} == {audit.target.model}
        assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", str(failures), str(skipped))
        assert len(suite.findall("testcase/failure")) == failures
        assert len(suite.findall("testcase/skipped")) == skipped
        assert "0.6" in suite.find("testcase/failure").get("message")
        properties = {item.get("name"): item.get("value") for item in suite.findall("properties/property")}
        assert properties["seed"] == "0"
        assert properties["version"] == "0.1.0"
        assert properties["created"] == audit.created


@given(st.text(st.characters(), max_size=60))
def test_any_name_can_stand_in_junit(name):
    audit = with_names(SAMPLE, name)
    result = ls.gate(audit, "auc > 0.6", on_uncertain="pass")
    result = replace(result, conditions=tuple(replace(one, because=name, condition=name) for one in result.conditions))
    ElementTree.fromstring(junit_xml(result, audit))


@pytest.mark.parametrize(
    "name",
    ["\x00\x08\x1b", "\ud800 alone", "\ufffe\uffff", "]]>", '"><script>alert(1)</script>', "&amp;", "a" * 10_000],
)
def test_hostile_names_stay_text_in_junit(name):
    audit = with_names(SAMPLE, name)
    result = ls.gate(audit, "auc > 0.6")
    result = replace(result, conditions=tuple(replace(one, because=name, condition=name) for one in result.conditions))
    written = junit_xml(result, audit)
    root = ElementTree.fromstring(written)
    assert {element.tag for element in root.iter()} == {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure",
    }  # fmt: skip
    assert len(written) < 20_000


def test_junit_never_overwrites_an_audit(tmp_path):
    with pytest.raises(InputError, match=r"result\.json"):
        check_junit(tmp_path / "result.json")
    with pytest.raises(InputError, match="folder"):
        check_junit(tmp_path)
    check_junit(tmp_path / "new" / "gate.xml")
