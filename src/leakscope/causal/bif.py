"""Bayesian networks from BIF files, the format of the Bayesian Network Repository.

A file names variables with their levels, and then a table for each: one row for each configuration of the parents, matched
by the levels written on it, since the order of rows differs between copies of a file.

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
    """Read a network from a BIF file, plain or gzip-compressed; it is called what the file is.

    Examples
    --------
    >>> read_bif("no/such.bif")
    Traceback (most recent call last):
    leakscope.core.errors.InputError: there is no file no/such.bif
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path} is a folder: name a BIF file" if path.is_dir() else f"there is no file {path}")
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            with gzip.open(path) as stream:
                content = stream.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise InputError(f"{path} holds more than {_LARGEST_FILE:,} bytes: that is no network to sample from")
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        raise InputError(
            f"{path} can't be read as BIF text ({type(error).__name__}): name a .bif or .bif.gz"
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
    text = _COMMENT.sub(lambda match: match[1] or " ", text)  # what looks like a comment within quotes is none
    levels = _levels(text)
    parents: dict[str, tuple[str, ...]] = {}
    tables: dict[str, Floats] = {}
    for match in _PROBABILITY.finditer(text):
        head = [_unquoted(part) for part in re.split(r"[|,]", match["head"])]
        child, given = head[0], tuple(part for part in head[1:] if part)
        if child in tables:
            raise InputError(f"the BIF text has two tables for {child!r}: keep one")
        if unknown := [variable for variable in (child, *given) if variable not in levels]:
            raise InputError(f"the BIF text has a table with {list_names(unknown)}, which is no variable in it")
        parents[child] = given
        tables[child] = _table(match["body"], child, given, levels)
    if missing := [variable for variable in levels if variable not in tables]:
        raise InputError(f"the BIF text has no table for {list_names(missing)}: it may be cut short")
    return Network(name, levels, parents, tables)


def _levels(text: str) -> dict[str, tuple[str, ...]]:
    levels: dict[str, tuple[str, ...]] = {}
    for match in _VARIABLE.finditer(text):
        variable = match["plain"] or match["quoted"]
        found = tuple(_unquoted(level) for level in match["levels"].split(","))
        if len(found) != int(match["count"]):
            raise InputError(f"{variable!r} is said to have {match['count']} levels and names {len(found)}")
        if variable in levels:
            raise InputError(f"the BIF text names the variable {variable!r} twice")
        levels[variable] = found
    if not levels:
        raise InputError(
            "the text has no line such as 'variable rain { type discrete [ 2 ] { no, yes }; }': is it BIF?"
        )
    return levels


def _table(body: str, child: str, given: tuple[str, ...], levels: dict[str, tuple[str, ...]]) -> Floats:
    """One row for each configuration of the parents; a row that the text lacks takes the default, or is refused."""
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
                raise InputError(f"the table of {child!r} has no levels of {list_names(given)} on its rows: write them")
        else:
            row = _row(match["levels"], child, given, codes, shape)
        if row in seen:
            raise InputError(f"the table of {child!r} has a configuration of its parents twice")
        seen.add(row)
        table[row] = numbers
    if (empty := np.isnan(table[:, 0])).any():
        if default is None:
            raise InputError(
                f"the table of {child!r} lacks {int(empty.sum())} of {len(table)} rows: it may be cut short"
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
            raise InputError(f"the table of {child!r} names a level {level!r} that its parent {parent!r} does not have")
        row = row * size + known[level]
    return row


def _numbers(text: str, child: str, count: int) -> Floats:
    try:
        numbers = np.array([float(part) for part in re.split(r"[,\s]+", text.strip())])
    except ValueError:
        raise InputError(f"the table of {child!r} has something else than numbers in {text.strip()[:60]!r}") from None
    if len(numbers) != count:
        raise InputError(f"a row of the table of {child!r} has {len(numbers)} numbers for {count} levels")
    if not np.isfinite(numbers).all():
        raise InputError(f"a row of the table of {child!r} has a number that is none: {text.strip()[:60]!r}")
    return numbers


def _unquoted(text: str) -> str:
    return text.strip().strip('"')
