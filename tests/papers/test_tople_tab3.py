"""Table 3 of tople2020 on drawn digits: who sees what, the ceiling of the blind baseline, the control, and the rules that decide statements."""

from functools import partial
from itertools import product
from types import SimpleNamespace

import deciding
import numpy as np
import pytest

from leakscope.attacks import learned
from leakscope.causal.irm import IRMLearner
from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.papers import tople_tab3
from leakscope.papers.colored_mnist import NOISE, TEST, TRAINING
from leakscope.papers.reproduction import Work

FEW = {
    "size": 300, "nonmembers": 200, "draws": 2, "steps": 20, "anneal": 10, "widths": (8,), "attack_steps": 10,
    "blind_steps": 20,
}  # fmt: skip
TREE = {"tree": learned("probabilities", "label and confidences")}


def drawn_digits(n=2000, seed=0):
    """Digits below 5 are bright above, others below: a shape that anybody can read. No two images are equal."""
    rng = np.random.default_rng(seed)
    digits = rng.integers(0, 10, n)
    images = rng.integers(1, 60, (n, 4, 4)).astype(np.uint8)
    images[digits < 5, :2] += 150
    images[digits >= 5, 2:] += 150
    return images, digits


@pytest.fixture(autouse=True)
def _small_world(monkeypatch):
    monkeypatch.setattr(tople_tab3, "load_digits", drawn_digits)


def test_the_table_holds_every_model_attack_and_law_and_follows_the_seed():
    steps = []
    one = Work(tople_tab3, FEW, 0, lambda *step: steps.append(step), 1).run()
    assert steps[-1] == ("tople-tab3", 6, 6)
    table = one.to_frame()
    keys = ["model", "attacker", "against"]
    assert len(table[keys].drop_duplicates()) == len(table) == 2 * 2 * 2
    assert table[["attack", "control", "blind"]].gt(20).all(axis=None)
    # attack, control and excess are means over the same draws
    np.testing.assert_allclose(table["excess"], table["attack"] - table["control"], atol=1e-9)
    assert table.loc[table["attack_paper"].notna(), keys].to_numpy().tolist() == [
        ["IRM", "confidences", "P*"],
        ["ERM", "confidences", "P*"],
    ]
    same, other = (Work(tople_tab3, FEW, seed, workers=1).run() for seed in (0, 1))
    assert one == same
    assert one.rows != other.rows


def test_what_can_not_be_run_is_refused():
    with pytest.raises(InputError, match="draws"):
        Work(tople_tab3, FEW | {"draws": 1}).run()
    with pytest.raises(InputError, match="4,500"):
        Work(tople_tab3, FEW | {"size": 2000}, workers=1).run()


def test_no_image_is_dealt_twice():
    images, digits = drawn_digits()
    dealt = tople_tab3._deal(images, digits, 300, 200, np.random.default_rng(0))
    parts = [*dealt.shared, *dealt.own[0], *dealt.own[1], dealt.test, *dealt.fresh]
    grey = np.concatenate([X.reshape(len(X), 2, -1).sum(axis=1) for X, _ in parts])
    assert len(np.unique(grey, axis=0)) == len(grey) == 2 * 250 + 4 * 50 + 200 + 2 * 100


@pytest.mark.parametrize("label", [True, False])
def test_the_ceiling_is_half_of_the_distance_between_the_two_laws(label):
    """All combinations of shape, label and colour, written out."""

    def law(flips):
        chances = dict.fromkeys(product((0, 1), repeat=3 if label else 2), 0.0)
        for shape, y, colour, flip in product((0, 1), (0, 1), (0, 1), flips):
            chance = 0.5 * (NOISE if y != shape else 1 - NOISE) * (flip if colour != y else 1 - flip) / len(flips)
            chances[(shape, y, colour) if label else (shape, colour)] += chance
        return np.array(list(chances.values()))

    distance = np.abs(law(TRAINING) - law((TEST,))).sum() / 2
    assert tople_tab3.best_by_colour(label) == pytest.approx(0.5 + distance / 2, rel=1e-12)


@pytest.mark.parametrize("label", [True, False])
def test_the_blind_attacker_comes_near_the_ceiling_and_not_above(label):
    images, digits = drawn_digits(13_000)
    dealt = tople_tab3._deal(images, digits, 1001, 4000, np.random.default_rng(1))
    members = tople_tab3._records([*dealt.own[0], *dealt.own[1]])
    network = IRMLearner(penalty=0.0, steps=200, batch=500, rate=5e-3, widths=(32,))
    others = tople_tab3._nonmembers(dealt)
    best = tople_tab3.best_by_colour(label)
    error = np.sqrt(best * (1 - best) / 8000)
    found = tople_tab3._blind(network, members, others["P*"], label, np.random.default_rng(2))
    assert best - 0.02 - 4 * error < found < best + 4 * error
    found = tople_tab3._blind(network, members, others["P"], label, np.random.default_rng(2))
    assert abs(found - 0.5) < 4 * np.sqrt(0.25 / 8000) * np.sqrt(2)  # the two halves depend on each other


