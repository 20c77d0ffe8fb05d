"""Reader for Bayesian networks in BIF, the file format of the Bayesian Network Repository.

A file lists variables with their levels, and a table for each: one row per configuration of the parents. Rows are matched by
their levels, since the order of rows differs between copies of a file.

    variable rain { type discrete [ 2 ] { no, yes }; }
    probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.0, 1.0; }

`pgmpy` reads the same files in about a second; it is the reference in the tests.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from pathlib import Path

import numpy as np

from leakscope.causal.network import Network, check_cells
from leakscope.core.arrays import Floats
from leakscope.core.errors import InputError
from leakscope.data.records import list_names

_COMMENT = re.compile(r'("[^"\n]*")|/\*.*?(?:\*/|\Z)|(?<!\S)//[^\n]*', re.S)
_NAME = r'(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s{(|,)]+))'
_VARIABLE = re.compile(rf"\bvariable\s+{_NAME}\s*\{{[^{{}}]*?\btype\s+discrete\s*\[\s*(?P<count>\d{{1,9}})\s*\]\s*"
                       r"\{(?P<levels>[^{}]*)\}[^{}]*\}")  # fmt: skip
_PROBABILITY = re.compile(r"\bprobability\s*\((?P<head>[^()]*)\)\s*\{(?P<body>[^{}]*)\}")
_ROW = re.compile(r"\s*(?:\((?P<levels>[^()]*)\)(?P<numbers>[^()]*)|(?P<word>table|default)\b(?P<others>[^()]*))")
_LARGEST_FILE = 200_000_000


def read_bif(path: str | Path) -> Network:
    """Read a network from a BIF file, plain or gzip-compressed; its name is that of the file.

    Examples
    --------
    >>> read_bif("no/such.bif")
    Traceback (most recent call last):
    leakscope.core.errors.InputError: file no/such.bif does not exist: name a BIF file
    """
    path = Path(path)
    if not path.is_file():
        what = f"{path} is a folder" if path.is_dir() else f"file {path} does not exist"
        raise InputError(f"{what}: name a BIF file")
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            with gzip.open(path) as stream:
                content = stream.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise InputError(f"{path} has more than {_LARGEST_FILE:,} bytes: use a smaller network")
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        raise InputError(
            f"{path} cannot be read as BIF text ({type(error).__name__}): name a .bif or .bif.gz file"
        ) from error
    return parse_bif(text, path.name.removesuffix(".gz").removesuffix(".bif"))


def parse_bif(text: str, name: str = "network") -> Network:
    """Read a network from the text of a BIF file.

    Examples
    --------
    >>> garden = parse_bif('''
    ... network garden { }
    ... variable rain { type discrete [ 2 ] { no, yes }; }
    ... variable wet { type discrete [ 2 ] { no, yes }; }
    ... probability ( rain ) { table 0.8, 0.2; }
    ... probability ( wet | rain ) { (yes) 0.0, 1.0; (no) 0.9, 0.1; }
    ... ''')
    >>> garden.parents["wet"], garden.tables["wet"].tolist()
    (('rain',), [[0.9, 0.1], [0.0, 1.0]])
    """
    text = _COMMENT.sub(lambda match: match[1] or " ", text)  # comment characters within quotes are kept
    levels = _levels(text)
    parents: dict[str, tuple[str, ...]] = {}
    tables: dict[str, Floats] = {}
    for match in _PROBABILITY.finditer(text):
        head = [_unquoted(part) for part in re.split(r"[|,]", match["head"])]
        child, given = head[0], tuple(part for part in head[1:] if part)
        if child in tables:
            raise InputError(f"the BIF text has two tables for {child!r}: keep one")
        if unknown := [variable for variable in (child, *given) if variable not in levels]:
            raise InputError(f"the BIF text has a table with {list_names(unknown)}: declare the variable")
        parents[child] = given
        tables[child] = _table(match["body"], child, given, levels)
    if missing := [variable for variable in levels if variable not in tables]:
        raise InputError(f"the BIF text has no table for {list_names(missing)}: it may be truncated")
    return Network(name, levels, parents, tables)


def _levels(text: str) -> dict[str, tuple[str, ...]]:
    levels: dict[str, tuple[str, ...]] = {}
    for match in _VARIABLE.finditer(text):
        variable = match["plain"] or match["quoted"]
        found = tuple(_unquoted(level) for level in match["levels"].split(","))
        if len(found) != int(match["count"]):
            raise InputError(f"variable {variable!r} declares {match['count']} levels and lists {len(found)}")
        if variable in levels:
            raise InputError(f"the BIF text declares variable {variable!r} twice: keep one")
        levels[variable] = found
    if not levels:
        raise InputError(
            "the text has no line such as 'variable rain { type discrete [ 2 ] { no, yes }; }': pass BIF text"
        )
    return levels


def _table(body: str, child: str, given: tuple[str, ...], levels: dict[str, tuple[str, ...]]) -> Floats:
    """Return one row per configuration of the parents; a missing row takes the default, or raises an error."""
    shape = [len(levels[parent]) for parent in given]
    check_cells(child, math.prod(shape) * len(levels[child]))
    table = np.full((math.prod(shape), len(levels[child])), np.nan)
    codes = [{level: code for code, level in enumerate(levels[parent])} for parent in given]
    seen, default = set(), None
    for match in filter(None, map(_ROW.fullmatch, body.split(";")[:-1])):
        numbers = _numbers(match["numbers"] or match["others"] or "", child, table.shape[1])
        if match["word"] == "default":
            default = numbers
            continue
        row = 0
        if match["word"] == "table":
            if given:
                raise InputError(f"the table of {child!r} has rows without levels of {list_names(given)}: add them")
        else:
            row = _row(match["levels"], child, given, codes, shape)
        if row in seen:
            raise InputError(f"the table of {child!r} has a configuration of its parents twice: keep one")
        seen.add(row)
        table[row] = numbers
    if (empty := np.isnan(table[:, 0])).any():
        if default is None:
            raise InputError(
                f"the table of {child!r} lacks {int(empty.sum())} of {len(table)} rows: it may be truncated"
            )
        table[empty] = default
    return table


def _row(text: str, child: str, given: tuple[str, ...], codes: list[dict[str, int]], shape: list[int]) -> int:
    names = [_unquoted(level) for level in text.split(",")]
    if len(names) != len(given):
        raise InputError(f"a row of the table of {child!r} names {len(names)} levels for {len(given)} parents")
    row = 0
    for parent, level, known, size in zip(given, names, codes, shape, strict=True):
        if level not in known:
            raise InputError(f"the table of {child!r} has a level {level!r} that its parent {parent!r} does not have")
        row = row * size + known[level]
    return row


def _numbers(text: str, child: str, count: int) -> Floats:
    try:
        numbers = np.array([float(part) for part in re.split(r"[,\s]+", text.strip())])
    except ValueError:
        raise InputError(f"the table of {child!r} has non-numeric text in {text.strip()[:60]!r}") from None
    if len(numbers) != count:
        raise InputError(f"a row of the table of {child!r} has {len(numbers)} numbers for {count} levels")
    if not np.isfinite(numbers).all():
        raise InputError(f"a row of the table of {child!r} has a number that is not finite: {text.strip()[:60]!r}")
    return numbers


def _unquoted(text: str) -> str:
    return text.strip().strip('"')
