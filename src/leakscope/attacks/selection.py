"""Selection of attacks: those that are named or that read the releases, and the reasons why others can't run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from leakscope.attacks import ATTACKS, REGISTRY, explanation_attacks, label_only, prediction_attack, reference_attacks
from leakscope.attacks.protocol import Attack
from leakscope.core.errors import InputError
from leakscope.core.result import NotRun
from leakscope.data.records import list_names, take_rows
from leakscope.models.model import Task
from leakscope.models.target import Target
from leakscope.releases.release import RELEASES, Block, Release, find_release

#: Releases that follow from the release on the left and a record's label.
FOLLOWS = {
    "labels": ("labels",),
    "label_stability": ("labels", "label_stability"),
    "probabilities": ("labels", "probabilities", "log_loss", "likelihood_loss", "squared_error"),
    "predictions": ("predictions", "squared_error"),
}
#: Predictions that an explanation can be released with, the most informative first.
PREDICTIONS = ("probabilities", "predictions", "labels")
#: Records that a release is tried on before anything is trained.
PROBE = 8
#: Name that stands for the attacks that run by default.
DEFAULT = "default"


@dataclass(frozen=True)
class Selection:
    """Attacks that run, attacks that can't, and the pairs that measure what an explanation adds.

    ``pairs`` holds for each explanation the positions of the attack without it and with it, and ``prediction`` the prediction that both
    read. ``named`` holds the attacks that the caller named. ``plain`` is the selection without reference models, if it differs.
    """

    attacks: tuple[Attack, ...]
    not_run: tuple[NotRun, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    prediction: str = ""
    named: tuple[Attack, ...] = ()
    plain: Selection | None = None

    @property
    def uses_references(self) -> bool:
        """Whether any attack reads reference models."""
        return any(attack.uses_references for attack in self.attacks)

    def without_references(self, reason: str) -> Selection:
        """Return the selection without reference attacks, which are listed as not run; raise an error for named ones."""
        if needed := [attack for attack in self.named if attack.uses_references]:
            raise InputError(f"the attack “{needed[0].name}” can't run: {reason}")
        left_out = [attack for attack in self.attacks if attack.uses_references]
        return replace(self.plain or self, not_run=(*self.not_run, *_not_run(left_out, reason)))


def select(
    target: Target, attacks: Sequence[Attack | str] | None, releases: Sequence[str] | None, references: bool = False
) -> Selection:
    """Select attacks. A named attack that can't run is an error; a default one is listed as not run.

    ``attacks`` holds attacks or their short names; the name "default" adds the default ones.
    With ``references``, the attacks with reference models come first if their release can be read: models of the target's kind if it
    can be retrained, otherwise of another kind. Explanations are compared with models of the same kind only.
    """
    if attacks is not None and releases is not None:
        raise InputError("pass attacks or releases, not both: an attack states which release it reads")
    if attacks is not None and DEFAULT in (given := _list(attacks)):
        usual = select(target, None, None, references)
        if not (others := [attack for attack in given if attack != DEFAULT]):
            return usual
        named = select(target, others, None, references)
        both, plain = (_merge(found.attacks, named) for found in (usual, usual.plain or usual))
        return replace(both, not_run=usual.not_run, plain=plain)
    plain = _select(target, attacks, releases)
    if plain.uses_references and not references:
        name = next(attack.name for attack in plain.attacks if attack.uses_references)
        raise InputError(f"the attack “{name}” needs reference models: pass references=4 (--references 4)")
    if not references or attacks is not None:
        return plain
    read = {name for attack in plain.attacks for name in attack.releases}
    own, other = (
        [attack for attack in reference_attacks(target.model.task, same_kind=same) if attack.release in read]
        for same in (True, False)
    )
    compared = plain if releases is None else _by_release(target, read_releases(releases), references=True)
    if target.learner is not None:
        return replace(_merge(own, compared), plain=plain)
    left_out = [*own, *(attack for attack in compared.attacks if attack.uses_references)]
    not_run = (*plain.not_run, *_not_run(left_out, "the model can't be trained again: pass fit="))
    return replace(_merge(other, plain), not_run=not_run, plain=plain)


def _merge(first: Sequence[Attack], found: Selection) -> Selection:
    """The selection with some attacks before its own, each once."""
    attacks = {(attack.name, attack.release): attack for attack in (*first, *found.attacks)}
    place = {key: at for at, key in enumerate(attacks)}
    at = [place[attack.name, attack.release] for attack in found.attacks]
    return replace(
        found, attacks=tuple(attacks.values()), pairs=tuple((at[before], at[after]) for before, after in found.pairs)
    )


def _not_run(attacks: Sequence[Attack], reason: str) -> list[NotRun]:
    names = dict.fromkeys((attack.release, attack.name) for attack in attacks)
    return [NotRun(release, name, reason) for release, name in names]


def _list(attacks: Sequence[Attack | str] | Attack | str) -> list[Attack | str]:
    return [attacks] if isinstance(attacks, Attack | str) else list(attacks)


def find_attack(name: str, task: Task) -> Attack:
    """Return the attack of the registry with a short name, in its form for the task.

    Examples
    --------
    >>> find_attack("boundary", "classification").release, find_attack("rmia-offline", "regression").release
    ('boundary_distance', 'squared_error')
    """
    known = {_plain(short): short for short in REGISTRY}
    names = [f"{name} regression", name] if task == "regression" else [name]
    for wanted in names:
        if short := known.get(_plain(wanted)):
            return REGISTRY[short]()
    near = get_close_matches(_plain(name), known, n=3)
    hint = f"did you mean {' or '.join(near)}" if near else f"choose from {', '.join((DEFAULT, *REGISTRY))}"
    raise InputError(f"there is no attack {name[:40]!r}: {hint}")


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", " ").replace("_", " ")


def _select(target: Target, attacks: Sequence[Attack | str] | None, releases: Sequence[str] | None) -> Selection:
    if releases is not None:
        return _by_release(target, _check_releases(target, releases))
    task = target.model.task
    given = ATTACKS[task] if attacks is None else _list(attacks)
    wanted = [find_attack(attack, task) if isinstance(attack, str) else attack for attack in given]
    if not all(isinstance(attack, Attack) for attack in wanted):
        raise InputError("attacks must be short names, or attacks such as leakscope.attacks.loss_threshold('log_loss')")
    refused = [refusal for attack in wanted if (refusal := attack.refuse(target.model)) is not None]
    if attacks is not None and refused:
        raise InputError(f"the attack “{refused[0].attack}” can't run: {refused[0].reason}")
    able = tuple(attack for attack in wanted if attack.refuse(target.model) is None)
    if not able:
        raise InputError("attacks is empty: pass at least one")
    return Selection(able, tuple(refused), named=() if attacks is None else able)


def read_releases(releases: Sequence[str]) -> list[Release]:
    """Return the releases by their names, each once."""
    names = [releases] if isinstance(releases, str) else list(releases)
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError("releases must be names, such as ['probabilities', 'gradient']")
    if not all(name.strip() for name in names):
        raise InputError("one of the releases has no name: look for two commas, or one at the end")
    found = [find_release(name.strip()) for name in names]
    if twice := {release.name for release in found if [other.name for other in found].count(release.name) > 1}:
        raise InputError(f"the release {list_names(sorted(twice))} is named twice: name it once")
    return found


def _check_releases(target: Target, releases: Sequence[str]) -> list[Release]:
    """Releases by their names, or an error about the first that the model can't give."""
    found = read_releases(releases)
    for release in found:
        if reason := release.refuse(target.model) or _trouble(target, release):
            raise InputError(f"this model can't release {release.name}: {reason.rstrip('.')}")
    return found


