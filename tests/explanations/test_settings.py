"""The name of an explanation says all of it, and nothing that makes no sense can be asked for."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.errors import InputError
from leakscope.explanations import METHODS, FeatureExplanation, parse

NUMBERS = st.floats(0, 1e6, allow_nan=False, allow_subnormal=True)
COUNTS = st.integers(1, 10**6)
VALUES = {
    "output": st.sampled_from([None, "probability", "logit"]),
    "baseline": st.floats(-1e30, 1e30),
    "steps": st.integers(2, 10**6),
    "sigma": NUMBERS,
    "samples": COUNTS,
    "epsilon": st.floats(1e-300, 1e3),
    "noise": NUMBERS,
    "normalised": st.booleans(),
    "top": st.none() | COUNTS,
    "decimals": st.none() | st.integers(0, 15),
    "digits": st.none() | st.integers(1, 15),
    "seed": st.integers(0, 2**63),
}
OWN = {
    "gradient": (),
    "gradient_x_input": (),
    "integrated_gradients": ("baseline", "steps"),
    "smoothgrad": ("sigma", "samples"),
    "lrp": ("epsilon",),
    "deeplift": ("baseline",),
}
WRONG = [("noise", -0.1), ("top", 0), ("top", "many"), ("decimals", -1), ("digits", 0), ("seed", -1)]
ANY = ("noise", "normalised", "top", "decimals", "digits", "seed")


@st.composite
def explanations(draw: st.DrawFn) -> FeatureExplanation:
    method = draw(st.sampled_from(METHODS))
    names = [*OWN[method], *ANY, *(["output"] if method not in ("lrp", "deeplift") else [])]
    chosen = draw(st.lists(st.sampled_from(names), unique=True))
    settings = {name: draw(VALUES[name]) for name in chosen}
    if method != "smoothgrad" and not settings.get("noise"):
        settings.pop("seed", None)  # there is nothing to draw
    return FeatureExplanation(method, **settings)


def test_every_setting_is_covered_here() -> None:
    assert {item.name for item in dataclasses.fields(FeatureExplanation)} == {"method", *VALUES}
    assert set(OWN) == set(METHODS)


@given(explanations())
def test_the_name_is_read_back_as_the_same_explanation(how: FeatureExplanation) -> None:
    assert parse(how.name) == how
    assert parse(how.name).name == how.name
    assert eval(repr(how), {"FeatureExplanation": parse}) == how


@given(explanations())
def test_settings_may_stand_in_any_order(how: FeatureExplanation) -> None:
    method, *parts = how.name.split(":")
    assert parse(":".join([method, *reversed(parts)])) == how


def test_usual_settings_do_not_stand_in_the_name() -> None:
    assert [FeatureExplanation(method).name for method in METHODS] == list(METHODS)
    assert FeatureExplanation("smoothgrad", sigma=0.2, samples=50).name == "smoothgrad"
    assert parse("gradient:normalised").name == parse("gradient:normalised=True").name == "gradient:normalised"
    assert parse("gradient:normalised=False").name == "gradient"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("smoothgrad:sigma=1", "smoothgrad:sigma=1.0"),
        ("gradient:noise=2", " gradient : noise = 2.0 "),
        ("gradient", "gradient:output=probability"),
        ("lrp", "lrp:output=logit"),
    ],
)
def test_one_explanation_has_one_name(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert parse(one).name == parse(other).name


def test_a_seed_without_anything_to_draw_is_refused() -> None:
    with pytest.raises(InputError, match="leave seed out"):
        parse("gradient:seed=4")
    assert parse("gradient:noise=0.1:seed=4").seed == 4


def test_numbers_of_numpy_are_those_of_python() -> None:
    how = FeatureExplanation("smoothgrad", sigma=np.float64(0.5), samples=np.int64(7), top=np.int32(3))
    assert how == parse("smoothgrad:sigma=0.5:samples=7:top=3")
    assert repr(how) == "FeatureExplanation('smoothgrad:sigma=0.5:samples=7:top=3')"


def test_the_paper_explains_probabilities_and_layers_explain_logits() -> None:
    explains = {method: FeatureExplanation(method).explains for method in METHODS}
    assert explains == dict.fromkeys(METHODS, "probability") | {"lrp": "logit", "deeplift": "logit"}
    assert parse("gradient:output=logit").explains == "logit"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("saliency", "there is no explanation 'saliency': choose one of gradient, "),
        ("", "there is no explanation ''"),
        ("gradient:depth=3", "gradient has no setting 'depth': it has output, noise"),
        ("gradient:", "gradient has no setting ''"),
        ("gradient:top=3:top=4", "top is set twice"),
        ("gradient:output=loss", "output is 'probability' or 'logit', not 'loss'"),
        ("lrp:output=probability", "lrp explains the logit: leave output out"),
        ("deeplift:output=probability", "deeplift explains the logit: leave output out"),
        ("gradient:normalised=yes", "normalised is True or False, not 'yes'"),
        ("smoothgrad:sigma", "sigma needs a value: write sigma="),
        *((f"integrated_gradients:baseline={wrong}", "baseline must be") for wrong in ("nan", "mean", "1e999")),
        *((f"integrated_gradients:steps={wrong}", "steps must be") for wrong in ("1", "10.5")),
        ("smoothgrad:sigma=-1", "sigma must be"),
        *((f"smoothgrad:samples={wrong}", "samples must be") for wrong in ("0", "2.0")),
        *((f"gradient:{name}={wrong}", f"{name} must be") for name, wrong in WRONG),
        ("deeplift:baseline=mean", "baseline must be"),
        ("lrp:epsilon=0", "epsilon must be"),
        ("gradient:sigma=0.1", "sigma is a setting of smoothgrad, not of gradient: leave it out"),
        ("lrp:baseline=1", "baseline is a setting of integrated_gradients and deeplift, not of lrp"),
    ],
)
def test_wrong_names_are_refused_in_one_sentence(name: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(name)
    assert str(refused.value).startswith(message) or message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [None, "3", [3], math.nan, True])
def test_values_of_another_kind_are_refused(value: object) -> None:
    with pytest.raises(InputError, match="steps must be"):
        FeatureExplanation("integrated_gradients", steps=value)  # type: ignore[arg-type]
