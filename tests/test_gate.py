from dataclasses import replace

import pytest
from samples import sample_audit

from leakscope.errors import InputError
from leakscope.gate import Condition
from leakscope.results import Estimate, Extra


@pytest.mark.parametrize(
    "text",
    [
        "auc.high > 0.6",
        "advantage>=0.1",
        " accuracy.low<0.5 ",
        "tpr_at_fpr[0.01].high <= 0.05",
        "group_gap.value > 1e-1",
    ],
)
def test_conditions_are_read(text):
    assert Condition.parse(text).text == text.strip()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "can't read"),
        ("auc", "can't read"),
        ("auc = 0.6", "can't read"),
        ("0.6 < auc", "can't read"),
        ("roc > 0.6", "unknown figure"),
        ("auc.middle > 0.6", "unknown part"),
        ("auc[0.1] > 0.6", "goes with tpr_at_fpr"),
        ("tpr_at_fpr > 0.6", "goes with tpr_at_fpr"),
        ("tpr_at_fpr[x] > 0.6", "not a number"),
        ("auc > high", "not a number"),
        ("auc.__class__ > 0", "unknown part"),
    ],
)
def test_unknown_conditions_are_bad_input(text, says):
    with pytest.raises(InputError, match=says):
        Condition.parse(text)


def test_conditions_without_a_number_are_refused_before_the_audit():
    with pytest.raises(InputError, match="isn't measured"):
        Condition.parse("tpr_at_fpr[0.02] > 0").check((0.1, 0.01), groups=True)
    with pytest.raises(InputError, match="--groups"):
        Condition.parse("group_gap > 0").check((0.1,), groups=False)


def test_conditions_look_at_the_strongest_attack():
    audit = sample_audit()
    auc = audit.strongest.auc
    for part in ("value", "low", "high"):
        number = getattr(auc, part)
        assert Condition.parse(f"auc.{part} >= {number!r}").holds(audit)
        assert not Condition.parse(f"auc.{part} > {number!r}").holds(audit)
    rate = next(iter(audit.strongest.tpr_at_fpr))
    assert Condition.parse(f"tpr_at_fpr[{rate}].low >= 0").holds(audit)
    assert not Condition.parse("group_gap.high > 1").holds(audit)


def test_extra_is_that_of_the_explanation_that_adds_the_most():
    low, high = (
        Extra(
            name,
            "probabilities",
            Estimate(value, value - half, value + half),
            *[Estimate(0.0, 0.0, 0.0)] * 3,
            None,
            None,
        )
        for name, value, half in (("gradient", 0.05, 0.01), ("lrp", 0.04, 0.03))
    )
    audit = replace(sample_audit(), extras=(low, high))
    assert Condition.parse("extra >= 0.05").estimate(audit) == low.auc
    assert Condition.parse("extra.high > 0.06").estimate(audit) == high.auc
    assert Condition.parse("extra.high > 0.065").holds(audit)
    assert not Condition.parse("extra.low > 0.045").holds(audit)
    with pytest.raises(InputError, match="--releases"):
        Condition.parse("extra > 0").check((0.1,), groups=True, explanations=False)
    with pytest.raises(InputError, match="--releases"):
        Condition.parse("extra > 0").holds(sample_audit())
