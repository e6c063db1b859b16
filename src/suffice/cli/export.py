"""`suffice export` and `report`: a saved model as SQL, as an ONNX file, or as one web page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ..schema import Level
from .answers import load_model, model_columns, model_labels, read_for
from .files import check_ending, check_writable, write_whole
from .output import COMMON, Common, Facts, UsageProblem, print_json, progress
from .parameters import ColumnName, ColumnNames, DataPath, IntervalLevel, Out, SavedModel, Sheet, Switch

if TYPE_CHECKING:
    from ..engines.arrow import Column, Table
    from ..estimators.base import GenerativeEstimator


def export(
    model: SavedModel,
    /,
    *,
    to: Literal["sql", "onnx"] | None = None,
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
        `sql`: one SELECT over a table. `onnx`: a file for ONNX runtimes. If not given, what the ending of --output
        says, .sql or .onnx.
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
    $ suffice export penguins.suffice --dialect postgres -o penguins.sql
    $ suffice export penguins.suffice --to onnx --check
    """
    to = to or _promised(output)
    of_sql, of_onnx = {"--dialect": dialect, "--table": table, "--key": key, "--missing": missing}, {"--dtype": dtype}
    others, language = (of_onnx, "onnx") if to == "sql" else (of_sql, "sql")
    for name, value in others.items():
        if value:
            raise UsageProblem(f"{name} is for --to {language}.")
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
        source = ("rows" if table is None else table).split(".")
        query = estimator.to_sql(dialect or "duckdb", source, keep=key, missing=missing or "exact", check=check or None)
    if target is not None:
        write_whole(target, lambda file: file.write(f"{query}\n".encode()))
        _tell(common, {"format": "sql", "output": str(target)}, target)
    elif common.json:
        print_json({"format": "sql", "query": query})
    else:
        print(query)


def _promised(output: Path | None) -> Literal["sql", "onnx"]:
    """Return what the ending of a name says is to be written."""
    ending = "" if output is None else output.suffix.lower()
    if ending in (".html", ".htm"):
        raise UsageProblem(f"{str(output)!r} has the ending of a web page. Next: suffice report MODEL -o {output}")
    if ending == ".sql":
        return "sql"
    if ending == ".onnx":
        return "onnx"
    raise UsageProblem(
        "What to write is not said. Next: --to sql, --to onnx, or --output with the ending .sql or .onnx."
    )


def _tell(common: Common, facts: Facts, target: Path | None) -> None:
    common.remark(f"Wrote {target}.")
    if common.json:
        print_json(facts)


def report(
    model: SavedModel,
    data: DataPath | None = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"), metavar="PAGE")] = None,
    target: ColumnName | None = None,
    interval: IntervalLevel = None,
    sheet: Sheet = None,
    common: Common = COMMON,
) -> None:
    """Write a web page about a model: how good it is, its classes and columns, pictures, and what was repaired.

    The page answers questions too: type what is known of a row, and it shows the probability of each class, what the
    unknown cells may hold, why, and how unusual the row is. Quality is judged by leave-one-out on the rows that the
    model file keeps. The page is one file that loads and sends nothing, and can be printed or sent by mail.

    Parameters
    ----------
    data
        Table with the columns the model was fitted on. The page then has what the model says of its rows: answers by
        class, and the most unusual rows with some of their cells.
    output
        File to write; the model's name with the ending .html if not given. With --json and without this option, the
        facts are printed and no page is written.
    target
        Column of DATA with the true classes, for how good the answers are. If not given, the only column beside the
        model's whose values are all classes of the model.
    interval
        With DATA: say for how many rows another class may be more probable than the answer, by intervals of this level
        around the probabilities (see `suffice predict --interval`), and give those of the most unusual rows.

    Examples
    --------
    $ suffice report penguins.suffice -o penguins.html
    $ suffice report penguins.suffice more.csv --target species -o penguins.html
    """
    if interval is not None and data is None:
        raise UsageProblem("--interval says how sure the answers of rows are, and there are none. Next: give DATA.")
    if data is None and (target, sheet) != (None, None):
        raise UsageProblem("--target and --sheet are of DATA, and there is none. Next: give it.")
    facts_only = common.json and output is None
    made = model.with_suffix(".html") if output is None else output
    if not facts_only:
        check_ending(made, "web page")
        check_writable(made, [(model, "model"), *([] if data is None else [(data, "table")])])
    estimator = load_model(model)
    X, y = (None, None) if data is None else _read(estimator, data, target, sheet, common)
    if common.json:
        from ..report import collect_answers, collect_facts

        facts = collect_facts(estimator)
        print_json(facts if X is None else facts | {"answers": collect_answers(estimator, X, y, interval=interval)})
    if not facts_only:
        with progress(common, f"Drawing {model.name}"):
            estimator.to_html(made, X, y, name="the table" if data is None else data.name, interval=interval)
        common.remark(f"Wrote {made}.")


def _read(
    estimator: GenerativeEstimator, data: Path, target: str | None, sheet: str | None, common: Common
) -> tuple[Table, Column | None]:
    """Return the model's columns of a table, and its labels where it has some."""
    table, classes = read_for(estimator, data, target=target, sheet=sheet).columns, estimator.classes_.tolist()
    X = model_columns(estimator, table, data)
    if target is None:
        beside = set(table.column_names) - set(X.column_names)
        found = [name for name in beside if _holds_classes(table[name], classes)]
        if len(found) != 1:
            return X, None
        target = found[0]
        common.remark(f"True classes are in column {target!r}.")
    return X, model_labels(estimator, table[target], target)


def _holds_classes(column: Column, classes: list[Level]) -> bool:
    values = [value for value in column.unique().to_pylist() if value not in (None, "")]
    return bool(values) and set(map(str, values)) <= set(map(str, classes))
