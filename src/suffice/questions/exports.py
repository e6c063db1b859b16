"""Write a fitted model as SQL or as an ONNX file, and try it before it is handed out.

It is tried on rows drawn from the model, with cells taken out and levels never met put in: what an export says of them
and Python does not is an error.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from .._arrays import Array, np
from .._files import whole_file
from ..errors import ExportError, SettingError, pip_install, setting
from ..export.lower import lower, refuse_dates, rounding
from ..fitted import Fitted
from ..schema import Kind, Level
from ..table import Table, make_table, read_table
from ..table.writing import NewColumn
from . import decide
from .sample import draw_rows

MISSING = ("exact", "null")
DTYPES = ("float64", "float32")
ROWS = 200
HOLES = 0.25  # share of the cells taken out of three rows in four
FAR = 3.0  # numbers of some rows are so much larger


def write_sql(
    fitted: Fitted, dialect: str, table: str | Sequence[str], keep: Sequence[str], missing: str, check: object
) -> str:
    """Return the query of a fitted estimator in a dialect, tried in DuckDB where that is installed."""
    if missing not in MISSING:
        raise SettingError.choice("missing", missing, MISSING)
    from ..export.sql.query import check as check_query, write_query  # where sqlglot is missing, it says so

    refuse_dates(fitted)
    program = lower(fitted)
    source = [table] if isinstance(table, str) else list(table)
    if not 1 <= len(source) <= 3 or isinstance(keep, str):
        raise SettingError(
            f"{setting('table', table)}, {setting('keep', keep)}: a table is one name, or (schema, name) or (catalog, "
            f"schema, name), and {setting('keep')} is a list of column names. Next: correct it."
        )
    query = write_query(program, dialect, source, list(keep), missing == "exact")
    if check is not False and (check is not None or find_spec("duckdb") is not None):
        check_query(program, *on_trial(fitted, check), missing == "exact")
    return query


def write_onnx(fitted: Fitted, path: str | os.PathLike[str] | None, dtype: str, check: object) -> Any:
    """Return the `onnx.ModelProto` of a fitted estimator, checked, and write it to `path` if that is given."""
    if dtype not in DTYPES:
        raise SettingError.choice("dtype", dtype, DTYPES)
    refuse_dates(fitted)
    program = lower(fitted)
    try:
        from ..export.onnx.file import build, check as check_file, feeds
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("onnx", "google"):
            raise
        raise ImportError(f"Export to ONNX needs onnx, which is not installed. Next: {pip_install('onnx')}") from error
    made = build(program, dtype)
    data = made.SerializeToString(deterministic=True)
    if check is not False and (check is not None or find_spec("onnxruntime") is not None):
        asked, order, expected = on_trial(fitted, check)
        check_file(data, feeds(program, asked, order, dtype), dtype, expected, rounding(program))
    if path is not None:
        try:
            with whole_file(path) as file:
                file.write(data)
        except OSError as error:
            raise ExportError(
                f"{str(path)!r} cannot be written: {error.strerror or error}. Next: choose another place or name."
            ) from error
    return made


def trial_rows(fitted: Fitted) -> Any:
    """Return a table of rows to try an export of a fitted model on, of the kind that the model was fitted on.

    A quarter of the rows is as drawn; the others miss cells where the model takes missing cells, have levels never met,
    or numbers far out; the first row has no cell at all.
    """
    schema = fitted.schema
    container = "numpy" if schema.container == "sparse" else schema.container
    rng = np.random.RandomState(0)
    drawn = read_table(draw_rows(fitted.joint_value, ROWS, None, None, rng, container, as_recorded=False)[0])
    taken = [fitted.settings.missing != "error"] * len(schema)
    wide = [column.kind is Kind.NUMERIC for column in schema.columns]  # which hold any real number
    for block in fitted.blocks:
        for p in block.positions:
            taken[p] = taken[p] and block.family.takes_missing
            wide[p] = wide[p] and block.family.support in ("reals", None)
    columns = [_column(drawn, p, rng, taken[p], wide[p]) for p in range(len(schema))]
    named = [column._replace(name=own.name) for column, own in zip(columns, schema.columns, strict=True)]
    return make_table(container, schema.named, named)


def on_trial(fitted: Fitted, check: object) -> tuple[Table, Sequence[int], tuple[list[Level], Array, Array]]:
    """Return a table that an export is tried on, where the model's columns stand in it, and what Python answers.

    That are labels (n,), posteriors (n, k) and log densities (n,). `check` is what the user said: a table, or None or
    True for rows drawn from the model.
    """
    rows = trial_rows(fitted) if check is None or check is True else check
    table, asked = read_table(rows), fitted.joint_value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an array has no column names
        order, density = fitted.align(table), asked.log_density(asked.rows(rows))
        labels = decide.predict(fitted, rows, None, None, None).tolist()
        return table, order, (labels, decide.posterior(fitted, rows, None), density)


def _column(table: Table, position: int, rng: np.random.RandomState, holes: bool, wide: bool) -> NewColumn:
    """Return a column of drawn rows with cells taken out and strange values put in."""
    kind = table.schema.columns[position].kind
    missing = (rng.random_sample(table.rows) < HOLES) & (np.arange(table.rows) % 4 > 0) & holes
    missing[0] = holes
    if kind is Kind.NUMERIC:
        cells = np.asarray(table.numeric([position])[:, 0], dtype=np.float64)
        if wide:
            cells = np.where(np.arange(table.rows) % 16 == 7, FAR * cells, cells)
        cells = np.where(missing, np.nan, cells)
        return NewColumn(position, kind, cells if holes or wide else cells.astype(np.int64))
    levels, codes = table.categories(position)
    known: list[Level] = [*levels]
    if kind is not Kind.BOOLEAN and known:
        known.append(_strange(known))
        codes = np.where(np.arange(table.rows) % 16 == 11, len(known) - 1, codes)
    found = (None if gone or code < 0 else known[code] for gone, code in zip(missing, codes, strict=True))
    values = np.fromiter(found, dtype=object)
    if kind is Kind.BOOLEAN and not any(value is None for value in values):
        return NewColumn(position, kind, values.astype(bool))
    return NewColumn(position, kind, values, tuple(known) if kind is Kind.CATEGORICAL else None)


def _strange(levels: list[Level]) -> Level:
    """Return a value like these levels that is none of them."""
    if any(isinstance(level, str) for level in levels):
        word = "never met"
        while word in levels:
            word += "?"
        return word
    return int(max(float(level) for level in levels)) + 1
