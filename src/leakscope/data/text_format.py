"""How CSV files are written: separator and decimal mark."""

from __future__ import annotations

from dataclasses import dataclass

from leakscope.core.errors import InputError

#: Other ways to write a separator on a command line.
SPELLINGS = {"tab": "\t", "\\t": "\t"}


@dataclass(frozen=True)
class TextFormat:
    """How CSV files are written; what is None is detected for each file.

    Parameters
    ----------
    separator
        One character between fields, or ``tab``.
    decimal
        Decimal mark of numbers: a point or a comma.
    """

    separator: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        mark = self.mark
        if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '"\r\n'):
            raise InputError(f"--separator must be one character such as ';', or tab, not {self.separator!r}")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"--decimal must be a point or a comma, not {self.decimal!r}")
        if mark is not None and mark == self.decimal:
            raise InputError(f"--separator and --decimal are both {mark!r}: fields and decimals need different marks")

    @property
    def mark(self) -> str | None:
        """The character that separates fields."""
        return None if self.separator is None else SPELLINGS.get(self.separator, self.separator)
