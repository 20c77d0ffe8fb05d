"""All that the page of a comparison shows, as one dict of texts and numbers: what is not in here is not on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakscope.comparison import words
from leakscope.comparison.record_words import summarize_records
from leakscope.comparison.result import Attacked, Comparison, GroupPrice, Measured, Version
from leakscope.comparison.telling import answer, figure
from leakscope.report.studies import figure_words
from leakscope.report.words import SENTENCE_LENGTH, count, describe, described, percent, safe_text, shown_rate
from leakscope.telling import finite, listed

#: Groups that lose most, shown above the table of all.
MOST_GROUPS = 8
WORDS = {
    "use": "There is a version to recommend",
    "at a price": "It can be lowered, at a price",
    "no sure gain": "No sure gain",
    "nothing to lower": "Nothing to lower was found",
    "inconclusive": "Cannot tell",
    "untested": "Not attacked enough",
}
PROMISES = {"none": "", "holds": "holds as far as these attacks tell", "broken": words.BROKEN, "in doubt": "in doubt"}
MEANING = (
    "A lower AUC says that the attacks tried here find less. It proves no privacy: a stronger attack may exist. Only a proven "
    "guarantee speaks of all attacks, and only if what it rests on is true.",
    "The risk of a version is the largest AUC of all attacks on it, and among them are attacks that know the defense. A defense "
    "that lowers the AUC of one attack and not of another is therefore not shown as lower.",
    "A defense that changes answers in a way that can be undone, such as a temperature, hides nothing from those who know it.",
    "Ranges speak of these trained models and these records. Trained again, or on other people, a version can do better or worse.",
    "What the attacks show of ε is a lower bound: at least 0 says that nothing was shown, and no number here says that ε is small.",
    "“Nothing beats it” and “beaten” go by points and can be chance; “surely beaten” goes by ranges that hold for all pairs at once.",
    "What is cheap for all can be dear for a few: look at the groups, and at those that are too small to be shown.",
)
GLOSSARY = (
    ("AUC", "how often an attack, shown one person from the training data and one outsider, picks the right one. 0.5 is guessing."),
    ("Control", "the same attack where there is nothing to find. If it is above 0.5, the two sets of people differ by themselves."),
    ("Accuracy", "share of right answers about held-out people, whom the model was not trained on."),
    ("Log-loss", "how sure the model is of wrong answers: less is better."),
    ("Calibration error", "how far stated probabilities lie from how often they are right: less is better."),
    ("ε (epsilon)", "the strength of a proven promise, differential privacy: 0 is perfect, 1 is strong, 10 says little."),
    ("Swap of one record", "the promise holds between two training sets that differ by one person in the place of another."),
)  # fmt: skip


def summarize(comparison: Comparison) -> dict[str, Any]:
    """The dict behind the page."""
    kind, run = comparison.recommendation.kind, comparison.run
    version = words.proposed(comparison)
    return {
        "title": f"Defenses of {safe_text(run['model'])}",
        "kind": kind,
        "word": WORDS[kind],
        "sentences": list(answer(comparison)),
        "recommendation": safe_text(comparison.recommendation.sentence, SENTENCE_LENGTH),
        "alarm": words.BROKEN[:1].upper() + words.BROKEN[1:],
        "alarms": [words.broken_promise(one) for one in comparison.broken],
        "promises": [
            {"place": "broken" if one.promise == "broken" else "mislead", "text": words.in_short(one)}
            for one in comparison.versions
            if one.promise in ("broken", "in doubt")
        ],
        "doubts": [words.promise(one) for one in comparison.versions if one.promise == "in doubt"],
        "audited": f"{safe_text(run['model'])}, {count(run['members'])} training and {count(run['held out'])} held-out records; "
        f"{count(len(comparison.versions))} versions.",
        "sure": _how_sure(run),
        "tiles": _tiles(comparison, version),
        "figure": figure_words(figure(comparison)),
        "metrics": [safe_text(one.metric) for one in comparison.as_it_is.utility],
        "versions": [_version(one, number, comparison) for number, one in enumerate(comparison.versions, start=1)],
        "by_records": summarize_records(comparison.record_explanations),
        "explained": [_explained(version, one) for version in comparison.versions for one in version.faithfulness],
        "groups": _groups(comparison),
        "attacks": [_attack(one, attack) for one in comparison.versions for attack in one.attacks],
        "rate": _rate_text(comparison.as_it_is.attacks),
        "retrained": _retrained(comparison),
        "not_run": [
            {"name": safe_text(item.attack), "reason": safe_text(item.reason, SENTENCE_LENGTH)}
            for item in comparison.not_run
        ],
        "foundations": _noted(words.foundations(comparison)),
        "notes": _noted(words.noted(comparison)),
        "warnings": [safe_text(warning, SENTENCE_LENGTH) for warning in comparison.warnings],
        "meaning": list(MEANING),
        "glossary": [{"term": term, "meaning": meaning} for term, meaning in GLOSSARY],
        "sources": _sources(comparison),
        "reproduce": _reproduce(run),
        "settings": _settings(run),
    }


def _how_sure(run: dict[str, Any]) -> str:
    control = (
        "the same attacks were tried on models that never saw these people"
        if run["retrain"]
        else "no model was trained that never saw these people"
    )
    return (
        f"Ranges of the risk hold with {percent(run['confidence'])} confidence for all versions and all attacks at once; they rest "
        f"on {count(run['judged'])} people from the training data and as many outsiders; {control}. Versions are compared on the "
        "same people, so that changes have narrower ranges than the numbers themselves."
    )


def _tiles(comparison: Comparison, version: Version | None) -> list[dict[str, Any]]:
    before = comparison.as_it_is
    metric = safe_text(before.main.metric)
    tiles = [("Largest AUC as it is", describe(finite(before.risk.auc)))]
    if version is not None and version.lowered is not None:
        name = words.quoted(version.name)
        tiles += [
            (f"Largest AUC of {name}", describe(finite(version.risk.auc))),
            (f"Change of the AUC by {name}", words.signed(version.lowered)),
        ]
    tiles.append((f"{metric[:1].upper()}{metric[1:]} as it is", describe(finite(before.main.value))))
    if version is not None:
        tiles.append((f"Change of the {metric} by {words.quoted(version.name)}", words.signed(version.main.change)))
    return [{"name": name, "estimate": estimate} for name, estimate in tiles]


def _version(version: Version, number: int, comparison: Comparison) -> dict[str, Any]:
    first = version.lowered is None
    return {
        "number": number,
        "name": safe_text(version.name),
        "what": safe_text(version.what, 200),
        "recommended": version.name == comparison.recommendation.version,
        "risk": describe(finite(version.risk.auc)),
        "strongest": safe_text(version.strongest),
        "control": describe(finite(version.control)),
        "control_kind": version.control_kind,
        "lowered": None if version.lowered is None else words.signed(version.lowered),
        "prices": [
            {
                "metric": safe_text(one.metric),
                "value": describe(finite(one.value)),
                "change": None if first else words.signed(one.change),
            }
            for one in version.utility
        ],
        "claim": words.claim(version),
        "covers": "" if version.guarantee is None else f"covers the {version.guarantee.covers}",
        "epsilon": describe(finite(version.epsilon)),
        "promise": PROMISES[version.promise],
        "promise_tone": {"broken": "leaks", "in doubt": "", "holds": "no-evidence"}.get(version.promise, "plain-tag"),
        "standing": words.standing(version),
        "standing_tone": "no-evidence" if version.beaten_by is None else "plain-tag",
    }


def _explained(version: Version, faithfulness: Measured) -> dict[str, Any]:
    return {
        "version": safe_text(version.name),
        "explanation": safe_text(faithfulness.metric),
        "value": describe(finite(faithfulness.value)),
        "change": None if version.lowered is None else words.signed(faithfulness.change),
    }


def _groups(comparison: Comparison) -> dict[str, Any] | None:
    """Who pays: every group with every version, the largest loss first."""
    if not any(version.groups for version in comparison.versions):
        return None
    sign = 1 if comparison.as_it_is.main.better == "more" else -1
    before = {(group.column, group.level): group for group in comparison.as_it_is.groups}
    pairs = [(version, group) for version in comparison.versions[1:] for group in version.groups]
    pairs.sort(key=lambda pair: sign * pair[1].change.value)
    rows = [_group(version, group, before.get((group.column, group.level))) for version, group in pairs]
    sure = sum(row["loses"] for row in rows)
    of = f"{count(len(rows))} pairs of a version and a group"
    return {
        "metric": safe_text(comparison.as_it_is.main.metric),
        "finding": f"In {count(sure)} of {of} the group surely loses."
        if sure
        else f"In none of {of} the group surely loses.",
        "note": "The ranges of the changes hold for all groups and versions at once; small groups have wide ones, and hide losses.",
        "rows": rows[:MOST_GROUPS],
        "rest": rows[MOST_GROUPS:],
    }


def _group(version: Version, group: GroupPrice, before: GroupPrice | None) -> dict[str, Any]:
    losing = group.change.high < 0 if version.main.better == "more" else group.change.low > 0
    return {
        "version": safe_text(version.name),
        "column": safe_text(group.column),
        "level": safe_text(group.level),
        "records": f"{count(group.records)} records",
        "value": describe(finite(group.value)),
        "change": words.signed(group.change),
        "loses": losing,
        "auc": None if group.auc is None else describe(finite(group.auc)),
        "auc_before": None if before is None or before.auc is None else describe(finite(before.auc)),
    }


def _attack(version: Version, attack: Attacked) -> dict[str, Any]:
    rate = shown_rate(attack.tpr_at_fpr)
    return {
        "version": safe_text(version.name),
        "attack": safe_text(attack.attack),
        "release": safe_text(attack.release),
        "auc": describe(finite(attack.auc)),
        "control": describe(finite(attack.control)),
        "found": None if rate is None else described(attack.tpr_at_fpr[rate], "percent"),
        "knows": safe_text(attack.knows, 200),
    }


def _rate_text(attacks: Sequence[Attacked]) -> str:
    rate = shown_rate(attacks[0].tpr_at_fpr) if attacks else None
    return "" if rate is None else percent(rate)


def _retrained(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "version": safe_text(version.name),
            "value": describe(finite(version.main.value)),
            "retrained": describe(finite(version.retrained)),
        }
        for version in comparison.versions
        if version.retrained is not None
    ]


def _noted(notes: dict[str, list[str]]) -> list[dict[str, str]]:
    return [{"versions": listed(names, 6), "note": safe_text(note, SENTENCE_LENGTH)} for note, names in notes.items()]


def _sources(comparison: Comparison) -> list[dict[str, str]]:
    sources = {version.defense: version.source for version in comparison.versions if version.source}
    proofs = {
        f"guarantee of {version.defense}": version.guarantee.source
        for version in comparison.versions
        if version.guarantee is not None and version.guarantee.source
    }
    return [
        {"name": safe_text(name), "source": safe_text(source, SENTENCE_LENGTH)}
        for name, source in (sources | proofs).items()
    ]


def _reproduce(run: dict[str, Any]) -> str:
    if run["command"]:
        return safe_text(run["command"], 2000)
    names = ("price", "references", "retrain", "confidence", "margin", "seed")
    shown = ", ".join(f"{name}={run[name]!r}" for name in names)
    return f"ls.compare(target, defenses=[…], {shown})"


def _settings(run: dict[str, Any]) -> list[dict[str, str]]:
    """All settings, those in groups below the name of the group."""
    rows: list[dict[str, str]] = []
    for name, value in run.items():
        parts = {f"{name}: {part}": item for part, item in value.items()} if isinstance(value, dict) else {name: value}
        rows += [
            {"name": safe_text(one), "value": safe_text(item, SENTENCE_LENGTH)}
            for one, item in parts.items()
            if one != "command"
        ]
    return rows
