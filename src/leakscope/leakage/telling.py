"""What a reader of an audit needs of measured leakage: an answer in words, and what no attack on the parameters can pass."""

from __future__ import annotations

from leakscope.bounds import entropy, success_from_advantage
from leakscope.core.estimate import Estimate
from leakscope.errors import InputError
from leakscope.leakage.result import NATS_PER_BIT, Leakage
from leakscope.leakage.sweeping import Point, Sweep
from leakscope.report.words import count, out_of, safe_text
from leakscope.results import Bound, Figure, Number, Series, Study
from leakscope.results import Point as Place
from leakscope.telling import LONGEST, MOST_POINTS, finite, mapped, plain, shown, thinned

SOURCE = "farokhi2020, Theorem 1, corrected"
RELEASES = {"parameters": "parameters", "function": "outputs at the record"}
QUESTIONS = {
    "parameters": "How much do the parameters of the model carry about one person?",
    "function": "How much does the model's answer about a person tell whether that person was trained on?",
}
#: Warnings that leave the bound standing. The bound is also a mean over records of numbers from 0 to 1, which few records
#: can't carry away; every other warning, known or not, takes the bound with it.
BOUND_STANDS = ("never vary or follow from the others", "of the mean, and records that were not", "no threshold attack")
#: Warnings that leave a comparison of median records standing: "read the median record" is what they say.
MEDIAN_STANDS = (*BOUND_STANDS, "of the draws are ill-conditioned")


def tell(found: Sweep | Leakage, size: int | None = None) -> Study:
    """The study of a sweep, or of one measurement.

    Parameters
    ----------
    size
        The number of training records that the answer is about; by default the largest measured. Of several settings of
        regularisation and noise the weakest counts, which protects least.

    Examples
    --------
    >>> import numpy as np
    >>> from leakscope.leakage import sweep
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> found = sweep("ridge", X, X[:, 0] + rng.normal(size=400), sizes=(20, 80), records=10, draws=400, models=0)
    >>> tell(found).numbers[0].estimate == found.points[1].leakage.attack
    True
    """
    sweep = _one_point(found) if isinstance(found, Leakage) else found
    here = _choose(sweep, size)
    against = _against(here, BOUND_STANDS)
    space = here.leakage.settings["space"]
    return Study(
        kind="leakage",
        release=RELEASES[space],
        question=QUESTIONS[space],
        answer=_answer(here, known=not against),
        numbers=tuple(_numbers(here, known=not against)),
        figures=(_figure(sweep),) if len(sweep.points) > 1 else (),
        bound=_bound(here) if space == "parameters" and not against else None,
        advice=tuple(_advice(sweep, here)),
        warnings=tuple(_warnings(sweep, here, against)),
        settings=_settings(sweep, here),
    )


def _one_point(found: Leakage) -> Sweep:
    settings = found.settings
    point = Point(settings["size"], settings.get("l2"), settings["noise"], found, None, found.warnings)
    return Sweep((point,), (), settings)


def _choose(sweep: Sweep, size: int | None) -> Point:
    sizes = sorted({int(point.size) for point in sweep.points})
    if size is not None and size not in sizes:
        raise InputError(f"no leakage was measured at size {size!r}: choose from {', '.join(map(str, sizes))}")
    wanted = sizes[-1] if size is None else size
    return min(
        (point for point in sweep.points if point.size == wanted), key=lambda point: (point.l2 or 0, point.noise)
    )


def _against(point: Point, harmless: tuple[str, ...]) -> list[str]:
    """What speaks against trusting a point: warnings but the harmless, and a Gaussian picture that nobody checked."""
    doubts = [warning for warning in point.warnings if not any(words in warning for words in harmless)]
    if not doubts and point.leakage.rho_neighbours is None:
        doubts.append("with noise it is not checked whether the laws are Gaussian")
    return doubts


# --- words and numbers ------------------------------------------------------------------------------------------------


def _setting(point: Point) -> str:
    """The point in words: learner, size, and what else was chosen."""
    settings = point.leakage.settings
    chosen = [f"{name} {value:g}" for name, value in (("l2", point.l2), ("noise", point.noise)) if value]
    more = f" with {' and '.join(chosen)}" if chosen else ""
    return f"{safe_text(settings['learner'], 40)}{more} trained on {count(point.size)} of {count(settings['universe'])} records"


