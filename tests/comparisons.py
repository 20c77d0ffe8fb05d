"""A made-up comparison, built from the result classes alone, for tests of everything that shows one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from samples import around

from leakscope.comparison.decisions import comparison_claims
from leakscope.comparison.result import Attacked, Comparison, GroupUtility, Measured, Recommendation, Version
from leakscope.core.estimate import Estimate
from leakscope.core.result import Caveat, NotRun
from leakscope.defenses.defense import Guarantee
from leakscope.results import Largest, Verdict

NO_CHANGE = Estimate(0.0, 0.0, 0.0, 1.0, "exact", method="the model as it is")
RATES = (0.1, 0.01)
SECRET = "the seed of the noise stays secret"
# (defense, setting, AUC, accuracy, guarantee, ε shown by attacks, status of the guarantee, dominated by, significantly dominated by)
VERSIONS: tuple[tuple[str, Any, float, float, Guarantee | None, float, str, str | None, str | None], ...] = (
    ("", "", 0.71, 0.853, None, 0.92, "none", "l2 0.1", None),
    ("l2", 0.1, 0.65, 0.855, None, 0.61, "none", None, None),
    ("l2", 1, 0.60, 0.850, None, 0.33, "none", None, None),
    ("l2", 10, 0.56, 0.812, None, 0.10, "none", None, None),
    ("round", 1, 0.71, 0.853, None, 0.92, "none", "l2 0.1", "l2 0.1"),
    ("temperature", 5, 0.71, 0.853, None, 0.92, "none", "l2 0.1", "l2 0.1"),
    ("parameter-noise", 4, 0.62, 0.790, Guarantee(4.0, 1e-5, rests_on=SECRET), 0.4, "not refuted", "l2 1", "l2 1"),
    ("parameter-noise", 0.5, 0.52, 0.701, Guarantee(0.5, 1e-5, rests_on=SECRET, source="Dwork and Roth 2014"), 0.0, "not refuted", None, None),
    ("dp-sgd", 1, 0.68, 0.801, Guarantee(0.25, 1e-5, "added or removed"), 0.8, "refuted", "l2 1", "l2 1"),
    ("pate", 1, 0.58, 0.805, Guarantee(0.2, 0.0, "swap", "answers"), 0.3, "in doubt", "l2 10", None),
)  # fmt: skip
CANDIDATES = {"use": 2, "utility_limit": 1, "untested": 3}


def sample_comparison(
    kind: Any = "use", *, groups: bool = True, explained: bool = True, name: str = "", versions: int = 10
) -> Comparison:
    """Ten versions of a model of incomes, one guarantee of them refuted; ``name`` stands wherever a user's words can."""
    quiet = kind in ("not_lowered", "nothing_to_lower")
    made = tuple(_version(row, groups, explained, name, quiet) for row in VERSIONS[:versions])
    candidate = made[CANDIDATES[kind]].name if kind in CANDIDATES else None
    doubt = Caveat("leak_inconclusive") if kind == "inconclusive" else None
    found = Comparison(
        compared=made,
        verdict=Verdict("inconclusive" if doubt else "leaks"),
        recommendation=Recommendation(kind, candidate if kind == "use" else None, candidate, doubt),
        utility_limit=0.01,
        faithfulness_limit=0.01,
        not_run=(NotRun("", f"dropout{name}", f"it has no layers {name}"),),
        warnings=(Caveat("no_groups_to_compare", {"column": f"town{name}"}),),
        settings={
            "model": f"LogisticRegression{name}", "task": "classification", "members": 6000, "held out": 6000, "judged": 6000,
            "explanations": [], "price": 0.01, "metric": "accuracy", "references": 8, "retrain": True, "margin": 0.05,
            "confidence": 0.95, "confidence of each risk": 0.9995, "false-positive rates": [0.1, 0.01], "seed": 0,
        },
        fingerprints={"training records": "3f2a", "held-out records": "77b1"},
        versions={"leakscope": "1.0", "numpy": "2.3"},
        seconds={"train": 12.3, "attack": 4.5},
        created="2026-01-01T00:00:00+00:00",
        command=f"leakscope compare model.skops {name}".strip(),
    )  # fmt: skip
    return replace(found, claims=comparison_claims(found))


def _version(row: Any, groups: bool, explained: bool, name: str, quiet: bool) -> Version:
    defense, setting, auc, accuracy, guarantee, epsilon, status, dominated, significantly = row
    first = not defense
    change = accuracy - VERSIONS[0][3]
    return Version(
        name=f"{defense} {setting:g}{name}" if defense else f"as it is{name}",
        defense=defense and f"{defense}{name}",
        knob="λ",
        setting=setting,
        what=f"does something that {defense or 'nothing'} does {name}".strip(),
        source=f"Somebody 2020, section {len(defense)} {name}".strip() if defense else "",
        changes="training" if defense else "nothing",
        risk=_largest(0.505 if quiet and first else auc),
        strongest=f"learned: tree{name} on probabilities",
        control=around(0.50, 0.02),
        control_kind="never trained",
        attacks=tuple(_attacked(attack, auc - less, name) for attack, less in (("learned: tree", 0.0), ("lira", 0.02))),
        risk_change=None if first else around(auc - VERSIONS[0][2], 0.2 if quiet else 0.02),
        utility={
            "accuracy": Measured(
                "accuracy", "more", around(accuracy, 0.009), NO_CHANGE if first else around(change, 0.004)
            ),
            "log-loss": Measured(
                "log-loss", "less", around(0.33 - change, 0.02), NO_CHANGE if first else around(-change, 0.01)
            ),
        },
        groups=_groups(accuracy, change, first, name) if groups else (),
        faithfulness=_faithful(defense, first, name) if explained else (),
        retrained=around(accuracy, 0.02),
        guarantee=guarantee,
        epsilon=Estimate(epsilon, epsilon, epsilon, 0.95, "lower bound"),
        guarantee_status=status,
        notes=(f"sensitivity is proven for this loss {name}".strip(),) if guarantee else (),
        dominated_by=dominated and dominated + name,
        significantly_dominated_by=significantly and significantly + name,
        pareto_optimal=dominated is None,
    )


def _largest(auc: float) -> Largest:
    found = around(auc, 0.02)
    return Largest(found, around(2 * auc - 1, 0.03), found, {rate: around(2 * rate, rate / 2) for rate in RATES})


def _attacked(attack: str, auc: float, name: str) -> Attacked:
    found = {rate: around(2 * rate, rate / 2) for rate in RATES}
    knows: Any = "references" if attack == "lira" else ""
    return Attacked(f"{attack}{name}", "probabilities", around(auc, 0.02), found, around(0.5, 0.02), knows)


def _faithful(defense: str, first: bool, name: str) -> tuple[Measured, ...]:
    change = NO_CHANGE if first else around(-0.02 * len(defense), 0.01)
    return (Measured(f"faithfulness of gradient{name}", "more", around(0.4, 0.03), change),)


def _groups(accuracy: float, change: float, first: bool, name: str) -> tuple[GroupUtility, ...]:
    rows = (("sex", "Female", 2000, 1.0, 0.61), ("sex", "Male", 4000, 0.8, 0.60), ("race", "small one", 60, 2.5, None))
    return tuple(
        GroupUtility(
            f"{column}{name}", f"{level}{name}", records, "accuracy", "more", around(accuracy, 0.01),
            NO_CHANGE if first else around(change * share, 0.01), None if auc is None else around(auc, 0.05),
        )
        for column, level, records, share, auc in rows
    )  # fmt: skip
