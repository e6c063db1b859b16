"""A table's profile: of one that a model has learned (`collect_profile`), or before any fit (`profile_table`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._arrays import np
from ...plots._view import View
from ...schema import Schema
from ...table import read_table
from ..worth import costs
from .alerts import AlertKind, collect_alerts
from .bars import Palette, brief, number
from .columns import MOST_BY_CLASS, told_column
from .holes import missing_together
from .same import equal_columns, equal_rows
from .seen import SeenTable, seen_by_model, seen_in_table

MOST_COLUMNS = 500
SAMPLE_ROWS, SAMPLE_COLUMNS = 8, 12


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
    table = seen_by_model(fitted, positions)
    of = _rows_in_words(table)
    if not table.has_rows and X is not None and fitted.past.released is None:
        read, order = view.aligned(X)
        columns = [schema.columns[p] for p in positions]
        table = seen_in_table(read, [order[p] for p in positions], columns, y, view.classes)
        of = f"the {table.rows:,} rows of {name}, as the model keeps none"
    profile = _profile(table, of, len(schema) - len(positions))
    _add_importance(profile, _importance(view), positions)
    profile["sample"] = _sample(table, profile["columns"])
    return profile


def profile_table(X: object, y: object = None, name: str = "the table") -> dict[str, Any]:
    """Return what there is to say of a table before any model is fitted to it, as `collect_profile` does.

    DataError and SchemaError where the table cannot be read.
    """
    read = read_table(X)
    schema: Schema = read.schema
    positions = list(range(min(len(schema), MOST_COLUMNS)))
    table = seen_in_table(read, positions, [schema.columns[p] for p in positions], y)
    of = f"all {table.rows:,} rows of {name}"
    if not table.is_whole:
        of = f"{table.held:,} rows of {name}, drawn from all {table.rows:,}"
    profile = _profile(table, of, len(schema) - len(positions))
    profile["sample"] = _sample(table, profile["columns"])
    return profile


def _profile(table: SeenTable, of: str, left_out: int) -> dict[str, Any]:
    palette = Palette.of(table)
    repeated, same = equal_rows(table), equal_columns(table)
    alerts = collect_alerts(table, repeated, same)
    by_class = len(table.columns) <= MOST_BY_CLASS
    columns = [told_column(column, table, palette, by_class) for column in table.columns]
    for place, column in enumerate(columns):
        column |= {"place": place, "rank": place, "alerts": []}
    for i, alert in enumerate(alerts):
        for j in alert["columns"]:
            columns[j]["alerts"].append(i)
    return {
        "of": of,
        "rows": table.rows,
        "held": table.held,
        "is_whole": table.is_whole,
        "why_none": table.why_none,
        "classes": palette.entries,
        "columns": columns,
        "columns_left_out": left_out,
        "has_importance": False,
        "alerts": alerts,
        "is_imbalanced": any(alert["kind"] == AlertKind.IMBALANCE for alert in alerts),
        "holes": missing_together(table, palette),
        "repeated": repeated,
        "same": same,
    }


def _rows_in_words(table: SeenTable) -> str:
    if not table.has_rows:
        return f"statistics of {table.rows:,} rows: {table.why_none}"
    if table.is_whole:
        return f"all {table.rows:,} rows"
    return f"the {table.held:,} rows that the model keeps of {table.rows:,}"


def _importance(view: View) -> Mapping[int, float]:
    """Return what each column is worth in nats, where the page tells it too; nothing where that would take long."""
    found = costs(view)
    return {} if found is None else dict(enumerate(np.asarray(found.mean).tolist()))


def _add_importance(profile: dict[str, Any], worth: Mapping[int, float], positions: Sequence[int]) -> None:
    """Tell of each column what it is worth, where that is known, and its `rank` by it."""
    columns = profile["columns"]
    for column, position in zip(columns, positions, strict=True):
        column |= {"position": position, "importance": worth.get(position)}
    if worth:
        order = sorted(columns, key=lambda column: (-column["importance"], column["place"]))
        for rank, column in enumerate(order):
            column["rank"] = rank
        profile["has_importance"] = True


def _sample(table: SeenTable, told: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return a few of the rows there are as text, classes in turn, with the columns that are worth most."""
    if not table.has_rows or not table.columns:
        return None
    worth = [column["importance"] or 0.0 for column in told]
    shown = sorted(np.argsort(-np.array(worth), kind="stable")[:SAMPLE_COLUMNS].tolist())
    turn = np.zeros(len(table.codes), dtype=np.int64)  # the how manieth of its class a row is
    for c in np.unique(table.codes):
        own = np.flatnonzero(table.codes == c)
        turn[own] = np.arange(len(own))
    chosen = np.lexsort((table.codes, turn))[:SAMPLE_ROWS]
    cells = [_texts(table, j, chosen) for j in shown]
    labels = [None if table.codes[i] >= table.k else str(table.classes[table.codes[i]]) for i in chosen]
    return {
        "columns": shown,
        "names": [table.columns[j].name for j in shown],
        "labels": labels,
        "rows": [list(row) for row in zip(*cells, strict=True)],
    }


def _texts(table: SeenTable, j: int, chosen: Any) -> list[str | None]:
    facts = table.columns[j].facts
    if facts.values is None:
        return [None] * len(chosen)
    own = facts.values[chosen]
    if facts.levels is not None:
        return [None if np.isnan(cell) else brief(facts.levels[int(cell)], 40) for cell in own]
    return [None if np.isnan(cell) else number(float(cell)) for cell in own]
