"""Settings that a defense can't have are refused when it is made, by name."""

from math import inf, nan

import numpy as np
import pytest

from leakscope import defenses
from leakscope.core.errors import InputError

TEN = np.arange(10.0)[:, None]
WRONG = [  # defense, field, what the error names, wrong values
    ("l2", "weights", "λ", (0, -1, [0.1, nan], "many", [])),
    ("early-stopping", "iterations", "steps", (0, 2.5, [3, -1], "few")),
    ("dropout", "rates", "rate", (1, -0.1, "half")),
    ("fewer-features", "features", "features", (0, -0.5, 1.5, "all")),
    ("components", "components", "components", (0, 2.5, "most")),
    ("more-data", "shares", "share", (2, 0)),
    ("more-data", "records", "10.*3", ((TEN, [0, 1, 2]),)),
    ("more-data", "records", None, (TEN,)),
    ("distillation", "parts", "parts", (1, 2.5, "two")),
    ("parameter-noise", "epsilon", "epsilon", (0.0, ())),
    ("parameter-noise", "delta", "delta", (0.0, 1.0)),
    ("parameter-noise", "noise", "'pink'", ("pink",)),
    ("parameter-noise", "method", "'best'", ("best",)),
    ("parameter-noise", "sensitivity", "sensitivity", (-1.0,)),
    ("parameter-noise", "l2", "l2", (0.0,)),
    ("parameter-noise", "radius", "radius", (0,)),
    ("parameter-noise", "limits", "limits", ((2.0, 1.0),)),
    ("objective-perturbation", "epsilon", "epsilon", (-1.0,)),
    ("objective-perturbation", "delta", "delta", (0.0, 1.0)),
    ("objective-perturbation", "noise", "'pink'", ("pink",)),
    ("objective-perturbation", "l2", "l2", (0.0,)),
    ("objective-perturbation", "radius", "radius", (inf,)),
    ("dp-sgd", "epsilon", "ε", (0.0, [1, "x"])),
    ("dp-sgd", "delta", "delta", (0, 1.0)),
    ("dp-sgd", "share", "share", (1.5,)),
    ("dp-sgd", "clip", "clip", (-1,)),
    ("dp-sgd", "rate", "rate", (nan,)),
    ("dp-sgd", "hidden", "hidden", ((0,),)),
    ("pate", "epsilon", "epsilon", (0.0, (), (1.0, inf))),
    ("pate", "teachers", "teachers", (1,)),
    ("pate", "queries", "queries", (0.5,)),
    ("pate", "delta", "delta", (0.0, "small")),
    ("causal-features", "columns", "columns=", ([], [0.5])),
    ("irm", "penalties", "penalty", (-1.0, (), (1.0, nan), "much")),
    ("adversarial", "weights", "α", (-1, ())),
    ("adversarial", "steps", "steps", (0,)),
    ("adversarial", "batch", "batch", (1.5,)),
    ("adversarial", "hidden", "hidden", ("wide",)),
    ("leakage-penalty", "weights", "κ", (1.0, -0.1, "much", [])),
    ("leakage-penalty", "l2", "l2", (0,)),
    ("round", "digits", "digits", (-1, 1.5)),
    ("top-classes", "classes", "classes", (0, [1, 2.5])),
    ("temperature", "temperatures", "temperature", (0.5, [])),
    ("memguard", "distortions", "distortion", (0, 2.5)),
    ("memguard", "secret", "secret", (-3,)),
    ("fewer-records", "counts", "records", ([0], 1.5)),
    ("round-influences", "digits", "digits", ([18],)),
    ("query-budget", "queries", "budget", (["many"], [])),
]


@pytest.mark.parametrize(
    ("defense", "field", "named", "value"),
    [(defense, field, named, value) for defense, field, named, values in WRONG for value in values],
)
def test_a_wrong_value_is_refused(defense, field, named, value):
    with pytest.raises(InputError, match=named) as refusal:
        defenses.find(defense)(**{field: value})
    assert "\n" not in str(refusal.value)


def test_causes_are_named_or_looked_for_and_not_both():
    with pytest.raises(InputError, match="environment="):
        defenses.CausalFeatures(["a"], environment="site")
