r"""The attack network of the paper: one sub-network for each input, then a joint one [shokri2019, appendix A].

With k classes and an explanation of d values, all layers are fully connected, with ReLU between them, and of sizes

========================= ===================
predicted label, one-hot  [k, 512, 64]
true label, one-hot       [k, 512, 64]
prediction vector         [k, 1024, 512, 64]
explanation               [d, 1024, 512, 64]
joint                     [256, 64, 1]
========================= ===================

The predicted label is always an input. The joint network starts with 64 for each sub-network that is used, which is 256
with all four. The output is the log-odds of membership, and training minimises the log-loss.

The paper takes initial weights from Shokri et al. 2017, N(0, 0.01²). With these weights the signal vanishes over five
layers, and on location30 one network in four did not train. Weights therefore start as in torch's ``Linear``, uniform on
±1/√(inputs). The paper states neither optimizer, batch nor epochs: here Adam with step 0.001 on batches of 64, up to the
epoch that is best on a tenth of the known records. Explanations are divided by one number, their root mean square over the
known records. A number for each record would remove the size, which carries most of the information.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakscope.attacks.membership_learned import thin
from leakscope.attacks.protocol import Attack, Evidence, Known, Scores
from leakscope.core.arrays import Floats
from leakscope.core.checks import check_count
from leakscope.core.errors import InputError
from leakscope.core.extras import import_torch
from leakscope.models.adapters import seeded_torch
from leakscope.releases.feature_explanations.settings import parse

Shown = Mapping[str, NDArray[np.float32]]

LABEL_WIDTHS, VECTOR_WIDTHS, JOINT_WIDTHS = (512, 64), (1024, 512, 64), (64, 1)
BATCH, RATE = 64, 1e-3
#: Training ends after this many epochs, and steps, without a smaller loss on the held-out known records.
PATIENCE, PATIENT_STEPS = 5, 100
SMALLEST_SCALE = float(np.finfo(np.float32).tiny)
#: Records per query.
BLOCK = 2048


def explanation_network(
    release: str, *, prediction: bool = False, true_label: bool = False, epochs: int = 30
) -> Attack:
    """Return the attack by a network on the whole explanation and other inputs [shokri2019, section 4.2].

    The paper's scenarios: ``explanation_network("gradient")`` is ∇c, with ``true_label=True`` it is ∇c; l, with
    ``prediction=True`` it is ∇c; c, and ``explanation_network("probabilities")`` is c. All read the predicted label.
    Needs torch; some ten seconds for 5,000 known records.

    Parameters
    ----------
    release
        The explanation, or ``"probabilities"`` for the attack on the prediction alone.
    prediction, true_label
        Whether the attacker reads the prediction vector, and whether they know the true label.
    epochs
        Largest number of passes over the known records.

    Examples
    --------
    >>> attack = explanation_network("gradient", true_label=True)
    >>> attack.name, attack.releases
    ('network on explanation, true label', ('gradient', 'labels'))
    """
    check_count("epochs", epochs)
    explained = release != "probabilities"
    sees = ["explanation"] * explained + ["prediction"] * (prediction or not explained) + ["true label"] * true_label

    def guess(evidence: Evidence, rng: np.random.Generator) -> Scores:
        import_torch("the attack network")
        known = thin(evidence.known, rng)
        classes = _count_classes(known, sees)
        scale = max(float(np.sqrt(np.mean(np.square(known.observed, dtype=np.float64)))), SMALLEST_SCALE)
        with seeded_torch(rng):
            network = attack_network(classes, known.observed.shape[1], sees)
            _train(network, _show(known, sees, classes, scale), known.member, epochs)
            score = _ask(network, _show(evidence, sees, classes, scale))
        return Scores(score, (score > 0).astype(np.float64))

    return Attack(
        f"network on {', '.join(sees)}",
        parse(release).name if explained else release,
        "shokri2019, section 4.2 and appendix A",
        guess,
        uses_labels=true_label,
        second=None if not explained else "probabilities" if prediction else "labels",
    )


def attack_network(classes: int, features: int, sees: Sequence[str]) -> Any:
    """Return the untrained network: a ``torch.nn.ModuleDict`` of the sub-networks by name, and ``"joint"``.

    Examples
    --------
    >>> network = attack_network(100, 600, ["explanation", "prediction", "true label"])
    >>> sum(parameter.numel() for parameter in network.parameters())
    2019713
    """
    torch = import_torch()
    sizes: dict[str, tuple[int, ...]] = {
        "predicted label": (classes, *LABEL_WIDTHS),
        "true label": (classes, *LABEL_WIDTHS),
        "prediction": (classes, *VECTOR_WIDTHS),
        "explanation": (features, *VECTOR_WIDTHS),
    }
    used = {name: widths for name, widths in sizes.items() if name in ("predicted label", *sees)}
    used["joint"] = (sum(widths[-1] for widths in used.values()), *JOINT_WIDTHS)
    parts = {}
    for name, widths in used.items():
        layers = [layer for pair in pairwise(widths) for layer in (torch.nn.Linear(*pair), torch.nn.ReLU())]
        parts[name] = torch.nn.Sequential(*(layers[:-1] if name == "joint" else layers))
    return torch.nn.ModuleDict(parts)


def _count_classes(known: Known, sees: Sequence[str]) -> int:
    """Number of columns of the prediction, or of classes among the known labels."""
    if "prediction" in sees:
        return int(_prediction(known, sees).shape[1])
    labels = _prediction(known, sees).ravel()
    return 1 + int((labels if known.labels is None else np.append(labels, known.labels)).max())


def _prediction(seen: Evidence | Known, sees: Sequence[str]) -> Floats:
    """The prediction vector, or the predicted label in one column."""
    if "explanation" not in sees:
        return seen.observed
    if seen.second is None:
        raise InputError("the attack network reads the prediction too: pass it as second of the evidence")
    return seen.second


def _show(seen: Evidence | Known, sees: Sequence[str], classes: int, scale: float) -> Shown:
    """Inputs of each sub-network; a label that no known record has is all zeros."""
    prediction = _prediction(seen, sees)
    predicted = prediction.argmax(axis=1) if "prediction" in sees else prediction[:, 0]
    shown: dict[str, Any] = {"predicted label": predicted[:, None] == np.arange(classes)}
    if "true label" in sees:
        shown["true label"] = np.asarray(seen.labels)[:, None] == np.arange(classes)
    if "prediction" in sees:
        shown["prediction"] = prediction
    if "explanation" in sees:
        shown["explanation"] = seen.observed / scale
    return {name: rows.astype(np.float32) for name, rows in shown.items()}


def _log_odds(network: Any, rows: Mapping[str, Any]) -> Any:
    import torch

    joined = torch.cat([network[name](inputs) for name, inputs in rows.items()], dim=1)
    return network["joint"](joined)[:, 0]


def _train(network: Any, shown: Shown, member: NDArray[np.bool_], epochs: int) -> None:
    """Adam on nine tenths of the known records, up to the epoch with the smallest loss on the others."""
    import torch

    inputs = {name: torch.from_numpy(rows) for name, rows in shown.items()}
    truth = torch.from_numpy(member.astype(np.float32))
    held, used = torch.randperm(len(member)).tensor_split([max(1, len(member) // 10)])
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, fused=True)

    def loss_on(rows: Any) -> Any:
        log_odds = _log_odds(network, {name: values[rows] for name, values in inputs.items()})
        return torch.nn.functional.binary_cross_entropy_with_logits(log_odds, truth[rows])

    smallest, best, waited = np.inf, network.state_dict(), 0
    for _ in range(epochs):
        for batch in used[torch.randperm(len(used))].split(BATCH):
            optimizer.zero_grad()
            loss_on(batch).backward()
            optimizer.step()
        with torch.no_grad():
            loss = float(loss_on(held))
        waited += 1
        if loss < smallest:
            smallest, best, waited = loss, copy.deepcopy(network.state_dict()), 0
        if waited >= PATIENCE and waited * len(used) >= PATIENT_STEPS * BATCH:
            break
    network.load_state_dict(best)


def _ask(network: Any, shown: Shown) -> Floats:
    """Log-odds of membership; in double precision, so that they don't depend on the batch."""
    import torch

    network.double()
    score = np.empty(len(shown["predicted label"]))
    with torch.no_grad():
        for start in range(0, len(score), BLOCK):
            block = slice(start, start + BLOCK)
            rows = {name: torch.from_numpy(values[block]).double() for name, values in shown.items()}
            score[block] = _log_odds(network, rows).numpy()
    return score
