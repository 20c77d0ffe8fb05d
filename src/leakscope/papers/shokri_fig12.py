"""[shokri2019, Figure 12, appendix C]: the attack on other feature explanations, side by side.

Three attackers who know nothing but the explanation and the predicted label: the attack network of appendix A, a decision
tree on the 1-norm, and boosted trees on a few summaries of the explanation (its size, shape and signs). Accuracy is over
equally many members and non-members. SmoothGrad comes with two sizes of its noise, since the paper states none: 0.2, and 1, the
default of the library that the paper used.

Intervals are over records, for these networks: records of different networks are pooled, and compared within each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from leakscope.attacks import Attack, explanation_network, explanation_norm, learned_explanation
from leakscope.core import intervals
from leakscope.core.estimate import Estimate
from leakscope.core.result import Claim
from leakscope.core.wording import write
from leakscope.evaluation.risk import Judged
from leakscope.papers import panels, shokri_targets
from leakscope.papers.reproduction import Reproduction, Work, statement
from leakscope.papers.shokri_targets import Stopped, accuracy, as_accuracy, auc, gain, judge, over_targets, pool, watch
from leakscope.papers.trends import between
from leakscope.releases.feature_explanations import parse

ID = "shokri-fig12"
TITLE = "Membership inference from other feature explanations"
PAPER = {
    "source": "Shokri, Strobel and Zick 2019, appendix C and Figure 12",
    "statement": (
        "The attack does as well on integrated gradients as on the gradient, worse on LRP and DeepLIFT, and it fails on "
        "SmoothGrad."
    ),
    "numbers": "The extracted text of the paper has no numbers of this figure: its statements are compared.",
}
LABELS = {
    "gradient": "gradient",
    "gradient_x_input": "× input",
    "integrated_gradients": "integrated",
    "lrp": "LRP",
    "deeplift": "DeepLIFT",
}
SMOOTHED = ("smoothgrad:samples=20", "smoothgrad:sigma=1.0:samples=20")
FULL = shokri_targets.FULL | {"gaps": (0.15, 0.25, 0.3), "methods": (*LABELS, *SMOOTHED)}
QUICK = shokri_targets.QUICK | {
    "gaps": (0.25,),
    "methods": ("gradient", "integrated_gradients", "lrp", "smoothgrad:samples=5"),
}

SIMILAR = 0.03  # accuracies that may be this close count as similar
Found = Mapping[tuple[str, str], Judged]  # by method and attack


def run(work: Work, gaps: Sequence[float], methods: Sequence[str], judged: int, **drawn: int) -> Reproduction:
    """Attack every explanation of networks stopped at each gap."""
    case = shokri_targets.purchase(**drawn)

    def attack_all(stopped: Stopped, rng: np.random.Generator) -> dict[tuple[str, str], Judged]:
        attacks = {(method, name): attack for method in methods for name, attack in _attacks(method).items()}
        releases = list(dict.fromkeys(release for attack in attacks.values() for release in attack.releases))
        watched = watch(stopped, releases, rng, most=judged)
        return {key: judge(attack, watched, rng) for key, attack in attacks.items()}

    (by_gap,) = over_targets(work, [case], gaps, attack_all)
    reached = {
        gap: (
            [stopped.gap for stopped, _ in drawn],
            {key: pool([answer[key] for _, answer in drawn]) for key in drawn[0][1]},
        )
        for gap, drawn in zip(sorted(gaps), by_gap, strict=True)
        if drawn
    }
    return work.result(
        settings=shokri_targets.settings_of(case, gaps=gaps, judged=judged),
        columns=["gap", "reached", "method", "attack", "accuracy", "auc", "networks"],
        rows=[
            [gap, float(np.mean(widths)), method, name, accuracy(part), auc(part), len(widths)]
            for gap, (widths, found) in reached.items()
            for (method, name), part in found.items()
        ],
        statements=[part for gap, (_, found) in reached.items() for part in _statements(gap, found)],
        notes=[_best(gap, found) for gap, (_, found) in [*reached.items()][-1:]],
        panels=[_figure(gap, found, methods) for gap, (_, found) in reached.items()],
    )  # fmt: skip


def _attacks(method: str) -> dict[str, Attack]:
    return {
        "network": explanation_network(method),
        "tree": explanation_norm(method),
        "boosted trees": learned_explanation(method, second=None, true_label=False),
    }


def _statements(gap: float, found: Found) -> list[Claim]:
    """The paper's statements about its network, at a gap where it does better than chance on the gradient."""
    of = {method: part for (method, name), part in found.items() if name == "network"}
    plain = of["gradient"]
    ours = accuracy(plain)
    said = [statement(f"gap {gap:g}: the network succeeds on the gradient", ours.low > 0.5 or None, {"accuracy": ours})]
    if ours.low <= 0.5:
        return said
    for method, part in of.items():
        beyond = {"minus the gradient": gain(part, plain)}
        name, by = f"gap {gap:g}, {method}: ", beyond["minus the gradient"]
        if method in ("gradient_x_input", "integrated_gradients"):
            said.append(statement(f"{name}within {SIMILAR} of the gradient", between(by, -SIMILAR, SIMILAR), beyond))
        elif method in ("lrp", "deeplift"):
            said.append(statement(f"{name}weaker than the gradient", between(by, high=0.0), beyond))
        elif method.startswith("smoothgrad"):
            figures = {"accuracy": accuracy(part)}
            said.append(statement(f"{name}the network fails", accuracy(part).low <= 0.5, figures))
    return said


def _strongest(found: Found, method: str) -> tuple[str, Estimate]:
    """Give the attack that does best on an explanation, with its accuracy corrected for the selection."""
    attacks = list(dict.fromkeys(name for _, name in found))
    name = max(attacks, key=lambda name: accuracy(found[method, name]).value)
    wider = intervals.mean_difference(found[method, name].says, 1 - 0.05 / len(attacks))
    return name, wider.mapped(as_accuracy)


def _best(gap: float, found: Found) -> str:
    """State which attack does best on each explanation."""
    best = {method: _strongest(found, method) for method in dict.fromkeys(method for method, _ in found)}
    words = ", ".join(f"{method} {write(value)} ({name})" for method, (name, value) in best.items())
    return f"Accuracy of the best attack at gap {gap:g}, corrected for selection: {words}."


def _figure(gap: float, found: Found, methods: Sequence[str]) -> panels.Panel:
    """Twice the accuracy above one half: bars that begin at a random guess."""
    attacks = dict.fromkeys(name for _, name in found)
    return panels.bars(
        f"Gap {gap:g} between training and test accuracy",
        ("Explanation", "Advantage of the attack (0: random guess)"),
        [LABELS.get(how.method, f"SmoothGrad {how.sigma:g}") for how in map(parse, methods)],
        {name: [intervals.mean_difference(found[method, name].says) for method in methods] for name in attacks},
    )
