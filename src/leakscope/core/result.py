"""The result of a study: frozen data with claims. Printing, saving, comparing and gating are the same for every kind of study.

A study decides its claims once, from intervals, as data. Words are made from them at the very end, in `leakscope.report.documents`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from leakscope.core.errors import InputError
from leakscope.core.estimate import Estimate
from leakscope.core.wording import name

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

Outcome = Literal["yes", "no", "inconclusive"]
Scalar = str | int | float | bool | None
#: Fields of a result that its JSON does not hold.
NOT_IN_JSON = ("records",)


@dataclass(frozen=True)
class Claim:
    """One statement that a study makes, decided from intervals.

    Parameters
    ----------
    code
        What is claimed, one of the codes of the kind of result (`Result.codes`).
    subject
        What it is about, by name: the release, attack, group, version, … Empty for the model as a whole.
    outcome
        ``yes`` and ``no`` are significant; otherwise it is ``inconclusive``.
    estimates
        The numbers behind it by name. The first one is the measure of the claim, which a comparison of two results compares. If the code is about a
        risk, a larger measure must mean a larger risk.

    Examples
    --------
    >>> Claim("leak", {"release": "labels"}, "yes", {"auc": Estimate(0.61, 0.58, 0.64)}).estimates["auc"]
    0.61 [0.58, 0.64]
    """

    code: str
    subject: dict[str, Scalar] = field(default_factory=dict)
    outcome: Outcome = "inconclusive"
    estimates: dict[str, Estimate] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, tuple[tuple[str, Scalar], ...]]:
        """Equal for claims about one thing in two results."""
        return self.code, tuple(sorted(self.subject.items()))


@dataclass(frozen=True)
class Caveat:
    """Something that limits a result, as a code with its values; `leakscope.report.documents.caveats` has the sentences.

    The values are plain: texts, numbers, estimates and lists of these.
    """

    code: str
    values: dict[str, Estimate | Scalar | list[Scalar]] = field(default_factory=dict)


@dataclass(frozen=True)
class NotRun:
    """An attack, release or option that a study left out, and why."""

    release: str
    attack: str
    reason: str


class SavedRecords(Protocol):
    """A table of records in a file: all of it as a data frame, or some columns as lists, which takes no pandas."""

    def frame(self) -> pd.DataFrame: ...

    def columns(self, *names: str) -> list[list[Any]]: ...


class _RecordsField:
    """The field for records: a saved table becomes a data frame when it is first looked at."""

    def __get__(self, result: Any, owner: type) -> Any:
        if result is None:
            return None
        held = vars(result).get("_records")
        if hasattr(held, "frame"):
            vars(result)["_records"] = held = held.frame()
        return held

    def __set__(self, result: Any, records: Any) -> None:
        vars(result)["_records"] = records


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What a study returns.

    A subclass states its ``kind``, its ``schema_version``, the ``codes`` of its claims with the outcome that means more risk (None where
    neither does), the ``possible_figures`` that its claims may lack, and which of its fields is the ``table`` of ``table.csv``. Its documents are made by
    ``leakscope.report.documents.<kind>``.

    Parameters
    ----------
    claims
        What the study decided.
    warnings
        What limits the result.
    not_run
        What was left out, and why.
    settings
        All that the numbers depend on, as JSON has it.
    fingerprints, versions, seconds, created, command
        Digests of the data, versions of packages, time spent by step, when and by which command it was made.
    records
        One row per training record, by id; None where the study has none. It is saved as ``records.csv``, not in the JSON.
    """

    kind: ClassVar[str]
    schema_version: ClassVar[int] = 1
    codes: ClassVar[Mapping[str, Outcome | None]] = {}
    possible_figures: ClassVar[tuple[str, ...]] = ()
    table: ClassVar[str] = ""

    claims: tuple[Claim, ...] = ()
    warnings: tuple[Caveat, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    created: str = ""
    command: str = ""
    records: pd.DataFrame | None = _RecordsField()  # type: ignore[assignment]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        unknown = [claim.code for claim in self.claims if claim.code not in self.codes]
        if unknown:
            raise ValueError(f"a result of kind {self.kind!r} has no claim {unknown[0]!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = (getattr(one, "records", None) for one in (self, other))
        same_records = mine is theirs if mine is None or theirs is None else mine.equals(theirs)
        return same_records and all(
            getattr(self, item.name) == getattr(other, item.name) for item in content_fields(type(self))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def studied(self) -> str:
        """Name of the model or learner that was studied."""
        return str(self.settings.get("model", self.settings.get("learner", self.kind)))

    def claim(self, code: str, **subject: Scalar) -> Claim:
        """Give the first claim with this code whose subject holds these entries."""
        for claim in self.claims:
            if claim.code == code and subject.items() <= claim.subject.items():
                return claim
        about = "".join(f", {key} {value!r}" for key, value in subject.items())
        raise InputError(f"the result has no claim {code!r}{about}: it has {', '.join(sorted(self.codes))}")

    def record_columns(self, *names: str) -> list[list[Any]] | None:
        """Give columns of the records as lists; None without records."""
        held = vars(self)["_records"]
        if held is None:
            return None
        if hasattr(held, "frame"):
            saved: SavedRecords = held
            return saved.columns(*names)
        return [held[name].tolist() for name in names]

    # --- as data ------------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Give everything but the records as plain lists, dicts, texts and numbers."""
        head = {"kind": self.kind, "schema_version": self.schema_version}
        return head | {item.name: plain(getattr(self, item.name)) for item in content_fields(type(self))}

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Give a field with several rows as a data frame.

        Parameters
        ----------
        table
            Name of the field, such as ``claims``, ``risks`` or ``records``; by default the main table of the study. An estimate takes three
            columns: ``auc``, ``auc_low`` and ``auc_high``.
        """
        import pandas as pd

        chosen = table or self.table or "claims"
        if chosen == "records" and self.records is not None:
            return self.records.copy()
        rows = getattr(self, chosen, None) if chosen in tables_of(self) else None
        if rows is None:
            raise InputError(
                f"a result of kind {self.kind!r} has no table {chosen!r}: it has {', '.join(tables_of(self))}"
            )
        return pd.DataFrame([flat(row) for row in rows])

    def to_csv(self, table: str | None = None) -> str:
        """Give a table as CSV in which no text can act as a formula; see `to_frame`."""
        from leakscope.record.tables import frame_to_csv

        return frame_to_csv(self.to_frame(table))

    def save(self, folder: str | Path, include: Sequence[Result] = ()) -> None:
        """Write ``result.json``, ``report.html``, ``table.csv`` and, where there are records, ``records.csv``: all of them or none.

        Parameters
        ----------
        include
            Other results that the report shows too.
        """
        from leakscope.record.storage import save
        from leakscope.report.renderers import html

        save(self, Path(folder), html.render(self, include))

    # --- for people ---------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        from leakscope.report.renderers import text

        return text.render(self)

    def __repr__(self) -> str:
        outcomes = ", ".join(f"{claim.code} {claim.outcome}" for claim in self.claims if not claim.subject)
        return f"<{type(self).__name__}: {outcomes or f'{len(self.claims)} claims'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from leakscope.report.renderers import html

        return html.render_fragment(self)

    def __rich__(self) -> RenderableType:
        """What Rich shows."""
        from leakscope.report.renderers import terminal

        return terminal.render(self)

    def plot(self, chart: str | int = 0) -> Any:
        """Draw a chart of the report with matplotlib.

        Parameters
        ----------
        chart
            Its position, or a part of its title.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from leakscope.report.charts.figures import draw_chart_of

        return draw_chart_of(self, chart)


#: Classes of results by kind, filled as they are defined.
KINDS: dict[str, type[Result]] = {}


def content_fields(kind: type[Result]) -> list[dataclasses.Field[Any]]:
    """Fields that the JSON of a result holds."""
    return [item for item in fields(kind) if item.name not in NOT_IN_JSON]


def tables_of(result: Result) -> list[str]:
    """Names of the fields of a result that are tables."""
    found = [
        item.name
        for item in content_fields(type(result))
        if isinstance(rows := getattr(result, item.name), tuple) and rows and dataclasses.is_dataclass(rows[0])
    ]
    return found if result.records is None else [*found, "records"]


def flat(row: Any) -> dict[str, Any]:
    """Give a dataclass as one row of a table: an estimate takes three columns, a dict one for each entry, a nested row its own.

    Examples
    --------
    >>> flat(Claim("leak", {"release": "labels"}, "yes", {"auc": Estimate(0.61, 0.58, 0.64)}))
    {'code': 'leak', 'release': 'labels', 'outcome': 'yes', 'auc': 0.61, 'auc_low': 0.58, 'auc_high': 0.64}
    """
    if isinstance(row, Claim):
        named = {"code": row.code, **row.subject, "outcome": row.outcome, **row.estimates}
    else:
        named = {item.name: getattr(row, item.name) for item in fields(row)}
    return {key: cell for column, value in named.items() for key, cell in _cells(column, value).items()}


def _cells(column: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Estimate):
        return {column: value.value, f"{column}_low": value.low, f"{column}_high": value.high}
    if isinstance(value, dict):
        separator = ("[", "]") if any(isinstance(key, float) for key in value) else ("_", "")
        parts = [_cells(f"{column}{separator[0]}{_key(key)}{separator[1]}", one) for key, one in value.items()]
        return {key: cell for part in parts for key, cell in part.items()}
    if dataclasses.is_dataclass(value):
        return {f"{column}_{key}": cell for key, cell in flat(value).items()}
    if isinstance(
        value, tuple | list
    ):  # texts such as names, and codes; curves and rows of their own are in the JSON only
        texts = [one.code if isinstance(one, Caveat) else one for one in value]
        return {column: "; ".join(texts)} if all(isinstance(one, str) for one in texts) else {}
    return {column: value}


def _key(key: Any) -> str:
    return f"{key:g}" if isinstance(key, float) else str(key)


def plain(value: Any) -> Any:
    """Give dataclasses, tuples and dicts as JSON has them.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"sizes": (np.int64(30), 100), "rate": {0.01: Claim("leak", outcome="no")}})["rate"]["0.01"]["outcome"]
    'no'
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {key if isinstance(key, str) else repr(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return _number(value)


def _number(value: Any) -> Any:
    """Give a number of numpy as one of Python. A result is read without numpy."""
    return value.item() if type(value).__module__ == "numpy" else value


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give settings as they come back from JSON, with texts made safe.

    Examples
    --------
    >>> import numpy as np
    >>> plain_settings({"sizes": (np.int64(30), 100), "learner": "ridge"})
    {'sizes': [30, 100], 'learner': 'ridge'}
    """
    return {name(key): _plain_setting(value) for key, value in settings.items()}


def _plain_setting(value: Any) -> Any:
    value = _number(value)
    if isinstance(value, Mapping):
        return plain_settings(value)
    if isinstance(value, list | tuple):
        return [_plain_setting(one) for one in value]
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return name(value)