def _what(point: Point) -> str:
    return "parameters" if point.leakage.settings["space"] == "parameters" else "answers"


def _answer(point: Point, *, known: bool) -> str:
    attack, what = finite(point.leakage.attack), _what(point)
    right = mapped(attack, success_from_advantage)
    guesses = f"of 100 guesses at even odds {out_of(100, right)} are right, where a coin gets 50"
    gained = f"(advantage {shown(attack)}; 0 is guessing, 1 is certainty)"
    if attack.low > 0:
        said = f"The {what} of {_setting(point)} help to tell who was trained on: {guesses} {gained}."
    else:
        said = f"The {what} of {_setting(point)} do not surely help to tell who was trained on: {guesses} {gained}."
    if not known:
        return f"{said} What no attack can pass is not known here: what it would rest on does not hold, or was not checked."
    most = finite(point.leakage.advantage_bound)
    return (
        f"{said} On average over people, no attack on the {RELEASES[point.leakage.settings['space']]} gains an advantage of more than "
        f"{shown(most).removeprefix('at most').strip()}, as far as the {what} follow Gaussian laws, which was checked."
    )


def _numbers(point: Point, *, known: bool) -> list[Number]:
    found, what = point.leakage, _what(point)
    share, measured = found.settings["prior"], count(found.settings["records"])
    information = mapped(found.rho_mi, lambda nats: nats / NATS_PER_BIT, "bits")
    rows = [
        ("advantage of the likelihood-ratio attack", found.attack,
         "achieved by an attacker who knows how models with and without the person look; 0 is guessing, 1 is certainty"),
        ("advantage that no attack exceeds", found.advantage_bound if known else None,
         f"on average over people, as far as the {what} follow Gaussian laws; 1 would say nothing"),
        ("advantage of the attack by loss", None if point.experiment is None else point.experiment.advantage,
         "achieved by an attacker who calls those members whom the model fits well; 0 is guessing"),
        ("information about membership", information,
         f"of the {float(entropy(share)) / NATS_PER_BIT:.2g} bits that there are to learn where {100 * share:.2g} % of the "
         "people are in"),
        ("divergence with and without a person", found.rho_kl,
         f"how far one person moves the {what}, beside how far they move by themselves; 0 is not at all; mean over people"),
        ("divergence of the median person", found.rho_kl_median, "half of the people move them less than this"),
        (f"divergence of the most exposed of {measured} people", found.rho_kl_worst,
         "the largest of those measured; others may be more exposed"),
        ("control: divergence where there is nothing to find", found.control,
         "the same measure of models that differ in no given person: 0 up to chance"),
    ]  # fmt: skip
    return [Number(name, finite(estimate), note) for name, estimate, note in rows if estimate is not None]


def _bound(point: Point) -> Bound:
    return Bound(
        finite(point.leakage.advantage_bound),
        f"for {_setting(point)}, on average over people and training sets, and as far as the parameters follow Gaussian "
        "laws, which was checked (neither nearest neighbours nor the attacks tried speak against it); it holds for no other "
        "way of training",
        SOURCE,
    )


def _warnings(sweep: Sweep, point: Point, against: list[str]) -> list[str]:
    said = [safe_text(warning, LONGEST) for warning in point.warnings]
    if against:
        said.insert(0, safe_text(f"there is no bound: {against[0]}", LONGEST))
        said = [warning for warning in said if warning != safe_text(against[0], LONGEST)]
    if point.leakage.settings["space"] != "parameters":
        said.append("this is about the answer at a person's own record: whoever sees other answers too may learn more")
    places = [f"size {count(item.size)}" for item in sweep.not_measured]
    if places:
        said.append(safe_text(f"not measured: {', '.join(places)}: {sweep.not_measured[0].reason}", LONGEST))
    return said


def _settings(sweep: Sweep, point: Point) -> dict[str, object]:
    settings = point.leakage.settings
    names = ("learner", "universe", "records", "draws", "space", "shared", "seed", "confidence")
    chosen = {"size": int(point.size), "l2": point.l2, "noise": float(point.noise)}
    sizes = sorted({int(one.size) for one in sweep.points})
    return plain({**{name: settings[name] for name in names}, **chosen, "sizes": sizes, "source": "farokhi2020"})


# --- the picture, and what lowers leakage -----------------------------------------------------------------------------


