"""Write a fitted model as SQL and try it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from ..errors import SettingError, setting
from ..export.lower import lower, refuse_dates
from ..fitted import Fitted
from .trial_rows import on_trial

MISSING = ("exact", "null")


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
        trial = on_trial(fitted, check)
        check_query(program, trial.table, trial.order, trial.expected, missing == "exact")
    return query
