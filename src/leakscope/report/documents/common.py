"""Blocks that the documents of several studies share: lists, sources, glossary, settings, omitted parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from leakscope.core.result import NotRun, Result
from leakscope.core.wording import SENTENCE_LENGTH, name, sentence
from leakscope.report.charts.model import Chart
from leakscope.report.document import Block, Details, Item, Items, KeyFigures, Table, Text
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


def steps(items: Iterable[Item], title: str = "What to do next") -> Items:
    """List what to do, in order."""
    return Items(tuple(items), title, "steps", brief=True)


def terms(texts: Iterable[tuple[str, str]], title: str = "", *, brief: bool = False) -> Items:
    """List names with a text about each."""
    return Items(tuple(Item(text, name) for name, text in texts), title, "terms", brief)


def reading(sentences: Sequence[str], *names: str) -> Details:
    """Explain how to read a document, with the terms of the glossary that it uses; all of them by default."""
    glossary = Details("Glossary", (terms((name, TERMS[name]) for name in names or TERMS),))
    return Details("How to read this report", (Items(tuple(map(Item, sentences))), glossary), open=True)


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


def not_run(left_out: Iterable[NotRun], title: str = "Not run", *, brief: bool = False) -> Items:
    """List what was left out, and why."""
    reasons = [(" on ".join(filter(None, (one.attack, one.release))), sentence(one.reason)) for one in left_out]
    return terms(((name(what), why) for what, why in reasons), title, brief=brief)


def sources(cited: Mapping[str, Sequence[str]], more: Sequence[str] = ()) -> Details:
    """List the sources of attacks or measures by name, and the papers that they cite."""
    pairs = [(", ".join(names), source) for source, names in cited.items()]
    methods = [(name(what, SENTENCE_LENGTH), name(source, SENTENCE_LENGTH)) for what, source in pairs]
    papers = [(key, title) for key, title in PAPERS.items() if any(key in text for text in (*cited, *more))]
    return Details("Methods and papers", filled(terms(methods, "Methods"), terms(papers, "Papers")))


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
    reproduce = Text((name(command, 2000),), "Reproduce", code=True) if command else None
    tables = [
        terms(((name(key), name(value, SENTENCE_LENGTH)) for key, value in rows.items() if value), title)
        for title, rows in parts.items()
    ]
    details = Details("Settings, versions and digests", filled(*tables))
    return Details("How it was measured", filled(reproduce, details), open=True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