def _by_release(target: Target, found: Sequence[Release], *, references: bool = False) -> Selection:
    """The attacks on some releases; with ``references``, those on explanations compare with reference models."""
    task, names = target.model.task, [release.name for release in found]
    plain = [release.name for release in found if release.name in RELEASES]
    readable = {name for release in plain for name in FOLLOWS.get(release, (release,))}
    chosen = [
        attack
        for attack in (*ATTACKS[task], label_only())
        if set(attack.releases) <= readable and attack.refuse(target.model) is None
    ]
    explained = [release.name for release in found if release.name not in RELEASES]
    prediction = next((name for name in PREDICTIONS if name in plain), None)
    pairs: list[tuple[int, int]] = []
    if explained and prediction is not None:
        chosen.append(prediction_attack(prediction, references=references, task=task))
    base = len(chosen) - 1
    for name in explained:
        chosen += explanation_attacks(name, prediction=prediction, references=references, task=task)
        if prediction is not None:  # the last of them reads both
            pairs.append((base, len(chosen) - 1))
    if not chosen:
        raise InputError(
            f"no attack reads {list_names(names)} alone: add probabilities, or predictions of a regression"
        )
    return Selection(tuple(chosen), (), tuple(pairs), prediction or "")


def _trouble(target: Target, release: Release) -> str | None:
    """The error on a few records, or None: what a network computes is known only when it runs."""
    if release.name in RELEASES:
        return None
    records = target.members
    few = slice(0, min(PROBE, len(records)))
    try:
        release.observe(Block(target.model, take_rows(records.X, few), records.y[few]))
    except InputError as error:
        return str(error)
    return None
