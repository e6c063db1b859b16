"""`suffice export`: a saved model as SQL or as an ONNX file."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Annotated, Literal

from cyclopts import Parameter

from .answers import load_model
from .files import check_ending, check_writable, write_whole
from .output import COMMON, Common, Facts, print_json, progress
from .parameters import ColumnNames, Out, SavedModel, Switch
from .problems import UsageProblem


def export(
    model: SavedModel,
    /,
    *,
    to: Literal["sql", "onnx"],
    dialect: Annotated[str | None, Parameter(metavar="DIALECT")] = None,
    table: Annotated[str | None, Parameter(metavar="TABLE")] = None,
    key: ColumnNames = (),
    missing: Literal["exact", "null"] | None = None,
    dtype: Literal["float64", "float32"] | None = None,
    check: Switch = False,
    output: Out = None,
    common: Common = COMMON,
) -> None:
    """Write a model in a language that scores rows without Python: a SQL query, or an ONNX file.

    Both answer as `suffice predict` does, with a label, a posterior for each class and the log density, and take rows
    with missing cells.

    Parameters
    ----------
    to
        `sql`: one SELECT over a table. `onnx`: a file for ONNX runtimes.
    dialect
        For sql: the database, such as duckdb, postgres, sqlite, snowflake or bigquery; duckdb if not given.
    table
        For sql: the table with the rows, with its schema in front if it needs one, `lab.rows`; rows if not given.
    key
        For sql: a further column of the table to pass on, such as one that names the rows. May be repeated.
    missing
        For sql: `exact` scores rows whatever cells they miss. `null`, much shorter for models of many columns, gives no
        answer to rows that miss a cell of a full covariance. exact if not given.
    dtype
        For onnx: the precision of the numbers; float64 if not given.
    check
        Fail unless what is written was run and answers as the model does: sql in DuckDB, onnx in onnxruntime. Without
        it that is done where the one or the other is installed.
    output
        File to write. If not given, SQL goes to stdout, and ONNX to the model's name with the ending .onnx.

    Examples
    --------
    $ suffice export penguins.suffice --to sql --dialect postgres -o penguins.sql
    $ suffice export penguins.suffice --to onnx --check
    """
    _check_options(to, {"--dialect": dialect, "--table": table, "--key": key, "--missing": missing}, {"--dtype": dtype})
    target = model.with_suffix(".onnx") if output is None and to == "onnx" else output
    if target is not None:
        check_ending(target, "ONNX file" if to == "onnx" else "query")
        check_writable(target, [(model, "model")])
    estimator = load_model(model)
    with progress(common, f"Writing {to.upper() if to == 'onnx' else 'SQL'}"):
        if to == "onnx":
            estimator.to_onnx(target, dtype=dtype or "float64", check=check or None)
            _tell(common, {"format": "onnx", "output": str(target)}, target)
            return
        source = (table or "rows").split(".")
        query = estimator.to_sql(dialect or "duckdb", source, keep=key, missing=missing or "exact", check=check or None)
    if target is not None:
        _write(target, query)
        _tell(common, {"format": "sql", "output": str(target)}, target)
    elif common.json:
        print_json({"format": "sql", "query": query})
    else:
        print(query)


def _check_options(to: str, of_sql: Facts, of_onnx: Facts) -> None:
    other, language = (of_onnx, "onnx") if to == "sql" else (of_sql, "sql")
    for name, value in other.items():
        if value:
            raise UsageProblem(f"{name} is for --to {language}.")


def _write(target: Path, query: str) -> None:
    def write(file: IO[bytes]) -> None:
        file.write(f"{query}\n".encode())

    write_whole(target, write)


def _tell(common: Common, facts: Facts, target: Path | None) -> None:
    common.remark(f"Wrote {target}.")
    if common.json:
        print_json(facts)
