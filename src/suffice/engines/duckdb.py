"""Sums by class inside DuckDB, where a relation's rows are: only the sums travel.

They are taken about the class means, which a first scan finds, so that an offset of the columns costs no digits. DuckDB
adds up in no fixed order: two runs may differ in the last bits. The objects are the caller's; DuckDB is not imported.
"""

# ruff: noqa: S608 - every name is quoted

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from .._arrays import Array, np
from ..schema import Level
from .sources import Relation, Source

MOST_COLUMNS = 30  # with more, reading the rows is faster than d (d + 1) / 2 sums
NUMBERS = re.compile(r"(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|BOOLEAN|DECIMAL\(.*\))", re.IGNORECASE)
WORDS = re.compile(r"(?:VARCHAR|ENUM\(.*\))", re.IGNORECASE | re.DOTALL)
LABELS = re.compile(r"(?:U?(?:TINY|SMALL|BIG)?INT(?:EGER)?|BOOLEAN|VARCHAR|ENUM\(.*\))", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class ClassSums:
    """Sums of the rows with a label and a positive weight, by class as it comes: k classes, d columns of numbers.

    `weight` (k,); `cells` (k, d) weights of observed cells; `mean` (k, d); `squares` (k, d) about it, and `scatter`
    (k, d, d) of classes without a missing cell, if asked for.
    """

    labels: list[Level]
    rows: int
    unlabelled: int
    weight: Array
    cells: Array
    mean: Array
    squares: Array
    scatter: Array | None


def kinds(source: Source) -> dict[str, str]:
    """Return "number", "word" or "" for each column of a relation, by its type."""
    types = _types(source)
    return {
        name: "number" if NUMBERS.fullmatch(own) else "word" if WORDS.fullmatch(own) else ""
        for name, own in types.items()
    }


def class_sums(
    source: Source, columns: Sequence[str], target: str, weight: str | None, cross: bool
) -> ClassSums | None:
    """Return the `ClassSums` of columns of numbers; None where the rows have to be read to say what is wrong.

    `cross`: with the sums of products of two columns, which need every cell to be there.
    """
    if not LABELS.fullmatch(_types(source)[target]):
        return None
    values = [f"CAST({_quoted(name)} AS DOUBLE)" for name in columns]
    cells = [f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END AS x{j}" for j, value in enumerate(values)]
    t = f"WITH t AS (SELECT {_listed(f'{_quoted(target)} AS y', f'{_weight(weight)} AS w', *cells)} FROM {{rows}})"
    d = range(len(columns))
    bad = " OR ".join(["w IS NULL", "NOT isfinite(w)", "w < 0", *(f"isinf(x{j})" for j in d)])
    about = [f"sum(w) FILTER (x{j} IS NOT NULL) AS n{j}, sum(w * x{j}) / n{j} AS m{j}" for j in d]
    first = _listed("y", "count(*)", f"count(*) FILTER ({bad})", "sum(w)", *about)
    found = _rows(source, f"{t} SELECT {first} FROM t WHERE w > 0 OR w IS NULL OR NOT w >= 0 GROUP BY y")
    known = [row for row in found if row[0] is not None]
    k, n = len(known), len(columns)
    seen = np.array([[cell or 0.0 for cell in row[4::2]] for row in known], dtype=np.float64).reshape(k, n)
    total = np.array([row[3] for row in known])
    if any(row[2] for row in found) or not known or (cross and (seen != total[:, None]).any()):
        return None
    pairs = [(i, j) for i in d for j in (range(i, n) if cross else (i,))]
    sums = [*(f"any_value(m{j})" for j in d), *(f"sum(w * z{j})" for j in d)]
    sums += [f"sum(w * z{i} * z{j})" for i, j in pairs]
    p = f"p AS (SELECT {_listed('y', *about)} FROM t WHERE w > 0 AND y IS NOT NULL GROUP BY y)"
    shifted = _listed("t.y", "w", *(f"m{j}, x{j} - m{j} AS z{j}" for j in d))
    z = f"z AS (SELECT {shifted} FROM t JOIN p ON t.y = p.y WHERE w > 0)"
    by_label = {
        row[0]: [cell or 0.0 for cell in row[1:]]
        for row in _rows(source, f"{t}, {p}, {z} SELECT {_listed('y', *sums)} FROM z GROUP BY y")
    }
    table = np.array([by_label[row[0]] for row in known], dtype=np.float64)
    step = table[:, n : 2 * n] / np.where(seen > 0, seen, 1.0)
    moved = np.zeros((k, n, n))
    for (i, j), column in zip(pairs, table[:, 2 * n :].T, strict=True):
        moved[:, i, j] = moved[:, j, i] = column - table[:, n + i] * step[:, j]
    squares = np.maximum(np.diagonal(moved, axis1=1, axis2=2), 0.0)
    rows, absent = sum(row[1] for row in known), sum(row[1] for row in found if row[0] is None)
    labels, mean = [row[0] for row in known], table[:, :n] + step
    return ClassSums(labels, rows, absent, total, seen, mean, squares, moved if cross else None)


def class_counts(source: Source, column: str, target: str, weight: str | None) -> list[tuple[Any, ...]]:
    """Return (label, level, weight) for each level of a column of words, None where it is missing."""
    cells = _listed(f"{_quoted(target)} AS y", f"{_quoted(column)} AS x", f"{_weight(weight)} AS w")
    counts = "SELECT y, x, sum(w) FROM t WHERE w > 0 AND y IS NOT NULL GROUP BY y, x"
    return _rows(source, f"WITH t AS (SELECT {cells} FROM {{rows}}) {counts}")


def _listed(*terms: str) -> str:
    return ", ".join(terms)


def _weight(name: str | None) -> str:
    return f"CAST({'1' if name is None else _quoted(name)} AS DOUBLE)"


def _rows(source: Source, query: str) -> list[tuple[Any, ...]]:
    relation, name = (
        _relation(source),
        f"suffice_{uuid4().hex}",
    )  # a table of the connection would come before the relation
    try:
        return relation.query(name, query.format(rows=name)).fetchall()
    finally:
        relation.query(name, f"DROP VIEW IF EXISTS {name}")  # DuckDB 1.4 leaves it behind


def _types(source: Source) -> dict[str, str]:
    relation = _relation(source)
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def _relation(source: Source) -> Relation:
    if source.relation is None:
        raise TypeError(f"{source.name} is no relation of a database")
    return source.relation


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("{", "{{").replace("}", "}}") + '"'
