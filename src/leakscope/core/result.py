"""`Result`, the base class of all study results, with claims, caveats, export to tables, saving and printing.

A study decides its claims once, from intervals, as data. `leakscope.report.documents` turns claims into text.
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
#: Fields of a result that are not saved in its JSON.
NOT_IN_JSON = ("records",)


@dataclass(frozen=True)
class Claim:
    """A statement of a study, decided from intervals.

    Parameters
    ----------
    code
        Type of the claim, one of `Result.codes`.
    subject
        The release, attack, group or version that the claim is about. Empty for the model as a whole.
    outcome
        ``yes`` and ``no`` are significant results; otherwise ``inconclusive``.
    estimates
        Estimates that the claim is based on, by name. `leakscope.diff` compares the first one between two results. If the
        claim is about a risk, a larger first estimate must mean a larger risk.

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
        """Key that is equal for claims about the same subject in two results."""
        return self.code, tuple(sorted(self.subject.items()))


@dataclass(frozen=True)
class Caveat:
    """A limitation of a result, as a code and values; `leakscope.report.documents.caveats` contains the sentences.

    Values are strings, numbers, estimates and lists of these.
    """

    code: str
    values: dict[str, Estimate | Scalar | list[Scalar]] = field(default_factory=dict)


@dataclass(frozen=True)
class NotRun:
    """An attack, release or option that a study did not run, with the reason."""

    release: str
    attack: str
    reason: str


class SavedRecords(Protocol):
    """A table of records in a file, read as a data frame, or by column as lists without pandas."""

    def frame(self) -> pd.DataFrame: ...

    def columns(self, *names: str) -> list[list[Any]]: ...


class _RecordsField:
    """Descriptor for ``records``: a saved table is read into a data frame on first access."""

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
    """The result of a study.

    A subclass defines its ``kind``, its ``schema_version``, the ``codes`` of its claims with the outcome that means more
    risk (None if neither does), the ``possible_figures`` that its claims may lack, and the field that is the ``table`` of
    ``table.csv``. ``leakscope.report.documents.<kind>`` creates its documents.

    Parameters
    ----------
    claims
        Claims of the study.
    warnings
        Limitations of the result.
    not_run
        Attacks, releases and options that were not run, with reasons.
    settings
        All settings that the numbers depend on, as JSON types.
    fingerprints, versions, seconds, created, command
        Digests of the data, package versions, seconds per step, time of creation and command line.
    records
        One row per training record, by id, or None. Saved as ``records.csv``, not in the JSON.
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
        mine, theirs = self.records, other.records
        same_records = mine is theirs if mine is None or theirs is None else mine.equals(theirs)
        names = [item.name for item in content_fields(type(self))]
        return same_records and all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment]

    @property
    def studied(self) -> str:
        """Name of the studied model or learner."""
        return str(self.settings.get("model", self.settings.get("learner", self.kind)))

    def claim(self, code: str, **subject: Scalar) -> Claim:
        """Return the first claim with this code whose subject contains these entries."""
        for claim in self.claims:
            if claim.code == code and subject.items() <= claim.subject.items():
                return claim
        about = "".join(f", {key} {value!r}" for key, value in subject.items())
        raise InputError(f"the result has no claim {code!r}{about}: it has {', '.join(sorted(self.codes))}")

    def record_columns(self, *names: str) -> list[list[Any]] | None:
        """Return columns of the records as lists, or None without records."""
        held = vars(self)["_records"]
        if held is None:
            return None
        saved: SavedRecords | None = held if hasattr(held, "frame") else None
        return [held[name].tolist() for name in names] if saved is None else saved.columns(*names)

    # --- as data ------------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the records as lists, dicts, strings and numbers."""
        head = {"kind": self.kind, "schema_version": self.schema_version}
        return head | {item.name: plain(getattr(self, item.name)) for item in content_fields(type(self))}

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return a table of the result as a data frame.

        Parameters
        ----------
        table
            Field such as ``claims``, ``risks`` or ``records``; by default the main table of the study. An estimate
            becomes three columns: ``auc``, ``auc_low`` and ``auc_high``.
        """
        import pandas as pd

        chosen = table or self.table or "claims"
        if chosen == "records" and self.records is not None:
            return self.records.copy()
        rows = getattr(self, chosen, None) if chosen in tables_of(self) else None
        if rows is None:
            raise InputError(f"a {self.kind!r} result has no table {chosen!r}: it has {', '.join(tables_of(self))}")
        return pd.DataFrame([flat(row) for row in rows])

    def to_csv(self, table: str | None = None) -> str:
        """Return a table as CSV, with texts escaped that a spreadsheet would run as formulas; see `to_frame`."""
        from leakscope.record.tables import frame_to_csv

        return frame_to_csv(self.to_frame(table))

    def save(self, folder: str | Path, include: Sequence[Result] = ()) -> None:
        """Write ``result.json``, ``report.html``, ``table.csv`` and, with records, ``records.csv``, or no file at all.

        Parameters
        ----------
        include
            Further results to show in the report.
        """
        from leakscope.record.storage import save
        from leakscope.report.renderers import html

        save(self, Path(folder), html.render(self, include))

    # --- display ------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        from leakscope.report.renderers import text

        return text.render(self)

    def __repr__(self) -> str:
        outcomes = ", ".join(f"{claim.code} {claim.outcome}" for claim in self.claims if not claim.subject)
        return f"<{type(self).__name__}: {outcomes or f'{len(self.claims)} claims'}>"

    def _repr_html_(self) -> str:
        """Render the result for a notebook."""
        from leakscope.report.renderers import html

        return html.render_fragment(self)

    def __rich__(self) -> RenderableType:
        """Render the result for Rich."""
        from leakscope.report.renderers import terminal

        return terminal.render(self)

    def plot(self, chart: str | int = 0) -> Any:
        """Draw a chart of the report with matplotlib.

        Parameters
        ----------
        chart
            Position of the chart, or part of its title.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from leakscope.report.charts.figures import draw_chart_of

        return draw_chart_of(self, chart)


#: Result classes by kind; a class registers itself when it is defined.
KINDS: dict[str, type[Result]] = {}


def content_fields(kind: type[Result]) -> list[dataclasses.Field[Any]]:
    """Return the fields of a result that are saved in its JSON."""
    return [item for item in fields(kind) if item.name not in NOT_IN_JSON]


def tables_of(result: Result) -> list[str]:
    """Return the names of the fields of a result that are tables."""
    found = [
        item.name
        for item in content_fields(type(result))
        if isinstance(rows := getattr(result, item.name), tuple) and rows and dataclasses.is_dataclass(rows[0])
    ]
    return found if result.records is None else [*found, "records"]


def flat(row: Any) -> dict[str, Any]:
    """Flatten a dataclass to a row: three columns for an estimate, one per entry of a dict, and those of a nested row.

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
    if isinstance(value, tuple | list):  # strings and codes; curves and nested tables are in the JSON only
        texts = [one.code if isinstance(one, Caveat) else one for one in value]
        return {column: "; ".join(texts)} if all(isinstance(one, str) for one in texts) else {}
    return {column: value}


def _key(key: Any) -> str:
    return f"{key:g}" if isinstance(key, float) else str(key)


def plain(value: Any) -> Any:
    """Convert dataclasses, tuples and dicts to JSON types.

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
    """Convert a NumPy number to a Python number, since results are read without NumPy."""
    return value.item() if type(value).__module__ == "numpy" else value


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert settings to JSON types, with strings made safe to display.

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
