"""An audit of explanations by records as text and as a picture."""

from __future__ import annotations

import textwrap

from leakscope.attacks.membership_record_explanation import GroupShare
from leakscope.reconstruction.result import ReconstructionAudit
from leakscope.report.words import count, safe_text
from leakscope.report.words import describe as words
from leakscope.results import Estimate

WIDTH = 100
GROUPS = 8  # shown in the text; the record has all


def describe(audit: ReconstructionAudit) -> str:
    """What was found, in words that need no knowledge of the field."""
    settings = audit.settings
    k = settings["release"]["k"]
    lines = _wrapped(
        f"Logistic regression (l2 = {settings['l2']:g}) on {count(settings['records'])} records of "
        f"{count(settings['features'])} columns"
        + (f", right on {_percent(audit.accuracy)} of the holdout" if audit.accuracy else "")
        + f". An answer shows a prediction and the training records that explain it: {audit.release}."
    )
    lines += ["", *_wrapped(_self_revelation(audit, k))]
    lines += _group_lines(audit.groups)
    lines += ["", f"Recovered by an outsider who may ask {count(settings['budget'])} times:", *_attack_table(audit)]
    lines += [f"  not run: {safe_text(item.attack)}, {safe_text(item.reason, 120)}" for item in audit.not_run]
    if broken := [found.attack for found in audit.attacks if found.wrong]:
        lines.append(f"  BROKEN: {', '.join(broken)} gave records that are not in the training set")
    lines += [*_wrapped(_graph(audit)), *_membership(audit), *_precision(audit), *_defended(audit)]
    return "\n".join(lines)


def _self_revelation(audit: ReconstructionAudit, k: int) -> str:
    others = ", ".join(f"{_percent(share)} with {size}" for size, share in audit.self_revealing.items() if size != k)
    return (
        f"Of the training records, {_percent(audit.self_revealing[k])} are among the {k} records that explain them: "
        f"whoever asks about such a person learns for certain that they were trained on ({others})."
    )


def _group_lines(groups: tuple[GroupShare, ...]) -> list[str]:
    if not groups:
        return []
    most = sorted(groups, key=lambda group: -group.share.value)
    lines = [
        f"  by group, share among their own {'' if len(groups) <= GROUPS else f'(the {GROUPS} most exposed) '}explanation:"
    ]
    for group in most[:GROUPS]:
        name = f"{safe_text(group.column, 24)} = {safe_text(group.level, 28)}"
        lines.append(
            f"    {name:<44} {_percent(group.share):>22}  of {count(group.records)}, {_points(group.gap)} than the rest"
        )
    return lines


def _points(gap: Estimate) -> str:
    """A difference of shares in points, with the word that its interval allows."""
    word = "more" if gap.low > 0 else "fewer" if gap.high < 0 else "not surely other"
    return f"{100 * gap.value:+.1f} points [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}], {word}"


def _attack_table(audit: ReconstructionAudit) -> list[str]:
    rows = [("attack", "records", "share", "queries spent")]
    rows += [
        (found.attack, _whole(found.records), _percent(found.share), _whole(found.queries))
        for found in sorted(audit.attacks, key=lambda found: -found.share.value)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        f"  {row[0]:<{widths[0]}}  " + "  ".join(row[column].rjust(widths[column]) for column in (1, 2, 3))
        for row in rows
    ]


def _graph(audit: ReconstructionAudit) -> str:
    graph = audit.graph
    return (
        f"Whoever follows explanations from one training record to the next reveals {_whole(graph.reachable)} records "
        f"on average; {count(graph.in_degree_zero)} of {count(audit.settings['records'])} explain nobody, not "
        f"even themselves, and can't be reached so."
    )


def _membership(audit: ReconstructionAudit) -> list[str]:
    lines = []
    for risk in audit.membership:
        lines += _wrapped(
            f"Member or not, by “{risk.attack}”: AUC {risk.auc} (a model that never saw the members: {risk.control.auc})."
        )
    return lines


def _precision(audit: ReconstructionAudit) -> list[str]:
    if not audit.precision:
        return []
    said = ", ".join(f"{digits}: {_percent(share)}" for digits, share in audit.precision.items())
    return _wrapped(f"Recovered by subspace reduction, by significant digits of the influences shown: {said}.")


def _defended(audit: ReconstructionAudit) -> list[str]:
    if not audit.defended:
        return []
    rows = [("release", "recovered", "by", "answered", "best records shown", "error of influence")]
    for found in audit.defended:
        useful = found.usefulness
        error = "hidden" if useful.error is None else f"{100 * useful.error:.2g} %"
        rows.append(
            (
                found.release,
                _percent(found.share),
                found.strongest,
                _percent(useful.answered),
                _percent(useful.found),
                error,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    table = ["  " + "  ".join(row[column].ljust(widths[column]) for column in range(6)).rstrip() for row in rows]
    return ["", "Other releases: what the strongest attack recovers, and what an honest user still gets:", *table]


def _percent(estimate: Estimate) -> str:
    return str(words(estimate, "percent")["text"]).replace("\u00a0", " ")


def _whole(estimate: Estimate) -> str:
    """A number of records or queries."""
    if estimate.low == estimate.high:
        return f"{estimate.value:,.0f}"
    return f"{estimate.value:,.0f} [{estimate.low:,.0f}, {estimate.high:,.0f}]"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH)


def draw(audit: ReconstructionAudit) -> str:
    """Share of the training records that has fallen against the number of queries, one line for each attack."""
    from leakscope.plots import lines

    return lines(
        "Training records recovered through explanations",
        f"Share of {audit.settings['records']} training records that each attack has recovered after a number of queries; "
        f"{audit.release}.",
        {found.attack: list(found.curve) for found in audit.attacks},
        x_label="Queries",
        y_label="Share of the training records",
        logarithmic_y=False,
    )
