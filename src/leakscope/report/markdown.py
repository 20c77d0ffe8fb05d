r"""The report as Markdown, for pull requests and wikis: GitHub's flavour, and readable as it is.

Everything passes through `escape`, so that no name of a column, a model or a record becomes markup, HTML, a link, a picture or
a mention of somebody. Ids of records are left out: a pull request is read by more people than ``report.html``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from leakscope.report.summary import summarize
from leakscope.results import Findings

_ACTIVE = re.compile(r"[\\`*<&|~$\[\]]")
#: An underscore inside a word is inert in GitHub's flavour, and release names have many.
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
#: An interval such as [0.61, 0.72] is no link unless an address follows, or it starts a line.
_INTERVAL = re.compile(r"\\\[([-−+]?[\d.∞]+, [-−+]?[\d.∞]+)\\\](?![(\[])")
#: What makes a list, a heading or a quotation of a line that starts with it.
_START = re.compile(r"^(\d{1,9}(?=[.)](?: |$))|(?=[-+#>=\[]))")
#: Where GitHub makes a link or a picture of bare text: addresses, mentions, numbers of issues, names of emoji.
_LINKED = re.compile(
    r"(?i)(?<=[@])(?=\S)|(?<=#)(?=\w)|(?<=:)(?=//)|(?<=:)(?=[a-z_+-][\w+-]*:)|(?<=\bwww)(?=\.)|(?<=\bGH)(?=-\d)"
)
_JOINER = "\u2060"  # of no width


def escape(text: str) -> str:
    r"""Text in which nothing is Markdown, HTML, a link or a mention; on one line.

    Examples
    --------
    >>> escape("a|b <b>*x*</b> log_loss [0.1, 0.2]")
    'a\\|b \\<b>\\*x\\*\\</b> log_loss [0.1, 0.2]'
    >>> escape("# [x](http://example.com)").replace("\u2060", "~")
    '\\# \\[x\\](http:~//example.com)'
    """
    return _START.sub(r"\1\\", _inline(text))


def _inline(text: str) -> str:
    """As `escape`, for text that does not stand at the start of a line."""
    line = " ".join(str(text).split())
    line = _ACTIVE.sub(lambda found: f"\\{found[0]}", line)
    line = _UNDERSCORE.sub(r"\\_", line)
    return _LINKED.sub(_JOINER, _INTERVAL.sub(r"[\1]", line))


def code(text: str) -> list[str]:
    """Lines of a fenced block that the text can't close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *(text.splitlines() or [""]), fence]


