"""Policies of the gate: conditions from the command line and from a policy file.

A policy file is TOML::

    on_uncertain = "fail"            # or "pass"; fail where it is left out

    [[fail_if]]
    condition = "labels: auc.high > 0.55"
    because = "labels go to the public"

``fail_if`` may also be a list of texts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from leakscope.core.errors import InputError
from leakscope.core.wording import name
from leakscope.record.conditions import Condition, OutcomeCondition, Scope, parse_condition

Choice = Literal["fail", "pass"]
KEYS = ("on_uncertain", "fail_if")
RULE_KEYS = ("condition", "because")


@dataclass(frozen=True)
class PolicyRule:
    """A condition and its reason."""

    condition: Condition | OutcomeCondition
    because: str = ""


@dataclass(frozen=True)
class Policy:
    """The rules of a gate, and what an uncertain condition counts as."""

    rules: tuple[PolicyRule, ...]
    on_uncertain: Choice = "fail"

    def check(self, scope: Scope) -> None:
        """Raise an error for rules without a number in this scope."""
        for rule in self.rules:
            rule.condition.check(scope)


def make_policy(
    fail_if: str | Sequence[str] = (), policy: str | Path | None = None, on_uncertain: str | None = None
) -> Policy:
    """Combine conditions and a policy file without duplicates; ``on_uncertain`` overrides the file.

    Examples
    --------
    >>> [rule.condition.text for rule in make_policy(["auc > 0.6", "auc>0.60"]).rules]
    ['auc > 0.6']
    >>> make_policy()
    Traceback (most recent call last):
    leakscope.core.errors.InputError: the gate has no condition: name one with --fail-if, or a file of them with --policy
    """
    texts = [fail_if] if isinstance(fail_if, str) else list(fail_if)
    read = Policy(()) if policy is None else read_policy(Path(policy))
    rules: dict[Condition | OutcomeCondition, PolicyRule] = {}
    for rule in (*(PolicyRule(parse_condition(text)) for text in texts), *read.rules):
        known = rules.setdefault(rule.condition, rule)
        if not known.because:
            rules[rule.condition] = replace(known, because=rule.because)
    if not rules:
        raise InputError("the gate has no condition: name one with --fail-if, or a file of them with --policy")
    chosen = read.on_uncertain if on_uncertain is None else _choice(on_uncertain, "--on-uncertain")
    return Policy(tuple(rules.values()), chosen)


def read_policy(path: Path) -> Policy:
    """Read the policy in a TOML file; an error names the file and the key."""
    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"the policy {path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"the policy {path} is not TOML: {name(error, 200)}") from error
    _know(document, KEYS, f"the policy {path}")
    items = document.get("fail_if", [])
    if not isinstance(items, list):
        raise InputError(f"fail_if in {path} must be a list of conditions, or tables that start with [[fail_if]]")
    if not items:
        raise InputError(f"the policy {path} has no condition: add one under fail_if")
    rules = [_rule(item, f"fail_if {number} in {path}") for number, item in enumerate(items, start=1)]
    return Policy(tuple(rules), _choice(document.get("on_uncertain", "fail"), f"on_uncertain in {path}"))


def _rule(item: Any, place: str) -> PolicyRule:
    table = item if isinstance(item, dict) else {"condition": item}
    _know(table, RULE_KEYS, place)
    condition, because = table.get("condition"), table.get("because", "")
    if not isinstance(condition, str):
        raise InputError(f"condition of {place} must be a text, such as “auc.high > 0.6”")
    if not isinstance(because, str):
        raise InputError(f"because of {place} must be a text")
    try:
        return PolicyRule(parse_condition(condition), because.strip())
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _know(table: dict[str, Any], known: tuple[str, ...], place: str) -> None:
    if unknown := [key for key in table if key not in known]:
        raise InputError(f"{place} has an unknown key {name(unknown[0])!r}: use {' and '.join(known)}")


def _choice(value: Any, place: str) -> Choice:
    if value not in ("fail", "pass"):
        raise InputError(f"{place} must be fail or pass, not {name(value)}")
    return cast("Choice", value)
