"""`suffice sample` and `impute`: draw new rows from a saved model, and fill the missing cells of a table."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number as Between

from ..errors import count, did_you_mean
from ..schema import Kind, Level, Name, Schema
from .answers import by_text, deliver, free_name, load_model, model_columns, read_for
from .files import FileTable, check_output
from .output import COMMON, Common, UsageProblem, noting_warnings, progress
from .parameters import Answers, ColumnName, MissingColumns, Rows, SavedModel, Seed, Sheet, Switch

if TYPE_CHECKING:
    from .._dialect import Dialect
    from ..engines import CsvTable
    from ..engines.arrow import Column, Table


TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def sample(
    model: SavedModel,
    /,
    *,
    rows: Annotated[int, Parameter(name=("--rows", "-n"), metavar="NUMBER", validator=Between(gte=1))] = 10,
    label: Annotated[str | None, Parameter(metavar="LABEL")] = None,
    given: Annotated[tuple[str, ...], Parameter(metavar="COLUMN=VALUES", show_default=False)] = (),
    seed: Seed | None = None,
    unrounded: Switch = False,
    missing_cells: Switch = False,
    output: Answers = None,
    common: Common = COMMON,
) -> None:
    """Draw new rows from a model: their class in a column `label`, then the columns the model was fitted on.

    Parameters
    ----------
    rows
        How many rows to draw.
    label
        Class to draw rows of; otherwise classes come as often as the model expects them.
    given
        Cell held fixed, such as island=Dream, one of several values, such as island=Dream,Biscoe, or a range of
        numbers, such as body_mass_g=3500..4000 or body_mass_g=5000.. without an end; classes and other cells are drawn
        given these. May be repeated.
    seed
        Start of the random draws; the same seed gives the same rows.
    unrounded
        Leave numbers as the model's density has them, instead of in the steps (such as whole numbers) and within the
        range of the rows it keeps.
    missing_cells
        Leave cells empty as often, and together, as the rows of the class do that the model keeps.

    Examples
    --------
    $ suffice sample penguins.suffice -n 5 --given island=Dream --seed 1
    $ suffice sample penguins.suffice --given body_mass_g=3500..4000
    """
    import pyarrow as pa

    from ..questions.sample import draw_rows

    check_output(output, [(model, "model")])
    estimator = load_model(model)
    schema = estimator._fitted.schema
    fixed = _read_given(given, schema, estimator._fitted.known_levels)
    wanted = None if label is None else _find_label(label, by_text(estimator))
    with noting_warnings(common), progress(common, "Drawing rows"):
        table, labels = draw_rows(estimator._fitted, rows, wanted, fixed, seed, "pyarrow", not unrounded, missing_cells)
    table = _with_parts(table, estimator._fitted.past.dialect, fixed)
    name = free_name("label", "sampled_", table.column_names, common)
    deliver(table.add_column(0, name, pa.array(labels.tolist())), output, common, {}, "table")


def _with_parts(table: Table, dialect: Dialect | None, given: Container[Name]) -> Table:
    """Return drawn rows with months, weekdays and hours that are those of their dates, but for what is given."""
    from ..engines.calendar import added, days, part

    for base in () if dialect is None else dialect.dates:
        for name in [name for name in added(base) if {base, name} <= {*table.column_names} and name not in given]:
            own = part(days(table[base]), added(base)[name])
            kept = own.cast(table.schema.field(name).type, safe=False)  # whole hours, unless the date has minutes
            kept = kept if kept.cast(own.type) == own else own
            table = table.set_column(table.column_names.index(name), name, kept)
    return table


def _find_label(label: str, classes: Mapping[str, Level]) -> Level:
    """Return the class that is written like this."""
    if label in classes:
        return classes[label]
    near = did_you_mean(label, list(classes), "its classes are")
    raise UsageProblem(f"--label {label!r} is not a class of this model; {near}")


def _read_given(given: Sequence[str], schema: Schema, levels: Mapping[int, Container[Level]]) -> dict[Name, object]:
    """Return what is given of columns by `column=values` texts; `levels` are those known, by position of the column."""
    found: dict[Name, object] = {}
    for text, position, value in _by_column("--given", given, schema, "VALUES"):
        column = schema.columns[position]
        found[column.name] = _read_values(text, value, column.kind, levels.get(position, ()))
    return found


def _read_shift(shift: Sequence[str], schema: Schema) -> dict[Name, float]:
    """Return what is added to columns by `column=number` texts."""
    found: dict[Name, float] = {}
    for text, position, value in _by_column("--shift", shift, schema, "NUMBER"):
        try:
            found[schema.columns[position].name] = float(value)
        except ValueError:
            raise UsageProblem(f"--shift {text!r}: {value!r} is no number.") from None
    return found


def _by_column(option: str, texts: Sequence[str], schema: Schema, what: str) -> Iterator[tuple[str, int, str]]:
    """Yield each text of the form COLUMN=…, the position of its column, and what follows."""
    names = {str(column.name): position for position, column in enumerate(schema.columns)}
    told = set[str]()
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageProblem(f"{option} {text!r} has no equals sign; write COLUMN={what}.")
        if name not in names:
            near = did_you_mean(name, list(names), "it has")
            raise UsageProblem(f"{option} {text!r}: the model has no column {name!r}; {near}")
        if name in told:
            raise UsageProblem(f"{option} names the column {name!r} twice.")
        told.add(name)
        yield text, names[name], value


def _read_values(text: str, value: str, kind: Kind, levels: Container[Level]) -> object:
    """Return one value, a set of levels, or the ends of a range; a level with a comma in it is one value."""
    low, mark, high = value.partition("..")
    if kind.is_measured and mark:
        return tuple(_read_value(text, end, kind) if end.strip() else None for end in (low, high))
    if kind.is_label and "," in value and value not in levels:
        return {own.strip() for own in value.split(",")}
    return _read_value(text, value, kind)


def _read_value(text: str, value: str, kind: Kind) -> Level:
    if kind.is_label or kind is Kind.DATE:
        return value
    if kind is Kind.BOOLEAN:
        if value.lower() not in TRUTHS:
            raise UsageProblem(f"--given {text!r}: the column holds truth values; write true or false.")
        return TRUTHS[value.lower()]
    try:
        return float(value)
    except ValueError:
        raise UsageProblem(
            f"--given {text!r}: the column holds numbers, and {value!r} is none; write one, or a range such as 2..5."
        ) from None


def impute(
    model: SavedModel,
    data: Rows,
    /,
    *,
    output: Answers = None,
    target: ColumnName | None = None,
    draws: Annotated[int | None, Parameter(metavar="NUMBER", validator=Between(gte=1))] = None,
    seed: Seed | None = None,
    unrounded: Switch = False,
    shift: Annotated[tuple[str, ...], Parameter(metavar="COLUMN=NUMBER", show_default=False)] = (),
    sheet: Sheet = None,
    missing_columns: MissingColumns = "error",
    common: Common = COMMON,
) -> None:
    """Fill the missing cells of a table, from what is observed in each row.

    The table comes back with its columns in order. A number becomes its mean given the observed cells of the row, in
    the steps of its column, a category the most probable one. Columns that the model does not use come back as they
    are.

    Parameters
    ----------
    target
        Column of class labels, where they are known: such rows are filled from their class alone.
    draws
        Multiple imputation: the table this many times over, with cells drawn from their conditional distribution, and a
        column `draw`, from 1, in front.
    seed
        Start of the random draws; the same seed gives the same draws.
    unrounded
        Leave numbers as the model's density has them, instead of in the steps (such as whole numbers) and within the
        range of the rows it keeps.
    shift
        What to add to every filled cell of a column: how much higher missing cells are assumed to be than those of rows
        alike. May be repeated.

    Examples
    --------
    $ suffice impute penguins.suffice new-penguins.csv -o filled.csv
    $ suffice impute penguins.suffice new-penguins.csv --draws 5 --seed 1
    """
    import pyarrow as pa

    from ..engines.arrow import how_many, missing

    if seed is not None and draws is None:
        raise UsageProblem("--seed is of --draws, and there are none. Next: give --draws, or leave it out.")
    check_output(output, [(data, "table"), (model, "model")])
    estimator = load_model(model)
    read = read_for(estimator, data, target=target, sheet=sheet, missing_columns=missing_columns)
    moved = _read_shift(shift, estimator._fitted.schema)
    labels = None if target is None else read.columns[target]
    rows = model_columns(estimator, read.columns if target is None else read.columns.drop_columns(target), data)
    with noting_warnings(common), progress(common, f"Filling {data.name}"):
        filled = estimator.impute(rows, labels, draws=draws, random_state=seed, as_recorded=not unrounded, shift=moved)
    holes = {name: how_many(missing(rows[name])) for name in rows.column_names}
    holes = {name: number for name, number in holes.items() if number}
    common.remark(f"Filled {count(sum(holes.values()), 'cell')} in {count(len(holes), 'column')}.")
    kept = read.kept(rows.column_names, output, common.json)
    several = [_written(kept, rows, one, read) for one in ([filled] if draws is None else filled)]
    answer = several[0]
    if draws is not None:
        name = free_name("draw", "imputed_", answer.column_names, common)
        several = [one.add_column(0, name, pa.array([i] * one.num_rows)) for i, one in enumerate(several, start=1)]
        answer = pa.concat_tables(several, promote_options="permissive").unify_dictionaries()
    deliver(answer, output, common, {"filled": holes}, "table")


def _written(kept: Table, rows: Table, filled: Table, read: FileTable) -> Table:
    """Return the table with its holes filled, every other cell as it is in `kept`.

    `rows` are the model's columns as they were read; a column kept as text takes numbers and truth values as its other
    cells write them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..engines.arrow import missing

    columns = dict(zip(kept.column_names, kept.columns, strict=True))
    for name, column in zip(filled.column_names, filled.columns, strict=True):
        if read.csv is not None and name in read.csv.dates.parts:  # what the calendar adds to a column of dates
            continue
        was = columns.get(name, column)
        if read.csv is not None and name in columns and pa.types.is_string(was.type):
            texts = _texts(column, rows.column(name), was, name, read.csv)
            column = pc.if_else(missing(rows.column(name)), texts, was)
        columns[name] = column
    return pa.table(columns)


def _texts(values: Column, observed: Column, written: Column, name: str, csv: CsvTable) -> Column:
    """Return values as the text of their column: with its decimal mark, words for true and false, notation of dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from ..engines.arrow import decoded

    values, mark = decoded(values), csv.mark(name)
    if name in csv.dates.notations:
        return csv.dates.written(values, name, written)
    if pa.types.is_boolean(values.type):
        words = {truth: written.filter(pc.equal(observed, truth)).slice(0, 1).to_pylist() for truth in (True, False)}
        yes, no = (words[True] or ["true"])[0], (words[False] or ["false"])[0]
        texts: Column = pc.if_else(values, pa.scalar(yes), pa.scalar(no))
    elif csv.is_percent(name):
        texts = pc.replace_substring(pa.array([f"{100 * value:.15g}%" for value in values.to_pylist()]), ".", mark)
    elif pa.types.is_floating(values.type) and mark == ",":
        texts = pc.replace_substring(values.cast(pa.string()), ".", mark)
    else:
        texts = values.cast(pa.string())
    return texts
