"""The table itself, as plain values: its columns, holes, repeated rows and columns, some rows, and what to look at.

Of a table that a model has learned (`collect_profile`), or before any fit (`profile_table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._arrays import Codes, cumcount, np
from ...plots._view import View
from ...schema import Schema
from ...table import read_table
from ..facts import costs
from .alerts import SPOILING, AlertKind, alerts_of_columns, collect_alerts, is_identifier
from .columns import MOST_BY_CLASS, Palette, brief, describe_column, nats, value_text
from .table import ProfiledColumn, ProfiledTable, equal_columns, equal_rows, given_table, learned_table

__all__ = ["collect_profile", "nats", "profile_table", "profile_view", "warn_of_columns"]

MOST_COLUMNS = 500
SAMPLE_ROWS, SAMPLE_COLUMNS = 8, 12
MOST_PATTERNS = 8
MOST_WITH_HOLES = 16  # of the matrix


def collect_profile(estimator: object, X: object = None, y: object = None, name: str = "the table") -> dict[str, Any]:
    """Return what there is to say of the table that a fitted model has learned, as plain values.

    What is known of all rows by statistics is of all rows: classes, missing cells, levels; the rest is of the rows that
    the model keeps. If it keeps none and was not released, a table `X` with labels `y` is looked at in its place.

    - `of`: which rows, in words; `rows` in all, `held` of them there, `is_whole`; `why_none` there are none
    - `classes`: those drawn, each with `label`, `color` (None: grey) and `weight`
    - `columns`: `name`, `kind`, `missing` (a share), `distinct` values and whether these are all (`distinct_exact`),
      what it `says` (a range, or the commonest levels), `importance` in nats, `picture` (bars by class, or None;
      `modelled` if they are of normal laws), `by_class`, `alerts` (numbers of those that name it)
    - `alerts`: `kind`, `text` and `columns`, what weighs most first
    - `holes`: which cells are missing together; `repeated`: rows that are equal; `same`: columns that say the same
    - `sample`: a few rows as text

    Examples
    --------
    >>> from suffice import NaiveBayes
    >>> from suffice.report import collect_profile
    >>> X = [["a", 1, 7], ["a", 2, 7], ["b", 3, 7], ["b", None, 7]]
    >>> profile = collect_profile(NaiveBayes().fit(X, ["no", "no", "yes", "yes"]))
    >>> [(own["name"], own["kind"], own["missing"]) for own in profile["columns"]]
    [('column 0', 'category', 0.0), ('column 1', 'whole number', 0.25), ('column 2', 'whole number', 0.0)]
    >>> profile["alerts"][1]["text"]
    'All cells are equal, which tells nothing: column 2 (7).'
    """
    return profile_view(View(estimator), X, y, name)


def profile_view(view: View, X: object = None, y: object = None, name: str = "the table") -> dict[str, Any]:
    """Return what `collect_profile` says of a model that is seen column by column."""
    schema, fitted = view.schema, view.fitted
    positions = list(range(len(schema)))
    if len(schema) > MOST_COLUMNS:  # counts of one total tell nothing one by one
        positions = view.informative(MOST_COLUMNS, view.rows()) or positions[:MOST_COLUMNS]
    table = learned_table(fitted, positions)
    of = f"the {table.held:,} rows that the model keeps of {table.rows:,}"
    if not table.has_rows:
        of = f"statistics of {table.rows:,} rows: {table.why_none}"
    elif table.is_whole:
        of = f"all {table.rows:,} rows"
    if not table.has_rows and X is not None and fitted.past.released is None:
        read, order = view.aligned(X)
        columns = [schema.columns[p] for p in positions]
        table = given_table(read, [order[p] for p in positions], columns, y, view.classes)
        of = f"the {table.rows:,} rows of {name}, as the model keeps none"
    found = costs(view)
    worth = None if found is None else [float(found.mean[p]) for p in positions]
    profile = _profile(table, of, len(schema) - len(positions), worth)
    for column, position in zip(profile["columns"], positions, strict=True):
        column["position"] = position
    return profile


def profile_table(X: object, y: object = None, name: str = "the table") -> dict[str, Any]:
    """Return what there is to say of a table before any model is fitted to it, as `collect_profile` does.

    DataError and SchemaError where the table cannot be read.
    """
    read = read_table(X)
    schema: Schema = read.schema
    shown = min(len(schema), MOST_COLUMNS)
    table = given_table(read, range(shown), schema.columns[:shown], y)
    of = f"all {table.rows:,} rows of {name}"
    if not table.is_whole:
        of = f"{table.held:,} rows of {name}, drawn from all {table.rows:,}"
    return _profile(table, of, len(schema) - shown, None)


def warn_of_columns(estimator: object) -> list[str]:
    """Return a sentence on each way in which columns that a model has learned may spoil it."""
    fitted = View(estimator).fitted
    table = learned_table(fitted, range(min(len(fitted.schema), MOST_COLUMNS)))
    return [alert["text"] for alert in alerts_of_columns(table) if alert["kind"] in SPOILING]


def _profile(table: ProfiledTable, of: str, left_out: int, worth: Sequence[float] | None) -> dict[str, Any]:
    """Return the profile of a table, `worth` what each of its columns is worth to a model in nats, if that is known."""
    palette = Palette.of(table)
    repeated, same = equal_rows(table, is_identifier), equal_columns(table)
    alerts = collect_alerts(table, repeated, same)
    by_class = len(table.columns) <= MOST_BY_CLASS
    columns = [describe_column(column, table, palette, by_class) for column in table.columns]
    rank = np.argsort(np.argsort(-np.array(worth or np.zeros(len(columns))), kind="stable")).tolist()
    for place, column in enumerate(columns):
        named = [i for i, alert in enumerate(alerts) if place in alert["columns"]]
        column |= {"place": place, "rank": rank[place], "alerts": named}
        if worth is not None:
            column["importance"] = worth[place]
    return {
        "of": of,
        "rows": table.rows,
        "held": table.held,
        "is_whole": table.is_whole,
        "why_none": table.why_none,
        "classes": palette.entries,
        "columns": columns,
        "columns_left_out": left_out,
        "has_importance": worth is not None,
        "alerts": alerts,
        "is_imbalanced": any(alert["kind"] == AlertKind.IMBALANCE for alert in alerts),
        "holes": missing_together(table, palette),
        "repeated": repeated,
        "same": same,
        "sample": _sample(table, worth or [0.0] * len(columns)),
    }


def _sample(table: ProfiledTable, worth: Sequence[float]) -> dict[str, Any] | None:
    """Return a few of the rows there are as text, classes in turn, with the columns that are worth most."""
    if not table.has_rows or not table.columns:
        return None
    shown = sorted(np.argsort(-np.array(worth), kind="stable")[:SAMPLE_COLUMNS].tolist())
    chosen = np.lexsort((table.codes, cumcount(table.codes)))[:SAMPLE_ROWS]  # classes in turn
    cells = [_texts(table.columns[j], chosen) for j in shown]
    labels = [None if table.codes[i] >= table.k else str(table.classes[table.codes[i]]) for i in chosen]
    return {
        "columns": shown,
        "names": [table.columns[j].name for j in shown],
        "labels": labels,
        "rows": [list(row) for row in zip(*cells, strict=True)],
    }


def _texts(column: ProfiledColumn, chosen: Codes) -> list[str | None]:
    if not column.has_cells:
        return [None] * len(chosen)
    levels = column.facts.levels

    def text(cell: float) -> str:
        return value_text(column, cell, 0.0) if levels is None else brief(levels[int(cell)], 40)

    return [None if np.isnan(cell) else text(cell) for cell in column.cells[chosen].tolist()]


def missing_together(table: ProfiledTable, palette: Palette) -> dict[str, Any] | None:
    """Return the commonest sets of missing columns of the rows there are; None where no cell is missing, or no row is.

    `columns` are numbers of columns in the table, those that miss most cells in the patterns shown; `patterns` have
    `missing` (which of these), `others` (how many columns beside them), `rows`, `share` of all rows there are, and
    `by_class`, their shares of them by entry of the palette. `complete` is the share of rows that miss no cell, `rest`
    how many more patterns there are, and `rest_share` the share of rows that have them.
    """
    if not table.has_rows:
        return None
    none = np.zeros(len(table.codes), dtype=np.bool_)
    holes = np.column_stack([~column.present if column.has_cells else none for column in table.columns] or [none])
    if not holes.any():
        return None
    _, first, group = np.unique(np.packbits(holes, axis=1), axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    weight = np.bincount(group, weights=table.weight).astype(np.float64)
    total = float(weight.sum())
    empty = np.asarray(~holes[first].any(axis=1))
    order = np.array([g for g in np.argsort(-weight, kind="stable") if not empty[g]], dtype=np.int64)
    shown, rest = order[:MOST_PATTERNS], order[MOST_PATTERNS:]
    cells = weight[shown] @ holes[first[shown]]  # missing in these patterns, by column
    most = np.argsort(-cells, kind="stable")[:MOST_WITH_HOLES]
    columns = sorted(int(j) for j in most if cells[j] > 0)
    patterns = []
    for g in shown:
        missing, rows = holes[first[g]], group == g
        own = np.bincount(table.codes[rows], weights=table.weight[rows], minlength=table.k + 1).astype(np.float64)
        by_class = palette.fold(own[:, None])[:, 0]
        patterns.append(
            {
                "missing": [bool(missing[j]) for j in columns],
                "others": int(missing.sum()) - int(missing[columns].sum()),
                "rows": round(float(table.copies[rows].sum())),
                "share": float(own.sum()) / total,
                "by_class": (by_class / max(float(by_class.sum()), 1e-300)).round(4).tolist(),
            }
        )
    return {
        "columns": columns,
        "patterns": patterns,
        "complete": float(weight[empty].sum()) / total,
        "rest": len(rest),
        "rest_share": float(weight[rest].sum()) / total,
        "columns_with_holes": int(holes.any(axis=0).sum()),
    }
