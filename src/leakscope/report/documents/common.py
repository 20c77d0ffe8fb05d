"""Parts shared by the documents of several studies: settings, versions, omitted parts, sources, glossary, charts of categories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from leakscope.core.estimate import Estimate
from leakscope.core.result import NotRun, Outcome, Result, Scalar
from leakscope.core.wording import SENTENCE_LENGTH, Style, name, sentence, write
from leakscope.report.charts.model import Axis, Chart, Mark, Rule, Series
from leakscope.report.document import Block, Details, Item, Items, KeyFigures, Table, Text, Value
from leakscope.report.glossary import TERMS

PAPERS = {
    "farokhi2020": "F. Farokhi and M. A. Kaafar: Modelling and Quantifying Membership Information Leakage in Machine Learning, 2020",
    "shokri2019": "R. Shokri, M. Strobel and Y. Zick: Privacy Risks of Explaining Machine Learning Models, 2019",
    "tople2020": "S. Tople, A. Sharma and A. Nori: Alleviating Privacy Attacks via Causal Learning, 2020",
    "Kairouz": "P. Kairouz, S. Oh and P. Viswanath: The Composition Theorem for Differential Privacy, 2015",
    "Salem": "A. Salem, Y. Zhang, M. Humbert, P. Berrang, M. Fritz and M. Backes: ML-Leaks: Model and Data Independent Membership Inference Attacks "
    "and Defenses on Machine Learning Models, 2019",
    "Yeom": "S. Yeom, I. Giacomelli, M. Fredrikson and S. Jha: Privacy Risk in Machine Learning: Analyzing the Connection to Overfitting, 2018",
    "Zarifzadeh": "S. Zarifzadeh, P. Liu and R. Shokri: Low-Cost High-Power Membership Inference Attacks, 2024",
    "Carlini": "N. Carlini, S. Chien, M. Nasr, S. Song, A. Terzis and F. Tramèr: Membership Inference Attacks From First Principles, 2022",
}
_CONTENT = {
    Text: "paragraphs", KeyFigures: "figures", Table: "rows", Chart: "series", Items: "items", Details: "blocks"
}  # fmt: skip


def filled(*blocks: Block | None) -> tuple[Block, ...]:
    """Leave out blocks without content.

    Examples
    --------
    >>> filled(None, Text(()), Text(("A statement.",)))
    (Text(paragraphs=('A statement.',), title='', brief=False, code=False),)
    """
    return tuple(block for block in blocks if block is not None and getattr(block, _CONTENT[type(block)]))


def value(estimate: Estimate | None, style: Style = "number") -> Value | None:
    """Return the cell of an estimate, or an empty cell."""
    return None if estimate is None else Value(estimate, style)


def outcome(result: Result, code: str, **subject: Scalar) -> Outcome:
    """Return the outcome of the claim about exactly this subject; inconclusive if the result does not make it."""
    found = (claim.outcome for claim in result.claims if claim.code == code and claim.subject == subject)
    return next(found, "inconclusive")


def group_name(column: str, level: str) -> str:
    """Return the name of a group of records."""
    return f"{name(column, 40)} = {name(level, 40)}"


def control_name(kind: str) -> str:
    """Return the name of a control."""
    return "never-trained control" if kind == "never trained" else "permuted control"


def by_category(
    title: str,
    description: str,
    axis: Axis,
    categories: Sequence[str],
    series: Mapping[str, Sequence[Estimate | None]],
    rule: Rule,
    groups: Sequence[str] = (),
) -> Chart:
    """Draw estimates with their intervals: a row for each category, and a colour for each series; the last series stands out."""
    style: Style = "percent" if axis.percent else "number"
    drawn = []
    for legend, estimates in series.items():
        marks = [
            Mark(estimate, at, said=f"{categories[at]}, {legend}: {write(estimate, style)}")
            for at, estimate in enumerate(estimates)
            if estimate is not None
        ]
        drawn.append(Series(legend, tuple(marks), "points", "strong" if legend == list(series)[-1] else "plain"))
    rows = Axis("", "category", categories=tuple(categories), groups=tuple(groups))
    return Chart(title, description, axis, rows, tuple(one for one in drawn if one.marks), (rule,))


def reading(sentences: Sequence[str], *terms: str) -> Details:
    """Explain how to read a document, with the terms of the glossary that it uses; all of them by default."""
    return Details("How to read this report", (Items(tuple(map(Item, sentences))), glossary(*terms)), open=True)


def cite(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Group pairs of a source and what is from it by source, as `sources` takes them.

    Examples
    --------
    >>> cite([("Yeom 2018", "loss threshold"), ("", "own"), ("Yeom 2018", "loss threshold")])
    {'Yeom 2018': ['loss threshold']}
    """
    cited: dict[str, list[str]] = {}
    for source, what in pairs:
        if source and what not in cited.setdefault(source, []):
            cited[source].append(what)
    return cited


def glossary(*terms: str) -> Details:
    """Explain terms; all of them by default."""
    chosen = terms or tuple(TERMS)
    return Details("Glossary", (Items(tuple(Item(TERMS[term], term) for term in chosen), style="terms"),))


def not_run(left_out: Sequence[NotRun], title: str = "Not run", *, brief: bool = False) -> list[Items]:
    """List what was left out, and why."""
    items = [
        Item(
            sentence(one.reason),
            name(f"{one.attack} on {one.release}" if one.attack and one.release else one.attack or one.release),
        )
        for one in left_out
    ]
    return [Items(tuple(items), title, style="terms", brief=brief)] if items else []


def sources(cited: Mapping[str, Sequence[str]], more: Sequence[str] = ()) -> Details:
    """List the sources of attacks or measures by name, and the papers that they cite."""
    methods = [
        Item(name(source, SENTENCE_LENGTH), name(", ".join(names), SENTENCE_LENGTH)) for source, names in cited.items()
    ]
    texts = [*cited, *more]
    papers = [Item(title, key) for key, title in PAPERS.items() if any(key in text for text in texts)]
    blocks = [Items(tuple(methods), "Methods", style="terms")] if methods else []
    blocks += [Items(tuple(papers), "Papers", style="terms")] if papers else []
    return Details("Methods and papers", tuple(blocks))


def provenance(result: Result, call: str = "") -> Details:
    """State how to reproduce a result: the command or call, settings, versions, digests and times."""
    parts = {
        "Settings": {key: _text(value) for key, value in result.settings.items()},
        "Versions": result.versions,
        "Fingerprints": result.fingerprints,
        "Time": {step: f"{seconds:.2f} s" for step, seconds in result.seconds.items()},
        "Record": {"created": result.created, "kind": result.kind, "schema version": str(result.schema_version)},
    }
    command = result.command or call
    blocks = [Text((name(command, 2000),), "Reproduce", code=True)] if command else []
    tables = tuple(
        Items(
            tuple(Item(name(value, SENTENCE_LENGTH), name(key)) for key, value in rows.items() if value),
            title,
            style="terms",
        )
        for title, rows in parts.items()
        if rows
    )
    return Details("How it was measured", (*blocks, Details("Settings, versions and digests", tables)), open=True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
