r"""Settings of a feature explanation: the method, its parameters, and the post-processing before release.

With :math:`F(x)` the model's output for the class it predicts (a probability or a logit), or its predicted value:

======================== ===========================================================================================
``gradient``             :math:`\partial F/\partial x_i`, signed
``gradient_x_input``     :math:`x_i\,\partial F/\partial x_i`
``integrated_gradients`` :math:`(x_i - b_i)\int_0^1 \partial_i F(b + \alpha(x - b))\,d\alpha`, b the baseline
``smoothgrad``           :math:`\frac1k \sum_j \partial_i F(x + \delta_j)`, :math:`\delta_j \sim N(0, \sigma^2 I)`
``lrp``                  relevance passed back layer by layer by the ε-rule (`rules`)
``deeplift``             differences from the baseline passed back by the rescale rule (`rules`)
======================== ===========================================================================================

[shokri2019, section 3.1 and appendix C]. As printed there, the path of integrated gradients leads away from the baseline
and the noise of SmoothGrad has mean k; both are errors.

The class is the one predicted at x and stays fixed along a path and under noise. Noise is drawn for each record by a
generator whose seed is its own values. Equal records get equal answers: repeated queries do not average the noise, and no
answer depends on the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, get_args

from leakscope.core.checks import check_count, check_number
from leakscope.core.errors import InputError
from leakscope.data.records import plain

Kind = Literal["gradient", "gradient_x_input", "integrated_gradients", "smoothgrad", "lrp", "deeplift"]
Output = Literal["probability", "logit"]
METHODS: tuple[Kind, ...] = get_args(Kind)
#: Relevance and differences add up over the layers of a network, not through the softmax after them.
LAYERWISE: tuple[Kind, ...] = ("lrp", "deeplift")
LARGEST = 1e30  # of a setting: near the limit of float32


@dataclass(frozen=True)
class FeatureExplanation:
    """A feature explanation: a method, its settings, and its post-processing.

    Parameters
    ----------
    method
        One of ``METHODS``; the module defines them.
    output
        What is explained of a classifier: the ``"probability"`` of the predicted class, as in the paper, or its
        ``"logit"``. By default the probability; ``lrp`` and ``deeplift`` explain the logit only. In a model with one logit
        for two classes, the logit of the other class is its negative.
    baseline
        Value of every feature at the baseline (``integrated_gradients``, ``deeplift``).
    steps
        Smallest number of points on the path (``integrated_gradients``); records that need more get more.
    sigma, samples
        Standard deviation of the noise and number of draws (``smoothgrad``).
    epsilon
        The stabiliser of ``lrp``.
    noise
        Standard deviation of Gaussian noise that is added to every released value.
    normalised
        Divide by the sum of absolute values.
    top
        Release only this many values of largest magnitude; the others are 0.
    decimals, digits
        Round to this many decimal places, or significant digits.
    seed
        Seed of all noise.

    Examples
    --------
    >>> FeatureExplanation("smoothgrad", samples=10).name
    'smoothgrad:samples=10'
    >>> parse("gradient:top=5:normalised")
    FeatureExplanation('gradient:normalised:top=5')
    """

    method: Kind
    output: Output | None = None
    baseline: float = 0.0
    steps: int = 50
    sigma: float = 0.2
    samples: int = 50
    epsilon: float = 1e-7
    noise: float = 0.0
    normalised: bool = False
    top: int | None = None
    decimals: int | None = None
    digits: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for item in fields(self):
            object.__setattr__(self, item.name, _one_way(item.name, plain(getattr(self, item.name))))
        if self.method not in METHODS:
            raise InputError(f"there is no explanation method {self.method!r}: choose one of {', '.join(METHODS)}")
        if self.output not in (None, *get_args(Output)):
            raise InputError(f"output must be 'probability' or 'logit', not {self.output!r}")
        if self.output == "probability" and self.method in LAYERWISE:
            raise InputError(f"{self.method} explains the logit: leave output out")
        if not isinstance(self.normalised, bool):
            raise InputError(f"normalised must be True or False, not {self.normalised!r}")
        for name, check in _NUMBERS.items():
            if (value := getattr(self, name)) is not None or name not in _OPTIONAL:
                check(name, value)
        for name, methods in _OF_METHODS.items():
            if self.method not in methods and getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise InputError(f"{name} is a setting of {' and '.join(methods)}, not of {self.method}: leave it out")
        if self.seed and not self.noise and self.method != "smoothgrad":
            raise InputError(f"{self.method} without noise draws nothing: leave seed out")
        if self.output == ("logit" if self.method in LAYERWISE else "probability"):
            object.__setattr__(self, "output", None)  # one name for one explanation

    @property
    def explains(self) -> Output:
        """The explained output of a classifier."""
        return self.output or ("logit" if self.method in LAYERWISE else "probability")

    @property
    def name(self) -> str:
        """The method and every setting that is not the default, as `parse` reads it."""
        parts: list[str] = [self.method]
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            if value != item.default:
                parts.append(item.name if value is True else f"{item.name}={value}")
        return ":".join(parts)

    def __repr__(self) -> str:
        return f"FeatureExplanation({self.name!r})"


def parse(name: str) -> FeatureExplanation:
    """Read an explanation from its name, ``method:setting=value:…``; a setting that is True has no value.

    Examples
    --------
    >>> parse("smoothgrad:sigma=0.1:samples=20").sigma
    0.1
    """
    method, *parts = (part.strip() for part in name.split(":"))
    known = [item.name for item in fields(FeatureExplanation)[1:] if method in _OF_METHODS.get(item.name, METHODS)]
    settings: dict[str, Any] = {}
    for part in parts:
        setting, sign, text = (piece.strip() for piece in part.partition("="))
        if setting not in known and setting not in _OF_METHODS:
            raise InputError(f"{method[:40]} has no setting {setting[:40]!r}: it has {', '.join(known)}")
        if setting in settings:
            raise InputError(f"{setting} is set twice in {name[:80]!r}: set it once")
        if not sign and setting != "normalised":
            raise InputError(f"{setting} needs a value: write {setting}=… in {name[:80]!r}")
        settings[setting] = _value(setting, text) if sign else True
    return FeatureExplanation(method, **settings)  # type: ignore[arg-type]


def _one_way(setting: str, value: Any) -> Any:
    """A number in its canonical form: 1 and 1.0 are one setting."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and setting in ("baseline", "sigma", "epsilon", "noise") else value


def _value(setting: str, text: str) -> Any:
    if setting in ("output", "normalised"):
        return {"True": True, "False": False}.get(text, text)
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


_OF_METHODS: dict[str, tuple[Kind, ...]] = {
    "baseline": ("integrated_gradients", "deeplift"),
    "steps": ("integrated_gradients",),
    "sigma": ("smoothgrad",),
    "samples": ("smoothgrad",),
    "epsilon": ("lrp",),
}
_OPTIONAL = ("top", "decimals", "digits")
_NUMBERS: dict[str, Callable[[str, Any], float]] = {
    "baseline": partial(check_number, least=-LARGEST, most=LARGEST),
    "steps": partial(check_count, least=2),
    "sigma": partial(check_number, least=0, most=LARGEST),
    "samples": check_count,
    "epsilon": partial(check_number, least=0, most=LARGEST, open_ends=True),
    "noise": partial(check_number, least=0, most=LARGEST),
    "top": check_count,
    "decimals": partial(check_count, least=0, most=15),
    "digits": partial(check_count, least=1, most=15),
    "seed": partial(check_count, least=0),
}