def lines_of_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; every cell is escaped."""
    shown = [[_inline(cell) or " " for cell in row] for row in (headings, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in shown]
    return [lines[0], f"|{'---|' * len(headings)}", *lines[1:]]


def render(findings: Findings) -> str:
    """The report of an audit as Markdown.

    Examples
    --------
    >>> from leakscope.auditing import audit
    >>> from leakscope.toys import lookup
    >>> toy = lookup(n=100)
    >>> print(render(audit(toy.model, toy.train, toy.holdout, fit=toy.fit)).splitlines()[2])
    **Leaks.** This model gives away who was in the training data. ...
    """
    return render_summary(summarize(findings))


def render_summary(summary: dict[str, Any]) -> str:
    """The same from the summary; every number stands in it."""
    lines = [
        f"# {escape(summary['title'])}",
        "",
        *_answer(summary),
        *_steps(summary["next_steps"]),
        *_releases(summary["releases"]),
        *_exposure(summary),
        *_groups(summary["groups"]),
        *_extras(summary["extras"]),
        *_studies(summary["studies"]),
        *_doubts(summary["caveats"]),
        *_again(summary),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _answer(summary: dict[str, Any]) -> list[str]:
    answer = summary["answer"]
    said = " ".join(escape(sentence) for sentence in answer["sentences"])
    return [f"**{escape(summary['verdict']['word'])}.** {said}", "", *_paragraph(answer["audited"], answer["sure"])]


def _paragraph(*sentences: str) -> list[str]:
    return [" ".join(escape(sentence) for sentence in sentences if sentence), ""]


def _steps(steps: Sequence[dict[str, Any]]) -> list[str]:
    if not steps:
        return []
    lines = [
        f"{number}. **{escape(step['title'])}**{' (measured here)' if step['measured'] else ''}: {escape(step['text'])}"
        for number, step in enumerate(steps, start=1)
    ]
    return ["## What to do next", "", *lines, ""]


def _text(estimate: dict[str, Any] | None) -> str:
    return estimate["text"] if estimate else "–"


def _releases(releases: dict[str, Any]) -> list[str]:
    headings = (
        "release",
        "finding",
        "members found",
        "AUC",
        "on the control",
        "without the model",
        "no attack can pass",
    )
    rows = [
        (
            row["name"],
            row["outcome"],
            f"{_text(row['found'])} at {row['rate_text']} false alarms" if row["rate_text"] else "–",
            _text(row["auc"]),
            _text(row["control"]),
            _text(row["blind"]),
            row["bound"]["text"] if row["bound"] else "–",
        )
        for row in releases["rows"]
    ]
    unseen = [f"- {escape(item['name'])}: {escape(item['reason'])}" for item in releases["not_measured"]]
    return [
        f"## {escape(releases['title'])}",
        "",
        *lines_of_table(headings, rows),
        "",
        *_paragraph(releases["note"], releases["bound_note"]),
        *([*unseen, ""] if unseen else []),
    ]


def _exposure(summary: dict[str, Any]) -> list[str]:
    exposure = summary["exposure"]
    if not exposure["rows"]:
        return []
    rows = [(row["name"], _text(row["share"]), row["expected"]) for row in exposure["rows"]]
    return [
        f"## {escape(exposure['title'])}",
        "",
        *_paragraph(exposure["description"]),
        *lines_of_table(("more member-like than", "share of the training data", "expected without a leak"), rows),
        "",
    ]


def _groups(groups: dict[str, Any] | None) -> list[str]:
    if groups is None:
        return []
    rows = [
        (row["column"], row["level"], row["records"], _text(row["auc"]), _text(row["gap"]),
         "stands out" if row["stands_out"] else "")
        for row in groups["rows"] if row["charted"]
    ]  # fmt: skip
    headings = ("column", "group", "judged", "AUC", "gap to the rest", "")
    left_out = groups["left_out"]
    more = [f"{left_out:,} less exposed groups are in audit.json and report.html.", ""] if left_out else []
    return ["## Groups", "", *_paragraph(groups["finding"]), *lines_of_table(headings, rows), "", *more]


def _extras(extras: dict[str, Any] | None) -> list[str]:
    if extras is None:
        return []
    rows = [(row["release"], row["gain"], row["control_gain"]) for row in extras["rows"]]
    headings = ("explanation", f"adds to the AUC beside {extras['beside']}", "in the control")
    table = lines_of_table(headings, rows)
    return [f"## {escape(extras['title'])}", "", *_paragraph(extras["finding"]), *table, ""]


def _studies(studies: Sequence[dict[str, Any]]) -> list[str]:
    lines: list[str] = []
    for study in studies:
        rows = [(number["name"], _text(number["estimate"]), number["note"]) for number in study["numbers"]]
        lines += [f"## {escape(study['title'])}", "", *_paragraph(study["question"], study["answer"])]
        if rows:
            lines += [*lines_of_table(("number", "found", "what it means"), rows), ""]
        lines += [f"- {escape(said)}" for said in (*study["advice"], *study["warnings"])] + [""]
    return lines


def _doubts(caveats: dict[str, Any]) -> list[str]:
    said = [
        *caveats["warnings"],
        caveats["control"],
        caveats["blind"],
        caveats["overlap"],
        *caveats["bounds"],
        *(f"Not run: {item['attack']} on {item['release']}: {item['reason']}" for item in caveats["not_run"]),
        *(f"Would be stronger: {item['text']}." for item in caveats["stronger"]),
    ]
    return ["## How this audit could mislead you", "", *(f"- {escape(sentence)}" for sentence in said), ""]


def _again(summary: dict[str, Any]) -> list[str]:
    return [
        "## How to make it again",
        "",
        *code(summary["reproduce"]["text"]),
        "",
        *_paragraph(f"Record written {summary['created']}, version {summary['schema_version']}."),
    ]
