"""Write a fitted model as SQL and try it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from ..errors import ExportError, SettingError, either, setting
from ..export.lower import lower
from ..export.program import Program
from ..fitted import Fitted
from .trial_rows import Trial, on_trial

MISSING = ("exact", "null")


def write_sql(
    fitted: Fitted, dialect: str, table: str | Sequence[str], keep: Sequence[str], missing: str, check: object
) -> str:
    """Return the query of a fitted estimator in a dialect, tried in DuckDB where that is installed."""
    if missing not in MISSING:
        raise SettingError.choice("missing", missing, MISSING)
    program = lower(fitted)
    try:
        from ..export.sql.query import write_query
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("", "sqlglot"):
            raise
        raise ImportError("SQL needs sqlglot, which is not installed. Next: pip install 'suffice[sql]'") from error
    source = [table] if isinstance(table, str) else list(table)
    if not 1 <= len(source) <= 3 or isinstance(keep, str):
        raise SettingError(
            f"{setting('table', table)}, {setting('keep', keep)}: a table is one name, or (schema, name) or (catalog, "
            f"schema, name), and {setting('keep')} is a list of column names. Next: correct it."
        )
    query = write_query(program, dialect, source, list(keep), missing == "exact")
    if check is not False and (check is not None or find_spec("duckdb") is not None):
        _check(program, on_trial(fitted, check), missing == "exact")
    return query


def _check(program: Program, trial: Trial, exact: bool) -> None:
    """Raise ExportError where the query does not answer as the model does."""
    try:
        from ..export.sql.parity import check
    except ImportError as error:
        if error.name != "duckdb":
            raise
        raise ExportError(
            "Checking the query needs DuckDB, which is not installed. Next: pip install 'suffice[sql]', or leave "
            f"{either('the check out (check=False)', 'out --check')}."
        ) from error
    check(program, trial.table, trial.order, trial.expected, exact)