#: What a sweep varies, in the order in which it is drawn along.
AXES = {"size": "Training records", "l2": "Regularisation l2", "noise": "Noise (standard deviation)"}


def _curves(sweep: Sweep) -> tuple[str, dict[str, list[tuple[float, Estimate]]], bool]:
    """The axis of the picture, a curve for each value of what else varies, and whether points were left out.

    The axis is the first of `AXES` that varies, as in `leakage.show.draw`; zero has no place on a logarithmic one.
    """
    varied = [name for name in AXES if len({getattr(point, name) for point in sweep.points}) > 1]
    along = varied[0] if varied else "size"
    drawn = [point for point in sweep.points if getattr(point, along)]
    along = along if drawn else "size"
    found: dict[str, list[tuple[float, Estimate]]] = {}
    for point in drawn or sweep.points:
        rest = ", ".join(f"{name} {getattr(point, name):g}" for name in varied if name != along)
        found.setdefault(rest or "rho_KL", []).append((float(getattr(point, along)), finite(point.leakage.rho_kl)))
    ordered = {name: sorted(curve, key=lambda one: one[0]) for name, curve in found.items()}
    return AXES[along], ordered, len(drawn) < len(sweep.points)


def _figure(sweep: Sweep) -> Figure:
    label, named, left_out = _curves(sweep)
    most = max(2, MOST_POINTS // max(1, len(named)))
    learner = safe_text(sweep.settings["learner"], 40)
    return Figure(
        title=f"Membership leakage of {learner}",
        description=f"How far one person moves the model, mean over {count(sweep.settings['records'])} people; lower is better."
        + (" Zero is left out." if left_out else ""),
        kind="lines",
        x_label=label,
        y_label="Divergence with and without a person (nats)",
        series=tuple(
            Series(name, tuple(Place(x, y) for x, y in thinned(points, most)))
            for name, points in list(named.items())[:MOST_POINTS]
        ),
        logarithmic_x=True,
        logarithmic_y=True,
    )


def _advice(sweep: Sweep, here: Point) -> list[str]:
    """Settings whose median leakage is surely below that of the point, one for each of size, l2 and noise.

    Two intervals of 95 % that exclude each other err in one of 300 pairs or fewer, so that a sweep of many settings may be
    searched. More records cost no accuracy: the most helpful size is named. Regularisation and noise do: there it is the
    smallest value that surely helps.
    """
    if _against_comparing(here):
        return []
    said = []
    for name in AXES:
        along = sorted(
            (point for point in sweep.points if _differs_in(point, here, name)), key=lambda one: getattr(one, name)
        )
        less = [point for point in along if getattr(point, name) > getattr(here, name) and _leaks_less(point, here)]
        more = [point for point in along if getattr(point, name) < getattr(here, name) and _leaks_less(here, point)]
        if name == "size" and less:
            best = min(less, key=lambda point: point.leakage.rho_kl_median.value)
            said.append(f"Train on {count(best.size)} records instead of {count(here.size)}: {_falls(here, best)}.")
        elif name == "size" and more:
            fewest = f"between {count(more[0].size)} and {count(here.size)} records"
            said.append(f"Train on as many records as you can: {fewest} {_falls(more[0], here)}.")
        elif less:
            way = "Regularise more" if name == "l2" else "Add noise to what is released"
            old, new = (f"{getattr(point, name) or 0:g}" for point in (here, less[0]))
            said.append(
                f"{way}, with {name} {new} instead of {old}: {_falls(here, less[0])}. What that costs in accuracy was not "
                "measured here."
            )
    return said


def _against_comparing(point: Point) -> list[str]:
    return [warning for warning in point.warnings if not any(words in warning for words in MEDIAN_STANDS)]


def _differs_in(point: Point, here: Point, name: str) -> bool:
    """Whether a point differs from another in this setting and in no other."""
    differs = {one for one in AXES if getattr(point, one) != getattr(here, one)}
    return differs == {name}


def _leaks_less(one: Point, other: Point) -> bool:
    return (
        not _against_comparing(one)
        and not _against_comparing(other)
        and one.leakage.rho_kl_median.high < other.leakage.rho_kl_median.low
    )


def _falls(old: Point, new: Point) -> str:
    before, after = (shown(point.leakage.rho_kl_median) for point in (old, new))
    return f"the leakage (divergence) of the median person falls from {before} to {after}"