class Memory:
    """A learner that knows the images it saw, and nothing else."""

    name = "memory"

    def fit(self, environments, _):
        seen = {row.tobytes() for X, _ in environments for row in X}
        return SimpleNamespace(seen=seen, classes=np.array([0, 1]))

    def probabilities(self, model, X):
        known = np.array([row.tobytes() in model.seen for row in np.asarray(X, np.float32)])
        return np.where(known[:, None], [[0.01, 0.99]], [[0.5, 0.5]])

    def accuracy(self, model, X, y):  # noqa: ARG002
        return Estimate(0.5, 0.5, 0.5)


def test_a_model_that_remembers_is_found_and_its_control_is_a_random_guess():
    images, digits = drawn_digits()
    dealt = tople_tab3._deal(images, digits, 300, 200, np.random.default_rng(0))
    told = tople_tab3._measure(Memory(), dealt, TREE, np.random.default_rng(1))
    attack, control, excess = told.attacks["tree", "P"]
    assert attack == 1.0
    # the control tells nothing of 100 members and 100 non-members, judged on two models
    assert abs(control - 0.5) < 4 * np.sqrt(0.25 / 400)
    assert excess == pytest.approx(attack - control)


def test_a_model_that_knows_the_colours_alone_has_an_attack_and_no_excess():
    class Colours(Memory):
        def probabilities(self, model, X):  # noqa: ARG002
            red = np.asarray(X).reshape(len(X), 2, -1).sum(axis=2)[:, 0] > 0
            return np.where(red[:, None], [[0.9, 0.1]], [[0.1, 0.9]])

    images, digits = drawn_digits(8000)
    dealt = tople_tab3._deal(images, digits, 600, 2000, np.random.default_rng(0))
    told = tople_tab3._measure(Colours(), dealt, TREE, np.random.default_rng(1))
    attack, control, excess = told.attacks["tree", "P*"]
    assert abs(attack - 0.875) < 4 * np.sqrt(0.875 * 0.125 / 4000)
    assert excess == pytest.approx(0.0, abs=1e-12)  # both models are the same function
    assert control == attack


# --- the verdict ----------------------------------------------------------------------------------------------------


around = partial(deciding.around, half=1.0)


def found(irm=(70, 69, 53), erm=(87, 16, 66), excess=0.0, with_label=0.0):
    kinds = {}
    for name, (train, test, attack) in (("IRM", irm), ("ERM", erm)):
        figures = {"attack": attack, "control": attack - excess, "excess": excess, "together": excess}
        values = {figure: around(value) for figure, value in figures.items()}
        attacks = {("confidences", law): values | {"blind": around(63)} for law in ("P*", "P")}
        attacks["label and confidences", "P*"] = values | {"together": around(with_label)}
        kinds[name] = tople_tab3.ColoredMeans(around(train), around(test), attacks)
    return kinds


def decided(**given):
    kinds = found(**given)
    statements = tople_tab3._statements(kinds)
    return (
        [pair.agrees for pair in tople_tab3._compared(kinds)],
        statements[0].outcome,
        [claim.outcome for claim in statements[1:]],
    )


def test_the_claims_follow_the_intervals():
    assert decided() == ([True] * 6, "yes", ["inconclusive"] * 2)
    assert decided(irm=(74, 65, 57))[0] == [True] * 6  # 3 points, and one of the interval
    near, better, _ = decided(irm=(74.5, 69, 65))
    assert (near, better) == ([False, True, False, True, True, True], "inconclusive")
    assert decided(excess=1.5)[2] == ["yes"] * 2
    assert decided(excess=0.5)[2] == ["inconclusive"] * 2


def test_what_shows_membership_allows_for_all_that_is_looked_at():
    """Eight excesses: intervals at 1 - 0.05 / 8, so that one in twenty runs has any that is wrong."""
    draws = [0.001, 0.003, 0.005]
    keys = [(attacker, law) for attacker in ("confidences", "label and confidences") for law in ("P*", "P")]
    answers = [tople_tab3.ColoredFigures((0.7, 0.6), dict.fromkeys(keys, (0.5 + draw, 0.5, draw))) for draw in draws]
    blind = [tople_tab3.ColoredFigures((), dict.fromkeys(keys, (0.6,))) for _ in draws]
    values = tople_tab3._over_draws(answers, blind).attacks["confidences", "P"]
    assert (values["excess"].confidence, values["together"].confidence) == (0.95, 1 - 0.05 / 8)
    assert values["excess"].value == values["together"].value == pytest.approx(0.3)
    # Student's quantile for two degrees of freedom, in closed form: (2p - 1) √2 / √(1 - (2p - 1)²)
    for part in (values["excess"], values["together"]):
        quantile = part.confidence * np.sqrt(2 / (1 - part.confidence**2))
        assert part.high - part.value == pytest.approx(quantile * 0.2 / np.sqrt(3), rel=1e-6)
