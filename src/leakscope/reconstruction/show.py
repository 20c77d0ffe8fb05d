"""An audit of explanations by records as text and as a picture."""

from __future__ import annotations

import textwrap

from leakscope.attacks.membership_record_explanation import GroupShare
from leakscope.core.estimate import Estimate
from leakscope.reconstruction.result import ReconstructionAudit
from leakscope.report.words import count, safe_text
from leakscope.report.words import describe as words

WIDTH = 100
NO_BREAK = "\u00a0"  # keeps a number and its sign on one line until all is wrapped
GROUPS = 8  # shown in the text; the record has all


def describe(audit: ReconstructionAudit) -> str:
    """What was found, in words that need no knowledge of the field."""
    settings = audit.settings
    k = settings["release"]["k"]
    lines = _wrapped(
        f"Logistic regression (l2 = {settings['l2']:g}) on {_many(settings['records'], 'record')} of "
        f"{_many(settings['features'], 'column')}"
        + (f", right on {_percent(audit.accuracy)} of the holdout" if audit.accuracy else "")
        + f". An answer shows a prediction and the training records that explain it: {audit.release}."
    )
    if left_out := settings["left_out_of_holdout"]:
        lines += _wrapped(f"Left out of the holdout, since they equal a training record: {_many(left_out, 'record')}.")
    lines += ["", *_wrapped(_self_revelation(audit, k))]
    lines += _group_lines(audit.groups, "By group")
    lines += [
        "",
        f"Recovered by an outsider with {_many(settings['budget'], 'query', 'queries')}:",
        *_attack_table(audit),
    ]
    lines += _group_lines(audit.strongest.by_group, f"By group, {audit.strongest.attack} (first run)")
    lines += [f"  not run: {safe_text(item.attack)}, {safe_text(item.reason, 120)}" for item in audit.not_run]
    if broken := [found.attack for found in audit.attacks if found.wrong]:
        lines.append(f"  BROKEN: {', '.join(broken)} gave records that are not in the training set")
    if settings["repeats"] == 1:
        lines.append("  Each attack was run once: there is no interval.")
    elif any(found.share.low == found.share.high for found in audit.attacks):
        lines.append(f"  Without an interval: all {settings['repeats']} runs agree.")
    lines += [*_wrapped(_graph(audit)), *_membership(audit), *_precision(audit), *_defended(audit)]
    return "\n".join(lines).replace(NO_BREAK, " ")


def _self_revelation(audit: ReconstructionAudit, k: int) -> str:
    others = ", ".join(f"{_percent(share)} with {size}" for size, share in audit.self_revealing.items() if size != k)
    shown = "the record that explains them" if k == 1 else f"among the {k} records that explain them"
    once = "once " if audit.settings["release"]["noise"] else ""
    return (
        f"Of the training records, {_percent(audit.self_revealing[k])} are {shown}: whoever asks {once}about such a person "
        f"learns for certain that they were trained on{f' ({others})' if others else ''}."
    )


def _group_lines(groups: tuple[GroupShare, ...], heading: str) -> list[str]:
    if not groups:
        return []
    most = sorted(groups, key=lambda group: -group.share.value)[:GROUPS]
    kept = f", the {GROUPS} most exposed" if len(groups) > GROUPS else ""
    lines = [f"  {heading}{kept}, and how many points of a hundred that is above or below everybody else:"]
    for group in most:
        name = f"{safe_text(group.column, 20)} = {safe_text(group.level, 24)}"
        lines.append(f"    {name:<38} {_percent(group.share):>17} of {count(group.records):<7} {_points(group.gap)}")
    return lines


def _points(gap: Estimate) -> str:
    """A difference of shares in points, with the word that its interval allows."""
    word = "more" if gap.low > 0 else "less" if gap.high < 0 else "can't tell"
    return f"{100 * gap.value:+.0f} [{100 * gap.low:+.0f}, {100 * gap.high:+.0f}], {word}"


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
    if audit.settings["release"]["noise"]:
        return "With noise an explanation is another each time: asking again shows other records."
    return (
        f"Whoever follows explanations from one training record to the next reveals {_whole(graph.reachable)} on "
        f"average; {count(graph.in_degree_zero)} of {count(audit.settings['records'])} are in no training record's "
        f"explanation, and can't be reached so."
    )


def _membership(audit: ReconstructionAudit) -> list[str]:
    lines = []
    for risk in audit.membership:
        other = "a model that never saw the members" if risk.control.kind == "never trained" else "members shuffled"
        lines += _wrapped(f"Member or not, by “{risk.attack}”: AUC {risk.auc} ({other}: {risk.control.auc}).")
    return lines


def _precision(audit: ReconstructionAudit) -> list[str]:
    if not audit.precision:
        return []
    said = ", ".join(f"{digits}: {_percent(share)}" for digits, share in audit.precision.items())
    return _wrapped(f"Recovered by subspace reduction, by significant digits of the influences shown: {said}.")


def _defended(audit: ReconstructionAudit) -> list[str]:
    if not audit.defended:
        return []
    rows = [("release", "recovered", "by", "answered", f"best {audit.defended[0].usefulness.best} shown", "error")]
    for found in audit.defended:
        useful = found.usefulness
        share = "no attack can run" if found.share is None else _percent(found.share)
        cells = (share, found.strongest, _percent(useful.answered), _percent(useful.found), _error(useful.error))
        rows.append((found.release, *cells))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    table = ["  " + "  ".join(row[column].ljust(widths[column]) for column in range(6)).rstrip() for row in rows]
    head = (
        "Releases: what the strongest attack recovers, and what an honest user gets (error: of the influences shown):"
    )
    return ["", head, *table]


def _error(error: Estimate | None) -> str:
    if error is None:
        return "hidden"
    if error.value >= 0.995:
        return f"{error.value:,.1f} times [{error.low:,.1f}, {error.high:,.1f}]"
    return f"{100 * error.value:.2g}{NO_BREAK}% [{100 * error.low:.2g}, {100 * error.high:.2g}]"


def _many(number: int, one: str, many: str | None = None) -> str:
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def _percent(estimate: Estimate) -> str:
    """A share; runs that all agree have no interval to show."""
    said = words(estimate, "percent")
    return str(said["shown"] if estimate.low == estimate.high else said["text"])


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
