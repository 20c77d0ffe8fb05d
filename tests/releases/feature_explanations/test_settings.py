"""The name of an explanation states all its settings, and invalid settings raise errors."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.core.errors import InputError
from leakscope.releases.feature_explanations import METHODS, FeatureExplanation, parse

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
    assert parse("gradient:noise=0.1:seed=4").seed == 4


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


def test_numbers_of_numpy_are_those_of_python() -> None:
    how = FeatureExplanation("smoothgrad", sigma=np.float64(0.5), samples=np.int64(7), top=np.int32(3))
    assert how == parse("smoothgrad:sigma=0.5:samples=7:top=3")
    assert repr(how) == "FeatureExplanation('smoothgrad:sigma=0.5:samples=7:top=3')"


def test_the_paper_explains_probabilities_and_layers_explain_logits() -> None:
    explains = {method: FeatureExplanation(method).explains for method in METHODS}
    assert explains == dict.fromkeys(METHODS, "probability") | {"lrp": "logit", "deeplift": "logit"}
    assert parse("gradient:output=logit").explains == "logit"


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("saliency", "'saliency'.*gradient"),
        ("", "''.*gradient"),
        ("gradient:depth=3", "^gradient.*'depth'.*noise"),
        ("gradient:", "^gradient.*''"),
        ("gradient:seed=4", "seed"),  # there is nothing to draw
        ("lrp:output=probability", "^lrp.*output"),
        ("deeplift:output=probability", "^deeplift.*output"),
        ("gradient:sigma=0.1", "^sigma.*smoothgrad.*gradient"),
        ("lrp:baseline=1", "^baseline.*integrated_gradients.*deeplift.*lrp"),
    ],
)
def test_wrong_names_are_refused_in_one_sentence(name: str, named: str) -> None:
    with pytest.raises(InputError, match=named) as refused:
        parse(name)
    assert "\n" not in str(refused.value)


OUT_OF_RANGE = {
    "integrated_gradients": ["baseline=nan", "baseline=mean", "baseline=1e999", "steps=1", "steps=10.5"],
    "smoothgrad": ["sigma", "sigma=-1", "samples=0", "samples=2.0"],
    "gradient": [
        "top=3:top=4", "top=0", "top=many", "output=loss", "normalised=yes", "noise=-0.1", "decimals=-1", "digits=0",
        "seed=-1",
    ],
    "deeplift": ["baseline=mean"],
    "lrp": ["epsilon=0"],
}  # fmt: skip


@pytest.mark.parametrize("name", [f"{method}:{one}" for method, settings in OUT_OF_RANGE.items() for one in settings])
def test_a_setting_with_a_wrong_value_is_named(name: str) -> None:
    setting = name.partition(":")[2].partition("=")[0]
    with pytest.raises(InputError, match=f"^{setting}"):
        parse(name)


@pytest.mark.parametrize("value", [None, "3", [3], math.nan, True])
def test_values_of_another_kind_are_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"^steps"):
        FeatureExplanation("integrated_gradients", steps=value)  # type: ignore[arg-type]
